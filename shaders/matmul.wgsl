// c = residual + f(scale · a b + bias), matrix by matrix; a, b or both may be stored transposed.
//
// A workgroup makes a tile of one product. It stages 16 columns of a and rows of b, and an invocation sums its
// results, squares of four by four, in registers. What the next stage needs is loaded meanwhile, by quads where both operands allow.
//
// HALVES: a, b, bias and residual hold f16, and their places are counted in it; sums and c are f32.
//
// Sums are blocked by 512 products: a depth of 512 + ⌈k / 512⌉.

@group(0) @binding(0) var<uniform> p: Params;
#if HALVES
// A word of two values.
alias Stored = u32;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
#else
alias Stored = E;
@group(0) @binding(1) var<storage, read> a: array<vec4<E>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<E>>;
#endif
@group(0) @binding(3) var<storage, read_write> c: array<vec4<E>>;
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> bias: array<Stored>;
@group(0) @binding(6) var<storage, read> residual: array<Stored>;

const BLOCK = 512u;

#include "grid"
#include "product"

#if HALVES
#include "half_of"

fn a_value(i: u32) -> E {
    return half_of(a[i / 2u], i);
}

fn b_value(i: u32) -> E {
    return half_of(b[i / 2u], i);
}

fn bias_value(i: u32) -> E {
    return half_of(bias[i / 2u], i);
}

fn residual_value(i: u32) -> E {
    return half_of(residual[i / 2u], i);
}

// Of a multiple of four.
fn a_quad(i: u32) -> vec4<E> {
    return vec4(unpack2x16float(a[i / 2u]), unpack2x16float(a[i / 2u + 1u]));
}

fn b_quad(i: u32) -> vec4<E> {
    return vec4(unpack2x16float(b[i / 2u]), unpack2x16float(b[i / 2u + 1u]));
}
#else
fn bias_value(i: u32) -> E {
    return bias[i];
}

fn residual_value(i: u32) -> E {
    return residual[i];
}

fn a_quad(i: u32) -> vec4<E> {
    return a[i / 4u];
}

fn b_quad(i: u32) -> vec4<E> {
    return b[i / 4u];
}
#endif

#if HALVES
// Four values from any place on; behind the last word there is nothing to read.
fn a_values(i: u32) -> vec4<E> {
    let last = 2u * arrayLength(&a) - 1u;
    return vec4(a_value(i), a_value(min(i + 1u, last)), a_value(min(i + 2u, last)), a_value(min(i + 3u, last)));
}

fn b_values(i: u32) -> vec4<E> {
    let last = 2u * arrayLength(&b) - 1u;
    return vec4(b_value(i), b_value(min(i + 1u, last)), b_value(min(i + 2u, last)), b_value(min(i + 3u, last)));
}
#else
#include "selected"

// Four values from any place on; behind the last quad there is nothing to read.
fn a_values(i: u32) -> vec4<E> {
    let q = i / 4u;
    return selected(a[q], a[min(q + 1u, arrayLength(&a) - 1u)], i);
}

fn b_values(i: u32) -> vec4<E> {
    let q = i / 4u;
    return selected(b[q], b[min(q + 1u, arrayLength(&b) - 1u)], i);
}
#endif

// How the places of quads at this depth are turned.
fn turned(deep: u32) -> u32 {
    return ((deep >> 2u) & 3u) << 1u;
}

fn mul_add(x: E, y: vec4<E>, sum: vec4<E>) -> vec4<E> {
#if F32
    return fma(vec4(x), y, sum);
#else
    return x * y + sum;
#endif
}

#generate "matmul"

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
    make_tile(product(group), lid);
}
