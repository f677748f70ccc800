//! Requests whose elements are divided among devices.

use std::ops::Range;
use std::thread;

use serde_json::Value;
use vsla::Device;

use super::{Answer, Task, answer_task, within};
use crate::batch::Batch;
use crate::failure::{Failure, Result};
use crate::request::Request;

/// Answers a request on several devices, each of which gets some of the elements. The answer is that of one device.
///
/// A request about the machine or a file, or without elements, goes to the first device. So does one of which a part
/// fails, so that errors are those of one device, too.
pub fn answer_divided(
    request: Request,
    devices: &[Device],
    max_values: u64,
) -> Result<Answer<Batch>> {
    let task = Task::new(request)?;
    let operation = task.operation;
    let [first, ..] = devices else {
        return Err(Failure::request("expected at least one device, got none"));
    };
    let on_first = |task: Task| answer_task(task, &mut || Ok(first.clone()), max_values);
    if !operation.is_function {
        return on_first(task);
    }
    let elements = task.elements().map_err(|why| {
        let what = format!(
            "{}: --devices divides the elements of a request, but {why}",
            operation.name
        );
        let failure = Failure::request(format!(
            "{what}; name a device in the request to run it there"
        ));
        failure.named(operation)
    })?;
    if elements == 0 {
        return on_first(task);
    }
    let parts = thread::scope(|scope| {
        let shares = (0..devices.len()).map(|i| {
            let of = |i: usize| elements * i / devices.len();
            (of(i)..of(i + 1), &devices[i])
        });
        let shares = shares.filter(|(share, _)| !share.is_empty());
        let part = |(share, device): (Range<usize>, &Device)| {
            let (part, device) = (task.part(share, elements), device.clone());
            scope.spawn(move || answer_task(part?, &mut || Ok(device.clone()), max_values))
        };
        let threads: Vec<_> = shares.map(part).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        let resumed =
            joined.map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        resumed.collect::<Vec<_>>()
    });
    let mut answers = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Ok(answer) => answers.push(answer),
            Err(failure) if failure.loses_the_device() => return Err(failure),
            Err(_) => return on_first(task),
        }
    }
    let Some(answer) = Answer::joined(answers) else {
        return on_first(task);
    };
    within(max_values, &mut [answer.size()].into_iter())
        .map_err(|failure| failure.named(operation))?;
    Ok(answer)
}

impl Task {
    /// The number of elements that each argument has, or why they cannot be divided.
    fn elements(&self) -> core::result::Result<usize, String> {
        if !self.operation.is_local {
            return Err("here a result depends on several of them".to_owned());
        }
        if self.options.has("pairing") {
            return Err("a pairing combines them".to_owned());
        }
        let counts: Vec<usize> = (0..self.args.len())
            .map(|i| self.args.layout(i).len())
            .collect();
        match counts[..] {
            [] => Err("this one has no batch".to_owned()),
            [first, ref others @ ..] if others.iter().all(|&count| count == first) => Ok(first),
            _ => Err(format!("these batches have {counts:?}")),
        }
    }

    /// The same for some of the elements.
    fn part(&self, elements: Range<usize>, count: usize) -> Result<Task> {
        let order: Vec<usize> = elements.clone().collect();
        Ok(Task {
            operation: self.operation,
            args: self.args.part(elements)?,
            options: self.options.picked(self.operation, &order, count),
        })
    }
}

impl Answer<Batch> {
    /// One answer of those for parts; `None` if they do not consist of elements.
    fn joined(parts: Vec<Answer<Batch>>) -> Option<Answer<Batch>> {
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        parts.try_fold(first, |all, part| {
            Some(match (all, part) {
                (Answer::Batch(a), Answer::Batch(b)) => Answer::Batch(a.joined(b)?),
                (Answer::Batches(a), Answer::Batches(b)) if a.len() == b.len() => {
                    let both = a.into_iter().zip(b);
                    Answer::Batches(both.map(|(a, b)| a.joined(b)).collect::<Option<_>>()?)
                }
                (Answer::Fields([(x, a), (y, b)]), Answer::Fields([(_, c), (_, d)])) => {
                    Answer::Fields([(x, a.joined(c)?), (y, b.joined(d)?)])
                }
                (Answer::Truths(a), Answer::Truths(b)) => Answer::Truths([a, b].concat()),
                (Answer::Json(Value::Array(a)), Answer::Json(Value::Array(b))) => {
                    Answer::Json(Value::Array([a, b].concat()))
                }
                _ => return None,
            })
        })
    }
}
