//! Quantiles of the normal distribution in fixed point.
//!
//! A table of cubic polynomials, evaluated with integers, gives the same bits on every device. The table is computed by
//! the four basic operations and square roots of f64, which IEEE 754 rounds alike on every host.

use std::sync::OnceLock;

use crate::plan::Table;

pub(super) static TABLE: Table = Table {
    name: "quantiles",
    make: || table().to_vec(),
};

/// The number of parts into which each power of two is divided.
const PARTS: u32 = 32;
/// Units per standard deviation: quantiles below 8 fit a word.
pub(super) const UNITS: f64 = (1u32 << 29) as f64;

/// Four coefficients for each part of the powers of two from −1 down to −32, constant first, in units. The variable is
/// the distance from the part's upper end, from 0 to 1, along which all derivatives of the quantile are positive.
pub(super) fn table() -> &'static [u32] {
    static MADE: OnceLock<Vec<u32>> = OnceLock::new();
    MADE.get_or_init(|| {
        let rows = (0..32).flat_map(|zeros| (0..PARTS).map(move |part| (zeros, part)));
        rows.flat_map(|(zeros, part)| {
            let begin = f64::from(2 * PARTS);
            let at = |t: f64| quantile((f64::from(PARTS + part + 1) - t) / begin, zeros);
            // Products are rounded down, by about one unit in all. Rounding errors could make the coefficients that
            // are zero at the mean negative.
            let [a, b, c, d] = cubic(at);
            [a + 1.0 / UNITS, b, c, d].map(|c| (c * UNITS + 0.5).max(0.0) as u32)
        })
        .collect()
    })
}

/// Minus the quantile of the probability (word | 1) / 2³³, in units.
pub(super) fn deviate(table: &[u32], word: u32) -> u32 {
    let odd = word | 1;
    let zeros = odd.leading_zeros();
    let digits = odd << zeros;
    let row = &table[4 * (PARTS * zeros + (digits >> 26) % PARTS) as usize..][..4];
    let t = !(digits << 6);
    let times = |c: u32| ((u64::from(t) * u64::from(c)) >> 32) as u32;
    row[0] + times(row[1] + times(row[2] + times(row[3])))
}

/// The coefficients of the cubic polynomial that equals `f` at the zeros of a Chebyshev polynomial on 0 to 1.
fn cubic(f: impl Fn(f64) -> f64) -> [f64; 4] {
    let [n, m, k, l] = [
        0.038_060_233_744_356_63,
        0.308_658_283_817_455_13,
        0.691_341_716_182_544_9,
        0.961_939_766_255_643_4,
    ];
    let [a, b, c, d] = [n, m, k, l].map(f);
    // Newton's divided differences.
    let (ab, bc, cd) = ((b - a) / (m - n), (c - b) / (k - m), (d - c) / (l - k));
    let (abc, bcd) = ((bc - ab) / (k - n), (cd - bc) / (l - m));
    let abcd = (bcd - abc) / (l - n);
    [
        a - n * (ab - m * (abc - k * abcd)),
        ab - (n + m) * abc + (n * m + n * k + m * k) * abcd,
        abc - (n + m + k) * abcd,
        abcd,
    ]
}

/// Minus the quantile of the probability x / 2^(zeros + 1), for x from ½ to 1: Algorithm AS 241 (PPND16) of M. J.
/// Wichura (1988), with a relative error of about 10⁻¹⁶.
fn quantile(x: f64, zeros: u32) -> f64 {
    let probability = x / (1u64 << (zeros + 1)) as f64;
    let q = 0.5 - probability;
    if q <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(
            r,
            [
                3.387_132_872_796_366_5,
                133.141_667_891_784_38,
                1_971.590_950_306_551_3,
                13_731.693_765_509_46,
                45_921.953_931_549_87,
                67_265.770_927_008_7,
                33_430.575_583_588_13,
                2_509.080_928_730_122_7,
            ],
            [
                1.0,
                42.313_330_701_600_91,
                687.187_007_492_057_9,
                5_394.196_021_424_751,
                21_213.794_301_586_597,
                39_307.895_800_092_71,
                28_729.085_735_721_943,
                5_226.495_278_852_545,
            ],
        );
    }
    let r = (f64::from(zeros + 1) * std::f64::consts::LN_2 - logarithm(x)).sqrt() - 1.6;
    ratio(
        r,
        [
            1.423_437_110_749_683_5,
            4.630_337_846_156_546,
            5.769_497_221_460_691,
            3.647_848_324_763_204_5,
            1.270_458_252_452_368_4,
            0.241_780_725_177_450_6,
            0.022_723_844_989_269_184,
            7.745_450_142_783_414e-4,
        ],
        [
            1.0,
            2.053_191_626_637_759,
            1.676_384_830_183_803_8,
            0.689_767_334_985_1,
            0.148_103_976_427_480_08,
            0.015_198_666_563_616_457,
            5.475_938_084_995_345e-4,
            1.050_750_071_644_416_9e-9,
        ],
    )
}

/// The ratio of two polynomials, constants first.
fn ratio(x: f64, above: [f64; 8], below: [f64; 8]) -> f64 {
    let at = |c: [f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    at(above) / at(below)
}

/// The natural logarithm of x from ½ to 1, independent of the platform's implementation.
fn logarithm(x: f64) -> f64 {
    let y = (x - 1.0) / (x + 1.0);
    let terms = (0..20).rev().map(|k| 1.0 / f64::from(2 * k + 1));
    2.0 * y * terms.fold(0.0, |sum, term| sum * y * y + term)
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    /// Probability beyond z, and the density there: a series up to 3, beyond it Lentz's continued fraction.
    fn tail(z: f64) -> (f64, f64) {
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        if z < 3.0 {
            let (mut term, mut sum) = (z, z);
            for k in 1..200 {
                term *= z * z / f64::from(2 * k + 1);
                sum += term;
            }
            return (0.5 - density * sum, density);
        }
        let fraction = (1..300).rev().fold(z, |below, k| z + f64::from(k) / below);
        (density / fraction, density)
    }

    /// The documented error of 2⁻²⁷ deviations, at both ends and inside of every part.
    #[apply(unit_test)]
    fn quantiles_are_within_their_bound() {
        let mut largest = 0.0f64;
        for zeros in 0..32u32 {
            for k in 0..4096u32 {
                let inside = 1 << 31 | k << 19 | k.wrapping_mul(2_654_435_761) >> 13;
                for digits in [1 << 31 | k << 19, inside, 1 << 31 | k << 19 | 0x7_ffff] {
                    let word = digits >> zeros;
                    let exact = f64::from(word | 1) / 2f64.powi(33);
                    let z = f64::from(deviate(table(), word)) / UNITS;
                    let (probability, density) = tail(z);
                    largest = largest.max((probability - exact).abs() / density);
                }
            }
        }
        assert!(largest <= 2f64.powi(-27), "{}", largest * UNITS);
        assert!(largest >= 2f64.powi(-31), "{}", largest * UNITS);
    }

    #[apply(unit_test)]
    fn the_ends() {
        // Φ⁻¹(2⁻³³) and, half a step from the mean, Φ⁻¹(½ − 2⁻³³).
        let z = f64::from(deviate(table(), 0)) / UNITS;
        assert!((z - 6.337_96).abs() < 1e-5, "{z}");
        assert!(deviate(table(), u32::MAX) <= 4);
    }
}
