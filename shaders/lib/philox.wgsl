// Philox 4x32-10 of Salmon, Moraes, Dror and Shaw (2011): four random words for each counter and key.
#include "wide_product"

fn philox(counter: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
    var c = counter;
    var key = seed;
    for (var round = 0u; round < 10u; round += 1u) {
        let a = wide_product(0xD2511F53u, c.x);
        let b = wide_product(0xCD9E8D57u, c.z);
        c = vec4(b.y ^ c.y ^ key.x, b.x, a.y ^ c.w ^ key.y, a.x);
        key += vec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}
