// Copies boxes of p.rank axes. Each axis of x is read along some axis of the result: from a shift on, to its end, so
// that its middle is that of the result, backwards, one value repeatedly, or every few values from a place on that is
// counted from either end. The result is zero where x has no such value. RANK2: matrices. PLACED: only every few
// values of the result have a source value, those that such a place and step select; each axis of x is read along the
// same axis of the result.
//
// Along axis a of the result, x is read from `first` on, `count` times, `stride` values apart, where the stride may be
// negative. These numbers are in tables as in ambient/mod.wgsl; strided/mod.wgsl says which element of x is read. An
// invocation makes one value at a time, or a word of two halves or four bytes.

struct Params {
    first_group: u32,
    groups: u32,
    total: u32,
    elements: u32,
    tile: u32,
    x_base: u32,
    x_elements: u32,
    rank: u32,
    size: u32,
    stride: u32,
    // For each axis of x, four bits: the axis of the result along which it is read.
    along: u32,
    // Bit j: axis j is read backwards. Bit 8: an extent of 1 is repeated. Bit 16 + j: axis j is read to its end. Bit
    // 24 + j: its middle is that of the result.
    flags: u32,
    shift: array<vec4<i32>, 2>,
    // The distance of values along an axis whose shift is such a place; 0 for other axes.
    step: array<vec4<i32>, 2>,
}

#if C32
alias Value = vec2<u32>;
#else
alias Value = u32;
#endif

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<Value>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read_write> c: array<Value>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 64u;
#if RANK2
const AXES = 2u;
#else
const AXES = 8u;
#endif

struct Entry {
    begin: u32,
    // The extent in the result, first, count, stride. The extent of axis 0 is never needed: RANK2 stores the bits of 1
    // / width in its place.
    axes: array<vec4<u32>, AXES>,
}

#include "packed"
#include "search"
#include "rows"

fn extent_of_x(source: u32, axis: u32) -> i32 {
    if p.rank == 1u {
        return i32(x_meta[source + 1u] - x_meta[source]);
    }
    return i32(x_meta[p.x_elements + 1u + p.rank * source + axis]);
}

fn extent_of_c(e: u32, axis: u32) -> i32 {
    if p.rank == 1u {
        return i32(c_meta[e + 1u] - c_meta[e]);
    }
    return i32(c_meta[p.elements + 1u + p.rank * e + axis]);
}

fn entry_of(e: u32) -> Entry {
    var entry = Entry();
    let source = e / p.size * p.stride + e % p.size;
    if source >= p.x_elements {
        // No axis has a value to read; only the extents matter.
        for (var a = 0u; a < p.rank; a += 1u) {
            entry.axes[a] = vec4(u32(extent_of_c(e, a)), 0u, 0u, 0u);
        }
    } else {
        entry.begin = x_meta[source];
#if C32
        entry.begin += p.x_base / 2u;
#else
        entry.begin += p.x_base;
#endif
        // Sums wrap around if an axis has nothing to read, and nothing is read then.
        var stride = 1;
        for (var j = p.rank; j > 0u; j -= 1u) {
            let axis = j - 1u;
            let a = (p.along >> (4u * axis)) & 15u;
            let there = extent_of_x(source, axis);
            let extent = extent_of_c(e, a);
            var shift = p.shift[axis / 4u][axis % 4u];
            if ((p.flags >> (16u + axis)) & 1u) != 0u {
                shift = there - extent;
            }
            if ((p.flags >> (24u + axis)) & 1u) != 0u {
                shift = (there - extent) / 2;
            }
            var first = max(0, -shift);
            // Each difference is of nonnegative numbers. Combined, they would overflow for extents near 2³¹.
            var count = max(0, min(extent - first, there - max(0, shift)));
            var step = stride;
            let distance = p.step[axis / 4u][axis % 4u];
            if distance != 0 {
                let back = i32(distance < 0);
#if PLACED
                count = there;
                let place = clamp(select(shift, shift + extent, shift < 0), -back, extent - back);
                // Backwards, the last value of x comes first.
                first = place + back * distance * (there - 1);
                entry.begin += u32(back * (there - 1) * stride);
                step = stride - 2 * back * stride;
#else
                // The result has as many values as there are.
                count = extent;
                let place = clamp(select(shift, shift + there, shift < 0), -back, there - back);
                first = 0;
                entry.begin += u32(place * stride);
                step = distance * stride;
#endif
            } else if ((p.flags >> axis) & 1u) != 0u {
                count = min(extent, there);
                entry.begin += u32((there - 1) * stride);
                step = -stride;
            } else if there == 1 && ((p.flags >> 8u) & 1u) != 0u {
                count = extent;
                step = 0;
            } else {
                entry.begin += u32(max(0, shift) * stride);
            }
            entry.axes[a] = vec4(u32(extent), u32(first), u32(count), u32(step));
            stride *= there;
        }
    }
#if RANK2
    entry.axes[0].x = bitcast<u32>(1.0 / f32(max(entry.axes[1].x, 1u)));
#endif
    return entry;
}

#include "tables"

// The value at index i of x, or zero.
fn value_at(i: u32, there: bool) -> Value {
    if !there {
        return Value();
    }
#if C32
    return x[i];
#else
    return unit_of(x[i / UNITS], i);
#endif
}

// The number of source values along axis a before place k of the result, of which `first` is the first that has one;
// more than there are if k has none.
fn before(k: u32, a: u32, first: u32) -> u32 {
    // Wraps around before `first`.
    let past = k - first;
#if PLACED
    let apart = max(u32(abs(p.step[a / 4u][a % 4u])), 1u);
    let count = past / apart;
    return select(0xFFFFFFFFu, count, k >= first && past == count * apart);
#else
    return past;
#endif
}

// Value i of an element of c.
fn value_in(i: u32, e: u32, tile: Tile) -> Value {
    let entry = entry_in_tile(e, tile);
    var rest = i;
    var at = entry.begin;
    var there = true;
#if RANK2
    let across = entry.axes[1];
    let row = row_of(rest, across.x, bitcast<f32>(entry.axes[0].x));
    let column = before(rest - row * across.x, 1u, across.y);
    there = column < across.z;
    at += column * across.w;
    rest = row;
#else
    for (var a = p.rank - 1u; a > 0u; a -= 1u) {
        let axis = entry.axes[a];
        let quotient = rest / axis.x;
        let k = before(rest - quotient * axis.x, a, axis.y);
        rest = quotient;
        there = there && k < axis.z;
        at += k * axis.w;
    }
#endif
    let down = entry.axes[0];
    let k = before(rest, 0u, down.y);
    there = there && k < down.z;
    return value_at(at + k * down.w, there);
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#use put_words tile
}
