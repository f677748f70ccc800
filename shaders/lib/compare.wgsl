// Compares as integers, because compilers may assume that nothing is NaN, and GPUs may flush subnormal numbers to zero.

// Maps floats to integers in the same order, with −0 just below +0.
fn order_of(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return bits ^ ((bits >> 31u) & 0x7fffffff);
}

// The same with −0 equal to +0.
fn level_of(x: f32) -> i32 {
    return select(order_of(x), 0, (bitcast<u32>(x) & 0x7fffffffu) == 0u);
}

fn is_less(x: f32, y: f32) -> bool {
    return level_of(x) < level_of(y) && !is_nan(x) && !is_nan(y);
}

fn is_equal(x: f32, y: f32) -> bool {
    return level_of(x) == level_of(y) && !is_nan(x);
}

// The operand that is NaN (the left one if both are), or else `value`.
fn kept(x: f32, y: f32, value: f32) -> f32 {
    return select(select(value, y, is_nan(y)), x, is_nan(x));
}

fn larger(x: f32, y: f32) -> f32 {
    return kept(x, y, select(y, x, order_of(x) > order_of(y)));
}

fn smaller(x: f32, y: f32) -> f32 {
    return kept(x, y, select(y, x, order_of(x) < order_of(y)));
}
