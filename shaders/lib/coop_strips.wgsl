// Results in cooperative matrices, whose values have no known places: they pass through workgroup memory.
//
// Uses: the parameters of attention; `o0_0` and so on, two matrices of rows for each of COLUMNS, whose first column is
// `column_in`; and a subgroup's strip of `sh_s`, which begins at `strip`, and in which an invocation's values begin at
// `mine`.

fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

// Moves one matrix of columns to the strips, in which an invocation has one row.
#block to_strips j
workgroupBarrier();
#for i 2
{ let x = o$(i)_$(j); let to = &sh_s[strip + $(16 * i)u]; let stride = $(STRIP)u; coopStore(x, to, stride); }
#endfor
workgroupBarrier();
#endblock

// Stores the row's results, times a factor, at `place` of an array of rows.
#block put_results to width factor
#for j COLUMNS
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
