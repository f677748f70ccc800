// Results of f16, two to a word of `out`. A word may hold results of two workgroups: each then sets its half by bit
// operations that leave the other half as it is.
//
// Uses: the binding `out`, of atomic words.

// Sets the low half of a word, the high one, or both.
fn put_word(at: u32, halves: u32, low: bool, high: bool) {
    if low && high {
        atomicStore(&out[at], halves);
    } else {
        let mask = select(0u, 0xffffu, low) | select(0u, 0xffff0000u, high);
        atomicAnd(&out[at], ~mask);
        atomicOr(&out[at], halves & mask);
    }
}

// Sets result `at`.
fn put_half(at: u32, half: u32) {
    put_word(at / 2u, half << (16u * (at % 2u)), at % 2u == 0u, at % 2u == 1u);
}

// Sets result `at` of a line. Its neighbours in the row are results of the lines to the left and to the right, if these
// exist and are computed here, too; `next` is the one to the right. One of two neighbours writes their word.
fn put_beside(at: u32, half: u32, next: u32, has_left: bool, has_right: bool) {
    if at % 2u == 0u && has_right {
        put_word(at / 2u, half | (next << 16u), true, true);
    } else if at % 2u == 0u || !has_left {
        put_half(at, half);
    }
}
