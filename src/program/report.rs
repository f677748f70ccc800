//! Reports of what a plan does.

use std::collections::BTreeMap;
use std::fmt;

use super::graph::{Class, Lowered};
use crate::error::Count;
use crate::plan::{Arena, largest_live};
use crate::tensor::Origin;

/// A plan's steps and its use of memory. Prints as a table.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// The operations that run, in order. Views take no step.
    pub steps: Vec<Step>,
    /// The kernels that a GPU runs for all steps.
    pub dispatches: usize,
    /// The number of inputs.
    pub inputs: usize,
    /// Tensors that existed when the program was recorded: their types and sizes.
    pub constants: Vec<String>,
    /// The number of outputs, whose memory is not part of the arena.
    pub outputs: usize,
    /// The memory of the arena.
    pub memory: Bytes,
}

/// Bytes of the values between inputs and outputs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Bytes {
    /// The bytes that the values take in the arena, or that an earlier plan of the same operations took, if that is
    /// more.
    pub arena: u64,
    /// The largest sum of the sizes of values that are needed at one time: no arena is smaller.
    pub largest_live: u64,
    /// The bytes that all values would take without reuse.
    pub sum: u64,
    /// What `largest_live` would be if each batch were padded to its largest extents.
    pub padded: u64,
    /// The parts of `sum`: results of operations, their scratch buffers, and what gradients compute.
    pub activations: u64,
    /// Scratch buffers of operations.
    pub workspace: u64,
    /// Values that gradients compute.
    pub gradients: u64,
}

/// An operation of a plan.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Step {
    /// The operation's name.
    pub op: String,
    /// The kernels that a GPU runs, and the workgroups of each.
    pub kernels: Vec<(String, u32)>,
    /// The number of multiply-adds, or of values if they are only moved. On a GPU, this includes multiplications by
    /// zeros.
    pub cost: u64,
    /// Its operands: `in 0`, `const 1`, or `slab:offset` in the arena.
    pub reads: Vec<String>,
    /// Its results: `out 0`, or `slab:offset` in the arena.
    pub writes: Vec<String>,
}

impl Report {
    pub(super) fn new(lowered: &Lowered, arena: &Arena) -> Report {
        let graph = &lowered.graph;
        let inputs = graph.inputs.len();
        let constants = lowered.constants.len();
        let place = |value: u32| match lowered.external(value) {
            Some(i) if i < inputs => format!("in {i}"),
            Some(i) if i < inputs + constants => format!("const {}", i - inputs),
            Some(i) => format!("out {}", i - inputs - constants),
            None => lowered.item(value).map_or_else(String::new, |item| {
                let place = arena.places[item as usize];
                format!("{}:{}", place.slab, place.offset)
            }),
        };
        let mut steps = Vec::new();
        for &node in &lowered.steps {
            let node = &graph.nodes[node as usize];
            let Some(launch) = node.launch() else {
                continue;
            };
            let kernels = launch
                .dispatches
                .iter()
                .filter(|dispatch| dispatch.groups > 0)
                .map(|dispatch| (dispatch.name(), dispatch.groups));
            steps.push(Step {
                op: launch.op.to_owned(),
                kernels: kernels.collect(),
                cost: launch.work,
                reads: node
                    .operands
                    .iter()
                    .filter_map(|source| source.value)
                    .map(place)
                    .collect(),
                writes: node.results.iter().map(|value| place(*value)).collect(),
            });
        }
        let values = &lowered.values;
        let rounded = |bytes: u64| bytes.next_multiple_of(256);
        let mut by_class: BTreeMap<&str, u64> = BTreeMap::new();
        for (item, class) in values.items.iter().zip(&values.classes) {
            let name = match class {
                Class::Activation => "activations",
                Class::Workspace => "workspace",
                Class::Gradient => "gradients",
            };
            *by_class.entry(name).or_default() += rounded(item.bytes);
        }
        let bytes_of = |name: &str| by_class.get(name).copied().unwrap_or(0);
        let constant = |value: &u32| {
            let recorded = &graph.values[*value as usize];
            debug_assert!(matches!(recorded.origin, Origin::Constant(_)));
            format!(
                "{} {} elements, {} values",
                recorded.dtype,
                recorded.layout.len(),
                recorded.layout.total()
            )
        };
        Report {
            dispatches: steps.iter().map(|step| step.kernels.len()).sum(),
            steps,
            inputs,
            constants: lowered.constants.iter().map(constant).collect(),
            outputs: graph.outputs.len(),
            memory: Bytes {
                arena: arena.bytes(),
                largest_live: largest_live(&values.items),
                sum: values.items.iter().map(|item| rounded(item.bytes)).sum(),
                padded: largest_live(&lowered.padded()),
                activations: bytes_of("activations"),
                workspace: bytes_of("workspace"),
                gradients: bytes_of("gradients"),
            },
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            steps,
            dispatches,
            inputs,
            constants,
            outputs,
            memory,
        } = self;
        writeln!(
            f,
            "{}, {dispatches} dispatch{}, {}, {}",
            Count(steps.len(), "step"),
            if *dispatches == 1 { "" } else { "es" },
            Count(*inputs, "input"),
            Count(*outputs, "output")
        )?;
        for (i, constant) in constants.iter().enumerate() {
            writeln!(f, "const {i}: {constant}")?;
        }
        for (i, step) in steps.iter().enumerate() {
            let kernels: Vec<String> = step
                .kernels
                .iter()
                .map(|(name, groups)| format!("{name} × {groups}"))
                .collect();
            writeln!(
                f,
                "{i:4}  {:<16} {:>12}  [{}] -> [{}]  {}",
                step.op,
                step.cost,
                step.reads.join(", "),
                step.writes.join(", "),
                kernels.join(", "),
            )?;
        }
        write!(
            f,
            "arena {} bytes: largest live set {}, sum {} (activations {}, workspace {}, gradients {}), padded {}",
            memory.arena,
            memory.largest_live,
            memory.sum,
            memory.activations,
            memory.workspace,
            memory.gradients,
            memory.padded,
        )
    }
}
