// Lays boxes out as the vectors that are convolved instead of them, and extracts the kept results.
//
// Value i of an element in `to` is value (first_k + stride_k · i_k)_k of its box in `from`, or zero if that lies
// outside the box; i_k are the coordinates of i in the planes and rows of `to`. The units of `items` are values of
// `to`. `boxes` holds 12 words for each element: its offset in `to`, and the values of a plane and of a row there; its
// offset in `from`, and the same; three first indices, and three extents.

#params
@group(0) @binding(1) var<storage, read> from_values: array<E>;
@group(0) @binding(2) var<storage, read_write> to_values: array<E>;
@group(0) @binding(3) var<storage, read> items: array<u32>;
@group(0) @binding(4) var<storage, read> boxes: array<vec4<u32>>;

// Values per invocation.

#include "entries"

#main {
    for (var k = 0u; k < EACH; k += 1u) {
        let unit = (group * EACH + k) * WG + lid;
        if unit >= p.units {
            return;
        }
        let entry = entry_of(group, unit);
        let head = boxes[3u * entry.y]; // to: begin, plane, row; from: begin
        let more = boxes[3u * entry.y + 1u]; // from: plane, row; first indices of planes and rows
        let last = boxes[3u * entry.y + 2u]; // first index of columns; extents
        let i = unit - entry.x;
        let plane = i / head.y;
        let within = i - plane * head.y;
        let row = within / head.z;
        let column = within - row * head.z;
        let at = vec3(
            more.z + p.stride_0 * plane,
            more.w + p.stride_1 * row,
            last.x + p.stride_2 * column,
        );
        var value = E(0);
        if all(at < last.yzw) {
            value = from_values[p.from_base + head.w + at.x * more.x + at.y * more.y + at.z];
        }
        to_values[head.x + i] = value;
    }
}
