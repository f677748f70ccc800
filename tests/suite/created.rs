//! Batches whose values follow from their places: sequences, identity matrices, random values; and dropout.

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, Result, Shape, Tensor,
    batch::Seed,
    f16,
    scalar::{Factor, Float, Scalar, f16_from_f64},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{assert_exact, assert_identical, assert_within};
use crate::support::corpus::{self, rng};
use crate::support::operation::{download, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("arange_counts", arange_counts),
        ("arange_in_fractions", arange_in_fractions),
        ("linspace_ends", linspace_ends),
        ("linspace_between", linspace_between),
        ("eye", eye),
        ("words", words),
        ("uniform_values", uniform_values),
        ("uniform_ranges", uniform_ranges),
        ("uniform_integers", uniform_integers),
        ("uniform_distribution", uniform_distribution),
        ("normal_values", normal_values),
        ("normal_distribution", normal_distribution),
        ("normal_ranges", normal_ranges),
        ("same_bits_everywhere", same_bits_everywhere),
        ("parts_of_a_batch", parts_of_a_batch),
        ("dropout_keeps", dropout_keeps),
        ("dropout_of_views", dropout_of_views),
        ("dropout_of_specials", dropout_of_specials),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

fn vectors(lengths: impl IntoIterator<Item = usize>) -> Layout {
    Layout::from_lengths(lengths).unwrap()
}

fn matrices(shapes: &[[usize; 2]]) -> Layout {
    Layout::from_shapes(2, shapes.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}

/// No elements, no values, one element over many tiles, many elements in a tile, and boxes.
fn layouts() -> Vec<Layout> {
    vec![
        vectors([]),
        vectors([0]),
        vectors([1]),
        vectors([0, 3, 0, 0, 1, 2, 5, 0]),
        vectors((0..5000).map(|i| i * 7 % 6)),
        vectors([3, 9001, 1, 4096, 1023, 2]),
        vectors((0..600).map(|_| 1)),
        matrices(&[[2, 3], [0, 4], [1, 1], [37, 41], [5, 0], [3, 700]]),
    ]
}

/// The values `of(element, place in the element)`.
fn expected<T: Copy>(layout: &Layout, of: impl Fn(usize, usize) -> T) -> Ragged<T> {
    Ragged::from_fn(layout, of).unwrap()
}

/// Checks that all bits are the same.
fn assert_bits<T: Scalar>(what: impl std::fmt::Display, got: &Ragged<T>, exact: &Ragged<T>) {
    assert_eq!(got.layout(), exact.layout(), "{what}");
    for (place, (x, y)) in got.values().iter().zip(exact.values()).enumerate() {
        let same = bytemuck::bytes_of(x) == bytemuck::bytes_of(y);
        assert!(same, "{what}: {x} instead of {y} as value {place}");
    }
}

fn arange_counts(device: &Device) {
    for layout in layouts() {
        let got = download(&device.arange(&layout, 5i32, -3).unwrap());
        assert_exact("i32", &got, &expected(&layout, |_, i| 5 - 3 * i as i32));
        let got = download(&device.arange(&layout, u32::MAX - 1, 1 << 31 | 3).unwrap());
        let of = |_, i| (u32::MAX - 1).wrapping_add((i as u32).wrapping_mul(1 << 31 | 3));
        assert_exact("u32", &got, &expected(&layout, of));
        let got = download(&device.arange(&layout, -7.0f32, 0.5).unwrap());
        assert_exact("f32", &got, &expected(&layout, |_, i| 0.5 * i as f32 - 7.0));
        let (start, step) = (f16::from_f32(3.0), f16::from_f32(-1.0));
        let got = download(&device.arange(&layout, start, step).unwrap());
        let of = |_, i| f16_from_f64(3.0 - i as f64);
        assert_bits("f16", &got, &expected(&layout, of));
    }
}

fn arange_in_fractions(device: &Device) {
    let layout = vectors([0, 1, 2, 70_001, 300]);
    for (start, step) in [(0.1f32, 0.3f32), (-1e6, 7.7), (1e-30, -3e-31), (0.0, -0.0)] {
        let exact = |i: usize| f64::from(start) + i as f64 * f64::from(step);
        let bound = |i: usize| {
            let product = i as f64 * f64::from(step).abs();
            (2.0 * product + exact(i).abs()) * 2f64.powi(-24) + 2f64.powi(-126)
        };
        let got = download(&device.arange(&layout, start, step).unwrap());
        let bounds = expected(&layout, |_, i| bound(i));
        let name = format!("from {start} by {step}");
        assert_within(
            name,
            &got,
            &expected(&layout, |_, i| exact(i)),
            bounds.values(),
        );
    }
}

fn linspace_ends(device: &Device) {
    let got = device.linspace(&vectors([5, 0, 1, 2, 3]), -1.0f32, 1.0);
    let rows_of = [
        &[-1.0f32, -0.5, 0.0, 0.5, 1.0][..],
        &[],
        &[-1.0],
        &[-1.0, 1.0],
        &[-1.0, 0.0, 1.0],
    ];
    assert_exact("from −1 to 1", &download(&got.unwrap()), &rows(rows_of));
    let shapes = matrices(&[[2, 2], [1, 5]]);
    let got = download(
        &device
            .linspace(&shapes, f16::from_f32(3.0), f16::ZERO)
            .unwrap(),
    );
    let exact = [3.0, 2.0, 1.0, 0.0, 3.0, 2.25, 1.5, 0.75, 0.0].map(f16::from_f64);
    assert_eq!(got.values(), exact);
    for (begin, finish) in [(0.1f32, 0.7f32), (-3e38, 3e38), (1e-38, -3.3), (5.5, 5.5)] {
        let layout = vectors((1..2000).chain([100_000]));
        let got = download(&device.linspace(&layout, begin, finish).unwrap());
        for row in (0..got.len()).map(|i| got.row(i)) {
            let (first, last) = (row[0], row[row.len() - 1]);
            assert_eq!(first.to_bits(), begin.to_bits());
            assert!(row.len() == 1 || last.to_bits() == finish.to_bits());
        }
    }
}

fn linspace_between(device: &Device) {
    for layout in layouts() {
        for (begin, finish) in [(0.1f32, 0.7f32), (-3e38, 3e38), (1e-20, -3.3), (-7.0, -7.0)] {
            let exact = expected(&layout, |element, i| {
                let steps = (layout.length(element) - 1).max(1) as f64;
                let (begin, finish) = (f64::from(begin), f64::from(finish));
                begin + (finish - begin) * (i as f64 / steps)
            });
            let most = f64::from(begin.abs().max(finish.abs())) * 2f64.powi(-19);
            let got = download(&device.linspace(&layout, begin, finish).unwrap());
            let bounds = vec![most; layout.total()];
            assert_within(format!("{begin} to {finish}"), &got, &exact, &bounds);
        }
    }
}

fn eye(device: &Device) {
    fn check<T: Factor>(device: &Device, layout: &Layout, one: T) {
        let of = |element: usize, i: usize| {
            let width = layout.shape(element).extents()[1] as usize;
            if i / width == i % width {
                one
            } else {
                T::default()
            }
        };
        let got = download(&device.eye::<T>(layout).unwrap());
        assert_bits("eye", &got, &expected(layout, of));
    }
    let many: Vec<[usize; 2]> = (0..3000).map(|i| [i * 3 % 4, i * 5 % 7]).collect();
    for layout in [
        matrices(&[
            [3, 3],
            [0, 5],
            [5, 0],
            [1, 4],
            [4, 1],
            [1, 1],
            [2, 700],
            [700, 2],
        ]),
        matrices(&[[130, 131], [257, 255], [64, 64]]),
        matrices(&many),
        matrices(&[]),
    ] {
        check(device, &layout, 1.0f32);
        check(device, &layout, 1i32);
        check(device, &layout, 1u32);
        check(device, &layout, f16::ONE);
    }
}

/// Word i of an element: that of Philox 4x32-10, written for this test.
fn word(seed: u64, stream: u32, element: u32, i: usize) -> u32 {
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

const SEED: u64 = 0xFEDC_BA98_7654_3210;

/// The known answer of the authors, and every word of other batches.
fn words(device: &Device) {
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

fn uniform_values(device: &Device) {
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

fn uniform_ranges(device: &Device) {
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

fn uniform_integers(device: &Device) {
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
fn uniform_distribution(device: &Device) {
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
fn normal_values(device: &Device) {
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
fn normal_distribution(device: &Device) {
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

fn normal_ranges(device: &Device) {
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
fn same_bits_everywhere(device: &Device) {
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

/// An element has the same bits alone, in any company and on any place, if it keeps its number; other seeds and
/// streams give others.
fn parts_of_a_batch(device: &Device) {
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

/// What dropout makes of x, by its documentation.
fn dropped(x: f32, p: f64, word: u32) -> f32 {
    let least = (p * 2f64.powi(32)).round();
    match f64::from(word) >= least {
        true => x * (1.0 / (1.0 - p)) as f32,
        false => 0.0,
    }
}

fn dropout_keeps(device: &Device) {
    for layout in layouts() {
        let x = Ragged::random(&layout, corpus::SEED).unwrap();
        for p in [0.0f32, 1e-9, 0.1, 0.5, 0.9, 1.0 - f32::EPSILON / 2.0] {
            let of = |e: usize, i| dropped(x.row(e)[i], f64::from(p), word(11, 2, e as u32, i));
            let got = download(&upload(device, &x).dropout(p, 11).unwrap());
            assert_exact(format!("p = {p}"), &got, &expected(&layout, of));
            let half = x.cast(f16::from_f32).unwrap();
            let of = |e: usize, i| {
                let x = f32::from(half.row(e)[i]);
                f16::from_f32(dropped(x, f64::from(p), word(11, 2, e as u32, i)))
            };
            let got = download(&upload(device, &half).dropout(p, 11).unwrap());
            assert_bits(format!("halves, p = {p}"), &got, &expected(&layout, of));
        }
    }
    let x = device.full(&vectors([1_000_000]), 1.0f32).unwrap();
    let kept = download(&x.dropout(0.3, 1).unwrap());
    let kept = kept.values().iter().filter(|x| **x != 0.0).count() as f64;
    assert!((kept - 700_000.0).abs() < 4.0 * 210_000f64.sqrt(), "{kept}");
}

/// Views begin at odd places, and number their elements from 0.
fn dropout_of_views(device: &Device) {
    fn check<T: Float>(device: &Device, of: fn(u32) -> T) {
        let layout = vectors([1, 2, 5000, 0, 7, 3]);
        let x = expected(&layout, |e, i| of((e * 10_000 + i) as u32 % 2000 + 1));
        let x = upload(device, &x);
        for begin in 0..6 {
            let view = x.elements(begin..6).unwrap();
            let alone = upload(device, &download(&view));
            let [got, exact] = [view, alone].map(|x| download(&x.dropout(0.25, 3).unwrap()));
            assert_bits(format!("from {begin}"), &got, &exact);
        }
    }
    check(device, |i| i as f32);
    check(device, |i| f16::from_f32(i as f32));
}

/// NaN and infinity become zero or stay, and change no other value.
fn dropout_of_specials(device: &Device) {
    let layout = vectors([3, 600, 2]);
    let specials = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1.5];
    let x = expected(&layout, |_, i| specials[i % 5]);
    let got = download(&upload(device, &x).dropout(0.5, 8).unwrap());
    for element in 0..layout.len() {
        for (i, y) in got.row(element).iter().enumerate() {
            let exact = dropped(specials[i % 5], 0.5, word(8, 2, element as u32, i));
            assert!(
                y.to_bits() == exact.to_bits() || (y.is_nan() && exact.is_nan()),
                "{y}, not {exact}"
            );
        }
    }
}

fn refusals(device: &Device) {
    fn refused<T: Scalar>(result: Result<Tensor<T>>, kind: &str, text: &str) {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    }
    let (layout, nan, inf) = (vectors([2, 3]), f32::NAN, f32::INFINITY);
    let argument = "argument";
    refused(
        device.arange(&layout, nan, 1.0),
        argument,
        "arange: expected a finite start, got NaN",
    );
    refused(
        device.arange(&layout, 0.0, -inf),
        argument,
        "arange: expected a finite step, got -inf",
    );
    refused(
        device.linspace(&layout, nan, 1.0),
        argument,
        "linspace: expected a finite start, got NaN",
    );
    refused(
        device.linspace(&layout, f16::ZERO, f16::INFINITY),
        argument,
        "linspace: expected a finite end, got inf",
    );
    refused(
        device.eye::<f32>(&layout),
        "rank",
        "eye: expected a rank of 2, got 1",
    );
    let ends = |low, high, text| refused(device.uniform(&layout, low, high, 1), argument, text);
    ends(nan, 1.0, "uniform: expected finite ends, got NaN and 1");
    ends(0.0, inf, "uniform: expected finite ends, got 0 and inf");
    ends(
        1.0,
        1.0,
        "uniform: expected a low end below the high one, got 1 and 1",
    );
    ends(
        -0.0,
        0.0,
        "uniform: expected a low end below the high one, got -0 and 0",
    );
    refused(
        device.uniform(&layout, 3, 2, 1),
        argument,
        "uniform: expected a low end below the high one, got 3 and 2",
    );
    let normal =
        |mean, deviation, text| refused(device.normal(&layout, mean, deviation, 1), argument, text);
    normal(inf, 1.0, "normal: expected a finite mean, got inf");
    normal(
        0.0,
        nan,
        "normal: expected a finite deviation of at least 0, got NaN",
    );
    normal(
        0.0,
        -1.0,
        "normal: expected a finite deviation of at least 0, got -1",
    );
    let x = device.full(&layout, 1.0f32).unwrap();
    for p in [-0.1, 1.0, nan] {
        let text = format!("dropout: expected a probability from 0 to below 1, got {p}");
        refused(x.dropout(p, 1), argument, &text);
    }
    let limited = device.with_work_limit(100);
    let large = vectors([101]);
    for error in [
        limited.arange(&large, 0, 1).unwrap_err(),
        limited.uniform(&large, 0, 1, 1).unwrap_err(),
    ] {
        assert_eq!(error.kind(), "work_limit", "{error}");
    }
    let mut random = rng("created");
    let lengths = vectors((0..100).map(|_| random.usize(..3)));
    assert_eq!(device.arange(&lengths, 0u32, 1).unwrap().layout(), &lengths);
}
