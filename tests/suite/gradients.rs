//! Gradients of recorded operations. Those of the catalogue's rows are tested by `rows`.
//!
//! | trials | requirement |
//! | --- | --- |
//! | `adjoints::<operation>` | ⟨g, f(x)⟩ = ⟨g_x, x⟩ where f is linear in an operand, exactly on small integers |
//! | `slopes::<operation>` | first derivatives of others, against central differences along random directions |
//! | `second::<operation>` | second derivatives, against differences of first ones |
//! | `goldens` | the values of the specification, and others by hand |
//! | `shared` | a value used twice, values in between, several seeds |
//! | `types` | halves and complex numbers in between |
//! | `ends_of_the_range`, `at_zero` | where a formula divides by a square that is too small or too large, or 0 |
//! | `not_numbers` | slopes of results that are NaN |
//! | `constant` | zeros, if the operand changes nothing |
//! | `recomputed`, `same_second_order` | values that are computed again |
//! | `contained` | NaN and infinity stay in their element |
//! | `refusals` | what has no gradient |
//! | `programs` | random programs |

mod adjoints;
mod ends;
mod goldens;
mod others;
mod programs;
mod slopes;

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::program::{Program, Recording};
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor};

use crate::support::bench::Bench;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for case in adjoints::all() {
        let name = case.name;
        let case = Arc::new(case);
        let (first, second) = (case.clone(), case.clone());
        let of_first = format!("adjoints::{name}");
        trials.extend(bench.on_each_device(&of_first, move |device| {
            adjoints::check(device, &first);
        }));
        // The first derivatives of linear functions do not depend on their operands, and differences of halves are
        // those of their rounding.
        if matches!(case.kind, Kind::Each | Kind::NearlyEach) && !name.contains("halves") {
            let of_second = format!("second::{name}");
            trials.extend(bench.on_each_device(&of_second, move |device| {
                slopes::second(device, &second);
            }));
        }
    }
    for case in slopes::all() {
        let name = case.name;
        let case = Arc::new(case);
        let (first, second) = (case.clone(), case);
        trials.extend(
            bench.on_each_device(&format!("slopes::{name}"), move |device| {
                slopes::first(device, &first);
            }),
        );
        trials.extend(
            bench.on_each_device(&format!("second::{name}"), move |device| {
                slopes::second(device, &second);
            }),
        );
    }
    trials.extend(goldens::tests(bench));
    trials.extend(ends::tests(bench));
    trials.extend(others::tests(bench));
    trials.extend(programs::tests(bench));
    trials
}

/// Whether a test declares that this operation, which has no row, is refused.
pub fn is_refused(operation: &str) -> bool {
    others::REFUSED.iter().any(|(name, _)| *name == operation)
}

/// A function of batches.
type Run = Arc<dyn Fn(&[Tensor<f32>]) -> Result<Tensor<f32>> + Send + Sync>;

/// An operation, or some in sequence, with the shapes of its operands.
struct Case {
    name: &'static str,
    kind: Kind,
    operands: Vec<Layout>,
    run: Run,
}

/// What a case promises.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Linear in all operands together, exactly on integers, or up to rounding.
    Linear,
    NearlyLinear,
    /// Linear in each operand.
    Each,
    NearlyEach,
    /// Smooth for values in this range.
    Smooth(f32, f32),
}

/// Vectors of these lengths.
fn v<const N: usize>(lengths: [usize; N]) -> Layout {
    Layout::from_lengths(lengths).unwrap()
}

/// Boxes of these extents.
fn m<const N: usize, const R: usize>(shapes: [[usize; R]; N]) -> Layout {
    Layout::from_shapes(R, shapes.map(|shape| Shape::new(&shape).unwrap())).unwrap()
}

/// Ids of a table of four rows, on the device of the operands; one row has none.
fn ids(x: &[Tensor<f32>]) -> Result<Tensor<u32>> {
    let ids = Ragged::from_rows([vec![2u32, 0, 2], vec![], vec![3, 2]])?;
    x[0].device().upload(&ids)
}

/// Records a function, and the cotangents of its operands given that of its result, as the last input.
fn recorded(device: &Device, run: &Run, operands: usize) -> Program {
    let run = run.clone();
    Program::new(device, move |r| {
        let operands = inputs(r, operands)?;
        let y = run(&operands)?;
        let seed = r.input()?;
        let to: Vec<&Tensor<f32>> = operands.iter().collect();
        for cotangent in r.gradients_from(&[(&y, &seed)], &to)? {
            r.output(&cotangent)?;
        }
        Ok(())
    })
}

fn inputs(r: &mut Recording, count: usize) -> Result<Vec<Tensor<f32>>> {
    (0..count).map(|_| r.input()).collect()
}

/// The results of a program with one output for each of so many outputs.
fn ran(program: &Program, inputs: &[Tensor<f32>]) -> Vec<Ragged<f32>> {
    let layouts: Vec<&Layout> = inputs.iter().map(Tensor::layout).collect();
    let plan = program.plan(&layouts).unwrap();
    let inputs: Vec<&dyn vsla::program::Value> = inputs
        .iter()
        .map(|x| x as &dyn vsla::program::Value)
        .collect();
    let outputs = plan.run(&inputs).unwrap();
    (0..outputs.len())
        .map(|i| download::<f32>(&outputs.get(i).unwrap()))
        .collect()
}

/// The cotangents of all operands, which have the operands' layouts.
fn cotangents(
    device: &Device,
    run: &Run,
    operands: &[Ragged<f32>],
    seed: &Ragged<f32>,
) -> Vec<Ragged<f32>> {
    let program = recorded(device, run, operands.len());
    let mut inputs: Vec<Tensor<f32>> = operands.iter().map(|x| upload(device, x)).collect();
    inputs.push(upload(device, seed));
    let all = ran(&program, &inputs);
    for (i, (cotangent, operand)) in all.iter().zip(operands).enumerate() {
        assert_eq!(
            cotangent.layout(),
            operand.layout(),
            "the layout of gradient {i}"
        );
    }
    all
}

/// The function itself.
fn value(device: &Device, run: &Run, operands: &[Ragged<f32>]) -> Ragged<f32> {
    let operands: Vec<Tensor<f32>> = operands.iter().map(|x| upload(device, x)).collect();
    download(&run(&operands).unwrap())
}

fn inner(a: &Ragged<f32>, b: &Ragged<f32>) -> f64 {
    assert_eq!(a.layout(), b.layout());
    a.values()
        .iter()
        .zip(b.values())
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum()
}

/// The sum of the magnitudes of the products.
fn size(a: &Ragged<f32>, b: &Ragged<f32>) -> f64 {
    a.values()
        .iter()
        .zip(b.values())
        .map(|(x, y)| (f64::from(*x) * f64::from(*y)).abs())
        .sum()
}

fn integers(layout: &Layout, random: &mut fastrand::Rng) -> Ragged<f32> {
    Ragged::from_fn(layout, |_, _| random.i32(-3..=3) as f32).unwrap()
}

fn floats(layout: &Layout, (low, high): (f32, f32), random: &mut fastrand::Rng) -> Ragged<f32> {
    Ragged::from_fn(layout, |_, _| low + (high - low) * random.f32()).unwrap()
}

/// x + t d.
fn moved(x: &Ragged<f32>, d: &Ragged<f32>, t: f32) -> Ragged<f32> {
    let values = x
        .values()
        .iter()
        .zip(d.values())
        .map(|(x, d)| x + t * d)
        .collect();
    Ragged::from_parts(x.layout().clone(), values).unwrap()
}

fn random_for(case: &Case) -> fastrand::Rng {
    rng(&format!("gradients of {}", case.name))
}
