//! From a recorded graph to what both machines run: without unused and repeated instructions, with a place for each
//! value, and for a GPU in levels of independent runs.

use std::collections::HashMap;
use std::sync::Arc;

use super::code::{Capacity, NONE, Opcode, Step};
use super::graph::Graph;
use crate::plan::PlanBuffer;
use crate::{Result, host};

/// Words of a value before its cells: its state, rows and columns, and one unused.
pub(super) const HEADER: u32 = 4;
/// Words of a result before its cells.
pub(crate) const RESULT_HEADER: u32 = 3;
/// Words of an instruction.
pub(super) const STEP: usize = 16;
/// The most instructions of a run.
const RUN: usize = 8;

/// How a program is compiled. Values do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passes {
    /// Whether equal instructions are computed once.
    pub share: bool,
    /// Whether instructions that no output needs are left out.
    pub prune: bool,
    pub schedule: Schedule,
}

/// What a dispatch of the GPU runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Schedule {
    /// A level: runs of at most so many instructions, which depend only on earlier levels.
    Levels(usize),
    /// One kind of instruction of a level, without runs.
    Kinds,
    /// The whole program: a workgroup computes everything for a sample.
    Whole,
}

impl Passes {
    pub(crate) const ALL: Passes = Passes {
        share: true,
        prune: true,
        schedule: Schedule::Levels(RUN),
    };
}

/// The slot of operands that an instruction does not have: an empty image.
pub(super) const NOTHING: u32 = 0;

/// Where an instruction of the CPU's interpreter finds its operands and leaves its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    pub result: u32,
    pub operands: [u32; 3],
}

/// Runs of a dispatch: pairs of the first instruction and their number, from word `at` of the code on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub at: u32,
    pub runs: u32,
    pub steps: u32,
}

/// Kinds of instructions by what a cell of the result costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// About a cell of each operand for each cell of the result.
    Cells,
    /// Several cells.
    Neighbours,
    Components,
}

impl Class {
    pub(crate) const ALL: [Class; 3] = [Class::Cells, Class::Neighbours, Class::Components];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Cells => "by cells",
            Class::Neighbours => "with neighbours",
            Class::Components => "with components",
        }
    }

    fn of(opcode: Opcode) -> Class {
        match opcode {
            Opcode::Label | Opcode::FillHoles | Opcode::Match | Opcode::Sort => Class::Components,
            Opcode::Regions
            | Opcode::Period
            | Opcode::Scan
            | Opcode::Histogram
            | Opcode::Palette
            | Opcode::Compact
            | Opcode::Extreme => Class::Neighbours,
            _ => Class::Cells,
        }
    }
}

/// The instructions of a class: how many, and the cells of their results for a cell of a sample's largest input and
/// besides.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Count {
    pub steps: f64,
    pub per_unit: f64,
    pub fixed: f64,
}

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub inputs: u32,
    pub outputs: u32,
    /// In the order in which they were recorded.
    pub steps: Vec<Step>,
    pub constants: Vec<i32>,
    pub(super) serial: Vec<Slots>,
    /// The values of the CPU's interpreter at one time.
    pub slots: usize,
    pub(super) code: Arc<PlanBuffer>,
    pub(super) steps_at: u32,
    pub(super) constants_at: u32,
    pub(super) levels: Vec<Level>,
    /// The words of a sample in the arena.
    pub arena: Capacity,
    /// The words of a sample in the results, and where each result begins.
    pub results: Capacity,
    pub places: Vec<Capacity>,
    /// The longest chain of instructions of which each needs the one before.
    pub depth: usize,
    /// By [`Class`].
    pub classes: [Count; Class::ALL.len()],
}

impl Compiled {
    pub(crate) fn dispatches(&self) -> usize {
        self.levels.len()
    }

    /// The cost of a batch. `cells` is the sum of the cells of each sample's largest input.
    pub(crate) fn work(&self, cells: u64) -> u64 {
        let steps = self.levels.iter().map(|level| u64::from(level.steps));
        steps.sum::<u64>().saturating_mul(cells)
    }

    /// The instructions that compute something: without inputs, constants and outputs.
    pub(crate) fn operations(&self) -> usize {
        let computes = |step: &&Step| {
            !matches!(
                step.opcode,
                Opcode::Input | Opcode::Constant | Opcode::Output
            )
        };
        self.steps.iter().filter(computes).count()
    }
}

pub(crate) fn compile(graph: &Graph, passes: Passes) -> Result<Compiled> {
    let steps = simplified(graph, passes)?;
    let (serial, slots) = serial_slots(&steps)?;
    let depth = depths(&steps)?.into_iter().max().unwrap_or(0);
    let runs = runs(&steps, passes.schedule)?;
    let (places, arena) = arena_places(&steps, &runs)?;
    let mut results = Capacity::default();
    let mut result_places = host::filled(Capacity::default(), graph.outputs as usize)?;
    for step in &steps {
        if step.opcode == Opcode::Output {
            result_places[step.numbers[0] as usize] = results;
            let words = step.capacity.plus(Capacity::fixed(RESULT_HEADER));
            results = results.plus(words);
        }
    }

    let mut classes = [Count::default(); Class::ALL.len()];
    for step in &steps {
        let count = &mut classes[Class::of(step.opcode) as usize];
        count.steps += 1.0;
        count.per_unit += f64::from(step.capacity.per_unit);
        count.fixed += f64::from(step.capacity.fixed);
    }

    let mut code = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    for level in &runs {
        let begin = code.len() as u32;
        let mut steps = 0;
        for run in level {
            host::extend(&mut code, [at, run.len() as u32])?;
            at += run.len() as u32;
            steps += run.len() as u32;
        }
        host::push(
            &mut levels,
            Level {
                at: begin,
                runs: level.len() as u32,
                steps,
            },
        )?;
    }
    let steps_at = code.len() as u32;
    for &i in runs.iter().flatten().flatten() {
        let step = &steps[i as usize];
        let place = match step.opcode {
            Opcode::Output => result_places[step.numbers[0] as usize],
            _ => places[i as usize],
        };
        let mut words = [0; STEP];
        words[0] = step.opcode as u32;
        words[1..3].copy_from_slice(&step.numbers);
        words[3..5].copy_from_slice(&[place.per_unit, place.fixed]);
        words[5..7].copy_from_slice(&[step.capacity.per_unit, step.capacity.fixed]);
        for (k, operand) in step.operands().enumerate() {
            let place = places[operand as usize];
            words[7 + 2 * k..][..2].copy_from_slice(&[place.per_unit, place.fixed]);
        }
        words[13] = step.operands().count() as u32;
        host::extend(&mut code, words)?;
    }
    let constants_at = code.len() as u32;
    host::extend(
        &mut code,
        graph.constants.iter().map(|&constant| constant as u32),
    )?;
    Ok(Compiled {
        inputs: graph.inputs,
        outputs: graph.outputs,
        constants: host::copied(&graph.constants)?,
        serial,
        slots,
        code: PlanBuffer::new(code),
        steps_at,
        constants_at,
        levels,
        arena,
        results,
        places: result_places,
        depth,
        classes,
        steps,
    })
}

/// The instructions that are needed, each once.
fn simplified(graph: &Graph, passes: Passes) -> Result<Vec<Step>> {
    let mut needed = host::filled(!passes.prune, graph.steps.len())?;
    for (i, step) in graph.steps.iter().enumerate().rev() {
        needed[i] |= step.opcode == Opcode::Output;
        if needed[i] {
            step.operands()
                .for_each(|operand| needed[operand as usize] = true);
        }
    }
    let mut steps = Vec::new();
    let mut places = host::filled(NONE, graph.steps.len())?;
    let mut known: HashMap<Step, u32> = HashMap::new();
    for (i, step) in graph.steps.iter().enumerate().filter(|(i, _)| needed[*i]) {
        let mut step = *step;
        for operand in step.operands.iter_mut().filter(|operand| **operand != NONE) {
            *operand = places[*operand as usize];
        }
        let is_shared = passes.share && step.opcode != Opcode::Output;
        if is_shared && let Some(&place) = known.get(&step) {
            places[i] = place;
            continue;
        }
        places[i] = steps.len() as u32;
        if is_shared {
            host::insert(&mut known, step, places[i])?;
        }
        host::push(&mut steps, step)?;
    }
    Ok(steps)
}

/// For each instruction the last one that reads its result, or itself.
fn last_uses(steps: &[Step]) -> Result<Vec<u32>> {
    let mut last: Vec<u32> = host::exact(0..steps.len() as u32)?;
    for (i, step) in steps.iter().enumerate() {
        step.operands()
            .for_each(|operand| last[operand as usize] = i as u32);
    }
    Ok(last)
}

/// Slots for the CPU, where an instruction's result never lies in the slot of an operand.
fn serial_slots(steps: &[Step]) -> Result<(Vec<Slots>, usize)> {
    let last = last_uses(steps)?;
    let (mut places, mut free, mut used) = (Vec::new(), Vec::new(), NOTHING + 1);
    let mut slots = host::room(steps.len())?;
    for (i, step) in steps.iter().enumerate() {
        let place = match step.opcode {
            Opcode::Output => NONE,
            _ => free.pop().unwrap_or_else(|| {
                used += 1;
                used - 1
            }),
        };
        host::push(&mut places, place)?;
        let mut operands = [NOTHING; 3];
        for (slot, operand) in operands.iter_mut().zip(step.operands()) {
            *slot = places[operand as usize];
        }
        slots.push(Slots {
            result: place,
            operands,
        });
        let mut ended = [NONE; 4];
        for (ended, value) in ended.iter_mut().zip(step.operands().chain([i as u32])) {
            *ended = value;
        }
        for (k, &value) in ended.iter().enumerate() {
            let is_repeated = ended[..k].contains(&value);
            if value != NONE
                && !is_repeated
                && last[value as usize] == i as u32
                && places[value as usize] != NONE
            {
                host::push(&mut free, places[value as usize])?;
            }
        }
    }
    Ok((slots, used as usize))
}

/// The length of the longest chain that ends with each instruction.
fn depths(steps: &[Step]) -> Result<Vec<usize>> {
    let mut depths: Vec<usize> = host::room(steps.len())?;
    for step in steps {
        let before = step
            .operands()
            .map(|operand| depths[operand as usize])
            .max();
        depths.push(before.unwrap_or(0) + usize::from(step.opcode != Opcode::Output));
    }
    Ok(depths)
}

/// The runs of each dispatch.
fn runs(steps: &[Step], schedule: Schedule) -> Result<Vec<Vec<Vec<u32>>>> {
    let all = 0..steps.len() as u32;
    match schedule {
        _ if steps.is_empty() => Ok(Vec::new()),
        Schedule::Whole => Ok(vec![vec![host::exact(all)?]]),
        Schedule::Levels(run) => by_level(steps, run),
        Schedule::Kinds => {
            let mut split = Vec::new();
            for level in by_level(steps, 1)? {
                let mut kinds: HashMap<Opcode, Vec<Vec<u32>>> = HashMap::new();
                for run in level {
                    kinds
                        .entry(steps[run[0] as usize].opcode)
                        .or_default()
                        .push(run);
                }
                let mut kinds: Vec<_> = kinds.into_iter().collect();
                kinds.sort_by_key(|(opcode, _)| *opcode as u32);
                split.extend(kinds.into_iter().map(|(_, runs)| runs));
            }
            Ok(split)
        }
    }
}

/// An instruction continues the run of an operand if everything else that it needs is computed by earlier levels, so
/// that a chain takes few levels. Runs do not begin with inputs and constants, which many instructions share.
fn by_level(steps: &[Step], longest: usize) -> Result<Vec<Vec<Vec<u32>>>> {
    struct Run {
        level: usize,
        steps: Vec<u32>,
    }
    let mut all: Vec<Run> = Vec::new();
    let mut run_of: Vec<usize> = host::room(steps.len())?;
    for (i, step) in steps.iter().enumerate() {
        let latest = step
            .operands()
            .map(|operand| run_of[operand as usize])
            .max_by_key(|run| all[*run].level);
        let joins = latest.filter(|&run| {
            let level = all[run].level;
            level > 0
                && all[run].steps.len() < longest
                && step.operands().all(|operand| {
                    let other = run_of[operand as usize];
                    other == run || all[other].level < level
                })
        });
        let run = match (joins, latest) {
            (Some(run), _) => run,
            (None, latest) => {
                let level = latest.map_or(0, |run| all[run].level + 1);
                host::push(
                    &mut all,
                    Run {
                        level,
                        steps: Vec::new(),
                    },
                )?;
                all.len() - 1
            }
        };
        host::push(&mut all[run].steps, i as u32)?;
        run_of.push(run);
    }
    let count = all.iter().map(|run| run.level + 1).max().unwrap_or(0);
    let mut levels = host::filled(Vec::new(), count)?;
    for run in all {
        host::push(&mut levels[run.level], run.steps)?;
    }
    // The longest work of a dispatch begins first.
    let weight = |run: &Vec<u32>| {
        run.iter()
            .map(|&i| weight(steps[i as usize].opcode))
            .sum::<u32>()
    };
    for level in &mut levels {
        level.sort_by_key(|run| std::cmp::Reverse(weight(run)));
    }
    Ok(levels)
}

/// About how long an instruction takes, in passes over the cells.
fn weight(opcode: Opcode) -> u32 {
    match Class::of(opcode) {
        Class::Cells => 1,
        Class::Neighbours => 4,
        Class::Components => 12,
    }
}

/// The words of an instruction's result in the arena.
fn words(step: &Step) -> Capacity {
    let header = Capacity::fixed(HEADER);
    let value = step.capacity.plus(header);
    let words = match step.opcode {
        // These use as much again for themselves.
        Opcode::Label | Opcode::FillHoles | Opcode::Sort | Opcode::Compact => value.plus(value),
        _ => value,
    };
    Capacity {
        fixed: words.fixed.next_multiple_of(4),
        ..words
    }
}

/// A place in the arena for each value, which is free again after the last level that reads it; and the size of all.
fn arena_places(steps: &[Step], runs: &[Vec<Vec<u32>>]) -> Result<(Vec<Capacity>, Capacity)> {
    let mut last_level = host::filled(0, steps.len())?;
    for (level, runs) in runs.iter().enumerate() {
        for &i in runs.iter().flatten() {
            last_level[i as usize] = last_level[i as usize].max(level);
            steps[i as usize]
                .operands()
                .for_each(|operand| last_level[operand as usize] = level);
        }
    }
    let mut places = host::filled(Capacity::default(), steps.len())?;
    let (mut total, mut free, mut busy) = (Capacity::default(), Vec::new(), Vec::new());
    for (level, runs) in runs.iter().enumerate() {
        let (ended, others) = busy
            .into_iter()
            .partition(|&(last, ..): &(usize, _, _)| last < level);
        busy = others;
        let ended: Vec<(usize, Capacity, Capacity)> = ended;
        host::extend(
            &mut free,
            ended.into_iter().map(|(_, place, size)| (place, size)),
        )?;
        let mut values: Vec<u32> = runs.iter().flatten().copied().collect();
        values.retain(|&i| steps[i as usize].opcode != Opcode::Output);
        values.sort_by_key(|&i| {
            let size = words(&steps[i as usize]);
            std::cmp::Reverse((size.per_unit, size.fixed))
        });
        for i in values {
            let size = words(&steps[i as usize]);
            let waste = |other: Capacity| {
                let per_unit = other.per_unit.checked_sub(size.per_unit)?;
                let fixed = other.fixed.checked_sub(size.fixed)?;
                Some(u64::from(per_unit) * 256 + u64::from(fixed))
            };
            let best = (0..free.len())
                .filter_map(|k| Some((waste(free[k].1)?, k)))
                .min();
            let (place, size) = match best {
                Some((_, k)) => free.swap_remove(k),
                None => {
                    let place = total;
                    total = total.plus(size);
                    (place, size)
                }
            };
            places[i as usize] = place;
            host::push(&mut busy, (last_level[i as usize], place, size))?;
        }
    }
    Ok((places, total))
}
