// Stages of attention on cooperative matrices, of KEYS columns each.
//
// Uses: the parameters and bindings of attention, and "coop_strips".

// After the last stage.
const END = 0x7fffffffu;

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

// Multiplies the row's results by `scale`.
#block scale_results
#for j STRIPS
#use to_strips $(j)
for (var i = 0u; i < 16u; i += 1u) {
    sh_s[mine + i * $(STRIP)u] *= scale;
}
workgroupBarrier();
#for i DOWN; n ACROSS
o$(i)_$(j * ACROSS + n) = coopLoad<MC>(&sh_s[strip + $(n * SIDE * STRIP + i * SIDE)u], $(STRIP)u);
#endfor
#endfor
workgroupBarrier();
#endblock
