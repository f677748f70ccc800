// Loads raw bits of x: four words or one unit from any index. Indices count units; a unit is a word, a half for f16, or
// a byte for u8.
#include "packed"
#include "shifted"

// Units of four words.
const QUAD = 4u * UNITS;

fn words_from(at: u32) -> vec4<u32> {
    let last = arrayLength(&x) - 1u;
    return shifted(x[min(at / 4u, last)], x[min(at / 4u + 1u, last)], at % 4u);
}

// Four words from unit `at` of x on.
fn run(at: u32) -> vec4<u32> {
    let words = words_from(at / UNITS);
    let shift = BITS * (at % UNITS);
    if shift == 0u {
        return words;
    }
    return (words >> vec4(shift)) | (words_from(at / UNITS + 1u) << vec4(32u - shift));
}

// `words`, with unit `lane` replaced by unit `at` of x.
fn with_unit(words: vec4<u32>, lane: u32, at: u32) -> vec4<u32> {
    var result = words;
    let word = x[at / QUAD][at / UNITS % 4u];
    result[lane / UNITS] = replaced(result[lane / UNITS], lane, unit_of(word, at));
    return result;
}
