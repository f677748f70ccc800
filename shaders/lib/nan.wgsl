// Whether x is NaN, tested by its bits: a compiler may assume that `x != x` is never true.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
