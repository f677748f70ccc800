// A tile of a product on cooperative matrices: staging, multiplying and storing. The kernel itself decides what to
// load, and in which order.
//
// A workgroup computes a tile of sums; each of its subgroups computes a part of it, in matrices of SIDE x SIDE. With 8
// x 8 matrices, subgroups may have fewer than 32 lanes, and then there are more subgroups than parts. Both operands are
// staged in memory order, DEPTH inner products at a time, in units of eight values; a transposed one is only loaded
// into matrices the other way. Every tile sums in the same order, SIDE inner products at a time, so sums do not depend
// on its size.
//
// Uses: the numbers of src/ops/kit/coop_tile.rs, `halves`, and in its blocks `lid` and `s`, the subgroup. Defines:
// `MA`, `MB`, `MC`, `Subgroup`, `sh_c`, through which sums pass, `sh_a`, `sh_b`, and the blocks.

alias MA = coop_mat$(SIDE)x$(SIDE)<f16, A>;
alias MB = coop_mat$(SIDE)x$(SIDE)<f16, B>;
alias MC = coop_mat$(SIDE)x$(SIDE)<f32, C>;
var<workgroup> sh_c: array<f32, $(SCRATCH * SIDE * SIDE)>;
struct Subgroup { id: u32, lane: u32, lanes: u32 }
#for x X in a A, b B
#if EIGHT
// Metal cannot load 8 x 8 matrices from vectors.
var<workgroup> sh_$(x): array<f16, $($(X)_ROWS * $(X)_PITCH)>;
#else
var<workgroup> sh_$(x): array<vec4<f16>, $($(X)_ROWS * $(X)_PITCH)>;
#endif
#endfor

#block places
#if EIGHT
// All subgroups multiply together, so a surplus one computes a part a second time, and discards the result.
let part = s.id % $(SUBGROUPS)u;
let scratch = (min(s.id, $(SUBGROUPS)u)) * (SIDE * SIDE);
let lane = select(SIDE * SIDE, s.lane, s.id < $(SUBGROUPS)u);
#else
let part = s.id;
let scratch = (s.id / $(TURNS)u) * (SIDE * SIDE);
let lane = s.lane;
#endif
let row_in = (part / $(ACROSS)u) * $(A_MATRICES * SIDE)u;
let column_in = (part % $(ACROSS)u) * $(B_MATRICES * SIDE)u;
// The row and the unit of each slot that an invocation stages.
#for x X in a A, b B
#for i $(X)_FOURS
// Eight lanes store rows r and r + 4, which are in different banks.
let $(x)_row$(i) = (lid / 32u) * 8u + (lid / 4u % 2u) * 4u + lid % 32u / 8u + $(i * WG / 4)u;
let $(x)_unit$(i) = lid % 4u;
#endfor
#for i $(X)_TWOS
// The last two units of each row; the first four are above.
let $(x)_row$($(X)_FOURS + i) = (lid / 16u) * 8u + lid % 8u / 2u * 2u + lid % 16u / 8u + $(i * WG / 2)u;
let $(x)_unit$($(X)_FOURS + i) = 4u + lid % 2u;
#endfor
#for i $(X)_SLOTS - $(X)_FOURS - $(X)_TWOS
#if WG % $(X)_UNITS == 0
let $(x)_row$(i) = lid / $($(X)_UNITS)u + $(i * WG / $(X)_UNITS)u;
let $(x)_unit$(i) = lid % $($(X)_UNITS)u;
#else
let $(x)_row$(i) = (lid + $(i * WG)u) / $($(X)_UNITS)u;
let $(x)_unit$(i) = (lid + $(i * WG)u) % $($(X)_UNITS)u;
#endif
#endfor
#endfor
#endblock

#block registers
#for x X in a A, b B; i $(X)_SLOTS
var $(x)0_$(i) = vec4<u32>();
#endfor
#endblock

#block sums
#for i A_MATRICES; j B_MATRICES
var s$(i)_$(j) = MC();
#endfor
#endblock

## Not all invocations may have something to stage.
#block guarded x X what
#if $(X)_ROWS * $(X)_UNITS < WG
if lid < $($(X)_ROWS * $(X)_UNITS)u {
    #use $(what)
}
#else
#use $(what)
#endif
#endblock

#block stage
#for x X in a A, b B
{
    #use guarded $(x), $(X), stage_slots
}
#endfor
#endblock

#block stage_slots
#for i $(X)_SLOTS; half of in 0 xy, 1 zw
#if EIGHT
#for at in 0u + $(x)_row$(i) * $($(X)_PITCH)u + 8u * $(x)_unit$(i) + $(half * 4)u
let $(x)0_$(i)_$(of) = halves($(x)0_$(i).$(of));
sh_$(x)[$(at)] = $(x)0_$(i)_$(of).x;
sh_$(x)[$(at) + 1u] = $(x)0_$(i)_$(of).y;
sh_$(x)[$(at) + 2u] = $(x)0_$(i)_$(of).z;
sh_$(x)[$(at) + 3u] = $(x)0_$(i)_$(of).w;
#endfor
#else
sh_$(x)[0u + $(x)_row$(i) * $($(X)_PITCH)u + 2u * $(x)_unit$(i) + $(half)u] = halves($(x)0_$(i).$(of));
#endif
#endfor
#endblock

## Multiplies a staged stage. The loads for the next stage come after the loads of the first matrices, because those are
## needed first.
#block multiply meanwhile
#if QUICK
#use $(meanwhile)
// Compilers cannot know the number of steps, so they do not unroll this.
for (var step = 0u; step < $(DEPTH / SIDE)u * min(p.groups, 1u); step += 1u) {
    #use multiply_step step, nothing
}
#else
#for step DEPTH / SIDE
{
#if step == 0
    #use multiply_step 0u, $(meanwhile)
#else
    #use multiply_step $(step)u, nothing
#endif
}
#endfor
#endif
#endblock

#block multiply_step at meanwhile
#for x X matrix origin stored other in a A MA row_in coopLoadT coopLoad, b B MB column_in coopLoad coopLoadT
#for i $(X)_MATRICES
#if $(X)_INNER == 1
#use load_matrix $(stored), ($(origin) + $(i * SIDE)u) * $($(X)_PITCH)u + $(at) * $(SIDE / PER)u
#else
#use load_matrix $(other), $(at) * $(SIDE * $(X)_PITCH)u + ($(origin) + $(i * SIDE)u) / $(PER)u
#endif
#endfor
#endfor
#use $(meanwhile)
#for i A_MATRICES; j B_MATRICES
#if i % 2 == 0
s$(i)_$(j) = coopMultiplyAdd(m_a_$(i), m_b_$(j), s$(i)_$(j));
#else
#for back in $(B_MATRICES - 1 - j)
s$(i)_$(back) = coopMultiplyAdd(m_a_$(i), m_b_$(back), s$(i)_$(back));
#endfor
#endif
#endfor
#endblock

#block load_matrix load from
let m_$(x)_$(i) = $(load)<$(matrix)>(&sh_$(x)[0u + $(from)], $($(X)_PITCH)u);
#endblock

#block nothing
#endblock

## The condition is uniform across invocations, but naga considers anything read from a variable non-uniform and allows
## no matrices under such an `if`; it allows them in loops.
#block only_if condition what
loop {
    if !($(condition)) { break; }
    #use $(what)
    break;
}
#endblock
