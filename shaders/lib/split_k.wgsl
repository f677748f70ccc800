// A tile of a product whose inner sums are split among sets of invocations (split-K).
//
// Such tiles are few and their sums are long, so what matters is how many loads are in flight. Each set goes through
// memory on its own, four inner products at a time, with neighbouring invocations at neighbouring addresses, and
// without workgroup memory and its barriers. At the end, the sums of the sets are added in the order of the sets.
//
// An invocation multiplies quads of rows of a and of columns of b. The first quad of a is in four registers, a0_0 to
// a0_3: one for each row or, if a_along holds, for each inner product; and so on, for b by columns and b_along.
//
// Uses: the numbers of src/ops/kit/product_tile.rs, E, `mul_add`, and in its blocks `lid`, `a_along` and `b_along`.
// Defines: `sh_sums`, and the blocks `places`, `begin`, `multiply`, `add_up` and `place_of_sums`.

var<workgroup> sh_sums: array<vec4<E>, $(SETS * ROWS * COLUMNS / 4)>;

#block places
// Declares the invocation's set, its position in the set, its registers, and the complete sums of one quad.
let turn = lid / $(SET)u;
let tx = lid % $(ACROSS)u;
let ty = lid % $(SET)u / $(ACROSS)u;
var all = vec4<E>();
#for x X in a A, b B; g $(X)_PART; l 4
var $(x)$(g)_$(l) = vec4<E>();
#endfor
#endblock

#block begin
// Declares the sums as zero: row i and quad q of the invocation's part.
#for i 4 * A_PART; q B_PART
var s$(i)_$(q) = vec4<E>();
#endfor
#endblock

#block multiply
// Adds four products to each sum, after transposing registers where necessary: a's then hold rows, and b's hold inner
// products.
#for x X transposed in a A a_along, b B !b_along
if $(transposed) {
#for g $(X)_PART; l part in 0 x, 1 y, 2 z, 3 w
    let $(x)t$(g)_$(l) = vec4($(x)$(g)_0.$(part), $(x)$(g)_1.$(part), $(x)$(g)_2.$(part), $(x)$(g)_3.$(part));
#endfor
#for g $(X)_PART; l 4
    $(x)$(g)_$(l) = $(x)t$(g)_$(l);
#endfor
}
#endfor
#for d part in 0 x, 1 y, 2 z, 3 w; i 4 * A_PART; q B_PART
s$(i)_$(q) = mul_add(a$(i / 4)_$(i % 4).$(part), b$(q)_$(d), s$(i)_$(q));
#endfor
#endblock

#block add_up
// Adds the sums of all sets to the previous ones, `all`, which one invocation holds for each quad of the tile.
workgroupBarrier();
#for i 4 * A_PART; q B_PART
sh_sums[turn * $(ROWS * COLUMNS / 4)u + $(i * B_PART * SET + q * SET)u + lid % $(SET)u] = s$(i)_$(q);
#endfor
workgroupBarrier();
if lid < $(ROWS * COLUMNS / 4)u {
    for (var other = 0u; other < $(SETS)u; other += 1u) {
        all += sh_sums[other * $(ROWS * COLUMNS / 4)u + lid];
    }
}
#endblock

#block place_of_sums
// Declares the row and the column, in the tile, of the complete sums that an invocation holds.
let i = lid / $(SET * B_PART)u;
let row = 4u * (lid % $(SET)u / $(ACROSS)u) + i / 4u * $(A_APART)u + i % 4u;
let column = 4u * (lid % $(ACROSS)u) + lid / $(SET)u % $(B_PART)u * $(B_APART)u;
#endblock
