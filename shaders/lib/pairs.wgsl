// The elements of the two operands in pair i. p.pair_kind says how elements pair up, p.pair_right is the size of the
// right batch, and pair_list holds the listed pairs.
fn pair_of(i: u32) -> vec2<u32> {
    switch p.pair_kind {
        case ELEMENTWISE: { return vec2(i, i); }
        case ONE_TO_ALL: { return vec2(0u, i); }
        case ALL_TO_ALL: { return vec2(i / p.pair_right, i % p.pair_right); }
        default: { return vec2(pair_list[2u * i], pair_list[2u * i + 1u]); }
    }
}
