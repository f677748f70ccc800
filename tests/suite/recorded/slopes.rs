//! First and second gradients of random programs: the same bits with all optimizations, without any, and with values
//! computed again. Any operation is among them, on any shapes, so it also shows that a rule gives layouts that fit, or
//! a typed error.

use std::sync::Arc;

use catalogue::{Batch, Held};
use vsla::program::{Passes, Program, Recording, Value as Input};
use vsla::{Device, Error, Layout, Result, Tensor, scalar::DType, scalar::Scalar};

use super::random::{Case, count};
use crate::programs::{Program as Calls, same};
use crate::support::bench::is_software;
use crate::support::corpus::rng;

pub fn slopes(device: &Device) {
    let programs = count(if is_software(device) { 40 } else { 500 });
    let mut rng = rng("recorded::slopes");
    let mut found = 0;
    for number in 0..programs {
        let case = Arc::new(Case::new(device, &mut rng));
        let ways = [
            (Passes::none(), false),
            (Passes::default(), false),
            (Passes::default(), true),
        ];
        let [plain, optimized, again] =
            ways.map(|(passes, again)| gradients(device, &case, passes, again));
        let text = format!("program {number}, the bytes {:?}", case.bytes);
        for other in [optimized, again] {
            assert_eq!(plain.len(), other.len(), "{text}");
            let mut both = plain.iter().zip(&other);
            assert!(both.all(|(a, b)| same(a, b)), "{text}");
        }
        found += usize::from(!plain.is_empty());
    }
    assert!(2 * found > programs, "{found} of {programs}");
}

/// The gradients of the last value that has any, and the value; nothing if there is none.
fn gradients(device: &Device, case: &Arc<Case>, passes: Passes, again: bool) -> Vec<Batch> {
    let body = {
        let case = case.clone();
        move |r: &mut Recording| record(&case.calls, r, again)
    };
    let program = Program::with_passes(device, passes, body);
    let operands = || case.calls.given.iter().map(|&at| &case.calls.batches[at]);
    let layouts: Vec<&Layout> = operands().map(Batch::layout).collect();
    let plan = match program.plan(&layouts) {
        Ok(plan) => plan,
        Err(error) if error.to_string().contains(NONE) => return Vec::new(),
        Err(error) => panic!("{error}: the bytes {:?}", case.bytes),
    };
    let operands = operands().map(|batch| batch.upload(device));
    let operands: Vec<Held> = operands.collect::<Result<_>>().unwrap();
    let operands: Vec<&dyn Input> = operands.iter().filter_map(Held::value).collect();
    let out = plan.run(&operands).unwrap();
    let value = |i: usize| {
        let any = [DType::F32, DType::F16, DType::C32].into_iter();
        any.map(|dtype| Held::output(dtype, &out, i))
            .find_map(Result::ok)
    };
    { 0..out.len() }
        .map(|i| value(i).unwrap().download_blocking().unwrap())
        .collect()
}

const NONE: &str = "no outputs";

fn record(calls: &Calls, r: &mut Recording, again: bool) -> Result<()> {
    let mut operands = Vec::new();
    for &at in &calls.given {
        operands.push(Held::input(calls.batches[at].dtype(), r)?);
    }
    let device = r.device().clone();
    let forward = |_: &mut Recording| {
        let mut operands = operands.iter().cloned();
        calls.replay(&device, |_, _| Ok(operands.next().unwrap()))
    };
    let values = match again {
        true => r.recompute(forward)?,
        false => forward(r)?,
    };
    let computed = values.iter().enumerate().rev();
    for (_, value) in computed.filter(|(at, _)| !calls.given.contains(at)) {
        let Held::F32(y) = value else { continue };
        let mut any = false;
        for operand in &operands {
            any |= match operand {
                Held::F32(x) => gradients_of(r, y, x, |g| Ok(g.clone()))?,
                Held::F16(x) => gradients_of(r, y, x, |g| g.to())?,
                Held::C32(x) => gradients_of(r, y, x, |g| g.abs_squared())?,
                _ => false,
            };
        }
        if any {
            return r.output(y);
        }
    }
    Ok(())
}

/// Makes a gradient, and one of a function of it, outputs, if there are any.
fn gradients_of<T: Scalar>(
    r: &mut Recording,
    of: &Tensor<f32>,
    to: &Tensor<T>,
    floats: fn(&Tensor<T>) -> Result<Tensor<f32>>,
) -> Result<bool> {
    let Some(first) = gradient(r, of, to)? else {
        return Ok(false);
    };
    gradient(r, &floats(&first)?, to)?;
    Ok(true)
}

/// Makes a gradient an output, if there is one.
fn gradient<T: Scalar>(
    r: &mut Recording,
    of: &Tensor<f32>,
    to: &Tensor<T>,
) -> Result<Option<Tensor<T>>> {
    match r.gradients(of, [to]) {
        Ok([g]) => {
            assert_eq!(g.layout(), to.layout());
            r.output(&g)?;
            Ok(Some(g))
        }
        // No path, or an operation without a gradient.
        Err(Error::Recording { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
