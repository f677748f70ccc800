// c = residual + f(scale · a b + bias), matrix by matrix; a, b or both may be stored transposed.
//
// A workgroup makes a tile of one product, ROWS x COLUMNS. It stages DEPTH columns of a and rows of b, and an invocation sums its
// results, squares of four by four, in registers. What the next stage needs is loaded meanwhile.
//
// `list` holds the products from p.products on, three entries each: (begin of a, of b, of c, rows), (inner extent,
// columns, row stride of a, of b), (begin of the bias, of the residual, 0, 0); and the tiles from p.tiles on: (product, first row,
// first column, 0).
//
// HALVES: a, b, bias and residual hold f16, and their places are counted in it; sums and c are f32.
//
// Sums are blocked by 512 products: a depth of 512 + ⌈k / 512⌉.

struct Params {
    first_group: u32,
    groups: u32,
    a_base: u32,
    b_base: u32,
    products: u32,
    tiles: u32,
    a_transposed: u32,
    b_transposed: u32,
    epilogue: u32,
    bias_base: u32,
    residual_base: u32,
    scale: E,
}

@group(0) @binding(0) var<uniform> p: Params;
#if HALVES
// A word of two values.
alias Stored = u32;
#else
alias Stored = E;
#endif

@group(0) @binding(1) var<storage, read> a: array<Stored>;
@group(0) @binding(2) var<storage, read> b: array<Stored>;
@group(0) @binding(3) var<storage, read_write> c: array<E>;
@group(0) @binding(4) var<storage, read> list: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> bias: array<Stored>;
@group(0) @binding(6) var<storage, read> residual: array<Stored>;

const BLOCK = 512u;

// What p.epilogue is made of.
const SCALE = 1u;
const BIAS = 2u;
const RELU = 4u;
const GELU = 8u;
const RESIDUAL = 16u;

#include "grid"
#if F32
#include "gelu"
#endif

struct Product {
    a: u32,
    b: u32,
    c: u32,
    m: u32,
    k: u32,
    n: u32,
    a_stride: u32,
    b_stride: u32,
    bias: u32,
    residual: u32,
}

#if HALVES
fn half_of(word: u32, i: u32) -> f32 {
    return unpack2x16float(word >> (16u * (i % 2u))).x;
}

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
#else
fn a_value(i: u32) -> E {
    return a[i];
}

fn b_value(i: u32) -> E {
    return b[i];
}

fn bias_value(i: u32) -> E {
    return bias[i];
}

fn residual_value(i: u32) -> E {
    return residual[i];
}
#endif

fn product(i: u32) -> Product {
    let at = p.products + 3u * i;
    let x = list[at];
    let y = list[at + 1u];
    let z = list[at + 2u];
    return Product(
        p.a_base + x.x, p.b_base + x.y, x.z, x.w, y.x, y.y, y.z, y.w, p.bias_base + z.x, p.residual_base + z.y,
    );
}

fn mul_add(x: E, y: vec4<E>, sum: vec4<E>) -> vec4<E> {
#if F32
    return fma(vec4(x), y, sum);
#else
    return x * y + sum;
#endif
}

fn finished(o: Product, row: u32, column: u32, sum: E) -> E {
    var y = sum;
#if F32
    if (p.epilogue & SCALE) != 0u {
        y *= p.scale;
    }
    if (p.epilogue & BIAS) != 0u {
        y += bias_value(o.bias + column);
    }
    if (p.epilogue & RELU) != 0u {
        // Not max, which may lose a NaN.
        y = select(y, 0.0, y < 0.0);
    }
    if (p.epilogue & GELU) != 0u {
        y = gelu(y);
    }
    if (p.epilogue & RESIDUAL) != 0u {
        y += residual_value(o.residual + row * o.n + column);
    }
#endif
    return y;
}

fn put(o: Product, row: u32, column: u32, sum: E, first: bool, last: bool) {
    if row < o.m && column < o.n {
        let at = o.c + row * o.n + column;
        var y = sum;
        if !first {
            y += c[at];
        }
        if last && p.epilogue != 0u {
            y = finished(o, row, column, y);
        }
        c[at] = y;
    }
}

fn put_quad(o: Product, row: u32, column: u32, sum: vec4<E>, first: bool, last: bool) {
    put(o, row, column, sum.x, first, last);
    put(o, row, column + 1u, sum.y, first, last);
    put(o, row, column + 2u, sum.z, first, last);
    put(o, row, column + 3u, sum.w, first, last);
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
    let tile = list[p.tiles + group];
    make_tile(product(tile.x), tile.y, tile.z, lid);
}
