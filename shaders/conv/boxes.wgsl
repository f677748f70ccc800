// c_q = Σ_t x_{f-t} y_t for every listed pair of boxes, computed directly. Kept result q is result f = first + stride ·
// q of the full convolution. There are three axes: a matrix has one plane, a vector is one column. y may be read
// backwards along all axes at once, which gives a correlation.
//
// An invocation computes a strip: R results of one column, one below the other. Neighbouring invocations have
// neighbouring columns, so that their reads and writes are adjacent. An invocation iterates over the taps column by
// column; where no rows are skipped (p.stride_1 is 1), the values of x slide through registers. The units of `items`
// are strips.
//
// Sums are blocked by CHUNK taps: a depth of CHUNK + ⌈t / CHUNK⌉ for t taps.
//
// The entries of `items` begin at p.entries.

#params
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> x_meta: array<u32>;
@group(0) @binding(3) var<storage, read> y: array<E>;
@group(0) @binding(4) var<storage, read> y_meta: array<u32>;
@group(0) @binding(5) var<storage, read_write> c: array<E>;
@group(0) @binding(6) var<storage, read> c_meta: array<u32>;
@group(0) @binding(7) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read> pair_list: array<u32>;

const CHUNK = 128u;

#include "grid"
#include "pairs"
#include "entries"
#include "modes"

#for x before in x p.pair_left, y p.pair_right, c p.elements
fn $(x)_extents(e: u32) -> vec3<u32> {
    let at = $(before) + 1u + p.rank * e;
    switch p.rank {
        case 1u: { return vec3(1u, $(x)_meta[e + 1u] - $(x)_meta[e], 1u); }
        case 2u: { return vec3(1u, $(x)_meta[at], $(x)_meta[at + 1u]); }
        default: { return vec3($(x)_meta[at], $(x)_meta[at + 1u], $(x)_meta[at + 2u]); }
    }
}

#endfor
// The first tap that overlaps x at result f, where x has m values.
fn first_tap(f: u32, m: u32) -> u32 {
    return select(0u, f + 1u - m, f + 1u > m);
}

// Row `row` of a column of x whose rows are `width` apart; zero outside its m rows. As an unsigned number, an index
// before the first row is beyond the last.
fn x_value(column: u32, width: u32, m: u32, row: u32) -> E {
    if row >= m {
        return E(0);
    }
    return x[column + row * width];
}

// Not `#main`, so that one condition covers idle groups and idle invocations.
@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = group_index(wid, count);
    let unit = group * WG + lid;
    if group >= p.groups || unit >= p.units {
        return;
    }
    let entry = entry_of(group, unit);
    let pair = pair_of(entry.y);
    let m = x_extents(pair.x);
    let n = y_extents(pair.y);
    let r = c_extents(entry.y);

    // Columns vary fastest, then strips, then planes.
    let strips = (r.y + R - 1u) / R;
    let line = (unit - entry.x) / r.z;
    let column = unit - entry.x - line * r.z;
    let plane = line / strips;
    let q1 = (line - plane * strips) * R;
    let f0 = first_of(n.x) + p.stride_0 * plane;
    let f1 = first_of(n.y) + p.stride_1 * q1;
    let f2 = first_of(n.z) + p.stride_2 * column;
    let results = min(R, r.y - q1);

    let x_at = p.x_base + x_meta[pair.x];
    var y_at = p.y_base + y_meta[pair.y];
    var y_step = 1u;
    if p.y_backwards != 0u {
        y_at += n.x * n.y * n.z - 1u;
        y_step = 0xffffffffu;
    }
    let tap_rows = n.z * y_step;

#for r R
    var c$(r) = E(0);
#endfor
#for r R
    var all$(r) = E(0);
#endfor
    var chunk = 0u;
    let end0 = min(n.x, f0 + 1u);
    let end1 = min(n.y, f1 + p.stride_1 * (results - 1u) + 1u);
    let end2 = min(n.z, f2 + 1u);
    for (var t0 = first_tap(f0, m.x); t0 < end0; t0 += 1u) {
        for (var t2 = first_tap(f2, m.z); t2 < end2; t2 += 1u) {
            let x_column = x_at + (f0 - t0) * m.y * m.z + f2 - t2;
            var t1 = first_tap(f1, m.y);
            var tap_at = y_at + ((t0 * n.y + t1) * n.z + t2) * y_step;
            while t1 < end1 {
                // As many taps as fit in the block.
                let stop = min(end1, t1 + CHUNK - chunk);
                chunk += stop - t1;
                if p.stride_1 == 1u {
                    // v_i is x in row f1 + i - t1.
#for i R - 1
                    var v$(i + 1) = x_value(x_column, m.z, m.y, f1 + $(i + 1)u - t1);
#endfor
                    for (; t1 + 4u <= stop; t1 += 4u) {
                        let u0 = x_value(x_column, m.z, m.y, f1 - t1);
#for i 3
                        let u$(i + 1) = x_value(x_column, m.z, m.y, f1 - t1 - $(i + 1)u);
#endfor
                        let y0 = y[tap_at];
                        let y1 = y[tap_at + tap_rows];
                        let y2 = y[tap_at + 2u * tap_rows];
                        let y3 = y[tap_at + 3u * tap_rows];
                        c0 += u0 * y0; c1 += v1 * y0; c2 += v2 * y0; c3 += v3 * y0;
                        c4 += v4 * y0; c5 += v5 * y0; c6 += v6 * y0; c7 += v7 * y0;
                        c0 += u1 * y1; c1 += u0 * y1; c2 += v1 * y1; c3 += v2 * y1;
                        c4 += v3 * y1; c5 += v4 * y1; c6 += v5 * y1; c7 += v6 * y1;
                        c0 += u2 * y2; c1 += u1 * y2; c2 += u0 * y2; c3 += v1 * y2;
                        c4 += v2 * y2; c5 += v3 * y2; c6 += v4 * y2; c7 += v5 * y2;
                        c0 += u3 * y3; c1 += u2 * y3; c2 += u1 * y3; c3 += u0 * y3;
                        c4 += v1 * y3; c5 += v2 * y3; c6 += v3 * y3; c7 += v4 * y3;
                        v7 = v3;
                        v6 = v2;
                        v5 = v1;
                        v4 = u0;
                        v3 = u1;
                        v2 = u2;
                        v1 = u3;
                        tap_at += 4u * tap_rows;
                    }
                    for (; t1 < stop; t1 += 1u) {
                        let u0 = x_value(x_column, m.z, m.y, f1 - t1);
                        let y0 = y[tap_at];
                        c0 += u0 * y0; c1 += v1 * y0; c2 += v2 * y0; c3 += v3 * y0;
                        c4 += v4 * y0; c5 += v5 * y0; c6 += v6 * y0; c7 += v7 * y0;
#for i R - 2
                        v$(R - 1 - i) = v$(R - 2 - i);
#endfor
                        v1 = u0;
                        tap_at += tap_rows;
                    }
                } else {
                    for (; t1 < stop; t1 += 1u) {
                        let row = f1 - t1;
                        let s = p.stride_1;
                        let y0 = y[tap_at];
                        c0 += x_value(x_column, m.z, m.y, row) * y0;
                        c1 += x_value(x_column, m.z, m.y, row + s) * y0;
#for i R - 2
                        c$(i + 2) += x_value(x_column, m.z, m.y, row + $(i + 2)u * s) * y0;
#endfor
                        tap_at += tap_rows;
                    }
                }
                if chunk == CHUNK {
                    chunk = 0u;
                    all0 += c0; all1 += c1; all2 += c2; all3 += c3;
                    all4 += c4; all5 += c5; all6 += c6; all7 += c7;
                    c0 = E(0); c1 = E(0); c2 = E(0); c3 = E(0);
                    c4 = E(0); c5 = E(0); c6 = E(0); c7 = E(0);
                }
            }
        }
    }
    let values = array(
        all0 + c0, all1 + c1, all2 + c2, all3 + c3, all4 + c4, all5 + c5, all6 + c6, all7 + c7,
    );
    let c_at = c_meta[entry.y] + (plane * r.y + q1) * r.z + column;
    for (var i = 0u; i < R; i += 1u) {
        if i < results {
            c[c_at + i * r.z] = values[i];
        }
    }
}
