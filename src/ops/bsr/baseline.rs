//! Block-sparse products with kernels that run on any device.

use std::sync::Arc;

use super::plan::{self, Rows};
use super::{Finish, OP, Request, groups, ordered, rounded};
use crate::ops::bsr::tiles::{NARROW, SparseTile, WIDE};
use crate::plan::{Access, Dispatch, Kernel, Param, PlanBuffer, Slot, Variant};
use crate::ragged::{DType, Topology};
use crate::{Result, host};

/// Chunks in one piece of a row.
const CHUNKS: u32 = 4;

macro_rules! variants {
    ($($flags:expr),+ $(,)?) => {
        &[$(Variant { dtype: DType::F32, flags: $flags }),+]
    };
}

pub(crate) static MATMUL: Kernel = Kernel {
    stem: "bsr_matmul",
    source: include_str!("../../../shaders/bsr_matmul.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Write,
    ],
    // f16 products are summed in f32.
    variants: variants!(
        &["H8"],
        &["H16"],
        &["H32"],
        &["H48"],
        &["H64"],
        &["NARROW"],
        &["HALVES", "H8"],
        &["HALVES", "H16"],
        &["HALVES", "H32"],
        &["HALVES", "H48"],
        &["HALVES", "H64"],
        &["HALVES", "NARROW"],
        &["NATIVE", "SETS8"],
        &["NATIVE", "SETS16"],
        &["NATIVE", "SETS8", "HALVES"],
        &["NATIVE", "SETS16", "HALVES"],
    ),
};

pub(crate) static SAMPLED: Kernel = Kernel {
    stem: "bsr_sampled",
    source: include_str!("../../../shaders/bsr_matmul.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
    ],
    variants: variants!(
        &["SAMPLED", "H8"],
        &["SAMPLED", "H16"],
        &["SAMPLED", "H32"],
        &["SAMPLED", "H48"],
        &["SAMPLED", "H64"],
        &["SAMPLED", "NARROW"],
        &["SAMPLED", "HALVES", "H8"],
        &["SAMPLED", "HALVES", "H16"],
        &["SAMPLED", "HALVES", "H32"],
        &["SAMPLED", "HALVES", "H48"],
        &["SAMPLED", "HALVES", "H64"],
        &["SAMPLED", "HALVES", "NARROW"],
    ),
};

/// The variant of a kernel for these tiles and operands of this type.
fn variant(kernel: &Kernel, dtype: DType, build: &SparseTile) -> usize {
    let halves = dtype == DType::F16;
    let found = kernel.variants.iter().position(|variant| {
        variant.flags.contains(&build.flag) && variant.flags.contains(&"HALVES") == halves
    });
    // Every tile is listed with and without `HALVES`.
    found.unwrap_or(0)
}

pub(super) fn dispatches(request: &Request<'_>, native: bool) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let &Request {
        form,
        types: (dtype, _),
        topology,
        sets,
        dense,
        products,
        result,
        ..
    } = request;
    let by_columns = form.by_columns();
    let rows: Arc<Rows> = plan::rows(topology, by_columns, CHUNKS)?;
    let [high, wide] = ordered(!by_columns, topology.block()).map(|side| side as u32);
    let [m, k] = ordered(!by_columns, topology.shape()).map(|side| side as u32);
    let mut words = host::room(OP, products.len() * 16)?;
    let mut scratch = 0u64;
    for (i, product) in products.iter().enumerate() {
        let set = if sets == 1 { 0 } else { i * topology.set() };
        let (from, to) = (
            dense.offsets().as_slice()[i],
            result.offsets().as_slice()[i],
        );
        words.extend([set as u32, from, to, product.n]);
        let [b, c] = product.stored;
        words.extend(form.strides(b));
        words.extend(form.strides(c));
        // Wraps if the scratch is too large for any device, which is detected before anything runs.
        words.extend([scratch as u32, 0, 0, 0]);
        scratch += u64::from(rows.slots) * u64::from(high) * u64::from(product.n);
    }
    let mut parts = Vec::new();
    let builds = SparseTile::all(high, native);
    for (build, widths) in &builds {
        let first = words.len() / 4;
        let mut columns = 0u64;
        for (i, product) in products.iter().enumerate() {
            if product.m > 0 && widths.contains(&product.n) {
                columns += u64::from(product.n);
                for column in (0..product.n).step_by(build.columns as usize) {
                    host::extend(OP, &mut words, [i as u32, column, 0, 0])?;
                }
            }
        }
        parts.push((first as u32, words.len() / 4 - first, columns));
    }
    let first = words.len() / 4;
    Finish::panels(products, &mut words)?;
    let panels = (first as u32, words.len() / 4 - first);
    let list = PlanBuffer::new(words);
    let order = || Slot::PlanBuffer(rows.words.clone());
    let [block_row, block_column] = match by_columns {
        false => [wide, 1],
        true => [1, high],
    };
    let mut scratch = vec![scratch.max(1)];
    let (sums, after) = request.sums(&mut scratch)?;
    let mut all = Vec::new();
    for ((build, _), &(first, panels, columns)) in builds.iter().zip(&parts) {
        let strips = high.div_ceil(build.rows);
        let params = [
            rows.pieces_at,
            rows.pieces,
            strips,
            first,
            high,
            wide,
            m,
            k,
            block_row,
            block_column,
            plan::chunk(wide) * wide / build.depth,
        ];
        let params = params.map(Param::U32);
        all.push(Dispatch {
            kernel: &MATMUL,
            variant: variant(&MATMUL, dtype, build),
            slots: vec![
                Slot::Input(0),
                Slot::Input(1),
                sums.clone(),
                order(),
                Slot::PlanBuffer(list.clone()),
                Slot::Scratch(0),
            ],
            params: [Param::InputBase(0), Param::InputBase(1)]
                .into_iter()
                .chain(params)
                .collect(),
            groups: groups(OP, panels, rows.pieces, strips)?,
            cost: columns.saturating_mul(topology.set() as u64 + u64::from(m)),
        });
    }
    let finish = Finish {
        rows: &rows,
        panels,
        columns: parts.iter().map(|part| part.2).sum(),
        high,
        m,
        turned: false,
    };
    all.push(finish.dispatch([sums, order(), Slot::PlanBuffer(list), Slot::Scratch(0)])?);
    all.extend(after);
    all.retain(|dispatch| dispatch.groups > 0);
    Ok((all, scratch))
}

pub(super) fn sampled(
    (dtype, result_type): (DType, DType),
    topology: &Topology,
    pairs: usize,
    list: Arc<PlanBuffer>,
    cost: u64,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let rows = plan::sampled_rows(topology, WIDE, NARROW)?;
    let [high, wide] = topology.block().map(|side| side as u32);
    let [m, n] = topology.shape().map(|side| side as u32);
    let mut scratch = Vec::new();
    let (sums, round) = rounded(result_type, pairs * topology.set(), &mut scratch);
    let mut all = Vec::new();
    for ((build, _), (at, pieces)) in SparseTile::all(high, false).into_iter().zip(rows.pieces) {
        let strips = high.div_ceil(build.rows);
        let params = [
            at,
            pieces,
            strips,
            0,
            high,
            wide,
            m,
            n,
            0,
            0,
            plan::BLOCK / build.depth,
        ];
        let params = params.map(Param::U32);
        all.push(Dispatch {
            kernel: &SAMPLED,
            variant: variant(&SAMPLED, dtype, build),
            slots: vec![
                Slot::Input(0),
                Slot::Input(1),
                sums.clone(),
                Slot::PlanBuffer(rows.words.clone()),
                Slot::PlanBuffer(list.clone()),
            ],
            params: [Param::InputBase(0), Param::InputBase(1)]
                .into_iter()
                .chain(params)
                .collect(),
            groups: groups("sampled", pairs, pieces, strips)?,
            cost,
        });
    }
    all.extend(round);
    all.retain(|dispatch| dispatch.groups > 0);
    Ok((all, scratch))
}
