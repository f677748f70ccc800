//! First and second gradients of random programs: the same bits with all optimizations, without any, and with values
//! computed again. Any operation is among them, on any shapes, so it also shows that a rule gives layouts that fit, or
//! a typed error.

use std::sync::Arc;

use vsla::program::{Passes, Program, Recording, Value as Input};
use vsla::{Complex32, Device, Error, Layout, Result, Tensor, f16, scalar::Scalar};

use super::random::{Case, STEPS, count, input, is_recordable};
use crate::programs::{Batch, Value, execute};
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
            assert!(both.all(|(a, b)| a.same(b)), "{text}");
        }
        found += usize::from(!plain.is_empty());
    }
    assert!(2 * found > programs, "{found} of {programs}");
}

/// The gradients of the last value that has any, and the value; nothing if there is none.
fn gradients(device: &Device, case: &Arc<Case>, passes: Passes, again: bool) -> Vec<Batch> {
    let body = {
        let case = case.clone();
        move |r: &mut Recording| record(&case, r, again)
    };
    let program = Program::with_passes(device, passes, body);
    let layouts: Vec<&Layout> = case.operands.iter().map(Batch::layout).collect();
    let plan = match program.plan(&layouts) {
        Ok(plan) => plan,
        Err(error) if error.to_string().contains(NONE) => return Vec::new(),
        Err(error) => panic!("{error}: the bytes {:?}", case.bytes),
    };
    let operands = case.operands.iter().map(|batch| batch.upload(device));
    let operands: Vec<Value> = operands.collect::<Result<_>>().unwrap();
    let operands: Vec<&dyn Input> = operands.iter().map(input).collect();
    let out = plan.run(&operands).unwrap();
    let value = |i: usize| {
        let floats = || out.get::<f32>(i).map(Value::F32);
        let halves = || out.get::<f16>(i).map(Value::F16);
        let complex = || out.get::<Complex32>(i).map(Value::C32);
        let value = floats().or_else(|_| halves()).or_else(|_| complex());
        value.and_then(|value| value.download()).unwrap()
    };
    (0..out.len()).map(value).collect()
}

const NONE: &str = "no outputs";

fn record(case: &Case, r: &mut Recording, again: bool) -> Result<()> {
    let mut operands = Vec::new();
    for batch in &case.operands {
        operands.push(match batch {
            Batch::F32(_) => Value::F32(r.input()?),
            Batch::I32(_) => Value::I32(r.input()?),
            Batch::U32(_) => Value::U32(r.input()?),
            Batch::F16(_) => Value::F16(r.input()?),
            Batch::C32(_) => Value::C32(r.input()?),
        });
    }
    let device = r.device().clone();
    let forward = |_: &mut Recording| {
        let mut operands = operands.iter().cloned();
        let given = |_| Ok(operands.next().unwrap());
        execute(&case.bytes, STEPS, &device, given, is_recordable)
    };
    let (_, values) = match again {
        true => r.recompute(forward)?,
        false => forward(r)?,
    };
    for value in values[operands.len()..].iter().rev() {
        let Value::F32(y) = value else { continue };
        let mut any = false;
        for operand in &operands {
            any |= match operand {
                Value::F32(x) => gradients_of(r, y, x, |g| Ok(g.clone()))?,
                Value::F16(x) => gradients_of(r, y, x, |g| g.to())?,
                Value::C32(x) => gradients_of(r, y, x, |g| g.abs_squared())?,
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
