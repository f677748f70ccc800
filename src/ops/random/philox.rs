//! Philox 4x32-10: four random words for each counter and key.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).

const FACTORS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

pub(super) fn philox(counter: [u32; 4], seed: [u32; 2]) -> [u32; 4] {
    let wide = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    let (mut c, mut key) = (counter, seed);
    for _ in 0..ROUNDS {
        let (high_0, low_0) = wide(FACTORS[0], c[0]);
        let (high_1, low_1) = wide(FACTORS[1], c[2]);
        c = [high_1 ^ c[1] ^ key[0], low_1, high_0 ^ c[3] ^ key[1], low_0];
        key = [0, 1].map(|i| key[i].wrapping_add(STEPS[i]));
    }
    c
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// The known answers that the authors publish with their code (Random123, `kat_vectors`).
    #[apply(unit_test)]
    fn known_answers() {
        let ones = u32::MAX;
        for (counter, key, words) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [ones; 4],
                [ones; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                // Digits of π.
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), words);
        }
    }
}
