//! Products of matrices of vectors, compared with one convolution for each term.

use vsla::{
    Device, Layout, Pairing, Ragged, Result, Shape, Tensor, batch::PairList, product::ShapeMatrix,
};

use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let name = "shape_matrix/conv";
    if !bench.wants(name) {
        return Ok(());
    }
    let side = if bench.size.quick { 6 } else { 32 };
    let [x, y] = [7, 8].map(|seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let lengths = (0..side * side).map(|_| rng.usize(64..=1024));
        Layout::from_lengths(lengths).and_then(|layout| Ragged::random(&layout, seed))
    });
    let (x, y) = (x?, y?);
    let grid = Layout::uniform(1, Shape::new(&[side, side])?)?;
    let on = |device: &Device, entries| ShapeMatrix::new(&device.upload(entries)?, &grid);
    let (a, b) = (on(&bench.device, &x)?, on(&bench.device, &y)?);
    let (c, first) = bench.first(|| a.conv_matmul(&b))?;
    let check = check(&x, &y, &c.entries().download_blocking()?, side);
    let values = [&a, &b, &c].map(|m| m.entries().layout().total());
    drop(c);
    let spec = Spec {
        name,
        data: format!(
            "{side} × {side} by {side} × {side}, entries uniform 64..=1024, seeds 7 and 8: {} and {} -> {} values",
            values[0], values[1], values[2]
        ),
        bytes: 4 * values.iter().sum::<usize>() as u64,
        multiply_adds: 0,
        first,
        check,
    };
    let mut row = bench.measure(spec, || a.conv_matmul(&b))?;
    // The terms of one j are consecutive, in the order of the results.
    let entries = side as u32;
    let pairs = (0..entries.pow(3)).map(|at| {
        let (j, i, k) = (at / entries.pow(2), at / entries % entries, at % entries);
        (i * entries + j, j * entries + k)
    });
    let pairs = PairList::new(pairs)?;
    let pair = a.entries().pair(b.entries(), Pairing::List(&pairs))?;
    let one_by_one = || -> Result<Tensor<f32>> {
        let terms = pair.conv()?;
        let of = |j: usize| terms.elements(j * side * side..(j + 1) * side * side);
        let mut sum = of(0)?;
        for j in 1..side {
            sum = sum.add(&of(j)?)?;
        }
        Ok(sum)
    };
    let (times, _) = bench.beside(|bench| bench.times(one_by_one))?;
    let ratio = times.best_known().as_secs_f64() / row.times.best_known().as_secs_f64();
    let target = if bench.device.is_gpu() { 5.0 } else { 1.0 };
    row = row.at_least("× the terms one by one", target, ratio);
    let micros = times.best_known().as_secs_f64() * 1e6;
    bench.push(row.note("µs one by one", micros));
    Ok(())
}

/// Compares some entries of the result with sums in f64.
fn check(a: &Ragged<f32>, b: &Ragged<f32>, c: &Ragged<f32>, side: usize) -> Check {
    for (i, k) in [(0, 0), (side / 2, 1), (side - 1, side - 1)] {
        let got = c.row(i * side + k);
        let (mut sum, mut size) = (vec![0.0; got.len()], 0.0);
        for j in 0..side {
            let (x, y) = (a.row(i * side + j), b.row(j * side + k));
            for (p, &x) in x.iter().enumerate() {
                for (sum, &y) in sum[p..].iter_mut().zip(y) {
                    *sum += f64::from(x) * f64::from(y);
                }
            }
            let norm = |row: &[f32]| row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
            size += (norm(x) * norm(y)).sqrt();
        }
        // The bound for transforms of 2048 values, and sums of as many terms as the side.
        let bound = (1.5 * 11.0 + side as f64) * size / f64::from(1 << 24);
        let off = |(got, sum): (&f32, &f64)| (f64::from(*got) - sum).abs() > bound;
        if got.iter().zip(&sum).any(off) {
            return Err(format!("entry ({i}, {k}) is off"));
        }
    }
    Ok("3 entries, in f64".to_owned())
}
