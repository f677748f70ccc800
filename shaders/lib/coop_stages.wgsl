// Stages of attention on cooperative matrices, of KEYS columns each, and results in matrices.
//
// Uses: the parameters and bindings of attention; for results, `o0_0` and so on, two matrices of rows for each of
// COLUMNS, and the strip of workgroup memory in which an invocation's values begin at `mine`.

// After the last stage.
const END = 0x7fffffffu;

fn halves(words: vec2<u32>) -> vec4<f16> {
    return vec4<f16>(vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)));
}

// The first stage from `begin` on that the mask admits, and the place after it in the list of stages.
fn stage_from(begin: u32, listed: u32, listed_end: u32, high: i32) -> vec2<u32> {
    var at = vec2(begin, listed);
#if !PLAIN
    if p.blocks != 0u {
        at.x = END;
        while at.y < listed_end && at.x == END {
            let next = items[at.y] * $(KEYS)u;
            at.x = select(END, next, next >= begin);
            at.y += 1u;
        }
    }
#endif
    if i32(at.x) >= high {
        at.x = END;
    }
    return at;
}

## The condition is uniform across invocations, but naga considers anything read from a variable non-uniform and allows
## no matrices under such an `if`; it allows them in loops.
#block only_if condition what
loop {
    if !($(condition)) { break; }
    #use $(what)
    break;
}
#endblock

// Moves one matrix of columns to the strips, in which an invocation has one row.
#block to_strips j
workgroupBarrier();
#for i 2
{ let x = o$(i)_$(j); let to = &sh_s[strip + $(16 * i)u]; let stride = $(STRIP)u; coopStore(x, to, stride); }
#endfor
workgroupBarrier();
#endblock

// Multiplies the row's results by `scale`.
#block scale_results
#for j COLUMNS
#use to_strips $(j)
for (var i = 0u; i < 16u; i += 1u) {
    sh_s[mine + i * $(STRIP)u] *= scale;
}
workgroupBarrier();
#for i 2
o$(i)_$(j) = coopLoad<MC>(&sh_s[strip + $(16 * i)u], $(STRIP)u);
#endfor
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
