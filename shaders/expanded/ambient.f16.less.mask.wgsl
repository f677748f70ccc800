// ambient.f16.less.mask
alias E = u32;
const ELEMENTWISE = 0u;
const ONE_TO_ALL = 1u;
const ALL_TO_ALL = 2u;
// c = f(a, b) for every pair of vectors, where `combine` knows what a missing entry is: f is a row of the table in
// src/ops/ambient. CONCAT: b follows a.
//
// A workgroup makes p.tile consecutive values of c: it finds the element in which the tile begins, and caches the data
// of that element and of the next ones in tables in workgroup memory, if there are at most SPAN. An invocation makes
// four consecutive values at a time, so that it searches once for four; c begins at a multiple of four and has slack
// after its last value. WIDE: c is complex; one value at a time.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    ones: u32,
    a_base: u32,
    b_base: u32,
    elements: u32,
    tile: u32,
    pair_kind: u32,
    pair_right: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> a: array<A>;
@group(0) @binding(2) var<storage, read> a_meta: array<u32>;
@group(0) @binding(3) var<storage, read> b: array<B>;
@group(0) @binding(4) var<storage, read> b_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<C>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;

const WG = 256u;
// Elements that the tables hold.
const SPAN = 256u;
// Where elements are longer than this on average, four values mostly lie in one of them.
const LONG = 32u;

// Where the operands of an element begin, and how long they are: one load of 16 bytes.
struct Entry {
    // a, b, values of a, values of b
    at: vec4<u32>,
}

// The elements of the two operands in pair i. p.pair_kind says how elements pair up, p.pair_right is the size of the
// right batch, and pair_list holds the listed pairs.
fn pair_of(i: u32) -> vec2<u32> {
    switch p.pair_kind {
        case ELEMENTWISE: { return vec2(i, i); }
        case ONE_TO_ALL: { return vec2(0u, i); }
        case ALL_TO_ALL: { return vec2(i / p.pair_right, i % p.pair_right); }
        default: { return vec2(pair_list[2u * i], pair_list[2u * i + 1u]); }
    }
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
// Compares as integers, because compilers may assume that nothing is NaN, and GPUs may flush subnormal numbers to zero.

// Maps floats to integers in the same order, with −0 just below +0.
fn order_of(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return bits ^ ((bits >> 31u) & 0x7fffffff);
}

// The same with −0 equal to +0.
fn level_of(x: f32) -> i32 {
    return select(order_of(x), 0, (bitcast<u32>(x) & 0x7fffffffu) == 0u);
}

fn is_less(x: f32, y: f32) -> bool {
    return level_of(x) < level_of(y) && !is_nan(x) && !is_nan(y);
}

fn is_equal(x: f32, y: f32) -> bool {
    return level_of(x) == level_of(y) && !is_nan(x);
}

// The operand that is NaN (the left one if both are), or else `value`.
fn kept(x: f32, y: f32, value: f32) -> f32 {
    return select(select(value, y, is_nan(y)), x, is_nan(x));
}

fn larger(x: f32, y: f32) -> f32 {
    return kept(x, y, select(y, x, order_of(x) > order_of(y)));
}

fn smaller(x: f32, y: f32) -> f32 {
    return kept(x, y, select(y, x, order_of(x) < order_of(y)));
}
alias V = f32;
alias R = u32;
fn value(x: V, y: V) -> R {
    return u32(is_less(x, y));
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
alias A = u32;
fn a_one(at: u32) -> V {
    let half = (a[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
    return unpack2x16float(half).x;
}
fn a_four(at: u32) -> vec4<V> {
    let last = arrayLength(&a) - 1u;
    let first = at / 2u;
    var words = vec2(a[first], a[min(first + 1u, last)]);
    if at % 2u != 0u {
        let next = a[min(first + 2u, last)];
        words = (words >> vec2(16u)) | (vec2(words.y, next) << vec2(16u));
    }
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}
alias B = u32;
fn b_one(at: u32) -> V {
    let half = (b[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
    return unpack2x16float(half).x;
}
fn b_four(at: u32) -> vec4<V> {
    let last = arrayLength(&b) - 1u;
    let first = at / 2u;
    var words = vec2(b[first], b[min(first + 1u, last)]);
    if at % 2u != 0u {
        let next = b[min(first + 2u, last)];
        words = (words >> vec2(16u)) | (vec2(words.y, next) << vec2(16u));
    }
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}
alias C = vec4<R>;
fn packed(r: vec4<R>) -> C {
    return r;
}

fn entry_of(e: u32) -> Entry {
    let pair = pair_of(e);
    let a_start = a_meta[pair.x];
    let b_start = b_meta[pair.y];
    var lengths = vec2(a_meta[pair.x + 1u] - a_start, b_meta[pair.y + 1u] - b_start);
    return Entry(vec4(p.a_base + a_start, p.b_base + b_start, lengths));
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

// Values i .. i + 4 of a run of `length` values that begins at `start`; zeros beyond it.
fn a_run(start: u32, i: u32, length: u32) -> vec4<V> {
    if i >= length {
        return vec4<V>();
    }
    return select(vec4<V>(), a_four(start + i), vec4(i, i + 1u, i + 2u, i + 3u) < vec4(length));
}

fn b_run(start: u32, i: u32, length: u32) -> vec4<V> {
    if i >= length {
        return vec4<V>();
    }
    return select(vec4<V>(), b_four(start + i), vec4(i, i + 1u, i + 2u, i + 3u) < vec4(length));
}

// Values i .. i + 4 of an element of c.
fn combine_four(entry: vec4<u32>, i: u32) -> vec4<R> {
    let x = a_run(entry.x, i, entry.z);
    let y = b_run(entry.y, i, entry.w);
    let in_a = vec4(i, i + 1u, i + 2u, i + 3u) < vec4(entry.z);
    let in_b = vec4(i, i + 1u, i + 2u, i + 3u) < vec4(entry.w);
    return vec4(
        combine(x.x, y.x, in_a.x, in_b.x),
        combine(x.y, y.y, in_a.y, in_b.y),
        combine(x.z, y.z, in_a.z, in_b.z),
        combine(x.w, y.w, in_a.w, in_b.w),
    );
}

// Four values of c from v on.
fn quad(v: u32, tile: Tile) -> vec4<R> {
    var e = place_in_tile(v, tile);
    var start = start_in_tile(e, tile);
    var end = start_in_tile(e + 1u, tile);
    var entry = entry_in_tile(e, tile);
    if tile.count * LONG <= p.tile && v + 4u <= end {
        return combine_four(entry.at, v - start);
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
            let i = u - start;
            let j = i;
            let in_a = i < entry.at.z;
            let in_b = j < entry.at.w;
            var x = V();
            var y = V();
            if in_a {
                x = a_one(entry.at.x + i);
            }
            if in_b {
                y = b_one(entry.at.y + j);
            }
            results[k] = combine(x, y, in_a, in_b);
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
    if tile.count == 1u {
        // The whole tile is in one element: no search, and two quads in flight at a time.
        let entry = sh_entry[0].at;
        let start = sh_start[0];
        for (var q = tile.start / 4u + lid; q < end; q += 2u * WG) {
            let i = 4u * q - start;
            let j = i + 4u * WG;
            let here = combine_four(entry, i);
            let there = combine_four(entry, j);
            c[q] = packed(here);
            if q + WG < end {
                c[q + WG] = packed(there);
            }
        }
        return;
    }
    for (var q = tile.start / 4u + lid; q < end; q += WG) {
        c[q] = packed(quad(4u * q, tile));
    }
}
