//! The element-wise functions of the table: each row against f64 within its bound, for all exponents; integers exactly;
//! and as kernels, over the corpus.

pub mod bounds;
mod casts;
mod integers;

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, f16};

use crate::support::bench::Bench;
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::small(), corpus::boxes()].concat();
    // All rows use the same kernel, which differs only in the element type.
    let mut trials = Operation::new()
        .with(abs::<f32>())
        .with(abs::<i32>())
        .with(abs::<u32>())
        .trials(bench, "abs", cases());
    trials.extend(bounds::tests(bench));
    trials.extend(integers::tests(bench));
    trials.extend(casts::tests(bench));
    trials.extend(bench.all_on_each_device(&[
        ("halves_at_every_base", halves_at_every_base),
        ("refuses", refuses),
        ("of_nothing", of_nothing),
    ]));
    trials
}

fn abs<T: Number>() -> Binary<T, T> {
    Binary {
        name: "abs",
        run: |x, _| x.abs(),
        paired: None,
        expected: Some(|a, _, _| {
            let values = a
                .cast(|value| match T::DTYPE {
                    vsla::scalar::DType::F32 => {
                        bytemuck::cast(bytemuck::cast::<_, f32>(value).abs())
                    }
                    vsla::scalar::DType::I32 => {
                        bytemuck::cast(bytemuck::cast::<_, i32>(value).wrapping_abs())
                    }
                    _ => value,
                })
                .unwrap();
            Expected::exact::<T>(widened(&values))
        }),
        spreads: false,
        series_only: false,
    }
}

/// Views of f16 that begin and end anywhere in a quad of words: neighbouring values are neither used nor changed.
fn halves_at_every_base(device: &Device) {
    for base in 0..9 {
        for length in [1, 2, 3, 7, 8, 9, 4097] {
            let layout = Layout::from_lengths([base, length, base % 3]).unwrap();
            let batch = Ragged::from_fn(&layout, |element, i| {
                // A change beside the view would be noticed.
                f16::from_f32(if element == 1 {
                    -((i % 1000) as f32)
                } else {
                    f32::NAN
                })
            })
            .unwrap();
            let view = upload(device, &batch).elements(1..2).unwrap();
            let got = download(&view.abs().unwrap());
            let expected = batch.row(1).iter().map(|x| f16::from_f32(x.to_f32().abs()));
            assert!(
                got.values().iter().copied().eq(expected),
                "{length} from {base}: {:?}",
                got.values()
            );
            // The result can be an operand.
            let again = download(&view.abs().unwrap().square().unwrap());
            assert_eq!(again.values().len(), length);
        }
    }
}

fn of_nothing(device: &Device) {
    for lengths in [&[][..], &[0, 0]] {
        let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
        let nothing = Ragged::from_parts(layout.clone(), Vec::<f32>::new()).unwrap();
        let got = download(&upload(device, &nothing).exp().unwrap());
        assert_eq!(got, nothing);
        let nothing = Ragged::from_parts(layout, Vec::<f16>::new()).unwrap();
        let got = download(&upload(device, &nothing).gelu().unwrap());
        assert_eq!(got, nothing);
    }
}

fn refuses(device: &Device) {
    let floats = upload(device, &Ragged::from_rows([[1.0f32, -2.0]]).unwrap());
    let integers = upload(device, &Ragged::from_rows([[1, -2]]).unwrap());
    let halves = upload(device, &Ragged::from_rows([[f16::ONE]]).unwrap());
    for (op, error) in [
        ("clamp", floats.clamp(1.0, 0.5).unwrap_err()),
        ("clamp", floats.clamp(f32::NAN, 1.0).unwrap_err()),
        ("clamp", floats.clamp(0.0, f32::NAN).unwrap_err()),
        ("clamp", halves.clamp(f16::ONE, f16::ZERO).unwrap_err()),
        ("clamp", integers.clamp(1, 0).unwrap_err()),
        ("rem", floats.rem(0.0).unwrap_err()),
        ("rem", floats.rem(-0.0).unwrap_err()),
        ("rem", floats.rem(f32::NAN).unwrap_err()),
        ("rem", halves.rem(f16::NEG_ZERO).unwrap_err()),
        ("rem", integers.rem(0).unwrap_err()),
        ("div_scalar", integers.div_scalar(0).unwrap_err()),
        ("powi", floats.powi((1 << 24) + 1).unwrap_err()),
        ("powi", floats.powi(i32::MIN).unwrap_err()),
        ("shift_left", integers.shift_left(32).unwrap_err()),
        ("shift_right", integers.shift_right(u32::MAX).unwrap_err()),
    ] {
        assert_eq!((error.kind(), error.op()), ("argument", op), "{error}");
    }
    // A refused call leaves the device usable.
    assert_eq!(download(&integers.abs().unwrap()).row(0), [1, 2]);
}
