// c = residual + f(scale · a b + bias), matrix by matrix; a, b or both may be stored transposed.
//
// A workgroup computes a tile of one product. It stages 16 columns of a and 16 rows of b, and an invocation sums its
// results in registers, in squares of four by four. The next stage is loaded meanwhile, by quads if both operands
// allow.
//
// HALVES: a, b, bias and residual hold f16, and their offsets count halves; sums and c are f32.
//
// Sums are blocked by at most 512 products: a depth of at most 512 + ⌈k / 512⌉.

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


#include "grid"
#include "product"

#include "factors"

#if HALVES
fn bias_value(i: u32) -> E {
    return half_of(bias[i / 2u], i);
}

fn residual_value(i: u32) -> E {
    return half_of(residual[i / 2u], i);
}
#else
fn bias_value(i: u32) -> E {
    return bias[i];
}

fn residual_value(i: u32) -> E {
    return residual[i];
}
#endif

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
