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

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bias: array<u32>;
@group(0) @binding(6) var<storage, read_write> residual: array<u32>;
// The same buffer as c.
@group(0) @binding(7) var<storage, read_write> c_words: array<vec4<u32>>;

#include "grid"
#include "half_of"
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

#generate "matmul_matrix"

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
