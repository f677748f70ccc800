// Keys of values of x, which have the order of the values; NaN has the largest.
#if F16
#include "half_keys"

fn key_at(i: u32) -> u32 {
    return half_key((x[i / 2u] >> (16u * (i % 2u))) & 0xffffu);
}
#else
#include "order"

fn key_at(i: u32) -> u32 {
    return order_key(x[i]);
}
#endif
