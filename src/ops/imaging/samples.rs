//! Batches of samples for image programs: as the GPU receives them, and what it returns.
//!
//! A batch is one list of words, so that it is uploaded at once: a record for each sample, then all cells. A record has
//! the sample's place in the arena, the cells of its largest input, its place in the results, and for each input the
//! place of its first cell, its rows and its columns. Large samples come first, so that a dispatch does not end with
//! one that began late.

use std::ops::Range;

use rayon::prelude::*;

use super::code::STATE_VALID;
use super::compile::{Compiled, RESULT_HEADER};
use super::twin::run::walk;
use super::twin::{BLOCK, Slots, View};
use crate::ragged::{Layout, Offsets, Ragged};
use crate::{Error, Result, host};

/// Words of a record.
pub(super) fn record(compiled: &Compiled) -> u32 {
    3 + 3 * compiled.inputs
}

/// The inputs of a batch of samples: element i of each belongs to sample i.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples<'a> {
    inputs: &'a [&'a Ragged<i32>],
    pub len: usize,
}

impl<'a> Samples<'a> {
    /// Checks that there are images of every input for every sample.
    pub(crate) fn new(compiled: &Compiled, inputs: &'a [&'a Ragged<i32>]) -> Result<Samples<'a>> {
        if inputs.len() != compiled.inputs as usize {
            let expected = format!("a batch for each of {} inputs", compiled.inputs);
            return Err(Error::argument(expected, inputs.len()));
        }
        let len = inputs.first().map_or(0, |input| input.len());
        for input in inputs {
            input.layout().check_rank(2)?;
            if input.len() != len {
                return Err(Error::batch_sizes(len, input.len()));
            }
        }
        Ok(Samples { inputs, len })
    }

    fn view(&self, input: usize, sample: usize) -> View<'a> {
        let input = self.inputs[input];
        let extents = &input.layout().extents()[2 * sample..];
        View {
            rows: extents[0] as usize,
            columns: extents[1] as usize,
            cells: input.row(sample),
        }
    }

    /// The cells of the largest input, at least 1.
    pub(crate) fn unit(&self, sample: usize) -> u32 {
        let cells = self.inputs.iter().map(|input| input.row(sample).len());
        cells.max().unwrap_or(0).max(1) as u32
    }

    /// The sum of the cells of each sample's largest input.
    pub(crate) fn units(&self) -> u64 {
        (0..self.len)
            .map(|sample| u64::from(self.unit(sample)))
            .sum()
    }

    /// Runs samples on this thread.
    pub(crate) fn run(&self, compiled: &Compiled, samples: Range<usize>) -> Result<Collected> {
        self.run_with(&mut Slots::new(compiled)?, compiled, samples)
    }

    fn run_with(
        &self,
        slots: &mut Slots,
        compiled: &Compiled,
        samples: Range<usize>,
    ) -> Result<Collected> {
        let mut heads: Vec<Head> = host::room(samples.len() * compiled.outputs as usize)?;
        let mut cells = Vec::new();
        let outputs = compiled.outputs as usize;
        let mut inputs = host::room(BLOCK * self.inputs.len())?;
        for begin in samples.clone().step_by(BLOCK) {
            let block = begin..(begin + BLOCK).min(samples.end);
            inputs.clear();
            for sample in block.clone() {
                inputs.extend((0..self.inputs.len()).map(|input| self.view(input, sample)));
            }
            let first = heads.len();
            heads.resize(first + block.len() * outputs, Head::default());
            let mut stored = Ok(());
            walk(compiled, slots, &inputs, |sample, i, state, view| {
                heads[first + sample * outputs + i as usize] = Head {
                    state,
                    rows: view.rows as u32,
                    columns: view.columns as u32,
                    at: cells.len(),
                };
                if stored.is_ok() {
                    stored = host::extend(&mut cells, view.cells.iter().copied());
                }
            })?;
            stored?;
        }
        Ok(Collected {
            samples: samples.len(),
            heads: Heads::Listed(heads),
            cells,
        })
    }

    /// Runs samples on all threads of rayon's pool, in parts of about equal work.
    pub(crate) fn run_in_parallel(
        &self,
        compiled: &Compiled,
        samples: Range<usize>,
    ) -> Result<Vec<Collected>> {
        let threads = rayon::current_num_threads().max(1);
        let part = samples.len().div_ceil(8 * threads).max(1);
        let parts = samples.len().div_ceil(part);
        (0..parts)
            .into_par_iter()
            .map_init(
                || Slots::new(compiled),
                |slots, i| {
                    let begin = samples.start + i * part;
                    let part = begin..(begin + part).min(samples.end);
                    match slots {
                        Ok(slots) => self.run_with(slots, compiled, part),
                        Err(_) => self.run(compiled, part),
                    }
                },
            )
            .collect()
    }

    /// Divides samples into batches whose arena and results have at most so many words, and at most so many records.
    pub(crate) fn batches(&self, compiled: &Compiled, words: u64) -> Result<Vec<Batch>> {
        let mut order: Vec<u32> = host::exact(0..self.len as u32)?;
        order.sort_by_key(|&sample| std::cmp::Reverse(self.unit(sample as usize)));
        let mut batches = Vec::new();
        let mut batch = Batch::default();
        for sample in order {
            let size = self.size(compiled, sample);
            let most = size.most();
            if most > words {
                let what = "the values of the program";
                return Err(Error::too_large(what, 4 * most, 4 * words).at(sample as usize));
            }
            let together = batch.size.plus(size);
            if together.most() > words {
                host::push(&mut batches, std::mem::take(&mut batch))?;
            }
            batch.size = batch.size.plus(size);
            host::push(&mut batch.samples, sample)?;
        }
        if !batch.samples.is_empty() {
            host::push(&mut batches, batch)?;
        }
        Ok(batches)
    }

    /// These samples as one batch.
    pub(crate) fn batch(&self, compiled: &Compiled, samples: &[u32]) -> Result<Batch> {
        let sizes = samples.iter().map(|&sample| self.size(compiled, sample));
        Ok(Batch {
            samples: host::copied(samples)?,
            size: sizes.fold(Size::default(), Size::plus),
        })
    }

    fn size(&self, compiled: &Compiled, sample: u32) -> Size {
        let unit = self.unit(sample as usize);
        let inputs = self.inputs.iter();
        let cells = inputs.map(|input| input.row(sample as usize).len() as u64);
        Size {
            cells: unit.into(),
            arena: compiled.arena.cells(unit),
            results: compiled.results.cells(unit),
            words: u64::from(record(compiled)) + cells.sum::<u64>(),
        }
    }

    /// The words of a batch, as the GPU receives them.
    pub(crate) fn pack(&self, compiled: &Compiled, batch: &Batch) -> Result<Ragged<i32>> {
        let mut words: Vec<i32> = host::room(batch.size.words as usize)?;
        let mut first = batch.samples.len() as u64 * u64::from(record(compiled));
        let (mut arena, mut results) = (0, 0);
        for &sample in &batch.samples {
            let unit = self.unit(sample as usize);
            words.extend([arena as i32, unit as i32, results as i32]);
            for input in 0..self.inputs.len() {
                let view = self.view(input, sample as usize);
                words.extend([first as i32, view.rows as i32, view.columns as i32]);
                first += view.cells.len() as u64;
            }
            arena += compiled.arena.cells(unit);
            results += compiled.results.cells(unit);
        }
        for &sample in &batch.samples {
            for input in self.inputs {
                words.extend_from_slice(input.row(sample as usize));
            }
        }
        let layout = Layout::from_lengths([words.len()])?;
        Ragged::from_parts(layout, words)
    }

    /// What a GPU returned for a batch, in the order of its samples.
    pub(crate) fn unpack(
        &self,
        compiled: &Compiled,
        batch: &Batch,
        words: Vec<i32>,
    ) -> Result<Collected> {
        let mut records = host::room(batch.samples.len())?;
        let mut begin = 0;
        for &sample in &batch.samples {
            let unit = self.unit(sample as usize);
            records.push((begin, unit));
            begin += compiled.results.cells(unit);
        }
        Ok(Collected {
            samples: records.len(),
            heads: Heads::AmongCells(records),
            cells: words,
        })
    }
}

/// Samples that a GPU runs at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub samples: Vec<u32>,
    pub size: Size,
}

/// The cells of each sample's largest input, and the words of the arena, of the results, and of what is uploaded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub cells: u64,
    pub arena: u64,
    pub results: u64,
    words: u64,
}

impl Size {
    fn plus(self, other: Size) -> Size {
        Size {
            cells: self.cells + other.cells,
            arena: self.arena + other.arena,
            results: self.results + other.results,
            words: self.words + other.words,
        }
    }

    /// The words of the largest buffer.
    fn most(self) -> u64 {
        self.arena.max(self.results).max(self.words)
    }
}

/// A result of a sample: its state and extents, and the place of its cells.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    state: u32,
    rows: u32,
    columns: u32,
    at: usize,
}

/// The results of some samples.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The number of samples.
    pub samples: usize,
    heads: Heads,
    cells: Vec<i32>,
}

#[derive(Debug)]
enum Heads {
    /// Those of all outputs of a sample, one sample after the other.
    Listed(Vec<Head>),
    /// In front of the cells of each result, as a GPU writes them. For each sample, where its results begin, and the
    /// cells of its largest input.
    AmongCells(Vec<(u64, u32)>),
}

impl Collected {
    fn result(&self, compiled: &Compiled, sample: usize, output: usize) -> (u32, [u32; 2], &[i32]) {
        let head = match &self.heads {
            Heads::Listed(heads) => heads[sample * compiled.outputs as usize + output],
            Heads::AmongCells(records) => {
                let (begin, unit) = records[sample];
                let at = (begin + compiled.places[output].cells(unit)) as usize;
                Head {
                    state: self.cells[at] as u32,
                    rows: self.cells[at + 1] as u32,
                    columns: self.cells[at + 2] as u32,
                    at: at + RESULT_HEADER as usize,
                }
            }
        };
        let cells = head.rows as usize * head.columns as usize;
        (
            head.state,
            [head.rows, head.columns],
            &self.cells[head.at..][..cells],
        )
    }
}

/// One output of all samples: their states, and images without anything between them.
pub(crate) fn assemble(
    compiled: &Compiled,
    parts: &[Collected],
    order: &[(u32, u32)],
    output: usize,
) -> Result<(Vec<u32>, Ragged<i32>)> {
    let result = |&(part, sample): &(u32, u32)| {
        parts[part as usize].result(compiled, sample as usize, output)
    };
    let mut states = host::room(order.len())?;
    let mut extents = host::room(2 * order.len())?;
    let mut lengths = host::room(order.len())?;
    let mut total = 0;
    for at in order {
        let (state, shape, cells) = result(at);
        debug_assert!(state == STATE_VALID || cells.is_empty());
        states.push(state);
        extents.extend(shape);
        lengths.push(cells.len());
        total += cells.len();
    }
    let mut cells = host::room(total)?;
    for at in order {
        cells.extend_from_slice(result(at).2);
    }
    let layout = Layout::unchecked(Offsets::from_lengths(lengths)?, 2, extents);
    Ok((states, Ragged::from_parts(layout, cells)?))
}
