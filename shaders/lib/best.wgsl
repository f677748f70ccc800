// A value and its index. The better of two has NaN before any number, then the larger value, then the lower index.
struct Best {
    value: f32,
    index: u32,
}

// The index of no value.
const NOWHERE = 0xffffffffu;

fn better(x: Best, y: Best) -> Best {
    let x_nan = is_nan(x.value);
    let y_nan = is_nan(y.value);
    var y_wins = y.value > x.value;
    if x_nan || y_nan {
        y_wins = y_nan && !x_nan;
    }
    if (x_nan && y_nan) || x.value == y.value {
        y_wins = y.index < x.index;
    }
    if y_wins {
        return y;
    }
    return x;
}
