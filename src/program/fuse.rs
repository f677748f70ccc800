//! Fusion: maps and functions of two operands, value by value over one layout, become chains that run in one kernel.
//!
//! A group of operations becomes a chain if its values are needed by the group alone, except for the last one and at
//! most one other, which is then a second result. The chain runs in place of the last operation, so whatever needs the
//! other value must come after it.
//!
//! An operation joins the groups of its operands, one after another, as far as a kernel can run the result. So planning
//! drafts a chain for almost every operation, and a draft must be cheap: it allocates nothing.

use crate::Result;
use crate::ops::Op;
use crate::ops::chain::{Chain, Code, INPUTS, INSTRUCTIONS, Instruction, fits};
use crate::ragged::{DType, Pairs};
use crate::tensor::{Device, Graph, Node, Origin, Source, ValueId, planned};

/// The nodes of a group, in order.
type Group = Vec<u32>;

/// Replaces groups of the nodes to run by chains. Returns the nodes that are left to run.
pub(super) fn fuse(device: &Device, graph: &mut Graph, kept: &[u32]) -> Result<Vec<u32>> {
    let nodes = Nodes::of(graph, kept);
    let mut draft = Draft::default();
    let groups = nodes.groups(graph, kept, &mut draft);
    let mut gone = vec![false; graph.nodes.len()];
    for group in groups {
        let (Some((last, others)), Some(())) =
            (group.split_last(), draft.fill(&nodes, graph, &group))
        else {
            continue;
        };
        let Some(part) = draft.part(graph) else {
            continue;
        };
        let op = Op::from(part.chain);
        let plan = {
            let layouts: Vec<_> = part.operands.iter().map(|source| &source.layout).collect();
            planned(device, op.clone(), &layouts, None)?
        };
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
    let kept = kept.iter().copied();
    Ok(kept.filter(|node| !gone[*node as usize]).collect())
}

/// What a node computes, if a chain can do that.
#[derive(Clone, Copy)]
struct Function {
    code: Code,
    dtype: DType,
    /// The layout of all operands.
    layout: u64,
}

/// What the nodes to run compute, and where values are needed.
struct Nodes {
    /// By node.
    functions: Vec<Option<Function>>,
    /// The nodes that read value v are `readers[starts[v]..starts[v + 1]]`, in order.
    starts: Vec<u32>,
    readers: Vec<u32>,
    /// Values that are outputs of the program, directly or through views.
    outputs: Vec<bool>,
}

impl Nodes {
    fn of(graph: &Graph, kept: &[u32]) -> Nodes {
        let node = |at: &u32| &graph.nodes[*at as usize];
        let mut functions = vec![None; graph.nodes.len()];
        let mut starts = vec![0; graph.values.len() + 1];
        let values = |at| node(at).operands.iter().filter_map(|source| source.value);
        for at in kept {
            functions[*at as usize] = function(node(at));
            values(at).for_each(|value| starts[value as usize] += 1);
        }
        // First the ends of the lists. Filling each list backwards turns its end into its start.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut readers = vec![0; end as usize];
        for at in kept.iter().rev() {
            for value in values(at) {
                let start = &mut starts[value as usize];
                *start -= 1;
                readers[*start as usize] = *at;
            }
        }
        let mut outputs = vec![false; graph.values.len()];
        for &output in &graph.outputs {
            outputs[output as usize] = true;
        }
        Nodes {
            functions,
            starts,
            readers,
            outputs,
        }
    }

    fn readers(&self, value: ValueId) -> &[u32] {
        let value = value as usize;
        &self.readers[self.starts[value] as usize..self.starts[value + 1] as usize]
    }

    /// The groups of more than one node.
    fn groups(&self, graph: &Graph, kept: &[u32], draft: &mut Draft) -> Vec<Group> {
        const NONE: u32 = u32::MAX;
        let mut all: Vec<Group> = Vec::new();
        let mut group_of = vec![NONE; graph.nodes.len()];
        let mut both = Group::new();
        for &at in kept {
            if self.functions[at as usize].is_none() {
                continue;
            }
            let mut group = vec![at];
            for source in &graph.nodes[at as usize].operands {
                let Some(producer) = source.value.and_then(|value| producer(graph, value)) else {
                    continue;
                };
                let Some(before) = all.get_mut(group_of[producer as usize] as usize) else {
                    continue;
                };
                // The group has the other one already if both operands lead to it.
                if before.is_empty() || before.len() + group.len() > INSTRUCTIONS {
                    continue;
                }
                both.clear();
                both.extend_from_slice(before);
                both.extend_from_slice(&group);
                both.sort_unstable();
                if draft.fill(self, graph, &both).is_some() {
                    before.clear();
                    std::mem::swap(&mut group, &mut both);
                }
            }
            for &node in &group {
                group_of[node as usize] = all.len() as u32;
            }
            all.push(group);
        }
        all.retain(|group| group.len() > 1);
        all
    }
}

/// The node that makes a value.
fn producer(graph: &Graph, value: ValueId) -> Option<u32> {
    match graph.values[value as usize].origin {
        Origin::Node(node) => Some(node),
        _ => None,
    }
}

/// A chain in place of a group, in the form in which planning decides whether a kernel can run it.
#[derive(Default)]
struct Draft {
    dtype: Option<DType>,
    operands: Vec<ValueId>,
    /// The first node that reads each operand, and the operand's number there.
    places: Vec<(u32, usize)>,
    scalars: Vec<u32>,
    instructions: Vec<Instruction>,
    results: Vec<ValueId>,
    outputs: Vec<usize>,
}

/// A chain in place of a group.
struct Part {
    chain: Chain,
    operands: Vec<Source>,
    scalars: Vec<u32>,
    results: Vec<ValueId>,
}

impl Draft {
    /// Drafts the chain of a group. `None` if too many of its values are needed outside, or needed too early, or if the
    /// kernel cannot run it.
    fn fill(&mut self, nodes: &Nodes, graph: &Graph, group: &[u32]) -> Option<()> {
        let Draft {
            dtype,
            operands,
            places,
            scalars,
            instructions,
            results,
            outputs,
        } = self;
        operands.clear();
        places.clear();
        scalars.clear();
        instructions.clear();
        results.clear();
        outputs.clear();
        let last = *group.last()?;
        let of_last = nodes.functions[last as usize]?;
        *dtype = Some(of_last.dtype);
        let inner = |value| {
            let producer = producer(graph, value)?;
            group.iter().position(|node| *node == producer)
        };
        for &at in group {
            let Function { dtype, layout, .. } = nodes.functions[at as usize]?;
            if dtype != of_last.dtype || layout != of_last.layout {
                return None;
            }
            for (i, source) in graph.nodes[at as usize].operands.iter().enumerate() {
                let value = source.value?;
                if inner(value).is_none() && !operands.contains(&value) {
                    operands.push(value);
                    places.push((at, i));
                }
            }
            if operands.len() > INPUTS {
                return None;
            }
        }
        for &at in group {
            let node = &graph.nodes[at as usize];
            let Function { code, .. } = nodes.functions[at as usize]?;
            let mut values = [0; 2];
            for (number, source) in values.iter_mut().zip(&node.operands) {
                let value = source.value?;
                *number = match inner(value) {
                    Some(instruction) => operands.len() + instruction,
                    None => operands.iter().position(|operand| *operand == value)?,
                };
            }
            let mut own = [0; 2];
            for (place, scalar) in own.iter_mut().zip(node.scalars.iter().take(code.scalars())) {
                let known = scalars.iter().position(|known| known == scalar);
                *place = known.unwrap_or(scalars.len());
                if known.is_none() {
                    scalars.push(*scalar);
                }
            }
            let number = operands.len() + instructions.len();
            let (values, own) = (&values[..code.operands()], &own[..code.scalars()]);
            instructions.push(Instruction::new(code, values, own));
            let result = *node.results.first()?;
            let readers = nodes.readers(result);
            let mut outside = readers.iter().filter(|reader| !group.contains(reader));
            let needed = outside.clone().next().is_some() || nodes.outputs[result as usize];
            if at != last && outside.any(|reader| *reader < last) {
                return None;
            }
            if needed || at == last {
                results.push(result);
                outputs.push(number);
            }
            if outputs.len() > 2 {
                return None;
            }
        }
        fits(of_last.dtype, operands.len(), instructions, outputs).then_some(())
    }

    /// The chain that was drafted last.
    fn part(&self, graph: &Graph) -> Option<Part> {
        let (instructions, outputs) = (self.instructions.clone(), self.outputs.clone());
        let chain = Chain::new(self.dtype?, self.operands.len(), instructions, outputs)?;
        let source = |&(node, i): &(u32, usize)| graph.nodes[node as usize].operands[i].clone();
        Some(Part {
            chain,
            operands: self.places.iter().map(source).collect(),
            scalars: self.scalars.clone(),
            results: self.results.clone(),
        })
    }
}

/// The function that a node computes, and the type and layout of its values, if a chain can do that.
fn function(node: &Node) -> Option<Function> {
    let (code, dtype) = node.op.code()?;
    let layout = node.operands.first()?.layout.id();
    let alike = node
        .operands
        .iter()
        .all(|source| source.value.is_some() && source.layout.id() == layout);
    let elementwise = node.pairs.as_ref().is_none_or(Pairs::is_elementwise);
    let function = Function {
        code,
        dtype,
        layout,
    };
    (alike && elementwise && code.operands() == node.operands.len()).then_some(function)
}
