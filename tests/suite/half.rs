//! f16 on devices: the properties of all element types, for values of half a word, and conversions.

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Ragged, f16,
    scalar::{DType, Scalar, f16_from_f64},
};

use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("there_and_back", there_and_back),
        ("views", views),
        ("copy", copy),
        ("full", full),
        ("scaled", scaled),
        ("negated", negated),
        ("operators", operators),
        ("rounds_to_the_nearest", rounds_to_the_nearest),
        ("rounds_specials", rounds_specials),
        ("widens_every_value", widens_every_value),
        ("converts_at_every_base", converts_at_every_base),
        ("converts_ragged_batches", converts_ragged_batches),
    ]);
    trials.push(bench.host("named", named));
    trials.push(bench.host("rounds_f64_once", rounds_f64_once));
    trials.push(bench.host("printed", printed));
    #[cfg(feature = "gpu")]
    trials.extend([
        bench.on_gpu("sizes", crate::support::bench::gpu, |_| gpu::sizes()),
        bench.on_gpu("imported", crate::support::bench::gpu, gpu::imported),
        bench.on_gpu(
            "large_reads_from_inside_a_word",
            crate::support::bench::gpu,
            gpu::large_reads,
        ),
    ]);
    trials
}

/// A batch in which neighbouring values have different bits.
fn numbered(layout: &Layout) -> Ragged<f16> {
    let offsets = layout.offsets().clone();
    Ragged::from_fn(layout, |element, i| {
        let at = (offsets.range(element).start + i) as u32;
        // Without NaN, because batches are compared by value.
        f16::from_bits((at.wrapping_mul(40_503) % 0x7C00) as u16 | (at % 2 * 0x8000) as u16)
    })
    .unwrap()
}

/// Every half but NaNs, and some NaNs, from any place on.
fn all_halves(begin: usize) -> Ragged<f16> {
    let values = (0..=u16::MAX).map(f16::from_bits).skip(begin);
    Ragged::from_rows([values.collect::<Vec<_>>(), vec![f16::ONE]]).unwrap()
}

fn assert_alike(what: &str, got: &Ragged<f16>, of: &Ragged<f16>, exact: impl Fn(f16) -> f16) {
    assert_eq!(got.layout(), of.layout());
    for (&got, &x) in got.values().iter().zip(of.values()) {
        let exact = exact(x);
        let alike = got.to_bits() == exact.to_bits() || got.is_nan() && exact.is_nan();
        assert!(alike, "{what} of {x}: {got}, not {exact}");
    }
}

/// Multiplied in f32, and rounded once.
fn scaled(device: &Device) {
    for (begin, factor) in [0.1, -3.0, 1.0, 0.0, 6e-8, 65504.0].into_iter().enumerate() {
        let factor = f16_from_f64(factor);
        let all = all_halves(begin);
        let x = upload(device, &all);
        let product = |x: f16| f16::from_f32(f32::from(factor) * f32::from(x));
        let got = download(&x.scale(factor).unwrap());
        assert_alike(&format!("{factor} x"), &got, &all, product);
        let view = x.elements(1..2).unwrap();
        assert_eq!(download(&view.scale(factor).unwrap()).values(), [factor]);
    }
}

/// The sign is flipped, also of zeros and NaNs.
fn negated(device: &Device) {
    for begin in 0..3 {
        let all = all_halves(begin);
        let got = download(&upload(device, &all).neg().unwrap());
        for (got, x) in got.values().iter().zip(all.values()) {
            assert_eq!(got.to_bits(), x.to_bits() ^ 1 << 15);
        }
    }
}

fn operators(device: &Device) {
    let x = upload(
        device,
        &Ragged::from_rows([[1.0, -2.0, 0.5].map(f16::from_f64)]).unwrap(),
    );
    let s = f16::from_f64(4.0);
    for (got, exact) in [
        (&x + s, [5.0, 2.0, 4.5]),
        (&x - s, [-3.0, -6.0, -3.5]),
        (&x * s, [4.0, -8.0, 2.0]),
        (&x / s, [0.25, -0.5, 0.125]),
        (s + &x, [5.0, 2.0, 4.5]),
        (s - &x, [3.0, 6.0, 3.5]),
        (s * &x, [4.0, -8.0, 2.0]),
        (s / &x, [4.0, -2.0, 8.0]),
        (-&x, [-1.0, 2.0, -0.5]),
    ] {
        assert_eq!(download(&got.unwrap()).values(), exact.map(f16::from_f64));
    }
}

/// Batches with even and odd numbers of values.
fn layouts() -> [Layout; 5] {
    let layout = |lengths: &[usize]| Layout::from_lengths(lengths.iter().copied()).unwrap();
    [
        layout(&[]),
        layout(&[1]),
        layout(&[0, 4, 0]),
        layout(&[1, 2, 4, 8, 0, 1024, 2048, 4096, 2]),
        layout(&[3, 0, 1, 70_001, 2, 257]),
    ]
}

fn there_and_back(device: &Device) {
    for layout in layouts() {
        let batch = numbered(&layout);
        let tensor = upload(device, &batch);
        assert_eq!(download(&tensor), batch);
        let mut values = vec![f16::MAX; batch.values().len() + 1];
        let wrong = tensor.download_into_blocking(&mut values).unwrap_err();
        assert_eq!(wrong.kind(), "value_count");
        let (last, values) = values.split_last_mut().unwrap();
        tensor.download_into_blocking(values).unwrap();
        assert_eq!(values, batch.values());
        assert_eq!(*last, f16::MAX);
        let read = pollster::block_on(tensor.download());
        assert_eq!(read.unwrap(), batch);
    }
}

fn views(device: &Device) {
    let batch = numbered(&layouts()[4]);
    let view = upload(device, &batch).elements(2..6).unwrap();
    let inner = view.elements(1..4).unwrap();
    let expected = Ragged::from_rows((3..6).map(|i| batch.row(i))).unwrap();
    assert_eq!(
        download(&view.elements(0..1).unwrap()).values(),
        batch.row(2)
    );
    assert_eq!(download(&inner), expected);
    assert_eq!(download(&inner.copy().unwrap()), expected);
}

/// At every base modulo eight, with all kinds of ends.
fn copy(device: &Device) {
    for layout in layouts() {
        let batch = numbered(&layout);
        assert_eq!(download(&upload(device, &batch).copy().unwrap()), batch);
    }
    for base in 0..9 {
        for length in [1, 2, 3, 7, 8, 2049] {
            let layout = Layout::from_lengths([base, length, base % 3]).unwrap();
            let batch = numbered(&layout);
            let view = upload(device, &batch).elements(1..2).unwrap();
            let copied = download(&view.copy().unwrap());
            assert_eq!(copied.values(), batch.row(1), "{length} from {base}");
        }
    }
}

fn full(device: &Device) {
    for layout in layouts() {
        let value = f16::from_f32(-1.5);
        let made = device.full(&layout, value).unwrap();
        assert_eq!(download(&made), Ragged::full(&layout, value).unwrap());
        assert_eq!(
            download(&made.copy().unwrap()),
            Ragged::full(&layout, value).unwrap()
        );
    }
}

/// Every f16, every midpoint between two neighbours, and the two f32 next to it, up to infinity and with both signs.
fn rounds_to_the_nearest(device: &Device) {
    let (mut inputs, mut expected) = (Vec::new(), Vec::new());
    for sign in [0, 0x8000u16] {
        for bits in 0..0x7C00u16 {
            let [low, high] = [bits, bits + 1].map(|b| f16::from_bits(b | sign));
            // The value after the largest f16 would be 65,536.
            let next = if high.is_infinite() {
                65_536.0_f32.copysign(low.to_f32_const())
            } else {
                high.to_f32_const()
            };
            let here = low.to_f32_const();
            let middle = ((f64::from(here) + f64::from(next)) / 2.0) as f32;
            let beside = |by: i32| f32::from_bits(middle.to_bits().wrapping_add_signed(by));
            let even = if bits % 2 == 0 { low } else { high };
            for (x, y) in [
                (here, low),
                (beside(-1), low),
                (middle, even),
                (beside(1), high),
            ] {
                inputs.push(x);
                expected.push(y.to_bits());
            }
        }
    }
    let x = upload(device, &Ragged::from_rows([&inputs]).unwrap());
    let got = download(&x.to::<f16>().unwrap());
    for ((x, got), expected) in inputs.iter().zip(got.values()).zip(expected) {
        assert_eq!(got.to_bits(), expected, "{x:e}");
    }
}

/// Rounding from f64 takes a single step: values on either side of every boundary, as close as f64 allows.
fn rounds_f64_once() {
    let round = |x: f64| f16_from_f64(x).to_bits();
    for bits in 0..0x7C00u16 {
        let low = f16::from_bits(bits).to_f64_const();
        // The value after the largest f16 would be 65,536.
        let high = match bits {
            0x7BFF => 65_536.0,
            _ => f16::from_bits(bits + 1).to_f64_const(),
        };
        let middle = (low + high) / 2.0;
        let even = if bits % 2 == 0 { bits } else { bits + 1 };
        for (x, expected) in [
            (low, bits),
            (low.next_up(), bits),
            (middle.next_down(), bits),
            (middle, even),
            (middle.next_up(), bits + 1),
            (high.next_down(), bits + 1),
        ] {
            assert_eq!(round(x), expected, "{x:e}");
            assert_eq!(round(-x), expected | 0x8000, "{x:e}");
        }
    }
    assert_eq!(f16_from_f64(2_049.000_000_1), f16::from_f32(2050.0));
    assert_eq!(f16_from_f64(65_519.999_9), f16::MAX);
    for (x, expected) in [
        (65_520.0, 0x7C00),
        (1e39, 0x7C00),
        (f64::MAX, 0x7C00),
        (f64::INFINITY, 0x7C00),
        (f64::from(f32::MAX).next_up(), 0x7C00),
        (f64::MIN_POSITIVE, 0),
        (5e-324, 0),
        (1e-46, 0),
    ] {
        assert_eq!(round(x), expected, "{x:e}");
        assert_eq!(round(-x), expected | 0x8000, "{x:e}");
    }
    assert!(f16_from_f64(f64::NAN).is_nan() && f16_from_f64(-f64::NAN).is_nan());
}

fn rounds_specials(device: &Device) {
    let bits = [
        (0x0000_0000, 0x0000),
        (0x8000_0000, 0x8000),
        (0x0000_0001, 0x0000),
        (0x807F_FFFF, 0x8000),
        (0x7F80_0000, 0x7C00),
        (0xFF80_0000, 0xFC00),
        (0x7F7F_FFFF, 0x7C00),
        (0xC77F_F000, 0xFC00),
        (0x477F_EFFF, 0x7BFF),
        // A NaN keeps its sign and the upper bits of its payload, and becomes quiet.
        (0x7FC0_0000, 0x7E00),
        (0xFFC0_0000, 0xFE00),
        (0x7F80_0001, 0x7E00),
        (0xFFBF_FFFF, 0xFFFF),
    ];
    let x = Ragged::from_rows([bits.map(|(wide, _)| f32::from_bits(wide))]).unwrap();
    let got = download(&upload(device, &x).to::<f16>().unwrap());
    let got: Vec<u16> = got.values().iter().map(|half| half.to_bits()).collect();
    assert_eq!(got, bits.map(|(_, half)| half));
}

fn widens_every_value(device: &Device) {
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let x = Ragged::from_rows([&all]).unwrap();
    let got = download(&upload(device, &x).to::<f32>().unwrap());
    for (half, got) in all.iter().zip(got.values()) {
        let bits = u32::from(half.to_bits());
        let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, bits & 1023);
        let expected = match (exponent, fraction) {
            (31, 0) => 0x7F80_0000,
            (31, fraction) => 0x7FC0_0000 | fraction << 13,
            (0, fraction) => (fraction as f32 * 2f32.powi(-24)).to_bits(),
            (exponent, fraction) => {
                let mantissa = (1024 + fraction) as f32;
                (mantissa * 2f32.powi(exponent as i32 - 25)).to_bits()
            }
        };
        assert_eq!(got.to_bits(), sign << 31 | expected, "{bits:04x}");
    }
}

fn converts_at_every_base(device: &Device) {
    for base in 0..9 {
        for length in [1, 2, 3, 5, 2049] {
            let layout = Layout::from_lengths([base, length, base % 3]).unwrap();
            let halves = numbered(&layout);
            let wide = halves.cast(|half| half.to_f32_const()).unwrap();
            let expected = Ragged::from_rows([wide.row(1)]).unwrap();
            let view = upload(device, &halves).elements(1..2).unwrap();
            let got = download(&view.to::<f32>().unwrap());
            assert_eq!(got, expected, "{length} from {base}");
            let view = upload(device, &wide).elements(1..2).unwrap();
            let got = download(&view.to::<f16>().unwrap());
            assert_eq!(got.values(), halves.row(1), "{length} from {base}");
        }
    }
}

fn converts_ragged_batches(device: &Device) {
    for layout in layouts() {
        let batch = numbered(&layout);
        let wide = upload(device, &batch).to::<f32>().unwrap();
        assert_eq!(
            download(&wide),
            batch.cast(|half| half.to_f32_const()).unwrap()
        );
        assert_eq!(download(&wide.to::<f16>().unwrap()), batch);
    }
}

fn named() {
    assert_eq!(f16::DTYPE, DType::F16);
    assert_eq!(DType::F16.size(), size_of::<f16>());
    assert_eq!(DType::F16.to_string(), "f16");
}

fn printed() {
    let batch = Ragged::from_rows([vec![f16::ONE, f16::NEG_INFINITY], vec![]]).unwrap();
    assert_eq!(
        batch.to_string(),
        "\
Ragged<f16>: 2 rows, 2 values, lengths 0..=2
[[1.0, -inf],
 []]"
    );
}

#[cfg(feature = "gpu")]
mod gpu {
    use vsla::Error;
    use vsla::device::wgpu::{self, BufferUsages};

    use super::*;
    use crate::device::own_gpu;

    /// 2047 and 2048 halves fill 4096 bytes.
    pub fn sizes() {
        let device = own_gpu(|options| options.max_binding_bytes = Some(4096));
        for last in [11, 12] {
            let fits = numbered(&Layout::from_lengths([2036, last]).unwrap());
            assert_eq!(download(&upload(&device, &fits)), fits);
        }
        let too_large = Layout::from_lengths([2036, 13]).unwrap();
        let expected = Error::TooLarge {
            op: "upload",
            element: Some(1),
            what: "the tensor".to_owned(),
            bytes: 1025 * 4,
            limit: 4096,
        };
        assert_eq!(device.upload(&numbered(&too_large)).unwrap_err(), expected);
        let half = device.full(&Layout::from_lengths([1030]).unwrap(), f16::ONE);
        let wide = half.unwrap().to::<f32>();
        assert_eq!(wide.unwrap_err().kind(), "too_large");
    }

    pub fn imported(device: &Device) {
        let batch = numbered(&Layout::from_lengths([3, 2]).unwrap());
        let (raw, queue) = device.wgpu().unwrap();
        let buffer = raw.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 32,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut bytes = vec![0xFF; 6];
        bytes.extend(batch.values().iter().flat_map(|half| half.to_le_bytes()));
        queue.write_buffer(&buffer, 0, &bytes);
        let tensor = device.import(&buffer, 6, batch.layout()).unwrap();
        assert_eq!(download(&tensor), batch);
        assert_eq!(download(&tensor.copy().unwrap()), batch);
        assert_eq!(tensor.export().unwrap().1, 6);
        assert_eq!(tensor.elements(1..2).unwrap().export().unwrap().1, 12);
        let refused = |offset| {
            let imported = device.import::<f16>(&buffer, offset, batch.layout());
            imported.unwrap_err().kind()
        };
        assert_eq!(refused(5), "unsupported");
        assert_eq!(refused(24), "value_count");
    }

    /// Reads are divided into pieces of 16 MiB.
    pub fn large_reads(device: &Device) {
        let batch = numbered(&Layout::from_lengths([1, (17 << 20) + 2]).unwrap());
        let view = upload(device, &batch).elements(1..2).unwrap();
        assert!(download(&view).values() == batch.row(1));
    }
}
