// c = residual + f(scale · a b + bias), matrix by matrix; a, b or both may be stored transposed.
//
// A workgroup computes a tile of one product. It stages 16 columns of a and 16 rows of b, and an invocation sums its
// results in registers, in squares of four by four. The next stage is loaded meanwhile, by quads if both operands
// allow.
//
// HALVES: a, b, bias and residual hold f16, and their offsets count halves; sums and c are f32.
//
// Sums are blocked by at most 512 products: a depth of at most 512 + ⌈k / 512⌉.

#params scale: E
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

#if 1 < SETS
#include "split_k"

## Loads values at these places, by quads where possible.
#block load_from whole_at
#for x X in a A, b B
if $(x)_quads {
    #use load_by $(x), $(X), quad, $(whole_at)
} else {
    #use load_by $(x), $(X), four, $(whole_at)
}
#endfor
#endblock

#block load_by x X way whole
#for g $(X)_PART; l 4
#if $(whole) == whole
$(x)$(g)_$(l) = $(x)_$(way)($(x)$(g)_$(l)_at + k * $(x)_step);
#else
$(x)$(g)_$(l) = $(x)_$(way)(
    select($(x)$(g)_$(l)_at + k, $(x)$(g)_0_at + min(k + $(l)u, o.k - 1u) * o.$(x)_stride, $(x)_along));
#endif
#endfor
#endblock

fn make_tile(o: Product, lid: u32) {
    // A vector lies along its inner extent either way.
    let a_along = p.a_transposed != 0u && o.m > 1u;
    let b_along = p.b_transposed == 0u && o.n > 1u;
    let block = min(32u * ((o.k + 2047u) / 2048u), BLOCK);
    #use places
    // Rows and columns beyond the operand's last one read the last one instead; their results are not stored.
#for x X at origin extent in a A ty o.row0 o.m, b B tx o.column0 o.n
    let $(x)_step = select(1u, o.$(x)_stride, $(x)_along);
    let $(x)_quads = ((o.$(x) | select(o.$(x)_stride, 0u, $(extent) == 1u)) & 3u) == 0u;
    let $(x)_last = $(extent) - select(1u, min($(extent), 4u), $(x)_along && $(x)_quads);
#for g $(X)_PART
    let $(x)$(g)_side = $(origin) + 4u * $(at) + $(g * $(X)_APART)u;
#endfor
#for g $(X)_PART; l 4
    let $(x)$(g)_$(l)_at = o.$(x) + select(
        min($(x)$(g)_side + $(l)u, $(extent) - 1u) * o.$(x)_stride,
        min($(x)$(g)_side, $(x)_last) + $(l)u * o.$(x)_stride,
        $(x)_along);
#endfor
#endfor
    var begin = 0u;
    loop {
        let end = min(begin + block * (turn + 1u), o.k);
        #use begin
        var k = begin + block * turn;
        for (; k + 4u <= end; k += 4u) {
            #use load_from whole
            #use multiply
        }
        if k < end {
            #use load_from last
            // Zeros beyond the inner extent.
#for x X in a A, b B; g $(X)_PART; l 4
            $(x)$(g)_$(l) = select($(x)$(g)_$(l), vec4<E>(), k + select(RAMP, vec4($(l)u), $(x)_along) >= vec4(o.k));
#endfor
            #use multiply
        }
        begin += block * $(SETS)u;
        #use add_up
        if begin >= o.k {
            break;
        }
    }
    if lid < $(ROWS * COLUMNS / 4)u {
        #use place_of_sums
        put_quad(o, o.row0 + row, o.column0 + column, all, true, true);
    }
}
#else
#include "register_tile"

#block load_whole way k
#for x X in a A, b B; s $(X)_SLOTS
$(x)$(s) = $(x)_$(way)($(x)$(s)_at + ($(k) + $(x)$(s)_deep) * $(x)_by_deep);
#endfor
#endblock

## Loads the values of the stage from k on, by quads, by single values (four) or by either, with zeros beyond the inner
## extent. All loads are in one branch, so that they are in flight together; whole stages need no further tests, above
## all those of quads.
#block load way k
if $(k) + $(DEPTH)u <= o.k {
#if $(way) == either
    if o.quads {
        #use load_whole quad, $(k)
    } else {
        #use load_whole four, $(k)
    }
#else
    #use load_whole $(way), $(k)
#endif
} else if $(k) < o.k {
#for x X in a A, b B; s $(X)_SLOTS
#if $(way) == quad
    // The last whole quad.
    $(x)$(s) = $(x)_quad($(x)$(s)_at
        + min($(k) + $(x)$(s)_deep, select((o.k - 1u) & ~3u, o.k - 1u, $(x)_along)) * $(x)_by_deep);
#else
    $(x)$(s) = $(x)_four($(x)$(s)_at + min($(k) + $(x)$(s)_deep, o.k - 1u) * $(x)_by_deep);
#endif
#endfor
#for x X in a A, b B; s $(X)_SLOTS
    $(x)$(s) = select($(x)$(s), vec4<E>(), $(k) + $(x)$(s)_deep + $(x)_by_deep_4 >= vec4(o.k));
#endfor
}
#endblock

## All sums. Those of native tiles stay in registers until they are complete, instead of accumulating in the result.
#block sum way
#use load $(way), 0u
var begin = 0u;
#if NATIVE
let block = min(32u * ((o.k + 2047u) / 2048u), BLOCK);
#for i 4 * A_PART; q B_PART
var all$(i)_$(q) = vec4<E>();
#endfor
#else
let block = BLOCK;
#endif
loop {
    let end = min(begin + block, o.k);
    #use begin
    for (var k = begin; k < end; k += $(DEPTH)u) {
        workgroupBarrier();
        #use stage
        workgroupBarrier();
        #use load $(way), (k + $(DEPTH)u)
        #use multiply
    }
#if NATIVE
#for i 4 * A_PART; q B_PART
    all$(i)_$(q) += s$(i)_$(q);
#endfor
    begin += block;
    if begin >= o.k {
        break;
    }
#else
    let first = begin == 0u;
    begin += block;
    let last = begin >= o.k;
    #use store
    if last {
        break;
    }
#endif
}
#if NATIVE
#for i 4 * A_PART; q B_PART
put_quad(
    o, row0 + 4u * ty + $(i / 4 * A_APART + i % 4)u, column0 + 4u * tx + $(q * B_APART)u,
    all$(i)_$(q), true, true);
#endfor
#endif
#endblock

#block put last
#use each_sum 1, put_sum
#endblock

#block put_sum
put_quad(o, row0 + row, column0 + column, sum, first, $(last));
#endblock

## Adds the sums to the result, or stores them.
#block store
#if 2 < A_PART * B_PART
// Whole large tiles have their own branch, so that all loads of earlier sums are in flight together.
if row0 + $(ROWS)u <= o.m && column0 + $(COLUMNS)u <= o.n && ((o.c | o.n) & 3u) == 0u {
    if !first {
#for i 4 * A_PART; q B_PART
        s$(i)_$(q) += c[(o.c + (row0 + 4u * ty + $(i / 4 * A_APART + i % 4)u) * o.n
            + column0 + 4u * tx + $(q * B_APART)u) >> 2u];
#endfor
    }
#for i 4 * A_PART; q B_PART
    c[(o.c + (row0 + 4u * ty + $(i / 4 * A_APART + i % 4)u) * o.n
        + column0 + 4u * tx + $(q * B_APART)u) >> 2u] = s$(i)_$(q);
#endfor
} else {
    #use put false
}
#else
#if T32
// If rows are unaligned and storing is all that is left to do, stores go through the operands' staging memory, which
// has room for a subgroup's rows each, so that neighbouring invocations store neighbouring values.
if ((o.c | o.n) & 3u) == 0u || p.epilogue != 0u || !first || !last {
    #use put last
} else {
    workgroupBarrier();
    let half = lid / 32u;
    if half == 0u {
#for i 4
        sh_a[(4u * ty + $(i)u) * 8u + tx] = s$(i)_0;
#endfor
    } else {
#for i 4
        sh_b[(4u * ty + $(i)u - 16u) * 8u + tx] = s$(i)_0;
#endfor
    }
    workgroupBarrier();
    let top = row0 + 16u * half;
    let column = column0 + lid % 32u;
    if column < o.n {
        let rows = min(max(o.m, top) - top, 16u);
        for (var r = 0u; r < rows; r += 1u) {
            let at = o.c + (top + r) * o.n + column;
            let i = r * 8u + lid % 32u / 4u;
            c[at >> 2u][at & 3u] = select(sh_b[i], sh_a[i], half == 0u)[lid & 3u];
        }
    }
}
#else
#use put last
#endif
#endif
#endblock

fn make_tile(o: Product, lid: u32) {
    let row0 = o.row0;
    let column0 = o.column0;
    let a_along = p.a_transposed != 0u;
    let b_along = p.b_transposed == 0u;
    // Quads beyond the operand's last row or column read the last one instead; their results are not stored.
#for x X origin extent in a A row0 o.m, b B column0 o.n
    #use places $(x), $(X)
    let $(x)_by_side = select(o.$(x)_stride, 1u, $(x)_along);
    let $(x)_by_deep = select(1u, o.$(x)_stride, $(x)_along);
    let $(x)_by_deep_4 = select(RAMP, vec4<u32>(), $(x)_along);
    let $(x)_last_side = $(extent) - select(1u, min($(extent), 4u), $(x)_along && o.quads);
#for s $(X)_SLOTS
    var $(x)$(s) = vec4<E>();
    let $(x)$(s)_at = o.$(x) + min($(origin) + $(x)$(s)_side, $(x)_last_side) * $(x)_by_side;
#endfor
#endfor
    #use squares
#if 2 < A_PART * B_PART
    // One loop for each way to load, so that only one of them needs registers.
#if QUICK
#if QUADS
    if !o.quads {
        return;
    }
    #use sum quad
#else
    if o.quads {
        return;
    }
    #use sum four
#endif
#else
    if o.quads {
        #use sum quad
    } else {
        #use sum four
    }
#endif
    // The epilogue runs only after all sums are stored, by the invocation that stored them, so that the main loop of
    // large register tiles has the registers to itself.
    if p.epilogue != 0u {
        // Not unrolled, as in `each_sum`: drivers would compile every copy of the epilogue.
        for (var f = 0u; f < $(4 * A_PART * B_PART)u * min(p.groups, 1u); f += 1u) {
            let i = f / $(B_PART)u;
            let q = f % $(B_PART)u;
            put_quad(
                o, row0 + 4u * ty + i / 4u * $(A_APART)u + i % 4u, column0 + 4u * tx + q * $(B_APART)u,
                vec4<E>(), false, true);
        }
    }
#else
    #use sum either
#endif
}
#endif

#main {
    make_tile(product(group), lid);
}
