// One word per element: a reduction of its values, or with PAIRS of two paired elements.
//
// The reductions are SUM (with ABS of the magnitudes), BOX (a word for each axis; with BOUNDS two), NORM2, MAX and
// ARGMAX; for PAIRS, SUM of the products over the overlap, and EQUAL after zero extension. RANK1: the elements of pairs
// are vectors; otherwise they are boxes of p.rank axes. BYTES: values are bytes, which p.a_base counts.
//
// The method depends on the element's own size alone. THREAD: elements of up to SHORT values, one per invocation.
// LANES: the elements listed in items (all of them if nothing is listed), with LANES_EACH invocations each. TILES:
// [element, first value, slot] in items, a workgroup each; a tile that is not its element's only one leaves its part in
// partials[slot].
//
// p.count elements are in the dispatch; p.listed: items lists them.

#params
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read> items: array<u32>;
@group(0) @binding(3) var<storage, read> a: array<E>;
@group(0) @binding(4) var<storage, read> a_meta: array<u32>;
#if PAIRS
@group(0) @binding(5) var<storage, read> b: array<E>;
@group(0) @binding(6) var<storage, read> b_meta: array<u32>;
@group(0) @binding(7) var<storage, read> pair_list: array<u32>;
#if TILES
@group(0) @binding(8) var<storage, read_write> partials: array<Part>;
#endif
#else
#if TILES
@group(0) @binding(5) var<storage, read_write> partials: array<Part>;
#endif
#endif

// The header defines SHORT, LANES_EACH and TILE: see src/ops/reduce/plan.rs.

#include "reduce"

// The element or pair being reduced.
struct Item {
    // Offset of the values.
    a: u32,
    // Values to reduce.
    size: u32,
#if BOX
    // Offset of the extents.
    extents: u32,
#endif
#if PAIRS
    b: u32,
    a_size: u32,
    b_size: u32,
    // Offsets of the extents.
    a_extents: u32,
    b_extents: u32,
#endif
}

#if !PAIRS
fn open(e: u32) -> Item {
    let start = a_meta[e];
#if BOX
    return Item(p.a_base + start, a_meta[e + 1u] - start, p.a_elements + 1u + e * p.rank);
#else
    return Item(p.a_base + start, a_meta[e + 1u] - start);
#endif
}
#else
#include "pairs"

fn open(e: u32) -> Item {
    let pair = pair_of(e);
    let a_start = a_meta[pair.x];
    let b_start = b_meta[pair.y];
    let a_size = a_meta[pair.x + 1u] - a_start;
    let b_size = b_meta[pair.y + 1u] - b_start;
    let a_extents = p.a_elements + 1u + pair.x * p.rank;
    let b_extents = p.pair_right + 1u + pair.y * p.rank;
#if RANK1
#if EQUAL
    let size = max(a_size, b_size);
#else
    let size = min(a_size, b_size);
#endif
#else
#if EQUAL
    // First every value on the left, then every value on the right.
    let size = a_size + b_size;
#else
    var size = 1u;
    for (var axis = 0u; axis < p.rank; axis += 1u) {
        size *= min(a_meta[a_extents + axis], b_meta[b_extents + axis]);
    }
#endif
#endif
    return Item(p.a_base + a_start, size, p.b_base + b_start, a_size, b_size, a_extents, b_extents);
}

// The offsets of an index vector in both boxes, and whether it is inside them.
struct Place {
    a: u32,
    b: u32,
    in_a: bool,
    in_b: bool,
}

#if RANK1
fn place_of(item: Item, i: u32) -> Place {
    return Place(i, i, i < item.a_size, i < item.b_size);
}
#else
fn place_of(item: Item, i: u32) -> Place {
    var place = Place(0u, 0u, true, true);
#if EQUAL
    let left = i < item.a_size;
    var rest = select(i - item.a_size, i, left);
#else
    var rest = i;
#endif
    var a_stride = 1u;
    var b_stride = 1u;
    for (var axis = p.rank - 1u; axis > 0u; axis -= 1u) {
        let a_extent = a_meta[item.a_extents + axis];
        let b_extent = b_meta[item.b_extents + axis];
#if EQUAL
        let extent = select(b_extent, a_extent, left);
#else
        let extent = min(a_extent, b_extent);
#endif
        let quotient = rest / extent;
        let along = rest - quotient * extent;
        rest = quotient;
        place.in_a = place.in_a && along < a_extent;
        place.in_b = place.in_b && along < b_extent;
        place.a += along * a_stride;
        place.b += along * b_stride;
        a_stride *= a_extent;
        b_stride *= b_extent;
    }
    place.in_a = place.in_a && rest < a_meta[item.a_extents];
    place.in_b = place.in_b && rest < b_meta[item.b_extents];
    place.a += rest * a_stride;
    place.b += rest * b_stride;
    return place;
}
#endif
#endif

// The accumulator after value i of the item.
#if SUM
#if PAIRS
fn take(acc: Acc, item: Item, i: u32) -> Acc {
    let place = place_of(item, i);
#if F32
    // Explicit fma, so that vectors and boxes round alike.
    return fma(a[item.a + place.a], b[item.b + place.b], acc);
#else
    return acc + a[item.a + place.a] * b[item.b + place.b];
#endif
}
#else
fn take(acc: Acc, item: Item, i: u32) -> Acc {
    return taken(acc, a[item.a + i], i);
}
#endif
#endif
#if BYTES
#include "bytes"

fn a_at(i: u32) -> u32 {
    return byte_of(a[i / 4u], i);
}
#else
fn a_at(i: u32) -> E {
    return a[i];
}
#endif
#if BOX
#if BOUNDS
fn take(acc: Acc, item: Item, i: u32) -> Acc {
    if a_at(item.a + i) == p.background {
        return acc;
    }
    let width = a_meta[item.extents + 1u];
    let row = i / width;
    let column = i - row * width;
    return combine(acc, Acc(vec4(~row, ~column, row + 1u, column + 1u), vec4<u32>()));
}
#else
fn take(acc: Acc, item: Item, i: u32) -> Acc {
#if F16
    let at = item.a + i;
    let zero = ((a[at / 2u] >> (16u * (at % 2u))) & 0x7fffu) == 0u;
#else
    let x = bitcast<u32>(a[item.a + i]);
#if F32
    let zero = (x & 0x7fffffffu) == 0u;
#else
    let zero = x == 0u;
#endif
#endif
    if zero {
        return acc;
    }
    // From the last axis to the first; each axis is inserted before the later ones.
    var ends = nothing();
    var rest = i;
    for (var axis = p.rank - 1u; axis > 0u; axis -= 1u) {
        let extent = a_meta[item.extents + axis];
        let quotient = rest / extent;
        ends = in_front(rest - quotient * extent + 1u, ends);
        rest = quotient;
    }
    return combine(acc, in_front(rest + 1u, ends));
}

fn in_front(end: u32, ends: Acc) -> Acc {
    return Acc(vec4(end, ends.low.xyz), vec4(ends.low.w, ends.high.xyz));
}
#endif
#endif
#if MAX
fn take(acc: Acc, item: Item, i: u32) -> Acc {
    return taken(acc, a_at(item.a + i), i);
}
#endif
#if ARGMAX
fn take(acc: Acc, item: Item, i: u32) -> Acc {
    return taken(acc, a_at(item.a + i), i);
}
#endif
#if EQUAL
fn take(acc: Acc, item: Item, i: u32) -> Acc {
    let place = place_of(item, i);
    var x = 0u;
    var y = 0u;
    if place.in_a {
        x = bitcast<u32>(a[item.a + place.a]);
    }
    if place.in_b {
        y = bitcast<u32>(b[item.b + place.b]);
    }
#if F32
    let zeros = ((x | y) & 0x7fffffffu) == 0u;
    let number = (x & 0x7fffffffu) <= 0x7f800000u;
    return acc | select(1u, 0u, zeros || (x == y && number));
#else
    return acc | select(1u, 0u, x == y);
#endif
}
#endif

// Reduces every `step`-th value from `begin` to before `end`, in four independent chains.
fn reduce_run(item: Item, begin: u32, end: u32, step: u32) -> Acc {
#if NORM2
    var top = 0u;
    for (var i = begin; i < end; i += step) {
        top = max(top, bitcast<u32>(a[item.a + i]) & 0x7fffffffu);
    }
    let scale = norm_scale(top);
    var s = vec4(0.0);
    var j = begin;
    for (; j + 3u * step < end; j += 4u * step) {
        let x = scale * vec4(
            a[item.a + j],
            a[item.a + j + step],
            a[item.a + j + 2u * step],
            a[item.a + j + 3u * step],
        );
        s = fma(x, x, s);
    }
    for (; j < end; j += step) {
        let x = scale * a[item.a + j];
        s.x = fma(x, x, s.x);
    }
    return Acc(top, bitcast<u32>((s.x + s.y) + (s.z + s.w)));
#else
    var acc0 = nothing();
    var acc1 = nothing();
    var acc2 = nothing();
    var acc3 = nothing();
    var i = begin;
    for (; i + 3u * step < end; i += 4u * step) {
        acc0 = take(acc0, item, i);
        acc1 = take(acc1, item, i + step);
        acc2 = take(acc2, item, i + 2u * step);
        acc3 = take(acc3, item, i + 3u * step);
    }
    for (; i < end; i += step) {
        acc0 = take(acc0, item, i);
    }
    return combine(combine(acc0, acc1), combine(acc2, acc3));
#endif
}

#main {
#if THREAD
    let e = group * WG + lid;
    if e < p.count {
        let item = open(e);
        if item.size <= SHORT {
            put(e, reduce_run(item, 0u, item.size, 1u));
        }
    }
#endif
#if LANES
    let at = group * (WG / LANES_EACH) + lid / LANES_EACH;
    let lane = lid % LANES_EACH;
    var e = at;
    var acc = nothing();
    if at < p.count {
        if p.listed != 0u {
            e = items[at];
        }
        let item = open(e);
        acc = reduce_run(item, lane, item.size, LANES_EACH);
    }
    acc = tree(acc, lid, lane, LANES_EACH, 1u);
    if lane == 0u && at < p.count {
        put(e, acc);
    }
#endif
#if TILES
    let e = items[3u * group];
    let first = items[3u * group + 1u];
    let slot = items[3u * group + 2u];
    let item = open(e);
    let acc = reduce_run(item, first + lid, min(first + TILE, item.size), WG);
    let all = tree(acc, lid, lid, WG, 1u);
    if lid == 0u {
        if slot == NO_SLOT {
            put(e, all);
        } else {
#if BOX
            partials[2u * slot] = all.low;
            partials[2u * slot + 1u] = all.high;
#else
            partials[slot] = all;
#endif
        }
    }
#endif
}
