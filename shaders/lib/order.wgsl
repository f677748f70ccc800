// Integer keys for ordering: x < y exactly when order_key(x) < order_key(y); with LEAST, when order_key(x) >
// order_key(y). f16 is compared as f32.
//
// Floats are never compared: NaN has the largest key whatever a compiler assumes about it, and −0 is just below +0.
// The key in reversed order with LEAST; its own inverse.
fn directed(key: u32) -> u32 {
#if LEAST
    return ~key;
#else
    return key;
#endif
}

#if I32
const LOWEST_KEY = 0u;

fn order_key(x: i32) -> u32 {
    return directed(bitcast<u32>(x) ^ 0x80000000u);
}

fn key_bits(key: u32) -> u32 {
    return directed(key) ^ 0x80000000u;
}
#else
#if U32
const LOWEST_KEY = 0u;

fn order_key(x: u32) -> u32 {
    return directed(x);
}

fn key_bits(key: u32) -> u32 {
    return directed(key);
}
#else
// The key of -infinity (LEAST: of infinity). No key is lower.
const LOWEST_KEY = 0x007fffffu;

fn order_key(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return 0xffffffffu;
    }
    return directed(select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u));
}

fn key_bits(word: u32) -> u32 {
    if word == 0xffffffffu {
        return 0x7fc00000u;
    }
    let key = directed(word);
    return select(~key, key & 0x7fffffffu, (key & 0x80000000u) != 0u);
}
#endif
#endif
