//! Conversions to and from integers: like Rust's `as`, except between integer types, where they saturate.

use libtest_mimic::Trial;
use vsla::{
    Device, Ragged, Result, Tensor, f16,
    scalar::{Scalar, f16_from_f64},
};

use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("casts::of_f32", of_f32),
        ("casts::of_f16", of_f16),
        ("casts::of_integers", of_integers),
        ("casts::at_every_base", at_every_base),
    ])
}

#[track_caller]
fn check<T: Scalar, R: Scalar>(
    device: &Device,
    values: &[T],
    run: fn(&Tensor<T>) -> Result<Tensor<R>>,
    expected: fn(T) -> R,
) {
    let got = download(&run(&upload(device, &Ragged::from_rows([values]).unwrap())).unwrap());
    for (&x, &y) in values.iter().zip(got.values()) {
        assert_eq!(y, expected(x), "of {x}");
    }
}

/// Every exponent, and the neighbours of numbers at which the behaviour changes.
fn of_f32(device: &Device) {
    let mut values = vec![
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        -0.0,
    ];
    for bits in (0..=u32::MAX).step_by(0x7_FFFF) {
        values.push(f32::from_bits(bits));
    }
    for turn in [0.5f32, 1.0, 2e9, 2147483648.0, 4294967296.0, 16777216.0] {
        for by in -2..=2 {
            let near = f32::from_bits(turn.to_bits().wrapping_add_signed(by));
            values.extend([near, -near]);
        }
    }
    check(device, &values, |x| x.to::<i32>(), |x| x as i32);
    check(device, &values, |x| x.to::<u32>(), |x| x as u32);
}

fn of_f16(device: &Device) {
    let values: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    check(device, &values, |x| x.to::<i32>(), |x| x.to_f32() as i32);
    check(device, &values, |x| x.to::<u32>(), |x| x.to_f32() as u32);
}

fn of_integers(device: &Device) {
    let mut words: Vec<u32> = (0..70_000).collect();
    words.extend((0..32).flat_map(|i| [1u32 << i, (1u32 << i) - 1, !(1 << i), (3 << i) + 1]));
    words.extend((0..10_000u32).map(|i| i.wrapping_mul(0x9E37_79B9)));
    let signed: Vec<i32> = words
        .iter()
        .flat_map(|&word| [word as i32, (word as i32).wrapping_neg()])
        .collect();
    check(
        device,
        &words,
        |x| x.to::<i32>(),
        |x| i32::try_from(x).unwrap_or(i32::MAX),
    );
    check(device, &words, |x| x.to::<f32>(), |x| x as f32);
    check(
        device,
        &words,
        |x| x.to::<f16>(),
        |x| f16_from_f64(x.into()),
    );
    check(
        device,
        &signed,
        |x| x.to::<u32>(),
        |x| u32::try_from(x).unwrap_or(0),
    );
    check(device, &signed, |x| x.to::<f32>(), |x| x as f32);
    check(
        device,
        &signed,
        |x| x.to::<f16>(),
        |x| f16_from_f64(x.into()),
    );
}

fn at_every_base(device: &Device) {
    for base in 0..9u32 {
        for length in [1, 2, 3, 5, 2049] {
            let rows = [
                vec![-1i32; base as usize],
                (0..length).collect(),
                vec![-1; 3],
            ];
            let x = upload(device, &Ragged::from_rows(&rows).unwrap());
            let view = x.elements(1..2).unwrap();
            let halves = view.to::<f16>().unwrap();
            let expected: Vec<f16> = rows[1].iter().map(|&x| f16::from_f32(x as f32)).collect();
            assert_eq!(download(&halves).values(), expected, "{length} from {base}");
            // The reverse conversion, of a view that begins inside a word.
            let all = x
                .to::<f16>()
                .unwrap()
                .elements(1..2)
                .unwrap()
                .to::<i32>()
                .unwrap();
            let expected: Vec<i32> = expected.iter().map(|x| x.to_f32() as i32).collect();
            assert_eq!(download(&all).values(), expected, "{length} from {base}");
        }
    }
}
