// A tile of a product that is summed in registers, in squares of four by four.
//
// Workgroup memory holds a stage of a and one of b as rows of quads, one row for each step in depth, from which an
// invocation reads the quads of its squares. The kernel loads them, into registers a0, a1, .. and b0, b1, ..: the
// slots.
//
// Uses: the numbers of src/ops/kit/product_tile.rs, E, `swizzle`, `mul_add`, and in its blocks `lid`, `a_along` and
// `b_along`. Defines: `sh_a`, `sh_b`, and the blocks `places`, `squares`, `begin`, `stage`, `multiply` and `each_sum`.

#for x X in a A, b B
var<workgroup> sh_$(x): array<vec4<E>, $(DEPTH * $(X)_PITCH)>;
#endfor

#block places x X
// Declares which quad of the stage each slot of a side loads: its first row or column, and its depth. Neighbouring
// invocations load neighbours in memory: along the side if a_along or b_along holds, otherwise in depth.
#for s $(X)_SLOTS; across deep i in $($(X)_QUADS / DEPTH)u $(DEPTH / 4)u (lid + $(s * WG)u)
let $(x)$(s)_side = select($(i) / $(deep), 4u * ($(i) % $(across)), $(x)_along);
let $(x)$(s)_deep = select(4u * ($(i) % $(deep)), $(i) / $(across), $(x)_along);
#endfor
#endblock

#block squares
// Declares the invocation's squares. Those of a subgroup are close to each other and share what they read, above all
// those of invocations with close numbers.
let tx = lid / 32u % $(ACROSS * NEAR / 32)u * $(32 / NEAR)u + lid / 2u % $(32 / NEAR)u;
let ty = lid / 32u / $(ACROSS * NEAR / 32)u * $(NEAR)u + lid % 32u / $(64 / NEAR)u * 2u + lid % 2u;
#endblock

#block begin
// Declares the sums as zero: row i and quad q of the invocation's part.
#for i 4 * A_PART; q B_PART
var s$(i)_$(q) = vec4<E>();
#endfor
#endblock

#block stage
// Stores the loaded quads to workgroup memory. A quad's position in its row is swizzled by its depth, so that four
// values that are consecutive in depth go to four rows in different banks.
#for x X in a A, b B; condition in $(x)_along, !$(x)_along
if $(condition) {
#for s $(X)_SLOTS
#if $(X)_QUADS < s * WG + WG
    if lid < $($(X)_QUADS - s * WG)u {
        #use stage_slot $(x), $(X), $(s), $(condition)
    }
#else
    #use stage_slot $(x), $(X), $(s), $(condition)
#endif
#endfor
}
#endfor
#endblock

#block stage_slot x X s condition
let at$(s) = $(x)$(s)_deep * $($(X)_PITCH)u + (($(x)$(s)_side >> 2u) ^ swizzle($(x)$(s)_deep));
#if $(condition) == $(x)_along
sh_$(x)[at$(s)] = $(x)$(s);
#else
#for d part in 0 x, 1 y, 2 z, 3 w
sh_$(x)[at$(s) + $(d * $(X)_PITCH)u][$(x)$(s)_side & 3u] = $(x)$(s).$(part);
#endfor
#endif
#endblock

#block multiply
// Adds the products of the staged columns of a and the staged rows of b.
#if QUICK
// Compilers cannot know the number of steps, so they do not unroll this.
for (var d = 0u; d < $(DEPTH)u * min(p.groups, 1u); d += 1u) {
    #use multiply_step d
}
#else
#for d DEPTH
{
    #use multiply_step $(d)u
}
#endfor
#endif
#endblock

#block multiply_step at
#for x X place in a A ty, b B tx; q $(X)_PART
let $(x)q$(q) = sh_$(x)[$(at) * $($(X)_PITCH)u + $(q * $(X)_APART / 4)u + ($(place) ^ ($(at) / 4u % 4u * 2u))];
#endfor
#for h A_PART; l part in 0 x, 1 y, 2 z, 3 w; q B_PART
s$(4 * h + l)_$(q) = mul_add(aq$(h).$(part), bq$(q), s$(4 * h + l)_$(q));
#endfor
#endblock

#block each_sum rows what
// For each quad of sums, which is `sum`, at `row` and `column` of the tile. If there are many, they share copies of
// what follows, one for each of `rows` rows, because drivers compile many copies for a second. No compiler unrolls a
// loop that runs `min(p.groups, 1u)` times a constant.
#if 1 < A_PART * B_PART
for (var f = 0u; f < $(4 * A_PART / $(rows) * B_PART)u * min(p.groups, 1u); f += 1u) {
#for i $(rows)
    var sum$(i) = s$(i)_0;
#endfor
    switch f {
#for h 4 * A_PART / $(rows); q B_PART
        case $(h * B_PART + q)u: {
#for i $(rows)
            sum$(i) = s$($(rows) * h + i)_$(q);
#endfor
        }
#endfor
        default: {}
    }
    let part = f / $(B_PART)u * $(rows)u;
    let corner = 4u * ty + part / 4u * $(A_APART)u + part % 4u;
    let column = 4u * tx + f % $(B_PART)u * $(B_APART)u;
#for i $(rows)
    {
        let row = corner + $(i)u;
        let sum = sum$(i);
        #use $(what)
    }
#endfor
}
#else
#for i 4
{
    let row = 4u * ty + $(i)u;
    let column = 4u * tx;
    let sum = s$(i)_0;
    #use $(what)
}
#endfor
#endif
#endblock
