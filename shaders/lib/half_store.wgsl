// Results of f16, two to a word of `out`. A word may hold results of two workgroups: each then sets its half by bit
// operations that leave the other half as it is.
//
// Uses: the binding `out`, of atomic words.
// Defines: also the block `put_halves`.

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

#block put_halves begin count half lane lanes
// Writes `count` consecutive results, of which result i of a line is `half`, from index `begin` on. Invocations share
// the words: this one is `lane` of `lanes`.
let odd = $(begin) % 2u;
for (var w = $(lane); 2u * w < $(count) + odd; w += $(lanes)) {
    // The places in the line of the two halves; the first word of an odd line has only the high one.
    let start = 2u * w - odd;
    let low = start < $(count);
    let high = start + 1u < $(count);
    var halves = 0u;
    if low {
        let i = start;
        halves = $(half);
    }
    if high {
        let i = start + 1u;
        halves |= $(half) << 16u;
    }
    put_word($(begin) / 2u + w, halves, low, high);
}
#endblock
