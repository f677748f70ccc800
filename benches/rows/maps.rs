//! Maps: on a GPU compared with a copy of as many bytes, on the CPU with a plain loop over standard library functions.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Tensor, f16, scalar::Float};

use super::cpu::{Job, compare};
use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for map in MAPS {
        row::<f32>(
            bench,
            map,
            map.single,
            map.names[usize::from(!bench.device.is_gpu())],
        )?;
        if bench.device.is_gpu() {
            row::<f16>(bench, map, map.half, map.names[2])?;
        }
    }
    Ok(())
}

/// A map, and the equivalent loop.
struct Map {
    /// The row's names: f32 on a GPU, f32 on the CPU, f16 on a GPU.
    names: [&'static str; 3],
    /// Target: least percentage of our own copy's rate.
    target: f64,
    single: fn(&Tensor<f32>) -> Result<Tensor<f32>>,
    half: fn(&Tensor<f16>) -> Result<Tensor<f16>>,
    plain: fn(f32) -> f32,
    exact: fn(f64) -> f64,
}

const MAPS: &[Map] = &[
    Map {
        names: ["map/relu", "cpu/map-relu", "map/relu-f16"],
        target: 95.0,
        single: |x| x.relu(),
        half: |x| x.relu(),
        plain: |x| x.max(0.0),
        exact: |x| x.max(0.0),
    },
    Map {
        names: ["map/exp", "cpu/map-exp", "map/exp-f16"],
        target: 95.0,
        single: |x| x.exp(),
        half: |x| x.exp(),
        plain: f32::exp,
        exact: f64::exp,
    },
    Map {
        names: ["map/gelu", "cpu/map-gelu", "map/gelu-f16"],
        target: 85.0,
        single: |x| x.gelu(),
        half: |x| x.gelu(),
        plain: |x| 0.5 * x * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2)),
        exact: |x| 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
    },
    Map {
        names: ["map/powf", "cpu/map-powf", "map/powf-f16"],
        target: 85.0,
        single: |x| x.powf(1.7),
        half: |x| x.powf(1.7),
        plain: |x| x.powf(1.7),
        exact: |x| x.powf(f64::from(1.7f32)),
    },
    Map {
        names: ["map/sin", "cpu/map-sin", "map/sin-f16"],
        target: 85.0,
        single: |x| x.sin(),
        half: |x| x.sin(),
        plain: f32::sin,
        exact: f64::sin,
    },
];

/// A value type that converts from f32 and to f64.
trait Value: Float {
    const ROUNDING: f64;
    fn of(x: f32) -> Self;
    fn wide(self) -> f64;
}

impl Value for f32 {
    const ROUNDING: f64 = 1e-6;
    fn of(x: f32) -> f32 {
        x
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Value for f16 {
    const ROUNDING: f64 = 5e-4;
    fn of(x: f32) -> f16 {
        f16::from_f32(x)
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

fn row<T: Value>(
    bench: &mut Bench,
    map: &Map,
    run: fn(&Tensor<T>) -> Result<Tensor<T>>,
    name: &'static str,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let layout = Layout::from_lengths([bench.size.values])?;
    // Between −4 and 4.
    let values = Ragged::random(&layout, 12)?.cast(|x| 4.0 * x)?;
    let x = values.cast(T::of)?;
    let a = bench.device.upload(&x)?;
    let (y, first) = bench.first(|| run(&a))?;
    let got = y.download_blocking()?;
    drop(y);
    let both = x.values().par_iter().zip(got.values());
    let wrong = both.clone().find_any(|(x, y)| {
        let (exact, got) = ((map.exact)(x.wide()), y.wide());
        let allowed = T::ROUNDING * exact.abs() + 1e-7;
        let near = (exact - got).abs() <= allowed;
        !(near || exact.is_nan() && got.is_nan())
    });
    let check: Check = match wrong {
        None => Ok(format!("all {} values against f64", layout.total())),
        Some((x, y)) => Err(format!("{y} of {x}")),
    };
    let bytes = 2 * layout.total() * T::DTYPE.size();
    let data = format!("one element of {} values in -4..4, seed 12", layout.total());
    if !bench.device.is_gpu() {
        let plain = map.plain;
        let mut made = vec![0.0f32; layout.total()];
        // The straightforward loop.
        let mut by_hand = || {
            made.par_iter_mut()
                .zip(values.values())
                .for_each(|(y, &x)| *y = plain(x));
        };
        let job = Job {
            name,
            data,
            bytes,
            multiply_adds: 0,
            check,
            ours: &mut || run(&a).map(drop),
            plain: &mut by_hand,
            target: ("x a plain loop", 1.1),
        };
        return compare(bench, job);
    }
    let spec = Spec {
        name,
        data,
        bytes: bytes as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let row = bench.measure(spec, || run(&a))?;
    bench.push(row.of_copy(map.target));
    Ok(())
}
