//! Gradients of the other operations: a request is recorded as a program, and differentiated there.

use serde_json::Value;
use vsla::program::{Passes, Recording};
use vsla::{Complex32, Layout, Ragged, Tensor, f16, scalar::Scalar};

use super::recorded::as_program;
use super::results::by_values;
use super::{Answer, Call, Law, NO_OPERANDS, Operation, ROW, Run, Task, find};
use crate::batch::{Number, read, shown};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Args, Held, of_args};
use crate::options as opt;
use crate::request::{Options, Request, unexpected, whole_numbers};

pub const ROWS: &[Operation] = &[Operation {
    name: "gradient",
    args: 0,
    options: &[opt::OF, opt::COTANGENT, opt::OPERANDS],
    about: "the gradients of the sum of all values of another operation's result (of real parts, if it is complex), or \
        of its inner product with a cotangent; a batch for each operand",
    results: by_values("another request", "the shapes of its operands"),
    run: Run::any(gradient),
    law: Law::Open,
    gradient: NO_OPERANDS,
    ..ROW
}];

/// The most gradients of gradients: operations multiply with each.
const DEPTH: usize = 2;

fn gradient(call: &mut Call<'_>) -> Result<Answer> {
    let gradient = Gradient::read(&call.options, DEPTH)?;
    let args = gradient.task().args.clone();
    let (device, max_values) = (call.device()?, call.max_values);
    as_program(&args, &device, Passes::default(), move |r, args| {
        Ok(Answer::Batches(gradient.record(r, args, max_values)?))
    })
}

/// A request for gradients.
struct Gradient {
    of: Of,
    /// The rows of the cotangent, 1 everywhere by default.
    cotangent: Option<Value>,
    /// The operands to differentiate with respect to.
    operands: Vec<usize>,
}

enum Of {
    Operation(Task),
    Gradient(Box<Gradient>),
}

impl Gradient {
    fn read(options: &Options, depth: usize) -> Result<Gradient> {
        let request = Request::new(options.required("of")?.clone())?;
        if request.device.is_some() {
            return Err(Failure::request("of: the device belongs to the whole line"));
        }
        let of = match request.op.as_str() {
            "gradient" if depth == 1 => {
                let message = format!("of: expected at most {DEPTH} gradients of each other");
                return Err(Failure::request(message));
            }
            "gradient" => {
                let options = request.options.of(ROWS[0].options)?;
                Of::Gradient(Box::new(Gradient::read(&options, depth - 1)?))
            }
            op if find(op).is_some_and(|row| !row.is_function) => {
                return Err(none(op, "it is not a function"));
            }
            _ => Of::Operation(Task::new(request)?),
        };
        let mut gradient = Gradient {
            of,
            cotangent: options.get("cotangent").cloned(),
            operands: Vec::new(),
        };
        let Task {
            operation, args, ..
        } = gradient.task();
        if args.len() == 0 {
            return Err(none(operation.name, "it has no operands"));
        }
        gradient.operands = match options.get("operands") {
            None => (0..args.len()).collect(),
            Some(value) => whole_numbers(value)
                .filter(|all| !all.is_empty() && all.iter().all(|&i| i < args.len()))
                .ok_or_else(|| {
                    unexpected("operands", &format!("indices below {}", args.len()), value)
                })?,
        };
        Ok(gradient)
    }

    /// The operation whose operands are those of all gradients.
    fn task(&self) -> &Task {
        match &self.of {
            Of::Operation(task) => task,
            Of::Gradient(inner) => inner.task(),
        }
    }

    /// Records the operation on these arguments, and its gradients.
    fn record(&self, r: &mut Recording, args: &Args, max_values: u64) -> Result<Vec<Held>> {
        let name = self.task().operation.name;
        let results = match &self.of {
            Of::Gradient(inner) => inner.record(r, args, max_values)?,
            Of::Operation(task) => {
                let task = Task {
                    args: args.clone(),
                    ..task.clone()
                };
                let device = r.device().clone();
                match task.run(max_values, &mut || Ok(device.clone())) {
                    Ok(answer) => answer.batches(),
                    Err(failure) if failure.kind == "recording" => {
                        return Err(none(name, "it reads values"));
                    }
                    // Under its own name.
                    Err(failure) => return Err(failure),
                }
            }
        };
        let smooth = |held: &&Held| matches!(held, Held::F32(_) | Held::F16(_) | Held::C32(_));
        let results: Vec<&Held> = results.iter().filter(smooth).collect();
        let cotangents = match (&self.cotangent, results.len()) {
            (_, 0) => return Err(none(name, "its results are not floating-point numbers")),
            (None, many) => vec![None; many],
            (Some(rows), 1) => vec![Some(rows)],
            (Some(Value::Array(all)), many) if all.len() == many => all.iter().map(Some).collect(),
            (Some(other), many) => {
                let message = format!(
                    "cotangent: expected an array of {many} batches, got {}",
                    shown(other)
                );
                return Err(Failure::request(message));
            }
        };
        let pairs = results.into_iter().zip(cotangents);
        let seeds: Vec<[Tensor<f32>; 2]> = pairs
            .map(|(y, rows)| seed(r, y, rows))
            .collect::<Result<_>>()?;
        let seeds: Vec<_> = seeds.iter().map(|[y, seed]| (y, seed)).collect();
        of_args!(args, args => self.slopes(r, &seeds, args))
    }

    fn slopes<T: Scalar>(
        &self,
        r: &mut Recording,
        seeds: &[(&Tensor<f32>, &Tensor<f32>)],
        args: &[Arg<T>],
    ) -> Result<Vec<Held>>
    where
        Held: From<Tensor<T>>,
    {
        let device = r.device().clone();
        let to = self.operands.iter().map(|&i| args[i].on(&device));
        let to = to.collect::<vsla::Result<Vec<_>>>()?;
        let slopes = r.gradients_from(seeds, &to.iter().collect::<Vec<_>>())?;
        Ok(slopes.into_iter().map(Held::from).collect())
    }
}

/// The failure of an operation that has no gradient.
fn none(name: &str, reason: &str) -> Failure {
    Failure::new("recording", format!("{name} has no gradient: {reason}"))
}

/// A result as f32, and its cotangent.
fn seed(r: &Recording, result: &Held, rows: Option<&Value>) -> Result<[Tensor<f32>; 2]> {
    fn of<T: Number>(
        r: &Recording,
        y: &Tensor<T>,
        rows: Option<&Value>,
        one: T,
    ) -> Result<Tensor<T>> {
        Ok(match rows {
            None => r.device().full(y.layout(), one)?,
            Some(rows) => r.device().upload(&cotangent(rows, y.layout())?)?,
        })
    }
    Ok(match result {
        Held::F32(y) => [y.clone(), of(r, y, rows, 1.0)?],
        Held::F16(y) => [y.to()?, of(r, y, rows, f16::ONE)?.to()?],
        Held::C32(y) => {
            let seed = of(r, y, rows, Complex32::new(1.0, 0.0))?;
            [y.view_as_real()?, seed.view_as_real()?]
        }
        _ => {
            return Err(none(
                "the operation",
                "its results are not floating-point numbers",
            ));
        }
    })
}

/// The cotangent of a result of this layout.
fn cotangent<T: Number>(rows: &Value, layout: &Layout) -> Result<Ragged<T>> {
    let batch: Ragged<T> = read(rows, Some(layout.rank())).map_err(|failure| Failure {
        message: format!("cotangent: {}", failure.message),
        ..failure
    })?;
    if batch.len() != layout.len() {
        let message = format!(
            "cotangent: expected {} elements, got {}",
            layout.len(),
            batch.len()
        );
        return Err(Failure::input(None, message));
    }
    for (i, (got, expected)) in batch.layout().shapes().zip(layout.shapes()).enumerate() {
        // The JSON of an element without values does not show all of its extents.
        if got != expected && (got.size(), expected.size()) != (0, 0) {
            let message = format!("cotangent: element {i}: expected {expected}, got {got}");
            return Err(Failure::input(Some(i), message));
        }
    }
    Ok(Ragged::from_parts(layout.clone(), batch.values().to_vec())?)
}
