// Gradients of attention. With P = exp(S − lse), dP = g vᵀ and dS = P ∘ (dP − delta), where g is the cotangent of the result
// and delta that of the weights in the denominator:
//
// QUERIES  of q: rows are queries, columns are keys; dS ∘ S′ times k
// KEY      of k: rows are keys, columns are queries; (dS ∘ S′)ᵀ times q
// VALUE    of v: likewise, Pᵀ times g
// BIAS     dS itself, summed over the heads that share the bias
//
// S′ is the derivative of a score with regard to its product. Queries are those of all heads that share a key head, one
// after another, as in attention.wgsl, whose tiles these are: a workgroup has TILES of them, of ROWS rows, and stages KEYS
// columns at a time. The sums over columns stay in registers, so that no order depends on anything else.
//
// stats: for each query and head, lse, delta and the slope of ALiBi. items: as in attention.wgsl; tiles are (element,
// first row, first column), where BIAS uses the last.

#params scale: f32
#for x at in q 1, k 2, v 3, g 4, bias 7
@group(0) @binding($(at)) var<storage, read> $(x): array<E>;
#endfor
@group(0) @binding(5) var<storage, read> stats: array<f32>;
@group(0) @binding(6) var<storage, read> items: array<u32>;
@group(0) @binding(8) var<storage, read_write> out: array<u32>;

// Columns of an operand of rows, then what its columns are weighted with: a row of this has the value of each row.
var<workgroup> sh_a: array<vec4<f32>, $(TILES * KEYS * A_PITCH)>;
// Columns of an operand of columns, each with the value of each; or the values of each column.
var<workgroup> sh_b: array<vec4<f32>, $(TILES * KEYS * B_PITCH)>;
// The places of the rows and columns among those of all heads.
var<workgroup> sh_rows: array<u32, $(TILES * ROWS)>;
var<workgroup> sh_columns: array<u32, $(TILES * KEYS)>;

#include "ends"
#include "exp"
#include "attention"
#if F16
#include "half_of"
#include "half_bits"
#endif

#for x in q, k, v, g, bias
fn $(x)_at(i: u32) -> f32 {
#if F16
    return half_of($(x)[i / 2u], i);
#else
    return $(x)[i];
#endif
}
#endfor

## Adds the products of rows and columns of two operands of `width` values to s0 .. s3.
#block products rows columns width
for (var column = 0u; column < p.$(width); column += $(KEYS)u) {
    workgroupBarrier();
    // Values beyond the last column are zeros.
    for (var i = t; i < $(ROWS * KEYS)u; i += $(THREADS)u) {
        let r = i / $(KEYS)u;
        let x = i % $(KEYS)u;
        let value = $(rows)_at(p.$(rows)_base + sh_rows[row_places + r] * p.$(width) + min(column + x, p.$(width) - 1u));
        sh_a[a_begin + x * A_PITCH + r / 4u][r % 4u] = select(0.0, value, column + x < p.$(width));
    }
    for (var i = t; i < $(KEYS * KEYS)u; i += $(THREADS)u) {
        let j = i / $(KEYS)u;
        let x = i % $(KEYS)u;
        let value = $(columns)_at(
            p.$(columns)_base + sh_columns[column_places + j] * p.$(width) + min(column + x, p.$(width) - 1u));
        sh_b[b_begin + x * B_PITCH + j / 4u][j % 4u] = select(0.0, value, column + x < p.$(width));
    }
    workgroupBarrier();
    for (var x = 0u; x < $(KEYS)u; x += 1u) {
        let a = sh_a[a_begin + x * A_PITCH + ty];
        let b = sh_b[b_begin + x * B_PITCH + tx];
#for l part in 0 x, 1 y, 2 z, 3 w
        s$(l) = fma(vec4(a.$(part)), b, s$(l));
#endfor
    }
}
#endblock
