//! Random values: every word of the generator, the values that are made of words, and their distributions.

use vsla::{Device, Layout, Ragged, Shape, Tensor, batch::Seed, f16, scalar::f16_from_f64};

use super::{assert_bits, expected, layouts, vectors};
use crate::support::compare::{assert_exact, assert_identical};
use crate::support::operation::download;

/// Word i of an element: that of Philox 4x32-10, written for this test.
pub fn word(seed: u64, stream: u32, element: u32, i: usize) -> u32 {
    let mut c = [(i / 4) as u64, u64::from(element), 0, u64::from(stream)];
    let mut key = [seed & 0xffff_ffff, seed >> 32];
    for _ in 0..10 {
        let (a, b) = (0xD251_1F53 * c[0], 0xCD9E_8D57 * c[2]);
        let low = |x: u64| x & 0xffff_ffff;
        c = [
            b >> 32 ^ c[1] ^ key[0],
            low(b),
            a >> 32 ^ c[3] ^ key[1],
            low(a),
        ];
        key = [low(key[0] + 0x9E37_79B9), low(key[1] + 0xBB67_AE85)];
    }
    c[i % 4] as u32
}

pub const SEED: u64 = 0xFEDC_BA98_7654_3210;

/// The known answer of the authors, and every word of other batches.
pub fn words(device: &Device) {
    assert_eq!(word(0, 0, 0, 0), 0x6627_e8d5);
    assert_eq!(
        [1, 2, 3].map(|i| word(0, 0, 0, i)),
        [0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
    );
    // All numbers but the last, so that a word w becomes w − 1, or 0.
    let got =
        |layout: &Layout, seed: Seed| download(&device.uniform(layout, 0, u32::MAX, seed).unwrap());
    let first = [0x6627_e8d4u32, 0xe169_c58c, 0xbc57_ac4b, 0x9b00_dbd7];
    assert_eq!(got(&vectors([4]), Seed::from(0)).values(), first);
    for layout in layouts() {
        for (seed, element) in [(7, 0), (SEED, 0), (SEED, 5), (1, u32::MAX)] {
            let of =
                |e: usize, i| word(seed, 0, element.wrapping_add(e as u32), i).saturating_sub(1);
            let seed = Seed::from(seed).from_element(element);
            assert_exact("words", &got(&layout, seed), &expected(&layout, of));
        }
    }
}

/// The largest float that is not above x.
fn floor(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x {
        near.next_down()
    } else {
        near
    }
}

pub fn uniform_values(device: &Device) {
    for layout in layouts() {
        // These are exact in f64.
        for (low, high) in [
            (0.0f32, 1.0f32),
            (-3.0, 5.0),
            (1.0, 2.0),
            (-0.75, -0.25),
            (512.0, 512.5),
        ] {
            let exact = |e: usize, i| {
                let word = f64::from(word(SEED, 0, e as u32, i)) / 2f64.powi(32);
                f64::from(low) + f64::from(high - low) * word
            };
            let got = download(&device.uniform(&layout, low, high, SEED).unwrap());
            assert_exact("f32", &got, &expected(&layout, |e, i| floor(exact(e, i))));
            let [narrow_low, narrow_high] = [low, high].map(f16::from_f32);
            let got = download(
                &device
                    .uniform(&layout, narrow_low, narrow_high, SEED)
                    .unwrap(),
            );
            let of = |e, i| {
                let exact = exact(e, i);
                let near = f16_from_f64(exact);
                match f64::from(near) > exact {
                    false => near,
                    // The next one down.
                    true if near.to_bits() & 0x7fff == 0 => f16::from_bits(0x8001),
                    true if near.is_sign_negative() => f16::from_bits(near.to_bits() + 1),
                    true => f16::from_bits(near.to_bits() - 1),
                }
            };
            assert_bits("f16", &got, &expected(&layout, of));
        }
    }
}

pub fn uniform_ranges(device: &Device) {
    let layout = vectors([5000, 3, 0, 1]);
    let least = f32::from_bits(1);
    for (low, high) in [
        (f32::MIN, f32::MAX),
        (-1e-40, 1e-40),
        (0.0, least),
        (-least, 0.0),
        (-least, least),
        (1.0, 1.0f32.next_up()),
        (-1.0, (-1.0f32).next_up()),
        (-1e-30, 1e10),
        (1e-10, 1e10),
        (-1e10, -1e-10),
        (1e6, 1e6 + 1.0),
        (f32::MAX.next_down(), f32::MAX),
        (-0.0, f32::MIN_POSITIVE),
    ] {
        let got = download(&device.uniform(&layout, low, high, 3).unwrap());
        for element in 0..layout.len() {
            for (i, &x) in got.row(element).iter().enumerate() {
                let what = format!("{x:e} of {low:e} to {high:e}");
                assert!(low <= x && x < high, "{what}");
                let part = f64::from(word(3, 0, element as u32, i)) / 2f64.powi(32);
                let (from, to) = (f64::from(low), f64::from(high));
                let exact = from + (to - from) * part;
                let error = from.abs().max(to.abs()) * 2f64.powi(-29);
                let next = if x == f32::MAX {
                    f64::INFINITY
                } else {
                    f64::from(x.next_up())
                };
                assert!(
                    f64::from(x) <= exact + error && next >= exact - error,
                    "{what}: {exact:e}"
                );
            }
        }
    }
    let (least, low) = (f16::from_bits(1), f16::MIN);
    let got = download(&device.uniform(&layout, low, f16::MAX, 3).unwrap());
    assert!(got.values().iter().all(|x| low <= *x && *x < f16::MAX));
    assert!(got.values().iter().any(|x| *x > f16::from_f32(60_000.0)));
    let got = download(&device.uniform(&layout, -least, least, 3).unwrap());
    assert!(
        got.values()
            .iter()
            .all(|x| [0x8001, 0].contains(&x.to_bits()))
    );
}

pub fn uniform_integers(device: &Device) {
    let layout = vectors([5000, 3, 0, 1]);
    for (low, high) in [
        (i32::MIN, i32::MAX),
        (-3, 4),
        (0, 1),
        (i32::MAX - 1, i32::MAX),
        (-1, 1 << 30),
    ] {
        let span = (i64::from(high) - i64::from(low)) as u64;
        let of = |e: usize, i| {
            let word = u64::from(word(9, 0, e as u32, i));
            (i64::from(low) + ((word * span) >> 32) as i64) as i32
        };
        let got = download(&device.uniform(&layout, low, high, 9).unwrap());
        assert_exact("i32", &got, &expected(&layout, of));
    }
    let got = download(
        &device
            .uniform(&layout, 4_000_000_000u32, u32::MAX, 9)
            .unwrap(),
    );
    assert!(got.values().iter().all(|x| *x >= 4_000_000_000));
}

/// χ² of 256 classes of values, and of pairs of neighbours and of elements, within six deviations.
pub fn uniform_distribution(device: &Device) {
    let layout = Layout::uniform(512, Shape::new(&[2048]).unwrap()).unwrap();
    let got = download(&device.uniform(&layout, 0, 1 << 16, 1u64).unwrap());
    let values = got.values();
    let class = |place: usize| values[place] as usize;
    let last = values.len() - 2048;
    type Class<'a> = (&'a str, Box<dyn Fn(usize) -> usize + 'a>);
    let classes: [Class<'_>; 4] = [
        ("high bits", Box::new(|i| class(i) >> 8)),
        ("low bits", Box::new(|i| class(i) & 0xff)),
        (
            "neighbours",
            Box::new(|i| class(i) >> 12 << 4 | class(i + 1) >> 12),
        ),
        (
            "elements",
            Box::new(|i| class(i) >> 12 << 4 | class(i + 2048) >> 12),
        ),
    ];
    for (name, class) in classes {
        let mut counts = [0u32; 256];
        (0..last).for_each(|i| counts[class(i)] += 1);
        let mean = last as f64 / 256.0;
        let chi: f64 = counts
            .iter()
            .map(|n| (f64::from(*n) - mean).powi(2) / mean)
            .sum();
        assert!((chi - 255.0).abs() < 6.0 * 510f64.sqrt(), "{name}: {chi}");
    }
}

/// The probability beyond z ≥ 0, and the density there: a series up to 3, beyond it a continued fraction.
fn tail(z: f64) -> (f64, f64) {
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z >= 3.0 {
        let fraction = (1..300).rev().fold(z, |below, k| z + f64::from(k) / below);
        return (density / fraction, density);
    }
    let (mut term, mut sum) = (z, z);
    for k in 1..200 {
        term *= z * z / f64::from(2 * k + 1);
        sum += term;
    }
    (0.5 - density * sum, density)
}

/// Every value is the quantile of its word.
pub fn normal_values(device: &Device) {
    let layout = vectors([70_000, 0, 3, 1, 1, 2]);
    let got = download(&device.normal(&layout, 0.0f32, 1.0, SEED).unwrap());
    for element in 0..layout.len() {
        for (i, &x) in got.row(element).iter().enumerate() {
            let word = word(SEED, 1, element as u32, i);
            let (probability, density) = tail(f64::from(x.abs()));
            let error = (probability - f64::from(word | 1) / 2f64.powi(33)) / density;
            let bound = 2f64.powi(-27) + f64::from(x.abs()) * 2f64.powi(-24);
            assert!(error.abs() <= bound, "{x} of {word}: {error:e}");
            assert_eq!(x.is_sign_negative(), word % 2 == 1, "{x} of {word}");
        }
    }
}

/// Moments, the Kolmogorov–Smirnov statistic and the tails of a million values.
pub fn normal_distribution(device: &Device) {
    let layout = vectors((0..1000).map(|i| i * 2 + 49));
    let got = download(&device.normal(&layout, 0.0f32, 1.0, 2024).unwrap());
    let mut values: Vec<f64> = got.values().iter().map(|x| f64::from(*x)).collect();
    let n = values.len() as f64;
    let moment = |power| values.iter().map(|x| x.powi(power)).sum::<f64>() / n;
    // The deviations of these means are √(variance of x^power / n).
    for (power, exact, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let off = (moment(power) - exact) / (variance / n).sqrt();
        assert!(off.abs() < 4.0, "moment {power}: {off} deviations");
    }
    for z in [2.0, 3.0, 4.0, 4.5] {
        for sign in [1.0, -1.0] {
            let beyond = values.iter().filter(|x| **x * sign > z).count() as f64;
            let mean = tail(z).0 * n;
            assert!(
                (beyond - mean).abs() < 4.0 * mean.sqrt() + 1.0,
                "{beyond}, not {mean}, beyond {z}"
            );
        }
    }
    values.sort_by(f64::total_cmp);
    let below = |x: f64| if x < 0.0 { tail(-x).0 } else { 1.0 - tail(x).0 };
    let apart = values
        .iter()
        .enumerate()
        .map(|(i, x)| (below(*x) - i as f64 / n).abs());
    let statistic = apart.fold(0.0, f64::max) * n.sqrt();
    // Exceeded with a probability of 0.001.
    assert!(statistic < 1.95, "{statistic}");
}

pub fn normal_ranges(device: &Device) {
    let layout = vectors([3000, 3, 0, 1]);
    let standard = download(&device.normal(&layout, 0.0f32, 1.0, 5).unwrap());
    for (mean, deviation) in [
        (1e6f32, 1.0f32),
        (-1e-3, 1e3),
        (1e30, 1e-30),
        (0.0, 1e-40),
        (0.0, 3e-45),
        (-3e38, 1e37),
        (0.0, f32::MAX),
        (2.5, 0.0),
        (0.0, 0.0),
    ] {
        let got = download(&device.normal(&layout, mean, deviation, 5).unwrap());
        for (&x, &z) in got.values().iter().zip(standard.values()) {
            let (mean, deviation) = (f64::from(mean), f64::from(deviation));
            let exact = mean + deviation * f64::from(z);
            if exact.abs() > f64::from(f32::MAX) {
                assert!(x.abs() >= f32::MAX, "{x} of {mean} and {deviation}");
                continue;
            }
            let error = deviation * (2f64.powi(-27) + f64::from(z.abs()) * 2f64.powi(-24));
            let rounding = exact.abs() * 2f64.powi(-24) + 2f64.powi(-150);
            let within = error + 1.01 * rounding + mean.abs() * 2f64.powi(-28);
            assert!(
                (f64::from(x) - exact).abs() <= within,
                "{x:e} of {mean:e} and {deviation:e}"
            );
        }
    }
    let got = download(&device.normal(&layout, f16::ZERO, f16::ONE, 5).unwrap());
    for (x, z) in got.values().iter().zip(standard.values()) {
        // Rounded once, as f64 would be; z has been rounded.
        let error = f64::from(z.abs()) * (2f64.powi(-11) + 2f64.powi(-24)) + 2f64.powi(-25);
        assert!((f64::from(*x) - f64::from(*z)).abs() <= error, "{x} of {z}");
    }
}

/// The bits of the CPU.
pub fn same_bits_everywhere(device: &Device) {
    let cpu = Device::cpu();
    for layout in layouts() {
        let uniform = |device: &Device| device.uniform(&layout, -0.3f32, 1e5, SEED).unwrap();
        assert_identical(
            "uniform",
            &download(&uniform(device)),
            &download(&uniform(&cpu)),
        );
        let normal = |device: &Device| device.normal(&layout, 0.1f32, 0.7, SEED).unwrap();
        assert_identical(
            "normal",
            &download(&normal(device)),
            &download(&normal(&cpu)),
        );
        let [mean, deviation] = [0.1, 3e-5].map(f16::from_f64);
        let half = |device: &Device| device.normal(&layout, mean, deviation, SEED).unwrap();
        assert_bits("halves", &download(&half(device)), &download(&half(&cpu)));
        let half = |device: &Device| device.uniform(&layout, -deviation, mean, SEED).unwrap();
        assert_bits("halves", &download(&half(device)), &download(&half(&cpu)));
    }
    // These bits never change.
    let layout = vectors([4, 2]);
    let bits = |x: Tensor<f32>| {
        download(&x)
            .values()
            .iter()
            .map(|x| x.to_bits())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        bits(device.uniform(&layout, -0.3, 1e5, SEED).unwrap()),
        UNIFORM
    );
    assert_eq!(
        bits(device.normal(&layout, 0.1, 0.7, SEED).unwrap()),
        NORMAL
    );
}

const UNIFORM: [u32; 6] = [
    1_200_497_074,
    1_157_799_018,
    1_203_350_545,
    1_184_927_003,
    1_190_327_200,
    1_200_064_429,
];
const NORMAL: [u32; 6] = [
    1_070_439_610,
    3_209_568_547,
    1_056_991_278,
    1_065_743_598,
    3_209_732_588,
    1_064_950_023,
];

/// An element has the same bits alone, in any batch and at any position, if it keeps its number; other seeds and
/// streams give other bits.
pub fn parts_of_a_batch(device: &Device) {
    let lengths = [3, 0, 5000, 1, 6, 2, 1027];
    let whole = vectors(lengths);
    let made = |layout: &Layout, seed: Seed| -> [Ragged<f32>; 3] {
        let ones = device.full(layout, 1.0f32).unwrap();
        [
            download(&device.uniform(layout, 0.0, 1.0, seed).unwrap()),
            download(&device.normal(layout, 0.0, 1.0, seed).unwrap()),
            download(&ones.dropout(0.5, seed).unwrap()),
        ]
    };
    let all = made(&whole, Seed::from(SEED));
    for (element, &length) in lengths.iter().enumerate() {
        let alone = vectors([length]);
        let alone = made(&alone, Seed::from(SEED).from_element(element as u32));
        // A shorter element has the first values of a longer one.
        let shorter = made(
            &vectors([length / 2]),
            Seed::from(SEED).from_element(element as u32),
        );
        for ((all, alone), shorter) in all.iter().zip(&alone).zip(&shorter) {
            assert_eq!(all.row(element), alone.row(0));
            assert_eq!(&all.row(element)[..length / 2], shorter.row(0));
        }
    }
    for other in [
        Seed::from(SEED + 1),
        Seed::from(SEED ^ 1 << 63),
        Seed::from(SEED).from_element(1),
    ] {
        for (all, other) in all.iter().zip(&made(&whole, other)) {
            let same = all
                .values()
                .iter()
                .zip(other.values())
                .filter(|(x, y)| x == y)
                .count();
            assert!(same < 3 * all.values().len() / 5, "{same}");
        }
    }
    // Without different streams, what dropout keeps would be the upper half of the uniform values.
    let (uniform, kept) = (all[0].values(), all[2].values());
    let upper = uniform
        .iter()
        .zip(kept)
        .filter(|(x, y)| (**x >= 0.5) == (**y > 0.0))
        .count();
    assert!(
        (upper as f64 / kept.len() as f64 - 0.5).abs() < 0.05,
        "{upper}"
    );
}
