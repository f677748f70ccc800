//! Properties that must hold after a program has run.

use catalogue::{Batch, Failure, Held};
use serde_json::{Value, json};
use vsla::Device;

use super::judge::{Judge, same};
use super::{Program, Step, kind};

/// The number of elements of each operation that are computed alone.
const ALONE: usize = 2;

/// A step on batches of the host.
pub fn on_host(
    step: &Step,
    operands: &[Batch],
    device: &Device,
) -> Result<(Vec<Batch>, Value), Failure> {
    let tensors = operands.iter().map(|batch| batch.upload(device));
    let tensors = tensors.collect::<vsla::Result<Vec<Held>>>()?;
    let operands: Vec<_> = tensors.iter().zip(operands.iter().map(Some)).collect();
    let (made, other) = step.run(device, &operands)?;
    let made = made.into_iter().map(Held::download_blocking);
    Ok((made.collect::<vsla::Result<_>>()?, other))
}

/// The operation that computes element `at` of the result, and the elements of the operands that it needs; `None` if
/// others count, too.
fn alone(step: &Step, operands: &[&Batch], at: usize) -> Option<(Step, Vec<usize>)> {
    let mut alone = step.clone();
    // Random numbers depend on the place of their element.
    if !step.row.is_local || step.row.takes("seed") {
        return None;
    }
    let lists = |name: &str| {
        step.options
            .get(name)
            .and_then(Value::as_array)
            .map(Vec::len)
    };
    let left = operands
        .first()
        .map(|batch| batch.layout().len())
        .or(lists("shapes"))?;
    let right = operands
        .get(1)
        .map(|batch| batch.layout().len())
        .or(lists("indices"));
    let Some(pairs) = catalogue::pairs(&step.options, left, right.unwrap_or(left)) else {
        alone.options = step.row.picked(&step.options, &[at], left);
        // One vector may serve all elements.
        let own = |batch: &&Batch| if batch.layout().len() == 1 { 0 } else { at };
        return Some((alone, operands.iter().map(own).collect()));
    };
    if step.options.contains_key("shapes") {
        return None;
    }
    let (i, j) = pairs[at];
    alone.options.remove("pairing");
    let residual = alone.options.remove("residual");
    // Lists are those of the right side.
    alone.options = step.row.picked(&alone.options, &[j], right.unwrap_or(left));
    alone
        .options
        .extend(residual.map(|all| ("residual".to_owned(), json!([all[at]]))));
    Some((alone, [i, j][..operands.len()].to_vec()))
}

/// Makes single elements of every operation's results on their own, which must give the same bits.
///
/// # Errors
/// A description of the first that does not.
pub fn check_alone(program: &Program, device: &Device) -> Result<(), String> {
    for step in &program.steps {
        let Ok(results) = &step.outcome else { continue };
        let operands = program.operands(step);
        let elements = match program.batches.get(results.batches.clone()) {
            Some([first, ..]) => first.layout().len(),
            _ => results.other.as_array().map_or(0, Vec::len),
        };
        let last = elements.saturating_sub(ALONE.min(elements));
        for at in (last..elements)
            .rev()
            .step_by(2)
            .chain((elements > 2).then_some(0))
        {
            let Some((alone, chosen)) = alone(step, &operands, at) else {
                break;
            };
            let own: Vec<Batch> = operands
                .iter()
                .zip(chosen)
                .map(|(batch, i)| batch.element(i))
                .collect();
            // For attention, the extents of an element without rows follow from others.
            let is_empty = |batch: &Batch| batch.layout().total() == 0;
            if step.row.takes("heads") && own.iter().any(is_empty) {
                continue;
            }
            let (made, other) = on_host(&alone, &own, device).map_err(|failure| {
                let layouts: Vec<_> = own.iter().map(Batch::layout).collect();
                format!(
                    "element {at} of {step:?} alone, {alone:?} on {layouts:?}, gives {}",
                    failure.message
                )
            })?;
            for (value, batch) in made.iter().zip(results.batches.clone()) {
                let expected = program.batches[batch].element(at);
                if !same(value, &expected) {
                    return Err(format!(
                        "element {at} of {step:?} on {:?} differs alone: {} and not {}",
                        own.iter().map(Batch::layout).collect::<Vec<_>>(),
                        shown(value),
                        shown(&expected),
                    ));
                }
            }
            if other != Value::Null && other[0] != results.other[at] {
                return Err(format!(
                    "element {at} of {step:?} differs alone: {other} and not {}",
                    results.other
                ));
            }
        }
    }
    Ok(())
}

/// Repeats every operation on another device, with the same operands: whole numbers must be equal, and others as near
/// as rounding allows.
///
/// # Errors
/// A description of the first result that is not.
pub fn check_against(program: &Program, other: &Device) -> Result<(), String> {
    for step in &program.steps {
        let operands: Vec<Batch> = program.operands(step).into_iter().cloned().collect();
        let made = on_host(step, &operands, other);
        let (results, made, there) = match (&step.outcome, &made) {
            (Ok(results), Ok((made, there))) => (results, made, there),
            (Err(_), Err(_)) if kind(&step.outcome) == kind(&made) => continue,
            // Not all devices have each method of convolutions.
            _ if [kind(&step.outcome), kind(&made)].contains(&Some("method")) => continue,
            _ => return Err(format!("{step:?}, and {:?} on another device", kind(&made))),
        };
        let here = &program.batches[results.batches.clone()];
        if results.other != *there || here.len() != made.len() {
            return Err(format!(
                "{step:?}: {} here and {there} on another device",
                results.other
            ));
        }
        let judge = Judge::new(step, &operands, made, other);
        for (number, here) in here.iter().enumerate() {
            judge.check(number, here).map_err(|why| {
                format!(
                    "{step:?}: {why}: {} here and {} on another device",
                    shown(here),
                    shown(&made[number])
                )
            })?;
        }
    }
    Ok(())
}

fn shown(batch: &Batch) -> String {
    format!("{batch:?}").chars().take(300).collect()
}
