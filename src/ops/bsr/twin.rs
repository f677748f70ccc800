//! Block-sparse products on the CPU: the gemm crate, applied to the blocks of one row at a time.

use std::ops::Range;

use bytemuck::cast_slice_mut;
use rayon::prelude::*;

use super::{Form, extents, ordered, plan};
use crate::ops::convert;
use crate::ops::kit::{slices::View, slices::multiply};
use crate::plan::{CpuArgs, Twin};
use crate::ragged::{DType, Topology};
use crate::{Result, host};

/// Columns of b that are gathered at a time, so that gathered values stay in the cache.
const COLUMNS: usize = 256;

/// The work of one worker: rows of c, as stored, of one product.
struct Job<'a> {
    pair: usize,
    first: usize,
    out: &'a mut [f32],
}

pub(super) fn matmul(form: Form, types: (DType, DType), topology: Topology) -> Twin {
    Twin::new(move |args| convert::in_f32(args, types, |args| floats(args, form, &topology)))
}

fn floats(args: &mut CpuArgs<'_>, form: Form, topology: &Topology) -> Result<()> {
    let outputs = std::mem::take(&mut args.outputs);
    let layout = outputs[0].layout;
    let mut c: &mut [f32] = cast_slice_mut(outputs[0].words);
    let args = &*args;
    let block_high = topology.block()[usize::from(form.by_columns())];
    // Rows of a job: a row of blocks, or some rows of b.
    let high = if form.dense_left { 64 } else { block_high };
    let mut jobs = Vec::new();
    for pair in 0..layout.len() {
        let (out, rest) = c.split_at_mut(layout.length(pair));
        c = rest;
        if !out.is_empty() {
            let columns = layout.shape(pair).extents()[1] as usize;
            let outs = out.chunks_mut(high * columns).enumerate();
            let outs = outs.map(|(i, out)| Job {
                pair,
                first: i * high,
                out,
            });
            host::extend(&mut jobs, outs)?;
        }
    }
    jobs.into_par_iter()
        .try_for_each_init(<[Vec<f32>; 2]>::default, |buffers, job| {
            rows(args, form, topology, job, buffers)
        })
}

fn rows(
    args: &CpuArgs<'_>,
    form: Form,
    topology: &Topology,
    job: Job<'_>,
    buffers: &mut [Vec<f32>; 2],
) -> Result<()> {
    let (sets, sets_layout) = args.input::<f32>(0);
    let (dense, dense_layout) = args.input::<f32>(1);
    let Ok(product) = extents(form, topology, job.pair, dense_layout.shape(job.pair)) else {
        return Ok(());
    };
    let set = if sets_layout.len() == 1 { 0 } else { job.pair };
    let set = &sets[sets_layout.offsets().range(set)];
    let dense = &dense[dense_layout.offsets().range(job.pair)];
    let b = View::new(dense, form.strides(product.stored[0]).map(|by| by as usize));
    let (m, n) = (product.m as usize, product.n as usize);
    let stored = product.stored[1] as usize;
    let [high, wide] = ordered(!form.by_columns(), topology.block());
    let [row, column] = match form.by_columns() {
        false => [wide, 1],
        true => [1, high],
    };
    let blocks = Blocks {
        set,
        row,
        column,
        high,
        wide,
        inner: product.k as usize,
    };
    let order = topology.order(form.by_columns());
    if form.dense_left {
        let end = job.first + job.out.len() / stored;
        for at in 0..m.div_ceil(high) {
            let inside = high.min(m - at * high);
            let out = &mut job.out[at * high..];
            blocks.row(
                order.row(at),
                inside,
                b,
                job.first..end,
                (out, [1, stored]),
                buffers,
            )?;
        }
    } else {
        let inside = job.out.len() / stored;
        for begin in (0..n).step_by(COLUMNS) {
            let columns = begin..n.min(begin + COLUMNS);
            let out = &mut job.out[begin..];
            let entries = order.row(job.first / high);
            blocks.row(entries, inside, b, columns, (out, [stored, 1]), buffers)?;
        }
    }
    // A `Bias::Right` has one vector for each product here: if there is a single right operand, a bias is `Shared`.
    let place = (job.pair, job.pair, job.first);
    form.epilogue.apply(args, place, stored, job.out);
    Ok(())
}

/// The blocks of one set of values, oriented as in f.
struct Blocks<'a> {
    set: &'a [f32],
    /// Strides inside a block.
    row: usize,
    column: usize,
    high: usize,
    wide: usize,
    inner: usize,
}

impl Blocks<'_> {
    /// Multiplies `inside` rows of f by some columns of b.
    fn row(
        &self,
        entries: &[[u32; 2]],
        inside: usize,
        b: View<'_>,
        columns: Range<usize>,
        (c, strides): (&mut [f32], [usize; 2]),
        [left, right]: &mut [Vec<f32>; 2],
    ) -> Result<()> {
        if entries.is_empty() {
            for i in 0..inside {
                for j in 0..columns.len() {
                    c[i * strides[0] + j * strides[1]] = 0.0;
                }
            }
        }
        for (at, chunk) in entries
            .chunks(plan::chunk(self.wide as u32) as usize)
            .enumerate()
        {
            let k = self.gather(chunk, inside, b, &columns, left, right)?;
            let n = columns.len();
            let a = View {
                values: left,
                row: 1,
                column: inside,
            };
            let b = match b.column {
                1 => View {
                    values: right,
                    row: n,
                    column: 1,
                },
                _ => View {
                    values: right,
                    row: 1,
                    column: k,
                },
            };
            multiply(c, strides, (a, b), [inside, k, n], at > 0);
        }
        Ok(())
    }

    /// Gathers the blocks side by side, column by column, and the rows of b that they multiply; returns the number of
    /// rows.
    fn gather(
        &self,
        entries: &[[u32; 2]],
        inside: usize,
        b: View<'_>,
        columns: &Range<usize>,
        left: &mut Vec<f32>,
        right: &mut Vec<f32>,
    ) -> Result<usize> {
        let spans = entries.iter().map(|&[stored, place]| {
            let first = place as usize * self.wide;
            (stored as usize, first..self.inner.min(first + self.wide))
        });
        left.clear();
        right.clear();
        let all: usize = spans.clone().map(|(_, span)| span.len()).sum();
        host::reserve(left, all * inside)?;
        host::reserve(right, all * columns.len())?;
        for (stored, span) in spans.clone() {
            let block = &self.set[stored * self.high * self.wide..][..self.high * self.wide];
            for k in 0..span.len() {
                let column = &block[k * self.column..];
                match self.row {
                    1 => left.extend_from_slice(&column[..inside]),
                    step => left.extend(column.iter().step_by(step).take(inside)),
                }
            }
        }
        match b.column {
            1 => {
                for k in spans.clone().flat_map(|(_, span)| span) {
                    right.extend_from_slice(&b.values[k * b.row..][columns.clone()]);
                }
            }
            step => {
                for column in columns.clone() {
                    for (_, span) in spans.clone() {
                        right.extend_from_slice(&b.values[column * step..][span]);
                    }
                }
            }
        }
        Ok(all)
    }
}

pub(super) fn sampled(transposed: [bool; 2], types: (DType, DType), topology: Topology) -> Twin {
    Twin::new(move |args| convert::in_f32(args, types, |args| blocks(args, transposed, &topology)))
}

fn blocks(args: &mut CpuArgs<'_>, transposed: [bool; 2], topology: &Topology) -> Result<()> {
    let outputs = std::mem::take(&mut args.outputs);
    let layout = outputs[0].layout;
    let c: &mut [f32] = cast_slice_mut(outputs[0].words);
    let args = &*args;
    let [high, wide] = topology.block();
    let [m, n] = topology.shape();
    let size = high * wide;
    let order = topology.order(false);
    let mut jobs = Vec::new();
    let sets = c.chunks_exact_mut(topology.set().max(1));
    for (pair, mut set) in sets.take(layout.len()).enumerate() {
        for row in 0..topology.grid()[0] {
            let (out, rest) = set.split_at_mut(order.row(row).len() * size);
            set = rest;
            host::push(&mut jobs, (pair, row, out))?;
        }
    }
    jobs.into_par_iter().for_each(|(pair, row, out)| {
        let (i, j) = args.pairs().get(pair);
        let [a, b] = [(0, i), (1, j)].map(|(side, element)| {
            let (values, layout) = args.input::<f32>(side);
            let columns = layout.shape(element).extents()[1];
            let strides = ordered(!transposed[side], [columns as usize, 1]);
            View::new(&values[layout.offsets().range(element)], strides)
        });
        // A factor (0, 0) has no inner extent, whatever that of the other one is.
        let [[_, left], [right, _]] = [(0, i), (1, j)].map(|(side, element)| {
            let shape = args.inputs[side].layout.shape(element);
            let stored = [0, 1].map(|axis| shape.extents()[axis] as usize);
            ordered(!transposed[side], stored)
        });
        let k = left.min(right);
        let first = row * high;
        out.fill(0.0);
        for (block, &[_, place]) in out.chunks_exact_mut(size).zip(order.row(row)) {
            let column = place as usize * wide;
            for begin in (0..k).step_by(plan::BLOCK as usize) {
                let a = View {
                    values: &a.values[first * a.row + begin * a.column..],
                    ..a
                };
                let b = View {
                    values: &b.values[begin * b.row + column * b.column..],
                    ..b
                };
                let inner = (k - begin).min(plan::BLOCK as usize);
                let extents = [high.min(m - first), inner, wide.min(n - column)];
                multiply(block, [wide, 1], (a, b), extents, begin > 0);
            }
        }
    });
    Ok(())
}
