//! Requests whose elements are divided among devices.

use std::ops::Range;
use std::thread;

use serde_json::Value;
use vsla::Device;

use super::{Answer, Task, answer_task, within};
use crate::batch::Batch;
use crate::failure::{Failure, Result};
use crate::request::Request;

/// Answers a request on several devices, each of which gets some of the elements or of the pairs. The answer is that of
/// one device.
///
/// A request that has one element, or whose elements depend on each other, goes to the first device. So does one of
/// which a part fails, so that errors are those of one device, too.
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
    let Some(division) = task.division(max_values) else {
        return on_first(task);
    };
    let count = division.count();
    let parts = thread::scope(|scope| {
        let shares = (0..devices.len()).map(|i| {
            let of = |i: usize| count * i / devices.len();
            (of(i)..of(i + 1), &devices[i])
        });
        let shares = shares.filter(|(share, _)| !share.is_empty());
        let part = |(share, device): (Range<usize>, &Device)| {
            let (part, device) = (task.part(&division, share), device.clone());
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

/// What a request is divided into.
enum Division {
    /// So many elements of each argument.
    Elements(usize),
    Pairs(Vec<(usize, usize)>),
}

impl Division {
    fn count(&self) -> usize {
        match self {
            Division::Elements(count) => *count,
            Division::Pairs(pairs) => pairs.len(),
        }
    }
}

impl Task {
    /// How the request divides. `None` if it does not, or if it has more than `most` pairs: its answer, with at least
    /// one value for each, would be too large.
    fn division(&self, most: u64) -> Option<Division> {
        if !self.operation.is_function || !self.operation.is_local {
            return None;
        }
        let counts: Vec<usize> = (0..self.args.len())
            .map(|i| self.args.layout(i).len())
            .collect();
        let division = match (self.options.pairs().ok()?, &counts[..]) {
            (Some(pairs), &[left, right]) => {
                let count = pairs.count(left, right)?;
                (count as u64 <= most).then(|| Division::Pairs(pairs.of(left, right)))?
            }
            (None, &[first, ref others @ ..]) if others.iter().all(|&count| count == first) => {
                Division::Elements(first)
            }
            _ => return None,
        };
        Some(division).filter(|division| division.count() > 1)
    }

    /// The same for some of the elements or pairs.
    fn part(&self, division: &Division, share: Range<usize>) -> Result<Task> {
        let order: Vec<usize> = share.clone().collect();
        let options = (self.options).picked(self.operation, &order, division.count());
        let (args, options) = match division {
            Division::Elements(_) => (self.args.part(share)?, options),
            Division::Pairs(pairs) => (self.args.clone(), options.paired(&pairs[share])),
        };
        Ok(Task {
            operation: self.operation,
            args,
            options,
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
