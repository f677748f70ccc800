//! Dropout: the words of the generator decide which values stay.

use vsla::{Device, Ragged, f16, scalar::Float};

use super::random::word;
use super::{assert_bits, expected, layouts, vectors};
use crate::support::compare::assert_exact;
use crate::support::corpus;
use crate::support::operation::{download, upload};

/// What dropout makes of x, by its documentation.
fn dropped(x: f32, p: f64, word: u32) -> f32 {
    let least = (p * 2f64.powi(32)).round();
    match f64::from(word) >= least {
        true => x * (1.0 / (1.0 - p)) as f32,
        false => 0.0,
    }
}

pub fn dropout_keeps(device: &Device) {
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
pub fn dropout_of_views(device: &Device) {
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
pub fn dropout_of_specials(device: &Device) {
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
