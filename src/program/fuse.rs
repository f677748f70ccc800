//! Fusion: maps and functions of two operands, value by value over one layout, become chains that run in one kernel.
//!
//! A group of operations becomes a chain if its values are needed by the group alone, except for the last one and at
//! most one other, which is then a second result. The chain runs in place of the last operation, so whatever needs the
//! other value must come after it.

use std::collections::HashMap;

use crate::Result;
use crate::ops::Op;
use crate::ops::chain::{Chain, Code, INSTRUCTIONS, Instruction};
use crate::ragged::{DType, Pairs};
use crate::tensor::{Device, Graph, Node, Origin, Source, ValueId, planned};

/// The nodes of a group, in order.
type Group = Vec<u32>;

/// Replaces groups of the nodes to run by chains. Returns the nodes that are left to run.
pub(super) fn fuse(device: &Device, graph: &mut Graph, kept: &[u32]) -> Result<Vec<u32>> {
    let groups = Groups::find(graph, kept);
    let mut gone = vec![false; graph.nodes.len()];
    for group in groups
        .all
        .into_iter()
        .flatten()
        .filter(|group| group.len() > 1)
    {
        let Some(part) = groups.uses.part(graph, &group) else {
            continue;
        };
        let Some((last, others)) = group.split_last() else {
            continue;
        };
        let layouts: Vec<_> = part.operands.iter().map(|source| &source.layout).collect();
        let op = Op::Chain(part.chain);
        let plan = planned(device, op.clone(), &layouts, None)?;
        others.iter().for_each(|node| gone[*node as usize] = true);
        for &result in &part.results {
            graph.values[result as usize].origin = Origin::Node(*last);
        }
        let node = &mut graph.nodes[*last as usize];
        node.op = op;
        node.plan = plan;
        node.operands = part.operands;
        node.pairs = None;
        node.scalars = part.scalars;
        node.results = part.results;
    }
    Ok(kept
        .iter()
        .copied()
        .filter(|node| !gone[*node as usize])
        .collect())
}

/// The groups found so far.
struct Groups {
    uses: Uses,
    all: Vec<Option<Group>>,
}

/// Where values are needed.
struct Uses {
    /// The nodes that read each value, in order.
    readers: HashMap<ValueId, Vec<u32>>,
    /// Values that are outputs of the program, directly or through views.
    outputs: Vec<bool>,
}

/// A chain in place of a group.
struct Part {
    chain: Chain,
    operands: Vec<Source>,
    scalars: Vec<u32>,
    results: Vec<ValueId>,
}

impl Groups {
    fn find(graph: &Graph, kept: &[u32]) -> Groups {
        let mut groups = Groups {
            uses: Uses::of(graph, kept),
            all: Vec::new(),
        };
        // The group of each node that can be part of a chain.
        let mut group_of: HashMap<u32, usize> = HashMap::new();
        for &at in kept {
            let node = &graph.nodes[at as usize];
            if code(node).is_none() {
                continue;
            }
            let mut group = vec![at];
            for source in &node.operands {
                let producer =
                    source
                        .value
                        .and_then(|value| match graph.values[value as usize].origin {
                            Origin::Node(producer) => group_of.get(&producer).copied(),
                            _ => None,
                        });
                let Some(other) = producer else { continue };
                let Some(before) = &groups.all[other] else {
                    continue;
                };
                if before.iter().any(|node| group.contains(node))
                    || before.len() + group.len() > INSTRUCTIONS
                {
                    continue;
                }
                let mut both = [&before[..], &group].concat();
                both.sort_unstable();
                if groups.uses.part(graph, &both).is_some() {
                    groups.all[other] = None;
                    group = both;
                }
            }
            for &node in &group {
                group_of.insert(node, groups.all.len());
            }
            groups.all.push(Some(group));
        }
        groups
    }
}

impl Uses {
    fn of(graph: &Graph, kept: &[u32]) -> Uses {
        let mut uses = Uses {
            readers: HashMap::new(),
            outputs: vec![false; graph.values.len()],
        };
        for &at in kept {
            for value in graph.nodes[at as usize]
                .operands
                .iter()
                .filter_map(|source| source.value)
            {
                uses.readers.entry(value).or_default().push(at);
            }
        }
        for &output in &graph.outputs {
            uses.outputs[output as usize] = true;
        }
        uses
    }

    /// The chain of a group; `None` if too many of its values are needed outside, or needed too early, or if the
    /// kernel cannot run it.
    fn part(&self, graph: &Graph, group: &[u32]) -> Option<Part> {
        let last = *group.last()?;
        let node = |at: &u32| &graph.nodes[*at as usize];
        let (_, dtype) = code(node(&last))?;
        let layout = node(&last).operands.first()?.layout.id();
        let mut operands: Vec<Source> = Vec::new();
        for source in group.iter().flat_map(|at| &node(at).operands) {
            let inner = group.iter().any(|at| {
                source
                    .value
                    .is_some_and(|value| node(at).results.contains(&value))
            });
            let known = operands.iter().any(|known| known.value == source.value);
            if !inner && !known {
                operands.push(source.clone());
            }
        }
        let mut numbers: HashMap<ValueId, usize> = HashMap::new();
        for (i, source) in operands.iter().enumerate() {
            numbers.insert(source.value?, i);
        }
        let mut scalars: Vec<u32> = Vec::new();
        let mut instructions = Vec::with_capacity(group.len());
        let mut results: Vec<ValueId> = Vec::new();
        let mut outputs = Vec::new();
        for at in group {
            let of = node(at);
            let (code, own) = code(of)?;
            if own != dtype
                || of
                    .operands
                    .iter()
                    .any(|source| source.layout.id() != layout)
            {
                return None;
            }
            let mut values = Vec::with_capacity(2);
            for source in &of.operands {
                values.push(*numbers.get(&source.value?)?);
            }
            let read = of.scalars.iter().take(code.scalars());
            let places =
                read.map(
                    |scalar| match scalars.iter().position(|known| known == scalar) {
                        Some(place) => place,
                        None => {
                            scalars.push(*scalar);
                            scalars.len() - 1
                        }
                    },
                );
            let places: Vec<usize> = places.collect();
            instructions.push(Instruction::new(code, &values, &places));
            let number = operands.len() + instructions.len() - 1;
            let result = *of.results.first()?;
            numbers.insert(result, number);
            let readers = self.readers.get(&result).map_or(&[][..], Vec::as_slice);
            let mut outside = readers.iter().filter(|reader| !group.contains(reader));
            let needed = outside.clone().next().is_some() || self.outputs[result as usize];
            if *at != last && outside.any(|reader| *reader < last) {
                return None;
            }
            if needed || *at == last {
                results.push(result);
                outputs.push(number);
            }
        }
        let chain = Chain::new(dtype, operands.len(), instructions, outputs)?;
        Some(Part {
            chain,
            operands,
            scalars,
            results,
        })
    }
}

/// The function that a node computes, and the type of its values, if a chain can do that.
fn code(node: &Node) -> Option<(Code, DType)> {
    let (code, dtype) = node.op.code()?;
    let layout = node.operands.first()?.layout.id();
    let alike = node
        .operands
        .iter()
        .all(|source| source.value.is_some() && source.layout.id() == layout);
    let elementwise = node.pairs.as_ref().is_none_or(Pairs::is_elementwise);
    (alike && elementwise && code.operands() == node.operands.len()).then_some((code, dtype))
}
