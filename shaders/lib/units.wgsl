// Loads raw bits of x: four words or one unit from any index. Indices count units; a unit is a word, or a half for f16.
#if F16
const QUAD = 8u;
#else
const QUAD = 4u;
#endif

#include "shifted"

fn words_from(at: u32) -> vec4<u32> {
    let last = arrayLength(&x) - 1u;
    return shifted(x[min(at / 4u, last)], x[min(at / 4u + 1u, last)], at % 4u);
}

// Four words from unit `at` of x on.
fn run(at: u32) -> vec4<u32> {
#if F16
    let words = words_from(at / 2u);
    if at % 2u == 0u {
        return words;
    }
    return (words >> vec4(16u)) | (words_from(at / 2u + 1u) << vec4(16u));
#else
    return words_from(at);
#endif
}

// `words`, with unit `lane` replaced by unit `at` of x.
fn with_unit(words: vec4<u32>, lane: u32, at: u32) -> vec4<u32> {
    var result = words;
#if F16
    let half = (x[at / 8u][at / 2u % 4u] >> (16u * (at % 2u))) & 0xFFFFu;
    let shift = 16u * (lane % 2u);
    result[lane / 2u] = (result[lane / 2u] & (0xFFFF0000u >> shift)) | (half << shift);
#else
    result[lane] = x[at / 4u][at % 4u];
#endif
    return result;
}
