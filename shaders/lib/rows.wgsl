// i / width, by multiplication with 1 / width. The relative error is below 2⁻²², so for i up to 2²² the quotient is off
// by at most one.
fn row_of(i: u32, width: u32, narrow: f32) -> u32 {
    if i >= 0x400000u {
        return i / width;
    }
    var row = u32(f32(i) * narrow);
    if row * width > i {
        row -= 1u;
    } else if i - row * width >= width {
        row += 1u;
    }
    return row;
}
