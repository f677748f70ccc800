// How often the sorted blocks of a line of n values are merged in pairs until one run is left.
fn merges(n: u32) -> u32 {
    let blocks = (n + BLOCK - 1u) / BLOCK;
    return 32u - countLeadingZeros(max(blocks, 1u) - 1u);
}
