// Results in cooperative matrices, whose values have no known places: they pass through workgroup memory.
//
// Uses: the parameters of attention; the numbers of src/ops/attention/matrix.rs; `o0_0` and so on, matrices for each of
// DOWN rows and ACROSS * STRIPS columns, of which an invocation's first column is `column_in`; and `sh_s`, in which a
// subgroup's strip of 16 columns begins at `strip`, and an invocation's values at `mine`.

alias MA = coop_mat$(SIDE)x$(SIDE)<f16, A>;
alias MB = coop_mat$(SIDE)x$(SIDE)<f16, B>;
alias MC = coop_mat$(SIDE)x$(SIDE)<f32, C>;

fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

// `share`: which matrices a subgroup computes. `team`: which 32 rows an invocation has one of.
#block roles
#if EIGHT
// Subgroups may have fewer than 32 lanes. All multiply together, so a surplus one computes matrices a second time, and
// stores the same values to the same places.
let share = subgroup % $(SUBGROUPS)u;
let team = lid / 32u;
#else
let share = subgroup;
let team = subgroup;
#endif
#endblock

// Stages eight halves from `at` on, or four. Metal cannot load matrices from vectors.
#block stage_eight to at words
#if EIGHT
{
    let at = $(at);
    let low = halves($(words).xy);
    let high = halves($(words).zw);
#for l letter in 0 x, 1 y, 2 z, 3 w
    $(to)[at + $(l)u] = low.$(letter);
    $(to)[at + $(4 + l)u] = high.$(letter);
#endfor
}
#else
$(to)[$(at)] = halves($(words).xy);
$(to)[$(at) + 1u] = halves($(words).zw);
#endif
#endblock

#block stage_four to at quad
#if EIGHT
#for l letter in 0 x, 1 y, 2 z, 3 w
$(to)[$(at) + $(l)u] = $(quad).$(letter);
#endfor
#else
$(to)[$(at)] = $(quad);
#endif
#endblock

// Stores matrices whose names begin with `name` to the strips.
#block store_strip name first
#for i DOWN; n ACROSS
{
    let x = $(name)$(i)_$(first + n);
    let to = &sh_s[strip + $(n * SIDE * STRIP + i * SIDE)u];
    let stride = $(STRIP)u;
    coopStore(x, to, stride);
}
#endfor
#endblock

// Moves 16 columns of results to the strips, in which an invocation has one row.
#block to_strips j
workgroupBarrier();
#use store_strip o, $(j * ACROSS)
workgroupBarrier();
#endblock

// Stores the row's results, times a factor, at `place` of an array of rows.
#block put_results to width factor
#for j STRIPS
#use to_strips $(j)
#for part 2
{
    let column = column_in + $(16 * j + 8 * part)u;
    if stored && column < p.$(width) {
        var words = vec4<u32>();
#for l letter in 0 x, 1 y, 2 z, 3 w
        words.$(letter) = pack2x16float($(factor) * vec2(
            sh_s[mine + $(8 * part * STRIP + 2 * l * STRIP)u],
            sh_s[mine + $(8 * part * STRIP + 2 * l * STRIP + STRIP)u]));
#endfor
        $(to)[(place * p.$(width) + column) / 8u] = words;
    }
}
#endfor
#endfor
#endblock
