// From integers to floats by integer arithmetic, so that every device makes the same bits. F16: to halves.
//
// Uses: wide_product, `p.scale`, `p.offset_low`, `p.offset_high` and `p.exponent`. UNIFORM rounds down, NORMAL to
// the nearest, ties to even.
#if F16
const DIGITS = 11u;
const LEAST = -24;
const INFINITE = 0x7c00u;
const SIGN = 0x8000u;
#else
const DIGITS = 24u;
const LEAST = -149;
const INFINITE = 0x7f800000u;
const SIGN = 0x80000000u;
#endif

fn negated(x: vec2<u32>) -> vec2<u32> {
    return vec2(0u - x.x, ~x.y + u32(x.x == 0u));
}

// The bits of (±m · scale + offset) · 2^exponent. The sum in parentheses is between −2⁶³ and 2⁶³.
fn affine(m: u32, negative: bool) -> u32 {
    var sum = wide_product(m, p.scale);
    sum = select(sum, negated(sum), negative);
    sum.x += p.offset_low;
    sum.y += p.offset_high + u32(sum.x < p.offset_low);
    let below = sum.y >= 0x80000000u;
    sum = select(sum, negated(sum), below);
    return float_of(sum, below);
}

// The bits of ±x · 2^exponent.
fn float_of(x: vec2<u32>, negative: bool) -> u32 {
    // The first bit of `high` is that of x.
    let short = x.y == 0u;
    var high = select(x.y, x.x, short);
    var low = select(x.x, 0u, short);
    let zeros = min(countLeadingZeros(high), 31u);
    high = (high << zeros) | ((low >> 1u) >> (31u - zeros));
    low <<= zeros;
    // The powers of two that the last bits of `high` and of the result stand for.
    let last = bitcast<i32>(p.exponent) + select(32, 0, short) - i32(zeros);
    let place = max(last + i32(32u - DIGITS), LEAST);
    let cut = u32(place - last);
    // Of numbers far below the smallest one, it only matters that they are not zero.
    let more = min(max(cut, 31u) - 31u, 31u);
    var rest = low != 0u || (high & ((1u << more) - 1u)) != 0u;
    high >>= more;
    let kept = min(cut, 31u);
    let digits = high >> kept;
    let left = high & ((1u << kept) - 1u);
#if UNIFORM
    let up = negative && (rest || left != 0u);
#else
    let half = 1u << (kept - 1u);
    let up = left > half || (left == half && (rest || (digits & 1u) == 1u));
#endif
    // A carry goes into the exponent, as it should.
    let bits = min((u32(place - LEAST) << (DIGITS - 1u)) + digits + u32(up), INFINITE);
    let size = select(bits, 0u, (x.x | x.y) == 0u);
    return size | select(0u, SIGN, negative);
}
