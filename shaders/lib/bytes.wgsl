// Words of four bytes, the first of them lowest.

// Byte i, from the word that contains it.
fn byte_of(word: u32, i: u32) -> u32 {
    return (word >> (8u * (i % 4u))) & 255u;
}

fn bytes_of(word: u32) -> vec4<u32> {
    return (vec4(word) >> vec4(0u, 8u, 16u, 24u)) & vec4(255u);
}

fn word_of(bytes: vec4<u32>) -> u32 {
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

// The four bytes from byte i on, from the word that contains byte i and the next one.
fn word_from(low: u32, high: u32, i: u32) -> u32 {
    let shift = 8u * (i % 4u);
    // In two steps, because a shift by 32 bits is none.
    return (low >> shift) | ((high << (31u - shift)) << 1u);
}
