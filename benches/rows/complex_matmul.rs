//! Products of complex matrices.

use rustfft::num_complex::Complex64;
use vsla::{Complex32, Layout, Ragged, Shape};

use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let names = match bench.device.is_gpu() {
        true => ["matmul/complex-2048", "matmul/complex-batch"],
        false => ["cpu/matmul-complex-512", "cpu/matmul-complex-batch"],
    };
    let side = if bench.device.is_gpu() { 2048 } else { 512 };
    let side = if bench.size.quick { 64 } else { side };
    let mut random = fastrand::Rng::with_seed(95);
    let count = if bench.size.quick { 20 } else { 2000 };
    let sides: Vec<usize> = (0..count).map(|_| random.usize(8..=128)).collect();
    for (name, sides) in names.into_iter().zip([vec![side], sides]) {
        if bench.wants(name) {
            row(bench, name, &sides)?;
        }
    }
    Ok(())
}

fn row(bench: &mut Bench, name: &'static str, sides: &[usize]) -> Outcome<()> {
    let shapes = sides.iter().map(|&side| Shape::new(&[side, side]));
    let layout = Layout::from_shapes(2, shapes.collect::<vsla::Result<Vec<_>>>()?)?;
    let drawn = |seed| -> vsla::Result<Ragged<Complex32>> {
        let parts = Ragged::random(&Layout::from_lengths([2 * layout.total()])?, seed)?;
        let values = parts
            .values()
            .chunks_exact(2)
            .map(|part| Complex32::new(part[0], part[1]));
        Ragged::from_parts(layout.clone(), values.collect())
    };
    let (a, b) = (drawn(96)?, drawn(97)?);
    let (x, y) = (bench.device.upload(&a)?, bench.device.upload(&b)?);
    let (c, first) = bench.first(|| x.matmul(&y))?;
    let cubes: u64 = sides.iter().map(|&side| (side as u64).pow(3)).sum();
    let spec = Spec {
        name,
        data: format!(
            "{} square matrices of {} values, seeds 96 and 97",
            sides.len(),
            layout.total()
        ),
        bytes: 3 * 8 * layout.total() as u64,
        multiply_adds: 4 * cubes,
        first,
        check: check(&a, &b, &c.download_blocking()?),
    };
    let row = bench.measure(spec, || x.matmul(&y))?;
    bench.push(row);
    Ok(())
}

/// Some values of some products, in f64.
fn check(a: &Ragged<Complex32>, b: &Ragged<Complex32>, c: &Ragged<Complex32>) -> Check {
    let wide = |z: Complex32| Complex64::new(z.re.into(), z.im.into());
    let mut worst = 0.0f64;
    for element in (0..a.len()).step_by(a.len().div_ceil(20)) {
        let side = a.shape(element).extents()[0] as usize;
        for at in (0..side * side).step_by((side * side).div_ceil(20)) {
            let terms = (0..side).map(|l| {
                let (x, y) = (
                    a.row(element)[at / side * side + l],
                    b.row(element)[l * side + at % side],
                );
                wide(x) * wide(y)
            });
            let exact: Complex64 = terms.sum();
            worst = worst.max((wide(c.row(element)[at]) - exact).norm() / side as f64);
        }
    }
    match worst <= 1e-5 {
        true => Ok(format!("400 values within {worst:.1e} of a term")),
        false => Err(format!("a value is off by {worst:.1e} of a term")),
    }
}
