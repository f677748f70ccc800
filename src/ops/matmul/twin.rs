//! Matrix products on the CPU: the gemm crates for f32, and for f16 widened to f32; plain loops for integers.
//!
//! Bands of rows are multiplied with all workers if a product is large enough, otherwise pieces of rows with one worker
//! each; both depend on the product's extents alone. The epilogue follows each of them, while sums are in a cache.

use bytemuck::cast_slice_mut;
use gemm_common::Parallelism;
use rayon::prelude::*;

use super::{Form, extents};
use crate::ops::convert;
use crate::ops::kit::Arithmetic;
use crate::ops::kit::{slices::View, slices::multiply_by};
use crate::plan::{CpuArgs, Twin};
use crate::ragged::{DType, Layout};
use crate::{Result, host};

pub(super) fn of((dtype, result): (DType, DType), form: Form) -> Twin {
    match dtype {
        DType::I32 => Twin::new(move |args| integers::<i32>(args, &form)),
        DType::U32 => Twin::new(move |args| integers::<u32>(args, &form)),
        _ => Twin::new(move |args| {
            convert::in_f32(args, (dtype, result), |args| floats(args, &form))
        }),
    }
}

/// The number of multiply-adds from which all workers share a product, and the number in a piece for one worker.
const ALL: u64 = 1 << 27;
const PIECE: u64 = 1 << 22;

/// The least number of rows that all workers share, if there are as many: few enough for a cache to hold the sums until
/// the epilogue, and enough to make up for arranging the right factor.
const BAND: u32 = 1024;

/// Rows of an epilogue for one worker.
const PART: usize = 16;

/// Products summed in one run, as the documented error bound requires; the crate itself may take more at a time.
pub(super) const BLOCK: usize = 512;

/// Rows of one product's result, computed by one worker.
struct Piece<'a, T> {
    pair: usize,
    row: usize,
    out: &'a mut [T],
}

/// Cuts the results into pieces. Those of a product of `all` or more multiply-adds are for all workers.
fn pieces<'a, T>(
    args: &CpuArgs<'_>,
    form: &Form,
    layout: &Layout,
    mut c: &'a mut [T],
    all: u64,
) -> Result<Vec<Piece<'a, T>>> {
    let (a, b) = (args.inputs[0].layout, args.inputs[1].layout);
    let mut pieces = Vec::new();
    for (pair, (i, j)) in args.pairs().iter().enumerate() {
        let (mut out, rest) = c.split_at_mut(layout.length(pair));
        c = rest;
        let Ok(product) = extents(form, pair, a.shape(i), b.shape(j)) else {
            continue;
        };
        let row = u64::from(product.n) * u64::from(product.k.max(1));
        let rows = match row * u64::from(product.m) {
            work if work >= all => {
                let band = (all / row).clamp(u64::from(BAND), u64::from(u32::MAX)) as u32;
                product.m.div_ceil((product.m / band).max(1))
            }
            // The crate's kernels need tens of rows.
            _ => (PIECE / row.max(1)).clamp(64, u64::from(u32::MAX)) as u32,
        };
        let mut at = 0;
        while !out.is_empty() {
            let (piece, rest) =
                out.split_at_mut(((rows as usize) * product.n as usize).min(out.len()));
            out = rest;
            let piece = Piece {
                pair,
                row: at,
                out: piece,
            };
            host::push(&mut pieces, piece)?;
            at += rows as usize;
        }
    }
    Ok(pieces)
}

fn floats(args: &mut CpuArgs<'_>, form: &Form) -> Result<()> {
    let outputs = std::mem::take(&mut args.outputs);
    let output = &mut outputs[0];
    let layout = output.layout;
    let c: &mut [f32] = cast_slice_mut(output.words);
    let mut all = pieces(args, form, layout, c, ALL)?;
    let args = &*args;
    let large = |piece: &Piece<'_, f32>| {
        let (i, j) = args.pairs().get(piece.pair);
        let product = extents(
            form,
            0,
            args.inputs[0].layout.shape(i),
            args.inputs[1].layout.shape(j),
        );
        product.is_ok_and(|p| u64::from(p.m) * u64::from(p.n) * u64::from(p.k) >= ALL)
    };
    for piece in all.extract_if(.., |piece| large(piece)) {
        multiply(args, form, piece, Parallelism::Rayon(0));
    }
    all.into_par_iter()
        .for_each(|piece| multiply(args, form, piece, Parallelism::None));
    Ok(())
}

fn multiply(args: &CpuArgs<'_>, form: &Form, piece: Piece<'_, f32>, parallelism: Parallelism) {
    let (i, j) = args.pairs().get(piece.pair);
    let (a, a_layout) = args.input::<f32>(0);
    let (b, b_layout) = args.input::<f32>(1);
    let Ok(product) = extents(form, piece.pair, a_layout.shape(i), b_layout.shape(j)) else {
        return;
    };
    let (k, n) = (product.k as usize, product.n as usize);
    let rows = piece.out.len() / n;
    let by = |transposed: bool, stride: u32| match transposed {
        true => [1, stride as usize],
        false => [stride as usize, 1],
    };
    if k == 0 {
        piece.out.fill(0.0);
    } else {
        let a_by = by(form.transposed[0], product.strides[0]);
        let b_by = by(form.transposed[1], product.strides[1]);
        let a = &a[a_layout.offsets().range(i)][piece.row * a_by[0]..];
        let b = &b[b_layout.offsets().range(j)];
        for begin in (0..k).step_by(BLOCK) {
            let factors = (
                View::new(&a[begin * a_by[1]..], a_by),
                View::new(&b[begin * b_by[0]..], b_by),
            );
            let extents = [rows, BLOCK.min(k - begin), n];
            multiply_by(parallelism, piece.out, [n, 1], factors, extents, begin > 0);
        }
    }
    let epilogue = |row: usize, out: &mut [f32]| {
        form.epilogue.apply(args, (piece.pair, j, row), n, out);
    };
    match parallelism {
        Parallelism::None => epilogue(piece.row, piece.out),
        Parallelism::Rayon(_) => {
            let parts = piece.out.par_chunks_mut(PART * n).enumerate();
            parts.for_each(|(part, out)| epilogue(piece.row + part * PART, out));
        }
    }
}

/// In the order of the definition; results wrap.
fn integers<T: Arithmetic>(args: &mut CpuArgs<'_>, form: &Form) -> Result<()> {
    let outputs = std::mem::take(&mut args.outputs);
    let output = &mut outputs[0];
    let layout = output.layout;
    let c: &mut [T] = cast_slice_mut(output.words);
    let all = pieces(args, form, layout, c, u64::MAX)?;
    let args = &*args;
    all.into_par_iter().for_each(|piece| {
        let (i, j) = args.pairs().get(piece.pair);
        let (a, a_layout) = args.input::<T>(0);
        let (b, b_layout) = args.input::<T>(1);
        let Ok(product) = extents(form, piece.pair, a_layout.shape(i), b_layout.shape(j)) else {
            return;
        };
        let a = &a[a_layout.offsets().range(i)];
        let b = &b[b_layout.offsets().range(j)];
        let at = |transposed: bool, stride: u32, row: usize, column: usize| match transposed {
            true => column * stride as usize + row,
            false => row * stride as usize + column,
        };
        piece.out.fill(T::default());
        for (row, out) in piece.out.chunks_mut(product.n as usize).enumerate() {
            for l in 0..product.k as usize {
                let x = a[at(form.transposed[0], product.strides[0], piece.row + row, l)];
                for (column, sum) in out.iter_mut().enumerate() {
                    let y = b[at(form.transposed[1], product.strides[1], l, column)];
                    *sum = sum.plus(x.times(y));
                }
            }
        }
    });
    Ok(())
}
