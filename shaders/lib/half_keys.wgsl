// Integer keys of halves for ordering, from their bits: NaN has the largest key, and −0 is just below +0.
fn half_key(half: u32) -> u32 {
    if (half & 0x7fffu) > 0x7c00u {
        return 0xffffffffu;
    }
    return select(half | 0x8000u, ~half & 0xffffu, half >= 0x8000u);
}

fn half_of_key(key: u32) -> u32 {
    if key == 0xffffffffu {
        return 0x7e00u;
    }
    return select(~key & 0xffffu, key & 0x7fffu, key >= 0x8000u);
}
