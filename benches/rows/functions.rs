//! Functions of two operands, of one layout or spread over elements, compared with a copy of as many bytes.

use rayon::prelude::*;
use vsla::{Layout, Ragged, Result, Shape, Tensor, f16, scalar::Float};

use crate::harness::lengths::until;
use crate::harness::{Bench, Check, Outcome, Size, Spec};

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if !bench.device.is_gpu() {
        return Ok(());
    }
    for function in &FUNCTIONS {
        row::<f32>(bench, function.name, function, function.single)?;
        row::<f16>(bench, function.half_name, function, function.half)?;
    }
    SPREAD
        .iter()
        .try_for_each(|spread| spread_row(bench, spread))
}

/// A function of two operands of one layout.
struct Function {
    name: &'static str,
    half_name: &'static str,
    /// Target: least percentage of our own copy's rate.
    target: f64,
    single: fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<f32>>,
    half: fn(&Tensor<f16>, &Tensor<f16>) -> Result<Tensor<f16>>,
    exact: fn(f64, f64) -> f64,
}

const FUNCTIONS: [Function; 4] = [
    Function {
        name: "functions/maximum",
        half_name: "functions/maximum-f16",
        target: 95.0,
        single: |x, y| x.maximum(y),
        half: |x, y| x.maximum(y),
        exact: f64::max,
    },
    Function {
        name: "functions/div",
        half_name: "functions/div-f16",
        target: 95.0,
        single: |x, y| x.div(y),
        half: |x, y| x.div(y),
        exact: |x, y| x / y,
    },
    Function {
        name: "functions/pow",
        half_name: "functions/pow-f16",
        target: 85.0,
        single: |x, y| x.pow(y),
        half: |x, y| x.pow(y),
        exact: f64::powf,
    },
    Function {
        name: "functions/atan2",
        half_name: "functions/atan2-f16",
        target: 85.0,
        single: |x, y| x.atan2(y),
        half: |x, y| x.atan2(y),
        exact: f64::atan2,
    },
];

/// A vector or one value for each element, times the values of the element.
struct Spread {
    name: &'static str,
    data: &'static str,
    layout: fn(&Size) -> Result<Layout>,
    /// The layout of the spread operand.
    of: fn(&Layout) -> Result<Layout>,
    run: fn(&Tensor<f32>, &Tensor<f32>) -> Result<Tensor<f32>>,
    /// The index of the spread operand's value that is paired with value `i` of element `element`.
    place: fn(&Layout, usize, usize) -> usize,
}

const SPREAD: [Spread; 4] = [
    Spread {
        name: "functions/each",
        data: "elements of 1 to 2048, uniform, each times its own value, seed 12",
        layout: |size| {
            let mut random = fastrand::Rng::with_seed(12);
            Layout::from_lengths(until(size.values, || random.usize(1..=2048)))
        },
        of: |x| Layout::uniform(x.len(), Shape::new(&[1])?),
        run: |x, v| x.hadamard(v.each()),
        place: |_, element, _| element,
    },
    Spread {
        name: "functions/each-small",
        data: "elements of 8 to 24, uniform, each times its own value, seed 12",
        layout: |size| {
            let mut random = fastrand::Rng::with_seed(12);
            Layout::from_lengths(until(size.values, || random.usize(8..=24)))
        },
        of: |x| Layout::uniform(x.len(), Shape::new(&[1])?),
        run: |x, v| x.hadamard(v.each()),
        place: |_, element, _| element,
    },
    Spread {
        name: "functions/columns",
        data: "a matrix of 384 columns times a vector of columns, seed 12",
        layout: |size| Layout::uniform(1, Shape::new(&[size.values / 384, 384])?),
        of: |_| Layout::from_lengths([384]),
        run: |x, v| x.hadamard(v.along(1)),
        place: |_, _, i| i % 384,
    },
    Spread {
        name: "functions/rows",
        data: "a matrix of 384 columns times a vector of rows, seed 12",
        layout: |size| Layout::uniform(1, Shape::new(&[size.values / 384, 384])?),
        of: |x| Layout::from_lengths([x.total() / 384]),
        run: |x, v| x.hadamard(v.along(0)),
        place: |_, _, i| i / 384,
    },
];

/// A value type that converts from and to floats.
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

/// Whether each result is near what `exact` gives for its place.
fn check<T: Value>(got: &Ragged<T>, exact: impl Fn(usize, usize) -> f64 + Sync) -> Check {
    let wrong = (0..got.len()).into_par_iter().find_map_any(|element| {
        let mut values = got.row(element).iter().enumerate();
        values.find_map(|(i, got)| {
            let (got, exact) = (got.wide(), exact(element, i));
            let near = (got - exact).abs() <= T::ROUNDING * exact.abs() + 1e-7;
            (!near).then(|| format!("{got} instead of {exact}"))
        })
    });
    match wrong {
        None => Ok(format!("all {} values against f64", got.values().len())),
        Some(wrong) => Err(wrong),
    }
}

fn row<T: Value>(
    bench: &mut Bench,
    name: &'static str,
    function: &Function,
    run: fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>>,
) -> Outcome<()> {
    if !bench.wants(name) {
        return Ok(());
    }
    let layout = Layout::from_lengths([bench.size.values])?;
    // Between 1/8 and 4.
    let draw = |seed| Ragged::random(&layout, seed)?.cast(|x| T::of(x.abs() * 3.875 + 0.125));
    let (x, y) = (draw(12)?, draw(13)?);
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&y)?);
    let (z, first) = bench.first(|| run(&a, &b))?;
    let got = z.download_blocking()?;
    drop(z);
    let (left, right) = (x.values(), y.values());
    let exact = |_, i: usize| (function.exact)(left[i].wide(), right[i].wide());
    let spec = Spec {
        name,
        data: format!(
            "one layout, {} values in 1/8..4, seeds 12 and 13",
            layout.total()
        ),
        bytes: 3 * (layout.total() * T::DTYPE.size()) as u64,
        multiply_adds: 0,
        first,
        check: check(&got, exact),
    };
    drop((x, y, got));
    let row = bench.measure(spec, || run(&a, &b))?;
    bench.push(row.of_copy(function.target));
    Ok(())
}

fn spread_row(bench: &mut Bench, spread: &Spread) -> Outcome<()> {
    if !bench.wants(spread.name) {
        return Ok(());
    }
    let layout = (spread.layout)(&bench.size)?;
    let x = Ragged::random(&layout, 12)?;
    let v = Ragged::random(&(spread.of)(&layout)?, 13)?;
    let (a, b) = (bench.device.upload(&x)?, bench.device.upload(&v)?);
    let (y, first) = bench.first(|| (spread.run)(&a, &b))?;
    let got = y.download_blocking()?;
    drop(y);
    let exact = |element: usize, i: usize| {
        let factor = v.values()[(spread.place)(&layout, element, i)];
        f64::from(x.row(element)[i]) * f64::from(factor)
    };
    let spec = Spec {
        name: spread.name,
        data: format!("{} values, {}", layout.total(), spread.data),
        bytes: 4 * (2 * layout.total() + v.values().len()) as u64,
        multiply_adds: 0,
        first,
        check: check(&got, exact),
    };
    drop(got);
    let row = bench.measure(spec, || (spread.run)(&a, &b))?;
    bench.push(row.of_copy(90.0));
    Ok(())
}
