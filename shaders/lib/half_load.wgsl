// Value i, from the word that contains it.
fn half_of(word: u32, i: u32) -> f32 {
    return unpack2x16float(word >> (16u * (i % 2u))).x;
}
