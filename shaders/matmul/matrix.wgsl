// c = residual + f(scale · a b + bias) for f16, on cooperative matrices; a, b or both (LEFT, RIGHT) may be stored
// transposed.
//
// A workgroup computes a tile of one product. It stages some columns of a and rows of b in their stored order, and a
// subgroup of 32 sums its part of the tile in matrices of SIDE x SIDE, SIDE products at a time: 16, or 8 (EIGHT), where
// subgroups may have fewer lanes. The next stage is loaded meanwhile. Sums are f32. c is f32, or f16 (RESULT) if all
// rows of results consist of whole quads of words. a and b consist of whole quads of words (eight values), or with
// LOOSE of any number of values.
//
// Sums are a chain of ⌈k / SIDE⌉ additions of SIDE products.

#params scale: E
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bias: array<u32>;
@group(0) @binding(6) var<storage, read_write> residual: array<u32>;
// The same buffer as c.
@group(0) @binding(7) var<storage, read_write> c_words: array<vec4<u32>>;

#include "grid"
#include "half_load"
#include "product"

// Flag of p.epilogue: c is f16.

fn bias_value(i: u32) -> f32 {
    return half_of(bias[i / 2u], i);
}

fn residual_value(i: u32) -> f32 {
    return half_of(residual[i / 2u], i);
}

// The four f16 values in two words, with their bits unchanged.
fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

#if LOOSE
// How many of eight values from `along` on are before the end of a row.
fn values_left(along: u32, end: u32) -> u32 {
    return min(max(end, along) - along, 8u);
}

// Eight values from any index on, given the two quads of words that contain them: the first n, then zeros.
fn unit_of(low: vec4<u32>, high: vec4<u32>, at: u32, n: u32) -> vec4<u32> {
    let two = (at & 4u) != 0u;
    let one = (at & 2u) != 0u;
    let even = select(low, vec4(low.zw, high.xy), two);
    let behind = select(high.xy, high.zw, two);
    let words = select(even, vec4(even.yzw, behind.x), one);
    let last = select(behind.x, behind.y, one);
    let odd = words >> vec4(16u) | vec4(words.yzw, last) << vec4(16u);
    let unit = select(words, odd, (at & 1u) != 0u);
    let wanted = select(vec4<u32>(), vec4(0xFFFFu), vec4(n) > vec4(0u, 2u, 4u, 6u));
    return unit & select(wanted, vec4(0xFFFFFFFFu), vec4(n) > vec4(1u, 3u, 5u, 7u));
}

// Nothing is read beyond the last quad.
fn a_unit_from(at: u32, n: u32) -> vec4<u32> {
    let last = arrayLength(&a) - 1u;
    return unit_of(a[min(at / 8u, last)], a[min(at / 8u + 1u, last)], at, n);
}

fn b_unit_from(at: u32, n: u32) -> vec4<u32> {
    let last = arrayLength(&b) - 1u;
    return unit_of(b[min(at / 8u, last)], b[min(at / 8u + 1u, last)], at, n);
}
#endif

fn sums_at(i: u32) -> vec4<f32> {
    return vec4(sh_c[i], sh_c[i + 1u], sh_c[i + 2u], sh_c[i + 3u]);
}

// Stores eight f16 results to quad `at` of words.
fn put_halves(at: u32, low: vec4<f32>, high: vec4<f32>) {
    c_words[at] = vec4(
        pack2x16float(low.xy),
        pack2x16float(low.zw),
        pack2x16float(high.xy),
        pack2x16float(high.zw),
    );
}

#include "coop_tile"

#block load stage
#for x X extent origin in a A o.m row0, b B o.n column0
#use guarded $(x), $(X), load_slots
#endfor
#endblock

## A whole stage.
#block load_slots
#for i $(X)_SLOTS
#if !LOOSE
$(x)0_$(i) = $(x)[$(x)_at$(i) + $(stage) * $(x)_stage];
#else
#if $(X)_INNER == 1
$(x)0_$(i) = $(x)_unit_from($(x)_at$(i) + $(stage) * $(x)_stage, 8u);
#else
$(x)0_$(i) = $(x)_unit_from(
    $(x)_at$(i) + $(stage) * $(x)_stage, values_left($(origin) + 8u * $(x)_unit$(i), $(extent)));
#endif
#endif
#endfor
#endblock

#block load_last stage
#for x X extent origin in a A o.m row0, b B o.n column0
#use guarded $(x), $(X), load_last_slots
#endfor
#endblock

## The partial stage, with zeros beyond the inner extent.
#block load_last_slots
#for i $(X)_SLOTS
#if $(X)_INNER == 1
#use load_last_slot $(stage) * $(DEPTH)u + 8u * $(x)_unit$(i)
#else
#use load_last_slot $(stage) * $(DEPTH)u + $(x)_row$(i)
#endif
#endfor
#endblock

#block load_last_slot here
#if !LOOSE
$(x)0_$(i) = vec4<u32>();
if $(here) < o.k { $(x)0_$(i) = $(x)[$(x)_at$(i) + $(stage) * $(x)_stage]; }
#else
#if $(X)_INNER == 1
$(x)0_$(i) = $(x)_unit_from($(x)_at$(i) + $(stage) * $(x)_stage, values_left($(here), o.k));
#else
$(x)0_$(i) = $(x)_unit_from(
    $(x)_at$(i) + $(stage) * $(x)_stage,
    select(0u, values_left($(origin) + 8u * $(x)_unit$(i), $(extent)), $(here) < o.k));
#endif
#endif
#endblock

#block load_n
#use load n
#endblock

#block load_next
let next = min(n + 1u, stages - 1u);
#use load next
#endblock

#block load_rest
if rest {
    #use load_last stages
}
#endblock

#block load_n_or_rest
if n < stages {
    #use load n
} else if n == stages && rest {
    #use load_last n
}
#endblock

#block staged
workgroupBarrier();
#use stage
workgroupBarrier();
#endblock

#block to_scratch
let v = s$(i)_$(j);
let q = &sh_c[scratch];
let stride = SIDE;
coopStoreT(v, q, stride);
#endblock

#block add_whole
#use staged
#use multiply load_rest
#endblock

#block add_last
#use staged
#use multiply nothing
#endblock

#block add_last_loaded
#use load_last stages
#use add_last
#endblock

#block store_directly
// They still go through workgroup memory, so that a row of a matrix fills two whole sectors; a matrix stored directly
// to `c` would write sectors by halves.
let stride = o.n / 4u;
let corner = (o.c + column0 + column_in) / 4u + (row0 + row_in) * stride;
let first = corner + lane / 4u * stride + lane % 4u;
let first_half = (corner + lane / 2u * stride) / 2u + lane % 2u;
let own = scratch + 4u * lane;
let halves_wanted = (p.epilogue & RESULT) != 0u;
#for i A_MATRICES; j B_MATRICES
workgroupBarrier();
{ let v = s$(i)_$(j); let q = &sh_c[scratch]; let stride = SIDE; coopStoreT(v, q, stride); }
workgroupBarrier();
if halves_wanted {
    put_halves(first_half + $(8 * i)u * stride + $(2 * j)u, sums_at(own + 4u * lane), sums_at(own + 4u * lane + 4u));
} else {
    c[first + $(16 * i)u * stride + $(4 * j)u] = sums_at(own);
    c[first + $(16 * i + 8)u * stride + $(4 * j)u] = sums_at(own + 128u);
}
#endfor
#endblock

#block store
// All go through one loop, which must not be unrolled, because its body is long if it does more than store; compilers
// do not unroll a loop that runs `min(p.groups, 1u)` times a constant.
let count = $(A_MATRICES * B_MATRICES)u * min(p.groups, 1u);
for (var f = 0u; f < count; f += 1u) {
    workgroupBarrier();
#for i A_MATRICES; j B_MATRICES
    #use only_if f == $(i * B_MATRICES + j)u, to_scratch
#endfor
    workgroupBarrier();
    put_matrix(
        o, row0 + row_in + $(SIDE)u * (f / $(B_MATRICES)u), column0 + column_in + $(SIDE)u * (f % $(B_MATRICES)u),
        scratch, lane, s.lanes);
}
#endblock

fn make_tile(o: Product, lid: u32, s: Subgroup) {
    let row0 = o.row0;
    let column0 = o.column0;
    #use places
    // Where each slot's values begin, in units if those are whole. Rows and columns outside the product are clamped to
    // its edge; they affect no result that is stored.
#for x X extent origin in a A o.m row0, b B o.n column0
#if LOOSE
    let $(x)_pitch = o.$(x)_stride;
#else
    let $(x)_pitch = o.$(x)_stride / 8u;
#endif
#for i $(X)_SLOTS; row unit in $(x)_row$(i) $(x)_unit$(i)
#if LOOSE
#if $(X)_INNER == 1
    let $(x)_at$(i) = o.$(x) + min($(origin) + $(row), $(extent) - 1u) * $(x)_pitch + 8u * $(unit);
#else
    let $(x)_at$(i) = o.$(x) + $(row) * $(x)_pitch + $(origin) + 8u * $(unit);
#endif
#else
#if $(X)_INNER == 1
    let $(x)_at$(i) = o.$(x) / 8u + min($(origin) + $(row), $(extent) - 1u) * $(x)_pitch + $(unit);
#else
    let $(x)_at$(i) = o.$(x) / 8u + $(row) * $(x)_pitch + min($(origin) / 8u + $(unit), $(extent) / 8u - 1u);
#endif
#endif
#endfor
#if $(X)_INNER == 0
    let $(x)_stage = $(DEPTH)u * $(x)_pitch;
#else
#if LOOSE
    let $(x)_stage = $(DEPTH)u;
#else
    let $(x)_stage = $(DEPTH / 8)u;
#endif
#endif
#endfor
    #use registers
    #use sums
    // Whole stages, with an unconditional load of the next one, then the remainder of the inner extent.
    let stages = o.k / $(DEPTH)u;
    let rest = stages * $(DEPTH)u < o.k;
    if stages > 0u {
        #use load 0u
    } else if rest {
        #use load_last 0u
    }
#if EIGHT
    // With twice as many matrices, there is only one copy of the multiplication code.
    for (var n = 1u; n <= stages + u32(rest); n += 1u) {
        #use staged
        #use multiply load_n_or_rest
    }
    // Metal cannot store a matrix into vectors.
    #use store
#else
    // A step that compilers cannot know, to prevent unrolling: unrolled loops need more registers than there are.
    let step = min(p.groups, 1u);
#if 4 < SUBGROUPS
    // The largest tile is faster with two copies of the multiplication than with three, although its last loads are
    // wasted.
    for (var n = 0u; n < stages; n += step) {
        #use staged
        #use multiply load_next
    }
    #use only_if rest, add_last_loaded
#else
    for (var n = 1u; n < stages; n += step) {
        #use staged
        #use multiply load_n
    }
    #use only_if stages > 0u, add_whole
    #use only_if rest, add_last
#endif
    // Stored directly if the tile is whole and there is no epilogue.
    let plain = row0 + $(ROWS)u <= o.m && column0 + $(COLUMNS)u <= o.n && o.n % 4u == 0u && o.c % 4u == 0u
        && (p.epilogue | RESULT) == RESULT;
    #use only_if plain, store_directly
    #use only_if !plain, store
#endif
}

// Stores the part of a subgroup's scratch that is inside the result. By quads; or, if rows begin anywhere and there is
// no epilogue, by value, so that the lanes of a subgroup store adjacent values.
fn put_matrix(o: Product, row0: u32, column0: u32, scratch: u32, lane: u32, lanes: u32) {
    if row0 >= o.m || column0 >= o.n {
        return;
    }
    if (p.epilogue & RESULT) != 0u {
        for (var i = lane; i < SIDE * SIDE / 8u; i += lanes) {
            let row = row0 + 8u * i / SIDE;
            let column = column0 + 8u * i % SIDE;
            if row < o.m && column < o.n {
                let low = finished(o, row, column, sums_at(scratch + 8u * i));
                let high = finished(o, row, column + 4u, sums_at(scratch + 8u * i + 4u));
                put_halves((o.c + row * o.n + column) / 8u, low, high);
            }
        }
        return;
    }
    if ((o.c | o.n) & 3u) != 0u && p.epilogue == 0u {
        for (var i = lane; i < SIDE * SIDE; i += lanes) {
            let row = row0 + i / SIDE;
            let column = column0 + i % SIDE;
            if row < o.m && column < o.n {
                let at = o.c + row * o.n + column;
                c[at >> 2u][at & 3u] = sh_c[scratch + i];
            }
        }
        return;
    }
    for (var i = lane; i < SIDE * SIDE / 4u; i += lanes) {
        let sums = sums_at(scratch + 4u * i);
        put_quad(o, row0 + 4u * i / SIDE, column0 + 4u * i % SIDE, sums, true, true);
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
    @builtin(subgroup_id) subgroup: u32,
#if EIGHT
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
#endif
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
#if EIGHT
    make_tile(product(group), lid, Subgroup(subgroup, lane, lanes));
#else
    make_tile(product(group), lid, Subgroup(subgroup, lid % 32u, 32u));
#endif
}
