// c = residual + f(scale · a b + bias), matrix by matrix; a, b or both may be stored transposed.
//
// A workgroup makes a tile of one product. It stages 16 columns of a and rows of b, and an invocation sums its
// results, squares of four by four, in registers. What the next stage needs is loaded meanwhile, by quads where both operands allow.
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
const RAMP = vec4<u32>(0u, 1u, 2u, 3u);

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
    // Whether the rows of both operands begin at quads.
    quads: bool,
}

fn product(i: u32) -> Product {
    let at = p.products + 3u * i;
    let x = list[at];
    let y = list[at + 1u];
    let z = list[at + 2u];
    let a_begin = p.a_base + x.x;
    let b_begin = p.b_base + x.y;
    let quads = ((a_begin | b_begin | y.z | y.w) & 3u) == 0u;
    return Product(
        a_begin, b_begin, x.z, x.w, y.x, y.y, y.z, y.w, p.bias_base + z.x, p.residual_base + z.y, quads,
    );
}

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
fn a_value(i: u32) -> E {
    return a[i / 4u][i % 4u];
}

fn b_value(i: u32) -> E {
    return b[i / 4u][i % 4u];
}

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

fn a_values(i: vec4<u32>) -> vec4<E> {
    return vec4(a_value(i.x), a_value(i.y), a_value(i.z), a_value(i.w));
}

fn b_values(i: vec4<u32>) -> vec4<E> {
    return vec4(b_value(i.x), b_value(i.y), b_value(i.z), b_value(i.w));
}

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

// The results of a row from this column on; those beyond the last column mean nothing.
fn finished(o: Product, row: u32, column: u32, sums: vec4<E>) -> vec4<E> {
    var y = sums;
#if F32
    let columns = min(column + RAMP, vec4(o.n - 1u));
    if (p.epilogue & SCALE) != 0u {
        y *= p.scale;
    }
    if (p.epilogue & BIAS) != 0u {
        let at = o.bias + columns;
        y += vec4(bias_value(at.x), bias_value(at.y), bias_value(at.z), bias_value(at.w));
    }
    if (p.epilogue & RELU) != 0u {
        // Not max, which may lose a NaN.
        y = select(y, vec4<f32>(), y < vec4<f32>());
    }
    if (p.epilogue & GELU) != 0u {
        y = vec4(gelu(y.x), gelu(y.y), gelu(y.z), gelu(y.w));
    }
    if (p.epilogue & RESIDUAL) != 0u {
        let at = o.residual + row * o.n + columns;
        y += vec4(residual_value(at.x), residual_value(at.y), residual_value(at.z), residual_value(at.w));
    }
#endif
    return y;
}

fn put_quad(o: Product, row: u32, column: u32, sums: vec4<E>, first: bool, last: bool) {
    if row >= o.m || column >= o.n {
        return;
    }
    let at = o.c + row * o.n + column;
    let count = min(o.n - column, 4u);
    let whole = count == 4u && (at & 3u) == 0u;
    var y = sums;
    if !first {
        if whole {
            y += c[at >> 2u];
        } else {
            for (var i = 0u; i < count; i += 1u) {
                y[i] += c[(at + i) >> 2u][(at + i) & 3u];
            }
        }
    }
    if last && p.epilogue != 0u {
        y = finished(o, row, column, y);
    }
    if whole {
        c[at >> 2u] = y;
    } else {
        for (var i = 0u; i < count; i += 1u) {
            c[(at + i) >> 2u][(at + i) & 3u] = y[i];
        }
    }
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
