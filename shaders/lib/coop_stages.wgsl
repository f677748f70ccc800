// Stages of attention on cooperative matrices, of KEYS columns each.
//
// Uses: the parameters and bindings of attention.

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
