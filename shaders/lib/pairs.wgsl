// Which elements of the two operands pair i brings together: p.pair_kind says how, p.pair_right is the right batch's
// size, and pair_list holds the pairs that were listed.
fn pair_of(i: u32) -> vec2<u32> {
    switch p.pair_kind {
        case ELEMENTWISE: { return vec2(i, i); }
        case ONE_TO_ALL: { return vec2(0u, i); }
        case ALL_TO_ALL: { return vec2(i / p.pair_right, i % p.pair_right); }
        default: { return vec2(pair_list[2u * i], pair_list[2u * i + 1u]); }
    }
}
