// Loads of bsr_matrix: a stage consists of segments of SEGMENT inner products, which lie in one block each; or with
// SAMPLED, of products along the inner extent.
//
// Uses: the numbers of the tile, `p`, `t`, `a`, `b` and `order`, what the blocks of "coop_tile" define, and of the walk
// `ahead`, `column`, `whole`, `rest`, `last`, `block_units` and `last_column`, or with SAMPLED `k`. Defines the blocks
// `segment_from`, which begins a segment, or `column_of_b`; `load`, which loads a stage and advances; and `clear`.

## Passes to `what` the number of a slot's segment, and the slot's position in it.
#block located x X i what
#if $(X)_INNER == 1
#use in_segment $(what), (8u * $(x)_unit$(i))
#else
#use in_segment $(what), $(x)_row$(i)
#endif
#endblock

#block in_segment what deep
#if SEGMENT < DEPTH
#if $(X)_FIXED == 1
#use $(what) $(i / $(X)_SHARE)u, ($(deep) - $(i / $(X)_SHARE * SEGMENT)u)
#else
#use $(what) $(deep) / $(SEGMENT)u, ($(deep) % $(SEGMENT)u)
#endif
#else
#use $(what) 0u, $(deep)
#endif
#endblock

#block clear segment within
$(x)0_$(i) = select($(x)0_$(i), vec4<u32>(), $(segment) * $(SEGMENT)u + $(within) >= left);
#endblock

#block get segment within
#for from in $($(X)_FROM + i / $(X)_SHARE)
#if HIGH == 8
#use get_$(x) min(a_row$(i), 7u), 0u
#else
#use get_$(x) a_row$(i), a_unit$(i)
#endif
#endfor
#endblock

## What differs between loads is a constant where possible, so that these loads share an address. Rows that a block of
## eight lacks are its last row instead; they affect no result that is stored.
#block gets
#for x X in a A, b B
#use guarded $(x), $(X), get_slots
#endfor
#endblock

#block get_slots
#for i $(X)_SLOTS
#use located $(x), $(X), $(i), get
#endfor
#endblock

#if SAMPLED
#block get_a row unit
#if A_INNER == 1
a0_$(i) = a[t.a + k / 8u + (t.row + $(row)) * t.a_pitch + a_unit$(i)];
#else
a0_$(i) = a[t.a + (k + a_row$(i)) * t.a_pitch + t.row / 8u + $(unit)];
#endif
#endblock

#block get_b row unit
#if B_INNER == 1
b0_$(i) = b[t.b + k / 8u + b_column$(i) * t.b_pitch + b_unit$(i)];
#else
b0_$(i) = b[t.b + (k + b_row$(i)) * t.b_pitch + b_column$(i) / 8u];
#endif
#endblock

#block column_of_b side
let b_column$(i) = order[min(t.first + $(side) / p.block_wide, t.end - 1u)].y * p.block_wide + $(side) % p.block_wide;
#endblock

#block load
// Along the inner extent, where the blocks select the columns of b. Nothing uses what is loaded after the last stage.
#use gets
k = select(k + $(DEPTH)u, 0u, k + $(DEPTH)u >= t.inner);
#endblock
#else
#block unit_within what
#if SEGMENT < DEPTH
#use $(what) $(x)_unit$(i) % $(SEGMENT / 8)u
#else
#use $(what) $(x)_unit$(i)
#endif
#endblock

#block get_a row unit
#if A_INNER == 1
#use unit_within get_a_row
#else
a0_$(i) = a[a_from$(from) + $(within) * (HIGH / 8u) + $(unit)];
#endif
#endblock

#block get_a_row unit_within
a0_$(i) = a[a_from$(from) + $(row) * block_units + $(unit_within)];
#endblock

#block get_b row unit
#if B_INNER == 1
#use unit_within get_b_row
#else
b0_$(i) = b[b_from$(from) + $(within) * t.b_pitch + min(column / 8u + b_unit$(i), last_column)];
#endif
#endblock

#block get_b_row unit_within
b0_$(i) = b[b_from$(from) + min(column + b_row$(i), t.columns - 1u) * t.b_pitch + $(unit_within)];
#endblock

#block load
// Along the blocks of a row. The entry of a stage's block is read one stage ahead, so that no load waits for its
// address.
#for i A_SEGMENTS + B_SEGMENTS
#if A_INNER == 1
let a_from$(i) = t.a + entry$(i).x * (HIGH * block_units) + within$(i) / 8u;
#else
let a_from$(i) = t.a + entry$(i).x * (HIGH * block_units) + within$(i) * (HIGH / 8u);
#endif
#if B_INNER == 1
let b_from$(i) = t.b + (entry$(i).y * p.block_wide + within$(i)) / 8u;
#else
let b_from$(i) = t.b + (entry$(i).y * p.block_wide + within$(i)) * t.b_pitch;
#endif
#endfor
#use gets
#for i A_SEGMENTS + B_SEGMENTS
block$(i) += whole;
within$(i) += rest;
if within$(i) >= p.block_wide {
    within$(i) -= p.block_wide;
    block$(i) += 1u;
}
#endfor
ahead += 1u;
if ahead == t.steps {
    ahead = 0u;
    column += $(COLUMNS)u;
#for i A_SEGMENTS + B_SEGMENTS
    block$(i) = t.first + begin$(i) / p.block_wide;
    within$(i) = begin$(i) % p.block_wide;
#endfor
}
#for i A_SEGMENTS + B_SEGMENTS
entry$(i) = order[min(block$(i), last)];
#endfor
#endblock

#block segment_from segment within
#for from in $($(X)_FROM + i / $(X)_SHARE)
let begin$(from) = $(segment) * $(SEGMENT)u;
var block$(from) = t.first + begin$(from) / p.block_wide;
var within$(from) = begin$(from) % p.block_wide;
var entry$(from) = order[min(block$(from), last)];
#endfor
#endblock
#endif
