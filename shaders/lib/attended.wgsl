// Elements of attention whose keys may be those of a cache, and the slopes of heads.
//
// Uses: the parameters and bindings of attention, and "scores".

// An element, whose keys may be the first ones of a cache.
fn attended(i: u32) -> Element {
    let e = element_at(i);
    var keys = e.keys;
    if p.cached != 0u {
        keys = min(keys, bias[p.bias_base + i]);
    }
    let offset = select(i32(keys) - i32(e.queries), 0, p.top_left != 0u);
    return Element(e.q_row, e.queries, e.k_row, keys, e.bias, offset);
}

fn slope_of(head: u32) -> f32 {
    var slope = 0.0;
    if p.alibi != 0u {
        slope = per_head[p.per_head_base + head];
    }
    return slope;
}
