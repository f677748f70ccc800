//! Properties that must hold after a program has run.

use vsla::{Bsr, Device, Ragged, f16};

use super::batch::Batch;
use super::judge::Judge;
use super::op::{Binary, Op, Sparse};
use super::{Run, Step};

/// The number of elements of each operation that are computed alone.
const ALONE: usize = 2;

impl Run {
    fn operands(&self, step: &Step) -> Vec<&Batch> {
        step.operands.iter().map(|&at| &self.batches[at]).collect()
    }
}

/// Makes single elements of every operation's results on their own, which must give the same bits.
///
/// # Errors
/// A description of the first that does not.
pub fn check_alone(run: &Run, device: &Device) -> Result<(), String> {
    for step in &run.steps {
        let Ok(results) = &step.results else {
            continue;
        };
        if results.is_empty() {
            continue;
        }
        let operands = run.operands(step);
        let lengths: Vec<usize> = operands.iter().map(|batch| batch.layout().len()).collect();
        let elements = run.batches[results.start].layout().len();
        let last = elements.saturating_sub(ALONE.min(elements));
        for pair in (last..elements)
            .rev()
            .step_by(2)
            .chain((elements > 2).then_some(0))
        {
            let Some((op, chosen)) = step.op.alone(pair, &lengths) else {
                break;
            };
            let upload = |(batch, &i): (&&Batch, &usize)| batch.element(i).upload(device);
            let alone: Result<Vec<_>, _> = operands.iter().zip(&chosen).map(upload).collect();
            let alone = alone.map_err(|error| error.to_string())?;
            let made = op.apply(device, &alone.iter().collect::<Vec<_>>());
            let made = made.map_err(|error| format!("alone, {:?} gives {error}", brief(&op)))?;
            for (value, at) in made.iter().zip(results.clone()) {
                let value = value.download().map_err(|error| error.to_string())?;
                let expected = run.batches[at].element(pair);
                if !value.same(&expected) {
                    return Err(format!(
                        "element {pair} of {} differs alone: {} and not {}",
                        brief(&op),
                        shown(&value),
                        shown(&expected),
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Repeats every operation on another device, with the same operands: integers and other exact results must be equal,
/// other floats must be within the documented bounds.
///
/// # Errors
/// A description of the first result that is not.
pub fn check_against(run: &Run, other: &Device) -> Result<(), String> {
    for step in &run.steps {
        let operands = run.operands(step);
        let apply = |op: &Op, operands: &[Batch]| {
            let values: Result<Vec<_>, _> =
                operands.iter().map(|batch| batch.upload(other)).collect();
            let values = op.apply(other, &values?.iter().collect::<Vec<_>>())?;
            values
                .iter()
                .map(|value| value.download())
                .collect::<vsla::Result<Vec<_>>>()
        };
        let owned: Vec<Batch> = operands.iter().map(|&batch| batch.clone()).collect();
        let made = apply(&step.op, &owned);
        let (results, made) = match (&step.results, made) {
            (Ok(results), Ok(made)) => (results.clone(), made),
            (Err(here), Err(there)) if here.kind() == there.kind() => continue,
            (here, there) => {
                return Err(format!(
                    "{} gives {} here and {} there",
                    brief(&step.op),
                    outcome(here),
                    outcome(&there)
                ));
            }
        };
        if results.len() != made.len() {
            return Err(format!(
                "{} gives {} results and {}",
                brief(&step.op),
                results.len(),
                made.len()
            ));
        }
        let judge = Judge::of(&step.op, &operands);
        // The sums of absolute values, computed by the same operation.
        let magnitudes = match judge {
            Judge::Summed { .. } => {
                let abs: Vec<Batch> = operands.iter().map(|batch| batch.abs()).collect();
                let made = apply(&abs_op(&step.op), &abs);
                made.map_err(|error| format!("{} of magnitudes: {error}", brief(&step.op)))?
            }
            _ => Vec::new(),
        };
        for (number, (at, there)) in results.zip(&made).enumerate() {
            let here = &run.batches[at];
            let judged = match here.layout() == there.layout() {
                false => Err("their shapes differ".to_owned()),
                true => judge.judge(
                    &step.op,
                    &operands,
                    number,
                    here,
                    there,
                    magnitudes.get(number),
                ),
            };
            judged.map_err(|why| {
                format!(
                    "{}: {why}: {} here and {} there",
                    brief(&step.op),
                    shown(here),
                    shown(there)
                )
            })?;
        }
    }
    Ok(())
}

/// The same operation on absolute values, including its own arguments.
fn abs_op(op: &Op) -> Op {
    let mut op = op.clone();
    fn abs(batch: &mut Ragged<f32>) {
        batch.values_mut().iter_mut().for_each(|v| *v = v.abs());
    }
    fn bsr<T: Copy>(bsr: &Bsr<T>, abs: impl Fn(T) -> T) -> Bsr<T> {
        let values = bsr.values().cast(abs).unwrap().into_parts().1;
        Bsr::from_sets(bsr.topology(), bsr.len(), values).expect("as many")
    }
    let half = |v: f16| f16::from_f32(v.to_f32().abs());
    match &mut op {
        Op::Binary(Binary::Matmul { bias, residual, .. }, _) => {
            bias.iter_mut().chain(residual).for_each(abs);
        }
        Op::Sparse(Sparse::F32(matrices, dense), _) => {
            *matrices = bsr(matrices, f32::abs);
            abs(dense);
        }
        Op::Sparse(Sparse::F16(matrices, dense), _) => {
            *matrices = bsr(matrices, half);
            *dense = dense.cast(half).unwrap();
        }
        Op::Sampled(_, factors) => factors.iter_mut().for_each(abs),
        _ => {}
    }
    op
}

/// A one-line description of an operation.
fn brief(op: &Op) -> String {
    let text = match op {
        Op::Sparse(sparse, form) => match sparse {
            Sparse::F32(bsr, dense) => format!("Sparse f32 {form:?} {bsr:?} {:?}", dense.layout()),
            Sparse::F16(bsr, dense) => format!("Sparse f16 {form:?} {bsr:?} {:?}", dense.layout()),
        },
        Op::Sampled(topology, _) => format!("Sampled {topology:?}"),
        other => format!("{other:?}"),
    };
    text.chars().take(400).collect()
}

fn shown(batch: &Batch) -> String {
    format!("{batch:?}").chars().take(300).collect()
}

fn outcome<T>(outcome: &Result<T, vsla::Error>) -> String {
    match outcome {
        Ok(_) => "a result".to_owned(),
        Err(error) => error.to_string(),
    }
}
