// Copies pieces of vectors, of any 32-bit type, to destinations that may be longer, padded with zeros, or shorter.
//
// A workgroup copies PIECES entries of the list: (offset in x, values available, offset in y, values wanted), at most
// 512 values.

#params
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@group(0) @binding(3) var<storage, read> list: array<vec4<u32>>;

const WG = 256u;
const LANES = WG / PIECES;

#main {
    let number = group * PIECES + lid / LANES;
    if number >= p.pieces {
        return;
    }
    let piece = list[number];
    for (var i = lid % LANES; i < piece.w; i += LANES) {
        var value = 0u;
        if i < piece.y {
            value = x[p.x_base + piece.x + i];
        }
        y[piece.z + i] = value;
    }
}
