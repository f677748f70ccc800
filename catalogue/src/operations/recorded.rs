//! Requests that run as programs.

use std::sync::{Arc, Mutex, PoisonError};

use vsla::program::{Passes, Program, Recording};
use vsla::{Device, Error, Layout};

use super::{Answer, Task};
use crate::batch::Batch;
use crate::failure::Result;
use crate::held::{Args, Held};
use crate::request::Request;

/// Answers a request by a program whose inputs are the arguments, as views of larger batches, in which so many values
/// are before them. An operation that reads values, such as those that find the size of their result, cannot be
/// recorded.
pub fn recorded(
    request: Request,
    device: &Device,
    (passes, before): (Passes, usize),
    max_values: u64,
) -> Result<Answer<Batch>> {
    let task = Task::new(request)?;
    let args = task.args.on_views(device, before)?;
    let answer = as_program(&args, device, passes, move |r, args| {
        let task = Task {
            args: args.clone(),
            ..task.clone()
        };
        let device = r.device().clone();
        task.run(max_values, &mut || Ok(device.clone()))
    })?;
    Ok(answer.with(Held::download_blocking)?)
}

/// Records `body` as a program with the arguments as inputs, and runs it once.
pub(super) fn as_program(
    args: &Args,
    device: &Device,
    passes: Passes,
    body: impl Fn(&mut Recording, &Args) -> Result<Answer> + Send + Sync + 'static,
) -> Result<Answer> {
    let recorded = Arc::new(Mutex::new(None::<Result<Answer>>));
    let program = {
        let (args, recorded) = (args.clone(), recorded.clone());
        Program::with_passes(device, passes, move |r| {
            let args = args.recorded(r)?;
            let answer = body(r, &args);
            let batches = answer.clone().map_or(Vec::new(), Answer::batches);
            let outputs = batches.iter().try_for_each(|held| output(r, held));
            let is_recorded = answer.is_ok();
            *recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            match is_recorded {
                true => outputs,
                // The failure is kept.
                false => {
                    let (op, reason) = ("catalogue", String::new());
                    Err(Error::Recording { op, reason })
                }
            }
        })
    };
    let layouts: Vec<&Layout> = (0..args.len()).map(|i| args.layout(i)).collect();
    let plan = program.plan(&layouts);
    let kept = recorded
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let (plan, answer) = match (plan, kept) {
        (Err(_), Some(Err(failure))) => return Err(failure),
        (Err(error), _) => return Err(error.into()),
        (Ok(_), None | Some(Err(_))) => unreachable!("a plan of what was not recorded"),
        (Ok(plan), Some(Ok(answer))) => (plan, answer),
    };
    let args = args.on_device(device)?;
    let outputs = plan.run(&args.values())?;
    let mut places = 0..outputs.len();
    // What is on the host is no output.
    answer.with(|held| match held.value().and_then(|_| places.next()) {
        Some(place) => Ok(Held::output(held.dtype(), &outputs, place)?),
        None => Ok(held),
    })
}

/// Makes a recorded value an output.
pub fn output(r: &mut Recording, held: &Held) -> vsla::Result<()> {
    match held {
        Held::F32(tensor) => r.output(tensor),
        Held::I32(tensor) => r.output(tensor),
        Held::U32(tensor) => r.output(tensor),
        Held::C32(tensor) => r.output(tensor),
        Held::F16(tensor) => r.output(tensor),
        Held::U8(tensor) => r.output(tensor),
        Held::Read(_) => Ok(()),
    }
}
