// Rotary position embeddings: the two values of each pair of a head, (a, b), become (a cos φ − b sin φ, b cos φ + a sin
// φ), where φ depends on the row and the pair.
//
// table: for each row, and each pair of a head, cos φ and sin φ; with STARTS, for each digit of a position instead of
// each row, and starts holds the position of the first row of each element. Tiles and tables of elements as in
// ambient/mod.wgsl. An invocation computes one result at a time, or a word of two halves.

#params turn: f32
@group(0) @binding(1) var<storage, read> x: array<E>;
@group(0) @binding(2) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> c: array<u32>;
@group(0) @binding(4) var<storage, read> c_meta: array<u32>;
@group(0) @binding(5) var<storage, read> starts: array<u32>;

const WG = 256u;
// Elements that fit in the tables.
const SPAN = 256u;

// Where the element's values of x begin, and the position of its first row.
struct Entry {
    begin: u32,
#if STARTS
    start: u32,
#endif
}

#include "search"

fn entry_of(e: u32) -> Entry {
#if STARTS
    return Entry(p.x_base + c_meta[e], starts[p.starts_base + e]);
#else
    return Entry(p.x_base + c_meta[e]);
#endif
}

#include "tables"
#include "rows"
#include "value_at"
#if F16
#include "half_round"

fn bits_of(y: f32) -> u32 {
    return half_bits(y);
}
#else
fn bits_of(y: f32) -> u32 {
    return bitcast<u32>(y);
}
#endif

#if STARTS
const DIGITS = 1u << DIGIT;

// The cosine and sine of a position, from those of its digits.
fn angle_at(position: u32, pair: u32, half: u32) -> vec2<f32> {
    var angle = table[(position % DIGITS) * half + pair];
    var first = DIGITS;
    for (var left = position >> DIGIT; left != 0u; left >>= DIGIT) {
        let next = table[(first + left % DIGITS) * half + pair];
        angle = vec2(angle.x * next.x - angle.y * next.y, fma(angle.y, next.x, angle.x * next.y));
        first += DIGITS;
    }
    return angle;
}
#endif

fn result(v: u32, tile: Tile) -> u32 {
    let e = place_in_tile(v, tile);
    let i = v - start_in_tile(e, tile);
    let row = row_of(i, p.width, 1.0 / f32(p.width));
    let column = (i - row * p.width) % p.d;
    let half = p.d / 2u;
    // Pairs are neighbours, or values half a head apart.
    let apart = select(half, 1u, p.neighbours != 0u);
    let pair = select(column % half, column / 2u, p.neighbours != 0u);
    let is_second = select(column / half, column % 2u, p.neighbours != 0u) != 0u;
    let entry = entry_in_tile(e, tile);
    let at = entry.begin + i;
    let other = select(at + apart, at - apart, is_second);
#if STARTS
    let angle = angle_at(entry.start + row, pair, half);
#else
    let angle = table[row * half + pair];
#endif
    let sine = angle.y * select(-p.turn, p.turn, is_second);
    return bits_of(fma(value_at(at), angle.x, value_at(other) * sine));
}

#main {
    let tile = tile_of(group * p.tile, min((group + 1u) * p.tile, p.total), lid);
#if F16
    for (var w = tile.start / 2u + lid; 2u * w < tile.end; w += WG) {
        var word = result(2u * w, tile);
        if 2u * w + 1u < tile.end {
            word |= result(2u * w + 1u, tile) << 16u;
        }
        c[w] = word;
    }
#else
    for (var v = tile.start + lid; v < tile.end; v += WG) {
        c[v] = result(v, tile);
    }
#endif
}
