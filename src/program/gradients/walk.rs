//! The backward walk over the recorded operations.

use std::collections::HashMap;
use std::sync::Arc;

use super::rule::{Applied, Cotangent, Cotangents, Rule};
use super::sums::Sums;
use crate::Result;
use crate::ops::strided::View;
use crate::ops::{Op, for_payload};
use crate::tensor::{Source, Trace, ValueId};

/// The cotangents of `targets`, if there is a path to them.
pub(super) fn accumulate(
    trace: &Arc<Trace>,
    from: Vec<(ValueId, Cotangent)>,
    targets: &[ValueId],
) -> Result<Cotangents> {
    let (nodes, values) = trace.graph(|graph| (graph.nodes.clone(), graph.values.len()));
    // Values that earlier gradients computed again get no cotangents of their own: the original ones get them, in the
    // order in which they would without any recomputation, so that sums have the same bits.
    let copies = trace.copies();
    let original = |value: ValueId| copies.get(&value).copied().unwrap_or(value);
    // Values that depend on a target: only these need cotangents.
    let mut depends = vec![false; values];
    for &target in targets {
        depends[target as usize] = true;
    }
    let needs = |depends: &[bool], source: &Source| {
        let value = source.value.map(original);
        value.is_some_and(|value| depends[value as usize])
    };
    for node in &nodes {
        if node.operands.iter().any(|source| needs(&depends, source)) {
            node.results
                .iter()
                .for_each(|result| depends[*result as usize] = true);
        }
    }
    let mut cotangents = Sums::new(trace);
    for (value, seed) in from {
        cotangents.add(value, seed)?;
    }
    let mut found: HashMap<ValueId, Cotangent> = HashMap::new();
    let mut again: HashMap<ValueId, ValueId> = HashMap::new();
    let mut repeated: Vec<u32> = Vec::new();
    for node in nodes.iter().rev() {
        let mut results: Cotangents = Vec::with_capacity(node.results.len());
        for result in &node.results {
            let cotangent = cotangents.take(*result)?;
            if let (Some(cotangent), true) = (&cotangent, targets.contains(result)) {
                found.insert(*result, cotangent.clone());
            }
            results.push(cotangent);
        }
        if results.iter().all(Option::is_none)
            || !node.operands.iter().any(|source| needs(&depends, source))
        {
            continue;
        }
        if let (Op::View(View::Elements(start, end)), [source]) = (&node.op, &node.operands[..]) {
            if let (Some(value), Some(cotangent)) = (source.value, results.swap_remove(0)) {
                cotangents.add_part(original(value), *start..*end, cotangent);
            }
            continue;
        }
        if let Some(scope) = node.scope
            && !repeated.contains(&scope)
        {
            repeated.push(scope);
            again.extend(trace.repeat(scope));
        }
        let wanted: Vec<bool> = node
            .operands
            .iter()
            .map(|source| needs(&depends, source))
            .collect();
        let applied = Applied {
            trace,
            node,
            again: &again,
            wanted,
        };
        let operands = for_payload!(&node.op, of => of.of_results(&applied, &results))?;
        for ((source, cotangent), i) in node.operands.iter().zip(operands).zip(0..) {
            if let (Some(value), Some(cotangent), true) =
                (source.value, cotangent, applied.wants(i))
            {
                let cotangent = match node.op {
                    // A spectrum's cotangent is that of its kernel.
                    Op::CachedSpectra(_) if i == 1 => cotangent,
                    _ => cotangent.fit(&source.layout)?,
                };
                cotangents.add(original(value), cotangent)?;
            }
        }
    }
    for &target in targets {
        if let Some(cotangent) = cotangents.take(target)? {
            found.insert(target, cotangent);
        }
    }
    let cotangent = |target: &ValueId| found.get(target).cloned();
    Ok(targets.iter().map(cotangent).collect())
}
