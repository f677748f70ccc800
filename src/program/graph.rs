//! From a recorded graph to a schedule: which values live when, and where.

use super::names::PLAN;
use super::passes::Passes;
use crate::plan::{Access, Arena, Item, Memory, Schedule, Slot, Step, StepOperand};
use crate::ragged::{DType, Layout};
use crate::tensor::{Device, Graph, Node, Origin, ValueId};
use crate::{Error, Result};

/// The values and scratch buffers of the arena, before they are placed.
pub(super) struct Values {
    pub items: Vec<Item>,
    /// Pairs of items that a dispatch reads and writes.
    pub apart: Vec<(u32, u32)>,
    /// The class of each item, for the report.
    pub classes: Vec<Class>,
}

/// Where the memory of a root is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    /// Nothing that runs needs it.
    Nowhere,
    /// A buffer outside the arena, by its number.
    External(usize),
    /// An item of the arena.
    Item(u32),
}

/// What a value of the arena is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Activation,
    Workspace,
    Gradient,
}

/// A graph whose unused operations are dropped, with the lifetimes of its values.
pub(super) struct Lowered {
    pub graph: Graph,
    /// The nodes to run: launches only.
    pub steps: Vec<u32>,
    pub values: Values,
    /// Where each value is, by its number; views count as their roots.
    homes: Vec<Home>,
    externals: usize,
    /// The first item of the scratch buffers of each step.
    scratch: Vec<u32>,
    /// The roots of the constants, in the order of their numbers.
    pub constants: Vec<ValueId>,
    /// The roots that outputs lie in and that the program computes, in the order of their numbers.
    pub results: Vec<ValueId>,
}

/// A kernel's access is by quads of words, so nothing is smaller.
const SMALLEST: u64 = 16;

impl Lowered {
    pub(super) fn new(device: &Device, mut graph: Graph, passes: Passes) -> Result<Lowered> {
        if graph.outputs.is_empty() {
            return Err(
                Error::recording("the program has no outputs; call Recording::output").named(PLAN),
            );
        }
        let kept = passes.apply(device, &mut graph)?;
        let launch = |node: &u32| graph.nodes[*node as usize].launch().is_some();
        let steps: Vec<u32> = kept.into_iter().filter(launch).collect();
        let mut homes = vec![Home::Nowhere; graph.values.len()];
        let mut externals = 0;
        let mut outside = |root: ValueId, list: Option<&mut Vec<ValueId>>| {
            if homes[root as usize] == Home::Nowhere {
                homes[root as usize] = Home::External(externals);
                externals += 1;
                if let Some(list) = list {
                    list.push(root);
                }
            }
        };
        for &input in &graph.inputs {
            outside(input, None);
        }
        let mut constants = Vec::new();
        let mut results = Vec::new();
        let operands = |node: &u32| graph.nodes[*node as usize].operands.iter();
        let read = steps
            .iter()
            .flat_map(operands)
            .filter_map(|source| source.value);
        for value in read.chain(graph.outputs.iter().copied()) {
            let root = graph.values[value as usize].root;
            if matches!(graph.values[root as usize].origin, Origin::Constant(_)) {
                outside(root, Some(&mut constants));
            }
        }
        for &output in &graph.outputs {
            let root = graph.values[output as usize].root;
            if matches!(graph.values[root as usize].origin, Origin::Node(_)) {
                outside(root, Some(&mut results));
            }
        }
        let mut lowered = Lowered {
            graph,
            steps,
            values: Values {
                items: Vec::new(),
                apart: Vec::new(),
                classes: Vec::new(),
            },
            homes,
            scratch: Vec::new(),
            externals,
            constants,
            results,
        };
        lowered.live(passes.reuse_memory);
        Ok(lowered)
    }

    /// Fills in the items and which of them must be in different slabs.
    fn live(&mut self, reuse: bool) {
        let last = self.steps.len() as u32;
        for (at, &node) in self.steps.iter().enumerate() {
            let at = at as u32;
            let node = &self.graph.nodes[node as usize];
            let Some(launch) = node.launch() else {
                continue;
            };
            // Without reuse, everything lives throughout.
            let (born, dies) = if reuse { (at, at) } else { (0, last) };
            for source in &node.operands {
                if let Some(value) = source.value
                    && let Some(item) = item_of(&self.graph, &self.homes, value)
                {
                    let item = &mut self.values.items[item as usize];
                    item.dies = item.dies.max(at);
                }
            }
            let class = match node.backward {
                true => Class::Gradient,
                false => Class::Activation,
            };
            for &result in &node.results {
                // Some results have memory already: outputs, and results over operands, whose roots they share.
                let root = self.graph.values[result as usize].root;
                if self.homes[root as usize] != Home::Nowhere {
                    continue;
                }
                let value_of = &self.graph.values[result as usize];
                let bytes = bytes_of(value_of.dtype, &value_of.layout);
                let item = self.values.add(Item { bytes, born, dies }, class);
                self.homes[result as usize] = Home::Item(item);
            }
            self.scratch.push(self.values.items.len() as u32);
            for &words in &launch.scratch {
                let bytes = (words * 4).max(SMALLEST);
                self.values
                    .add(Item { bytes, born, dies }, Class::Workspace);
            }
        }
        for at in 0..self.steps.len() {
            self.separate(at);
        }
        self.values.apart.sort_unstable();
        self.values.apart.dedup();
    }

    /// Notes what a step reads and writes.
    fn separate(&mut self, at: usize) {
        let node = &self.graph.nodes[self.steps[at] as usize];
        let Some(launch) = node.launch() else { return };
        let operand = |i: usize| {
            let value = node.operands[i].value?;
            item_of(&self.graph, &self.homes, value)
        };
        let result = |i: usize| item_of(&self.graph, &self.homes, node.results[i]);
        let mut apart = |a: Option<u32>, b: Option<u32>| {
            if let (Some(a), Some(b)) = (a, b)
                && a != b
            {
                self.values.apart.push((a.min(b), a.max(b)));
            }
        };
        // The twin reads all operands and writes all results at once.
        for i in 0..node.results.len() {
            for j in 0..node.operands.len() {
                apart(result(i), operand(j));
            }
            for j in 0..i {
                apart(result(i), result(j));
            }
        }
        let item = |slot: &Slot| match slot {
            Slot::Input(i) => operand(*i),
            Slot::Output(i) => result(*i),
            Slot::Scratch(i) => Some(self.scratch[at] + *i as u32),
            _ => None,
        };
        for dispatch in &launch.dispatches {
            let slots = || dispatch.kernel.interface.access.iter().zip(&dispatch.slots);
            for (_, written) in slots().filter(|(access, _)| **access == Access::Write) {
                for (_, read) in slots().filter(|(access, _)| **access == Access::Read) {
                    apart(item(written), item(read));
                }
            }
        }
    }

    /// The number of the external buffer that a value lies in.
    pub(super) fn external(&self, value: ValueId) -> Option<usize> {
        let root = self.graph.values[value as usize].root;
        match self.homes[root as usize] {
            Home::External(number) => Some(number),
            _ => None,
        }
    }

    /// The item of the arena that a value lies in.
    pub(super) fn item(&self, value: ValueId) -> Option<u32> {
        item_of(&self.graph, &self.homes, value)
    }

    /// The items as if all elements of each value were padded to the largest extents.
    pub(super) fn padded(&self) -> Vec<Item> {
        let mut items = self.values.items.clone();
        for (home, value) in self.homes.iter().zip(&self.graph.values) {
            if let Home::Item(item) = home {
                items[*item as usize].bytes = padded_bytes(value.dtype, &value.layout);
            }
        }
        items
    }

    /// The schedule, with the values in these places.
    pub(super) fn schedule(&self, arena: &Arena) -> Schedule {
        let item = |item: u32, words: u64| {
            let place = arena.places[item as usize];
            Memory::Slab {
                slab: place.slab as usize,
                offset: place.offset,
                words,
                room: place.bytes,
            }
        };
        let memory = |value: ValueId| {
            let root = self.graph.values[value as usize].root;
            let value_of = &self.graph.values[root as usize];
            match self.homes[root as usize] {
                Home::External(number) => Some(Memory::External(number)),
                Home::Item(i) => Some(item(
                    i,
                    value_of.dtype.words(value_of.layout.total()) as u64,
                )),
                Home::Nowhere => None,
            }
        };
        let operand = |source: &crate::tensor::Source, changed: bool| {
            // An operand that a step changes in place is passed only as a result.
            let Some(value) = source.value.filter(|_| !changed) else {
                return StepOperand {
                    memory: None,
                    base: 0,
                    unit: 1,
                    bytes: 0,
                    layout: source.layout.clone(),
                };
            };
            let value_of = &self.graph.values[value as usize];
            StepOperand {
                memory: memory(value),
                base: value_of.base,
                unit: value_of.dtype.unit(),
                bytes: value_of.layout.total() * value_of.dtype.size(),
                layout: source.layout.clone(),
            }
        };
        let step = |(at, node): (usize, &u32)| {
            let node: &Node = &self.graph.nodes[*node as usize];
            let scratch = node.launch().map_or(&[][..], |launch| &launch.scratch);
            let outputs = node.launch().map_or(&[][..], |launch| &launch.outputs);
            let changed = |i: usize| outputs.iter().any(|output| output.over == Some(i));
            let operands = node.operands.iter().enumerate();
            Step {
                plan: node.plan.clone(),
                operands: operands.map(|(i, of)| operand(of, changed(i))).collect(),
                results: node
                    .results
                    .iter()
                    .filter_map(|value| memory(*value))
                    .collect(),
                scratch: (self.scratch[at]..)
                    .zip(scratch)
                    .map(|(i, words)| item(i, *words))
                    .collect(),
                scalars: node.scalars.clone(),
            }
        };
        Schedule {
            steps: self.steps.iter().enumerate().map(step).collect(),
            externals: self.externals,
            inputs: self.graph.inputs.len(),
            given: self.externals - self.results.len(),
        }
    }
}

impl Values {
    fn add(&mut self, item: Item, class: Class) -> u32 {
        let at = self.items.len() as u32;
        self.items.push(item);
        self.classes.push(class);
        at
    }
}

fn item_of(graph: &Graph, homes: &[Home], value: ValueId) -> Option<u32> {
    match homes[graph.values[value as usize].root as usize] {
        Home::Item(item) => Some(item),
        _ => None,
    }
}

fn bytes_of(dtype: DType, layout: &Layout) -> u64 {
    (dtype.words(layout.total()) as u64 * 4).max(SMALLEST)
}

/// The bytes of a batch whose elements all have the largest extents.
fn padded_bytes(dtype: DType, layout: &Layout) -> u64 {
    let most = |axis: usize| match layout.rank() {
        1 => layout.lengths().max().unwrap_or(0) as u64,
        rank => layout
            .extents()
            .iter()
            .skip(axis)
            .step_by(rank)
            .max()
            .map_or(0, |most| u64::from(*most)),
    };
    let each = (0..layout.rank())
        .map(most)
        .fold(dtype.size() as u64, u64::saturating_mul);
    each.saturating_mul(layout.len() as u64).max(SMALLEST)
}
