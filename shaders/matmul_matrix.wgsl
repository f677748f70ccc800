// c = residual + f(scale · a b + bias) of f16 on cooperative matrices; a, b or both (LEFT, RIGHT) may be stored transposed.
//
// A workgroup makes a tile of one product. It stages some columns of a and rows of b as they are stored, and
// a subgroup of 32 sums its part of the tile in matrices of SIDE x SIDE, SIDE products at a time: 16, or 8 (EIGHT), where subgroups may be
// of fewer lanes. What the next stage needs is loaded meanwhile. Sums and c are f32. a and b are made of whole quads of words, eight values, or LOOSE: of any values at all.
//
// Sums are a chain of ⌈k / SIDE⌉ additions of SIDE products.

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> bias: array<u32>;
@group(0) @binding(6) var<storage, read_write> residual: array<u32>;

#include "grid"
#include "half_of"
#include "product"

fn bias_value(i: u32) -> f32 {
    return half_of(bias[i / 2u], i);
}

fn residual_value(i: u32) -> f32 {
    return half_of(residual[i / 2u], i);
}

// Four values from two words, bit by bit.
fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

#if LOOSE
// A word of two values from their place on, of which the first `count` are wanted.
fn word_of(low: u32, high: u32, at: u32, count: u32) -> u32 {
    let word = select(low, (low >> 16u) | (high << 16u), at % 2u != 0u);
    return select(select(word & 0xFFFFu, 0u, count == 0u), word, count > 1u);
}

fn a_word(i: u32) -> u32 {
    let at = min(i, 4u * arrayLength(&a) - 1u);
    return a[at / 4u][at % 4u];
}

fn b_word(i: u32) -> u32 {
    let at = min(i, 4u * arrayLength(&b) - 1u);
    return b[at / 4u][at % 4u];
}

// Values of eight before the end of a row.
fn values_left(along: u32, end: u32) -> u32 {
    return min(max(end, along) - along, 8u);
}

// The first n of eight values, and zeros.
fn a_unit_from(at: u32, n: u32) -> vec4<u32> {
    let i = at / 2u;
    let w = array(a_word(i), a_word(i + 1u), a_word(i + 2u), a_word(i + 3u), a_word(i + 4u));
    return vec4(
        word_of(w[0], w[1], at, n),
        word_of(w[1], w[2], at, max(n, 2u) - 2u),
        word_of(w[2], w[3], at, max(n, 4u) - 4u),
        word_of(w[3], w[4], at, max(n, 6u) - 6u),
    );
}

fn b_unit_from(at: u32, n: u32) -> vec4<u32> {
    let i = at / 2u;
    let w = array(b_word(i), b_word(i + 1u), b_word(i + 2u), b_word(i + 3u), b_word(i + 4u));
    return vec4(
        word_of(w[0], w[1], at, n),
        word_of(w[1], w[2], at, max(n, 2u) - 2u),
        word_of(w[2], w[3], at, max(n, 4u) - 4u),
        word_of(w[3], w[4], at, max(n, 6u) - 6u),
    );
}
#endif

#generate "matmul_matrix"

// A subgroup's scratch to the result, by quads: what of it is inside.
fn put_matrix(o: Product, row0: u32, column0: u32, scratch: u32, lane: u32, lanes: u32) {
    for (var i = lane; i < SIDE * SIDE / 4u; i += lanes) {
        let at = scratch + 4u * i;
        let sums = vec4(sh_c[at], sh_c[at + 1u], sh_c[at + 2u], sh_c[at + 3u]);
        put_quad(o, row0 + 4u * i / SIDE, column0 + 4u * i % SIDE, sums, true, true);
    }
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
    @builtin(subgroup_id) subgroup: u32,
#if EIGHT
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
#endif
) {
    let group = group_index(wid, count);
    if group >= p.groups {
        return;
    }
#if EIGHT
    make_tile(product(group), lid, Subgroup(subgroup, lane, lanes));
#else
    make_tile(product(group), lid, Subgroup(subgroup, lid % 32u, 32u));
#endif
}
