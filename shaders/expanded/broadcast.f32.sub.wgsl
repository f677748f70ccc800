// broadcast.f32.sub
alias E = f32;
const WHOLE = 4294967295u;
const ONE = 256u;
// c = f(a, b), or with THREE c = f(a, b, d), value by value, where operands may be vectors that are spread over the
// elements of c: f is a row of the table in src/ops/ambient.
//
// The mode of an operand is WHOLE if it has c's layout. Otherwise it is the axis along which a vector is spread over
// each element: element e uses vector e, or with the flag ONE all elements use the only vector. An axis of p.rank means
// one value for the whole element, a vector of length 1. Tiles and tables are as in ambient.wgsl; an invocation
// computes four consecutive values of c. WIDE: c is complex; one value at a time.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    ones: u32,
    elements: u32,
    tile: u32,
    rank: u32,
    a_base: u32,
    a_mode: u32,
    b_base: u32,
    b_mode: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<A>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<B>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<C>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// The capacity of the tables, in elements.
const SPAN = 64u;

// How an operand is spread over an element: the start of its vector, the number of consecutive values that use the same
// value of the vector, and the vector's length.
struct Entry {
    a: vec3<u32>,
    b: vec3<u32>,
}

// The element of the result that contains value v: the last e below n with c_meta[e] <= v.
//
// All invocations of the workgroup search together, with WG probes per round: three rounds for 16 million elements.
// Requires v < c_meta[n], the same v in every invocation, and workgroup-uniform control flow.
var<workgroup> sh_found: u32;

fn find_element(v: u32, n: u32, lid: u32) -> u32 {
    var low = 0u;
    var high = n;
    while high - low > 1u {
        let step = (high - low + WG - 1u) / WG;
        let here = low + lid * step;
        let next = here + step;
        if here < high && c_meta[here] <= v && (next >= high || c_meta[next] > v) {
            sh_found = here;
        }
        low = workgroupUniformLoad(&sh_found);
        high = min(low + step, high);
    }
    return low;
}
// The function of a row of the table in src/ops/ambient: V, the type in which it is computed; R, the type of a result;
// `value`, the function itself; and for two operands `combine`, where an operand may have no entry: in_a and in_b say
// which have one. OVERLAP: unless both have one, the result is 0, and the kernel gives two zeros for x and y.
//
// Uses: E, the row's texts, and what its expression uses.
// Whether x is NaN, tested by its bits: a compiler may assume that `x != x` is never true.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
// Values without a WGSL constant, made from an operand, because constant expressions must be finite.
fn infinity_like(x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x7f800000u);
}

fn no_number(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) | 0x7fc00000u);
}

fn is_infinite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// x, hidden from the compiler by a mask with all bits set: Mesa's compiler rewrites sums of k c and k d as k (c + d),
// where the products must stay separate to be exact.
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & p.ones);
}

// The magnitude of x with the sign of `sign`.
fn signed_as(x: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}
alias V = E;
alias R = V;
fn value(x: V, y: V) -> R {
    return x - y;
}
fn combine(x: V, y: V, in_a: bool, in_b: bool) -> R {
    return value(x, y);
}
// For each operand: the type of its binding; `a_one`, which loads one value; and `a_four`, which loads four consecutive
// ones. Places count values. For results: the type of their binding, and `packed`, which converts four of them to it.
//
// WIDE: results are complex, and made one by one, so there is only `a_one`.
//
// Halves lie two to a word and bytes four, and are loaded by words, halves as values or as their bits; all else by
// quads.
//
// Uses: E, V and R of "combine", the bindings, and the row's texts.
alias A = vec4<E>;
fn a_one(at: u32) -> E {
    return a[at / 4u][at % 4u];
}
fn a_four(at: u32) -> vec4<E> {
    let low = a[at / 4u];
    if at % 4u == 0u {
        return low;
    }
    let high = a[min(at / 4u + 1u, arrayLength(&a) - 1u)];
    switch at % 4u {
        case 1u: { return vec4(low.yzw, high.x); }
        case 2u: { return vec4(low.zw, high.xy); }
        default: { return vec4(low.w, high.xyz); }
    }
}
alias B = vec4<E>;
fn b_one(at: u32) -> E {
    return b[at / 4u][at % 4u];
}
fn b_four(at: u32) -> vec4<E> {
    let low = b[at / 4u];
    if at % 4u == 0u {
        return low;
    }
    let high = b[min(at / 4u + 1u, arrayLength(&b) - 1u)];
    switch at % 4u {
        case 1u: { return vec4(low.yzw, high.x); }
        case 2u: { return vec4(low.zw, high.xy); }
        default: { return vec4(low.w, high.xyz); }
    }
}
alias C = vec4<R>;
fn packed(r: vec4<R>) -> C {
    return r;
}

// For a vector along an axis of element e: the number of consecutive values that use one value of it, and the axis's
// extent.
fn spans_of(e: u32, mode: u32) -> vec2<u32> {
    let axis = mode & 0xffu;
    if mode == WHOLE || axis >= p.rank {
        return vec2(1u);
    }
    if p.rank == 1u {
        return vec2(1u, c_meta[e + 1u] - c_meta[e]);
    }
    let extents = p.elements + 1u + p.rank * e;
    var inner = 1u;
    for (var k = axis + 1u; k < p.rank; k += 1u) {
        inner *= c_meta[extents + k];
    }
    return vec2(inner, c_meta[extents + axis]);
}

// The element of an operand that is used for element e.
fn vector_of(e: u32, mode: u32) -> u32 {
    return select(e, 0u, mode == WHOLE || (mode & ONE) != 0u);
}

fn entry_of(e: u32) -> Entry {
    return Entry(
        vec3(p.a_base + a_meta[vector_of(e, p.a_mode)], spans_of(e, p.a_mode)),
        vec3(p.b_base + b_meta[vector_of(e, p.b_mode)], spans_of(e, p.b_mode)),
    );
}

// The elements that a tile of c overlaps, cached in workgroup memory if there are at most SPAN.
//
// The kernel defines Entry, the data that it needs of an element, and entry_of(e), which reads it.
struct Tile {
    // The range of values of c.
    start: u32,
    end: u32,
    // `count` elements, starting at `first`.
    first: u32,
    count: u32,
    tabled: bool,
}

var<workgroup> sh_start: array<u32, SPAN + 1u>;
var<workgroup> sh_entry: array<Entry, SPAN>;
var<workgroup> sh_count: u32;

// Finds the elements of values [start, end) and fills the tables. Requires workgroup-uniform control flow.
fn tile_of(start: u32, end: u32, lid: u32) -> Tile {
    let first = find_element(start, p.elements, lid);
    if lid == 0u {
        sh_count = SPAN + 1u;
    }
    workgroupBarrier();
    if lid < SPAN {
        let e = first + lid;
        let e_start = c_meta[min(e, p.elements)];
        let e_end = c_meta[min(e + 1u, p.elements)];
        sh_start[lid] = e_start;
        if lid == SPAN - 1u {
            sh_start[SPAN] = e_end;
        }
        if e < p.elements && e_start < end {
            sh_entry[lid] = entry_of(e);
            if e_end >= end {
                sh_count = lid + 1u;
            }
        }
    }
    let count = workgroupUniformLoad(&sh_count);
    if count <= SPAN {
        return Tile(start, end, first, count, true);
    }
    let last = find_element(end - 1u, p.elements, lid);
    return Tile(start, end, first, last - first + 1u, false);
}

fn start_in_tile(e: u32, tile: Tile) -> u32 {
    if tile.tabled {
        return sh_start[e];
    }
    return c_meta[tile.first + e];
}

fn entry_in_tile(e: u32, tile: Tile) -> Entry {
    if tile.tabled {
        return sh_entry[e];
    }
    return entry_of(tile.first + e);
}

// The index in the tile of the element that contains value v of c: the last one that begins at or before v.
fn place_in_tile(v: u32, tile: Tile) -> u32 {
    var e = 0u;
    var high = tile.count;
    while high - e > 1u {
        let middle = (e + high) / 2u;
        if start_in_tile(middle, tile) <= v {
            e = middle;
        } else {
            high = middle;
        }
    }
    return e;
}

// The index in the vector of value i of an element; `spans` as returned by spans_of.
fn along(i: u32, spans: vec2<u32>) -> u32 {
    return (i / spans.x) % spans.y;
}

// The indices in the vector of values i to i + 3, which are all in one element.
fn along_four(i: u32, spans: vec2<u32>) -> vec4<u32> {
    if spans.y == 1u {
        return vec4<u32>();
    }
    let row = i / spans.x;
    var within = i - row * spans.x;
    var at = row % spans.y;
    var places = vec4(at);
    for (var k = 1u; k < 4u; k += 1u) {
        within += 1u;
        if within == spans.x {
            within = 0u;
            at += 1u;
            at = select(at, 0u, at == spans.y);
        }
        places[k] = at;
    }
    return places;
}

// Four values of c from v on, which are all in one element and begin at its value i.
fn four(v: u32, i: u32, entry: Entry) -> vec4<R> {
    var a_values: vec4<V>;
    if p.a_mode == WHOLE {
        a_values = a_four(p.a_base + v);
    } else if entry.a.z == 1u {
        a_values = vec4(a_one(entry.a.x));
    } else {
        let at = vec4(entry.a.x) + along_four(i, entry.a.yz);
        a_values = vec4(a_one(at.x), a_one(at.y), a_one(at.z), a_one(at.w));
    }
    var b_values: vec4<V>;
    if p.b_mode == WHOLE {
        b_values = b_four(p.b_base + v);
    } else if entry.b.z == 1u {
        b_values = vec4(b_one(entry.b.x));
    } else {
        let at = vec4(entry.b.x) + along_four(i, entry.b.yz);
        b_values = vec4(b_one(at.x), b_one(at.y), b_one(at.z), b_one(at.w));
    }
    return vec4(
        value(a_values.x, b_values.x),
        value(a_values.y, b_values.y),
        value(a_values.z, b_values.z),
        value(a_values.w, b_values.w),
    );
}

// Value v of c, which is value i of its element.
fn one(v: u32, i: u32, entry: Entry) -> R {
    return value(
        a_one(select(entry.a.x + along(i, entry.a.yz), p.a_base + v, p.a_mode == WHOLE)),
        b_one(select(entry.b.x + along(i, entry.b.yz), p.b_base + v, p.b_mode == WHOLE)),
    );
}

// Four values of c from v on, in any elements.
fn quad(v: u32, tile: Tile) -> vec4<R> {
    var e = place_in_tile(v, tile);
    var start = start_in_tile(e, tile);
    var end = start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile);
    if v + 4u <= end {
        return four(v, v - start, entry);
    }
    var results = vec4<R>();
    for (var k = 0u; k < 4u; k += 1u) {
        let u = v + k;
        if u < p.total {
            while u >= end {
                e += 1u;
                start = end;
                end = start_in_tile(e + 1u, tile);
                entry = entry_in_tile(e, tile);
            }
            results[k] = one(u, u - start, entry);
        }
    }
    return results;
}

// The linear index of a workgroup in its dispatch.
//
// A dispatch with more workgroups than one dimension allows is folded into x and y, and a long one is split into
// several; p.first_group is the first workgroup of this part. Workgroups from p.groups on are idle.
fn group_index(wid: vec3<u32>, count: vec3<u32>) -> u32 {
    return p.first_group + wid.y * count.x + wid.x;
}
@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
    let end = (tile.end + 3u) / 4u;
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        c[q] = packed(quad(4u * q, tile));
    }
}
