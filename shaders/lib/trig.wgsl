// The binary digits of 2 / π, after 32 zeros.
const DIGITS = array<u32, 8>(
    0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
);

// The upper 32 bits of a product of two 32-bit numbers.
fn high_word(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let mixed = (a & 0xffffu) * (b >> 16u);
    let other = (a >> 16u) * (b & 0xffffu);
    let carry = ((low >> 16u) + (mixed & 0xffffu) + (other & 0xffffu)) >> 16u;
    return (a >> 16u) * (b >> 16u) + (mixed >> 16u) + (other >> 16u) + carry;
}

// x = q π/2 + r, up to multiples of 2π.
struct Reduced {
    q: i32,
    r: f32,
}

fn reduced(x: f32) -> Reduced {
    if abs(x) <= 4096.0 {
        // The parts of π/2 are so short that their products with k are exact.
        let k = round(x * 0.636619772);
        let r = opaque(fma(k, -4.83751297e-4, opaque(fma(k, -1.5703125, x))));
        return Reduced(i32(k), fma(k, -7.54978996e-8, r));
    }
    // Integer arithmetic, for any exponent: 24 bits of x times the digits of 2 / π, without the digits that contribute
    // only full turns and those that are too small.
    let bits = bitcast<u32>(x);
    let first = ((bits >> 23u) & 0xffu) - 120u;
    let at = first / 32u;
    let shift = first % 32u;
    var w = vec3(DIGITS[at], DIGITS[at + 1u], DIGITS[at + 2u]);
    if shift > 0u {
        let next = vec3(w.yz, DIGITS[at + 3u]);
        w = (w << vec3(shift)) | (next >> vec3(32u - shift));
    }
    let m = (bits & 0x7fffffu) | 0x800000u;
    let middle = m * w.y;
    let low = middle + high_word(m, w.z);
    let high = m * w.x + high_word(m, w.y) + select(0u, 1u, low < middle);
    // The top two bits count quarter turns, the rest is the fraction. From half a quarter turn on, the count is rounded
    // up and the fraction becomes negative.
    let fraction = (high << 2u) | (low >> 30u);
    let q = i32((high >> 30u) + (fraction >> 31u));
    let r = f32(bitcast<i32>(fraction)) * 3.65729530e-10;
    if x < 0.0 {
        return Reduced(-q, -r);
    }
    return Reduced(q, r);
}

// sin(q π/2 + r).
fn quarter(q: i32, r: f32) -> f32 {
    let z = r * r;
    let s = fma(r * z, fma(z, fma(z, -1.95152959e-4, 8.33216087e-3), -0.166666546), r);
    let c = fma(z * z, fma(z, fma(z, 2.44331571e-5, -1.38873163e-3), 4.16666457e-2), fma(z, -0.5, 1.0));
    return bitcast<f32>(bitcast<u32>(select(s, c, (q & 1) != 0)) ^ (u32(q & 2) << 30u));
}

fn sin_of(x: f32) -> f32 {
    let at = reduced(x);
    let y = select(quarter(at.q, at.r), no_number(x), is_infinite(x));
    return select(y, x, abs(x) < 2.0e-4);
}

fn cos_of(x: f32) -> f32 {
    let at = reduced(x);
    return select(quarter(at.q + 1, at.r), no_number(x), is_infinite(x));
}
