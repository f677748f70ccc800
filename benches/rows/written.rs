//! Functions that an application writes, compared with a copy of as many bytes.

use vsla::{Layout, Ragged};

use crate::harness::{Bench, Check, Outcome, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let on_gpu = bench.device.is_gpu();
    let (one, two) = match on_gpu {
        true => ("map/written", "map/written-two"),
        false => ("cpu/map-written", "cpu/map-written-two"),
    };
    if !bench.wants(one) && !bench.wants(two) {
        return Ok(());
    }
    let x = Ragged::random(&Layout::from_lengths([bench.size.values / 4; 4])?, 91)?;
    let tensor = bench.device.upload(&x)?;
    let data = format!("{} values, seed 91", x.values().len());
    if bench.wants(one) {
        let f = bench.device.map1("x * exp(-x)", |x: f32| x * (-x).exp())?;
        let (y, first) = bench.first(|| f.apply(&tensor))?;
        let spec = Spec {
            name: one,
            data: data.clone(),
            bytes: 8 * x.values().len() as u64,
            multiply_adds: 0,
            first,
            check: check(&x, &y.download_blocking()?, |x| x * (-x).exp()),
        };
        let row = bench.measure(spec, || f.apply(&tensor))?;
        bench.push(if on_gpu { row.of_copy(95.0) } else { row });
    }
    if bench.wants(two) {
        let f = bench.device.map2("a * b + 1.0", |a: f32, b| a * b + 1.0)?;
        let (y, first) = bench.first(|| f.apply(&tensor, &tensor))?;
        let spec = Spec {
            name: two,
            data,
            // One operand twice: it is read once, from memory.
            bytes: 8 * x.values().len() as u64,
            multiply_adds: 0,
            first,
            check: check(&x, &y.download_blocking()?, |x| x * x + 1.0),
        };
        let row = bench.measure(spec, || f.apply(&tensor, &tensor))?;
        bench.push(row);
    }
    Ok(())
}

fn check(x: &Ragged<f32>, y: &Ragged<f32>, exact: fn(f64) -> f64) -> Check {
    let pairs = x.values().iter().zip(y.values());
    let worst = pairs.fold(0.0f64, |worst, (&x, &y)| {
        let exact = exact(x.into());
        worst.max((f64::from(y) - exact).abs() / exact.abs().max(1e-30))
    });
    match worst <= 1e-6 {
        true => Ok(format!("all values within {worst:.1e}")),
        false => Err(format!("a value is off by {worst:.1e}")),
    }
}
