// Cumulates each line of the elements of x (the values along an axis): result i combines the values 0 to i of its line.
//
// The functions are SUM, PRODUCT and MAX; with LEAST, the last is the minimum.
//
// HELD and APART: several invocations share a line, see lib/line_groups.wgsl; each has a run of neighbouring values.
// HELD: the values of a line are consecutive, and pass through workgroup memory. APART: neighbouring invocations
// process neighbouring lines. Longer lines are cut into tiles, one workgroup each, listed in `items` as [element, line,
// tile, number of the line among the long lines]. PART combines each tile. FINISH cumulates the tiles of each line,
// listed as [-, first tile, tiles]. APPLY cumulates the values of each tile, starting from the tiles before it.
//
// f16 is computed in f32, and rounded when it is written (HALVES: by words, see lib/half_store.wgsl). Consecutive
// values are read in pairs (PAIRS). Parts of tiles are f32.

#params
#if HALVES
@group(0) @binding(1) var<storage, read_write> out: array<atomic<u32>>;
#else
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
#endif
@group(0) @binding(2) var<storage, read> items: array<u32>;
#if FINISH
@group(0) @binding(3) var<storage, read> x: array<u32>;
#else
@group(0) @binding(3) var<storage, read> x: array<E>;
#endif
@group(0) @binding(4) var<storage, read> x_meta: array<u32>;
@group(0) @binding(5) var<storage, read> before: array<u32>;

// The header defines TILE, the values of a tile: see src/ops/lines/plan.rs.

// Values of an invocation in workgroup memory.
const RUN = 16u;

#include "line_groups"

// Values, and accumulators: keys of the order, or values. nothing() changes no accumulator.
#if F16
alias V = f32;
#else
alias V = E;
#endif
#if MAX
#include "order"
alias Acc = u32;

fn nothing() -> Acc {
    return LOWEST_KEY;
}

fn combine(a: Acc, b: Acc) -> Acc {
    return max(a, b);
}

fn acc_of(x: V) -> Acc {
    return order_key(x);
}

fn bits_of(acc: Acc) -> u32 {
    return key_bits(acc);
}
#else
alias Acc = V;

#if SUM
#if U32
const NOTHING = 0u;
#else
// −0
const NOTHING = 0x80000000u;
#endif

fn nothing() -> Acc {
    return bitcast<Acc>(NOTHING);
}

fn combine(a: Acc, b: Acc) -> Acc {
    return a + b;
}
#else
fn nothing() -> Acc {
    return V(1);
}

fn combine(a: Acc, b: Acc) -> Acc {
    return a * b;
}
#endif

fn acc_of(x: V) -> Acc {
    return x;
}

fn bits_of(acc: Acc) -> u32 {
    return bitcast<u32>(acc);
}
#endif

#if FINISH
// Loads accumulators, without conversion.
fn taken(at: u32) -> Acc {
    return bitcast<Acc>(x[at]);
}
#else
#include "value_at"

fn taken(at: u32) -> Acc {
    return acc_of(value_at(at));
}
#endif

#if HALVES
#include "half_round"
#include "half_store"

fn half_of_acc(acc: Acc) -> u32 {
    return half_bits(bitcast<f32>(bits_of(acc)));
}
#else
fn put(at: u32, acc: Acc) {
#if FINISH
    out[at] = bitcast<u32>(acc);
#else
    out[at] = bits_of(acc);
#endif
}
#endif

#if PAIRS
#include "held_words"

// The distance between the first values of neighbouring invocations.
const FIRST = 2u;
#else
const FIRST = 1u;
#endif

#include "places4"

// The values at places4 below `end` of a line that begins at `base`. In place of each of the others, the last value
// before the end is read, so that the loads need no branches.
fn four(base: u32, k: u32, end: u32, step: u32, apart: u32) -> vec4<Acc> {
    let i = places4(k, apart);
    let at = vec4(base) + min(i, vec4(end - 1u)) * step;
    let v = vec4<Acc>(taken(at.x), taken(at.y), taken(at.z), taken(at.w));
    return select(vec4<Acc>(nothing()), v, i < vec4(end));
}

#if !APART
// The values of an invocation, of which there are at most RUN.
struct Held {
    a: vec4<Acc>,
    b: vec4<Acc>,
    c: vec4<Acc>,
    d: vec4<Acc>,
}

fn held_of(base: u32, k: u32, end: u32, step: u32, lanes: u32) -> Held {
#if PAIRS
    if step == 1u {
        let words = held_words(base, k, end, lanes);
        return Held(
            pairs_of(words.ab.x, words.ab.y, k, end, lanes),
            pairs_of(words.ab.z, words.ab.w, k + 4u * lanes, end, lanes),
            pairs_of(words.cd.x, words.cd.y, k + 8u * lanes, end, lanes),
            pairs_of(words.cd.z, words.cd.w, k + 12u * lanes, end, lanes),
        );
    }
#endif
    let none = vec4<Acc>(nothing());
    var held = Held(none, none, none, none);
    if k < end {
        held.a = four(base, k, end, step, lanes);
        held.b = four(base, k + 4u * lanes, end, step, lanes);
    }
    if k + 8u * lanes < end {
        held.c = four(base, k + 8u * lanes, end, step, lanes);
        held.d = four(base, k + 12u * lanes, end, step, lanes);
    }
    return held;
}

#if PAIRS
// The values of two pairs, which are at places4, below `end`.
fn pairs_of(first: u32, second: u32, k: u32, end: u32, lanes: u32) -> vec4<Acc> {
    let v = vec4(unpack2x16float(first), unpack2x16float(second));
    let accs = vec4<Acc>(acc_of(v.x), acc_of(v.y), acc_of(v.z), acc_of(v.w));
    return select(vec4<Acc>(nothing()), accs, places4(k, lanes) < vec4(end));
}
#endif
#endif

// The values of a workgroup, or two of each invocation.
#if APART
const SHARED = 2u * SIZE;
#else
#if PART
const SHARED = 2u * SIZE;
#else
const SHARED = RUN * SIZE;
#endif
#endif
var<workgroup> sh: array<Acc, SHARED>;

// The combined values of the invocations before this one among the `lanes` that share its line, whose indices are
// `apart` apart: first of the blocks of invocations before its own one, then of those in its own one.
// Must be called in uniform control flow; leaves its own data in workgroup memory.
fn earlier(total: Acc, lid: u32, lane: u32, lanes: u32, apart: u32) -> Acc {
    let blocks = rounds_of(lanes);
    let each = lanes / blocks;
    let first = lid - lane * apart;
    workgroupBarrier();
    sh[lid] = total;
    workgroupBarrier();
    if lane < blocks {
        var of_block = nothing();
        for (var k = lane * each; k < (lane + 1u) * each; k += 1u) {
            of_block = combine(of_block, sh[first + k * apart]);
        }
        sh[SIZE + lid] = of_block;
    }
    workgroupBarrier();
    let block = lane / each;
    var acc = nothing();
    for (var k = 0u; k < block; k += 1u) {
        acc = combine(acc, sh[SIZE + first + k * apart]);
    }
    for (var k = block * each; k < lane; k += 1u) {
        acc = combine(acc, sh[first + k * apart]);
    }
    workgroupBarrier();
    return acc;
}

#if !APART
#if !PART
// Where value i is in workgroup memory: neighbouring values are in different banks, and so are values RUN apart.
fn place(i: u32) -> u32 {
    return i ^ ((i / 32u) & 31u);
}

// Cumulates up to RUN * lanes values, starting from `carry`. Must be called in uniform control flow.
fn cumulate(base: u32, to: u32, step: u32, n: u32, carry: Acc, lid: u32, lane: u32, lanes: u32) {
    let slot = lid / lanes * lanes * RUN;
    let held = held_of(base, FIRST * lane, n, step, lanes);
#for i of in 0 a, 4 b, 8 c, 12 d
    // Places beyond the end are within the slot, too.
    let at_$(of) = vec4(slot) + places4(FIRST * lane + $(i)u * lanes, lanes);
    sh[place(at_$(of).x)] = held.$(of).x;
    sh[place(at_$(of).y)] = held.$(of).y;
    sh[place(at_$(of).z)] = held.$(of).z;
    sh[place(at_$(of).w)] = held.$(of).w;
#endfor
    workgroupBarrier();
    let first = slot + lane * RUN;
    var total = nothing();
#for s in 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    let v$(s) = sh[place(first + $(s)u)];
    total = combine(total, v$(s));
#endfor
    var acc = combine(carry, earlier(total, lid, lane, lanes, 1u));
#for s in 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    acc = combine(acc, v$(s));
    sh[place(first + $(s)u)] = acc;
#endfor
    workgroupBarrier();
#if HALVES
    if step == 1u {
        #use put_halves to, n, half_of_acc(sh[place(slot + i)]), lane, lanes
    } else {
        for (var k = lane; k < n; k += lanes) {
            put_half(to + k * step, half_of_acc(sh[place(slot + k)]));
        }
    }
#else
    for (var k = lane; k < n; k += lanes) {
        put(to + k * step, sh[place(slot + k)]);
    }
#endif
}
#endif
#endif

#main SIZE {
#if FINISH
    let first = items[3u * group + 1u];
    let tiles = items[3u * group + 2u];
    var carry = nothing();
    for (var begin = 0u; begin < tiles; begin += TILE) {
        let n = min(TILE, tiles - begin);
        cumulate(first + begin, first + begin, 1u, n, carry, lid, lid, WG);
        carry = sh[place(n - 1u)];
        workgroupBarrier();
    }
#else
#if PART
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let begin = items[4u * group + 2u] * TILE;
    let end = min(begin + TILE, line.count);
    let held = held_of(p.x_base + line.begin, begin + FIRST * lid, end, line.step, WG);
    var total = nothing();
#for of in a, b, c, d
    total = combine(total, combine(combine(held.$(of).x, held.$(of).y), combine(held.$(of).z, held.$(of).w)));
#endfor
    let acc = combine(earlier(total, lid, lid, WG, 1u), total);
    if lid == WG - 1u {
        out[group] = bitcast<u32>(acc);
    }
#else
#if APPLY
    let line = line_of(items[4u * group], items[4u * group + 1u]);
    let tile = items[4u * group + 2u];
    var carry = nothing();
    if tile > 0u {
        carry = bitcast<Acc>(before[group - 1u]);
    }
    let n = min(TILE, line.count - tile * TILE);
    let at = line.begin + tile * TILE * line.step;
    cumulate(p.x_base + at, at, line.step, n, carry, lid, lid, WG);
#else
    let g = group_of(group);
    let lanes = 1u << g.log;
    let lines = SIZE >> g.log;
#if APART
    let lane = lid / lines;
    let own = lid % lines;
#else
    let lane = lid & (lanes - 1u);
    let own = lid >> g.log;
#endif
    var line = Line(0u, 0u, 1u);
    var number = 0u;
    if own < g.lines {
        let place = place_of(g, own);
        number = place.y;
        line = line_of(place.x, number);
    }
#if APART
    let base = p.x_base + line.begin;
    let each = (line.count + lanes - 1u) / lanes;
    let first = min(lane * each, line.count);
    let end = min(first + each, line.count);
    var total = nothing();
    for (var k = first; k < end; k += 4u) {
        let v = four(base, k, end, line.step, 1u);
        total = combine(combine(combine(combine(total, v.x), v.y), v.z), v.w);
    }
    var acc = earlier(total, lid, lane, lanes, lines);
#if HALVES
    // An invocation that writes a word with a half of the next line computes that one, too.
    sh[lid] = acc;
    workgroupBarrier();
    let column = number % line.step;
    let has_left = own > 0u && column > 0u;
    let has_right = own + 1u < g.lines && column + 1u < line.step;
    var next = sh[min(lid + 1u, WG - 1u)];
#endif
    for (var k = first; k < end; k += 4u) {
        let v = four(base, k, end, line.step, 1u);
        let to = line.begin + k * line.step;
#if HALVES
        let beside = four(base + u32(has_right), k, end, line.step, 1u);
#for i s in 0 x, 1 y, 2 z, 3 w
        acc = combine(acc, v.$(s));
        next = combine(next, beside.$(s));
        if k + $(i)u < end {
            put_beside(to + $(i)u * line.step, half_of_acc(acc), half_of_acc(next), has_left, has_right);
        }
#endfor
#else
#for i s in 0 x, 1 y, 2 z, 3 w
        acc = combine(acc, v.$(s));
        if k + $(i)u < end {
            put(to + $(i)u * line.step, acc);
        }
#endfor
#endif
    }
#else
    cumulate(p.x_base + line.begin, line.begin, line.step, line.count, nothing(), lid, lane, lanes);
#endif
#endif
#endif
#endif
}
