// Shared by the kernels of matrix products: parameters, the list of tiles, and the epilogue.
//
// A tile has three entries: (offset of a, of b, of c, rows of the product), (inner extent, columns, row stride of a, of
// b), (first row and first column of the tile, offset of the bias, 0). They need no further lookup, so all of them are
// loaded at once.
const RAMP = vec4<u32>(0u, 1u, 2u, 3u);

#if F32
#include "gelu"
#endif

// A tile of a product.
struct Product {
    a: u32,
    b: u32,
    c: u32,
    m: u32,
    k: u32,
    n: u32,
    a_stride: u32,
    b_stride: u32,
    row0: u32,
    column0: u32,
    bias: u32,
    residual: u32,
    // Whether the rows of both operands are aligned to quads.
    quads: bool,
}

fn product(group: u32) -> Product {
    let at = p.tiles + 3u * group;
    let x = list[at];
    let y = list[at + 1u];
    let z = list[at + 2u];
    let a_begin = p.a_base + x.x;
    let b_begin = p.b_base + x.y;
    let quads = ((a_begin | b_begin | y.z | y.w) & 3u) == 0u;
    return Product(
        a_begin, b_begin, x.z, x.w, y.x, y.y, y.z, y.w, z.x, z.y, p.bias_base + z.z, p.residual_base + x.z, quads,
    );
}

// The results of a row from this column on. Those beyond the last column are meaningless.
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

// Loads up to four results stored earlier.
fn present(at: u32, count: u32) -> vec4<E> {
    var y = vec4<E>();
    y.x = c[at >> 2u][at & 3u];
    if count > 1u {
        y.y = c[(at + 1u) >> 2u][(at + 1u) & 3u];
    }
    if count > 2u {
        y.z = c[(at + 2u) >> 2u][(at + 2u) & 3u];
    }
    if count > 3u {
        y.w = c[(at + 3u) >> 2u][(at + 3u) & 3u];
    }
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
            y += present(at, count);
        }
    }
    if last && p.epilogue != 0u {
        y = finished(o, row, column, y);
    }
    if whole {
        c[at >> 2u] = y;
        return;
    }
    c[at >> 2u][at & 3u] = y.x;
    if count > 1u {
        c[(at + 1u) >> 2u][(at + 1u) & 3u] = y.y;
    }
    if count > 2u {
        c[(at + 2u) >> 2u][(at + 2u) & 3u] = y.z;
    }
    if count > 3u {
        c[(at + 3u) >> 2u][(at + 3u) & 3u] = y.w;
    }
}
