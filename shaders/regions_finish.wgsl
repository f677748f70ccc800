// The table of components, from the sums of regions.wgsl: the number of cells, the box (first row, first column, and
// the ends of both), the centroid (mean row, mean column), and the value of the first cell. All are zeros if there are
// no cells.
//
// A mean is the quotient of two integers, rounded once: its bits are those of any device.

#params
@group(0) @binding(1) var<storage, read_write> areas: array<u32>;
@group(0) @binding(2) var<storage, read_write> boxes: array<u32>;
@group(0) @binding(3) var<storage, read_write> centroids: array<f32>;
@group(0) @binding(4) var<storage, read_write> values: array<u32>;
@group(0) @binding(5) var<storage, read> sums: array<u32>;
@group(0) @binding(6) var<storage, read> x: array<u32>;

const WG = 256u;
const NONE = 0xffffffffu;

// (high 2³² + low) / n, rounded to nearest, ties to even. Requires high < n.
fn quotient(high: u32, low: u32, n: u32) -> f32 {
    var rest = high;
    var digits = 0u;
    var shift = 0u;
    // 32 bits before the point, then as many after it as give 25 digits, the last of which decides the rounding.
    while shift < 32u || (digits < 0x1000000u && (digits | rest) != 0u) {
        var next = 0u;
        if shift < 32u {
            next = (low >> (31u - shift)) & 1u;
        }
        let carry = rest >> 31u;
        rest = (rest << 1u) | next;
        digits = digits << 1u;
        if carry == 1u || rest >= n {
            rest -= n;
            digits |= 1u;
        }
        shift += 1u;
    }
    // Digits beyond 24 are rounded.
    let beyond = 32u - min(countLeadingZeros(digits) + 24u, 32u);
    let unit = 1u << beyond;
    let half = unit >> 1u;
    let lost = digits & (unit - 1u);
    var kept = digits >> beyond;
    if lost > half || (lost == half && half != 0u && (rest != 0u || (kept & 1u) == 1u)) {
        kept += 1u;
    }
    // Both factors are exact: kept is at most 2²⁴, and the other one is a power of two.
    return f32(kept) * bitcast<f32>((127u + 32u + beyond - shift) << 23u);
}

#main {
    let row = group * WG + lid;
    if row < p.rows {
        let at = FIELDS * row;
        let area = sums[at];
        areas[row] = area;
        var value = 0u;
        var least = vec2(0u);
        var mean = vec2(0.0);
        if area > 0u {
            value = x[p.x_base + NONE - sums[at + 7u]];
            least = vec2(NONE - sums[at + 5u], NONE - sums[at + 6u]);
            mean.x = quotient(sums[at + 2u], sums[at + 1u], area);
            mean.y = quotient(sums[at + 4u], sums[at + 3u], area);
        }
        values[row] = value;
        boxes[4u * row] = least.x;
        boxes[4u * row + 1u] = least.y;
        boxes[4u * row + 2u] = sums[at + 8u];
        boxes[4u * row + 3u] = sums[at + 9u];
        centroids[2u * row] = mean.x;
        centroids[2u * row + 1u] = mean.y;
    }
}
