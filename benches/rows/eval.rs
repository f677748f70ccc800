//! Polynomials evaluated at points.

use vsla::{Layout, Ragged};

use crate::harness::{Bench, Check, Outcome, Spec};

/// Name, polynomials, most coefficients, and most points for each polynomial.
const ROWS: [(&str, usize, usize, usize); 2] = [
    ("eval/short", 1 << 17, 16, 1000),
    ("eval/long", 1 << 11, 4096, 4096),
];

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    for row in ROWS {
        if bench.wants(row.0) {
            self::row(bench, row)?;
        }
    }
    Ok(())
}

fn row(
    bench: &mut Bench,
    (name, count, degree, points): (&'static str, usize, usize, usize),
) -> Outcome<()> {
    let small = bench.size.quick || !bench.device.is_gpu();
    let count = if small { (count >> 8).max(4) } else { count };
    let mut rng = fastrand::Rng::with_seed(61);
    let mut layout = |most| Layout::from_lengths((0..count).map(|_| rng.usize(1..=most)));
    let (polynomials, points) = (layout(degree)?, layout(points)?);
    let (x, y) = (
        Ragged::random(&polynomials, 62)?,
        Ragged::random(&points, 63)?,
    );
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let (c, first) = bench.first(|| a.eval(&b))?;
    let some = [0, 1, count / 2, count - 1];
    let mut check: Check = Ok(format!("{} polynomials, in f64", some.len()));
    for i in some {
        let got = c.elements(i..i + 1)?.download_blocking()?;
        for (&t, &got) in y.row(i).iter().zip(got.values()) {
            let t = f64::from(t);
            let terms = x.row(i).iter().rev().map(|&c| f64::from(c));
            let (value, magnitude) = terms.fold((0.0, 0.0), |(value, magnitude), c: f64| {
                (value * t + c, magnitude * t.abs() + c.abs())
            });
            let roundings = 2.0 * x.row(i).len() as f64 / f64::from(1u32 << 24);
            let near = (value - f64::from(got)).abs() <= roundings * magnitude;
            if !near {
                check = Err(format!("polynomial {i} at {t} is {got} instead of {value}"));
            }
        }
    }
    let lengths = polynomials.lengths().zip(points.lengths());
    let spec = Spec {
        name,
        data: format!("{count} polynomials of up to {degree} coefficients, seed 61"),
        bytes: 4 * (polynomials.total() + 2 * points.total()) as u64,
        multiply_adds: lengths.map(|(n, points)| (n * points) as u64).sum(),
        first,
        check,
    };
    let row = bench.measure(spec, || a.eval(&b))?;
    let row = row.reads::<f32>(&polynomials).reads::<f32>(&points);
    bench.push(row.writes::<f32>(&points));
    Ok(())
}
