//! Matrix products, each with its own extents.
//!
//! `(A B)_ij = Σ_l A_il B_lj`, rank 2. The tiles of all products run in one dispatch for each tile size. The bits of a
//! product do not depend on other products: where these influence its tile, all tiles sum in the same order.
//!
//! **Work list.** An entry of 12 words has all data of a tile: where a, b, c and bias begin, extents, strides, first
//! row and column. It is loaded at once, because a workgroup cannot start without it. Within a product, tiles are in
//! bands of eight rows of tiles, so that their values of b are still in a cache.
//!
//! **Loading.** A transposed operand changes only the order in which its values are read. If the rows of both operands
//! begin at whole quads, four values are loaded at a time. This is tested once per tile, since a view may begin
//! anywhere. Whole stages are loaded without any other condition; unaligned quads are selected from two aligned ones.
//! The largest tile has no registers for both ways in one loop, so it has a loop for each, and is used for aligned
//! products only. The smallest tile stores rows that do not begin at quads through workgroup memory, so that
//! neighbouring invocations store neighbouring values.

mod epilogue;
mod matrix;
pub(crate) mod tiles;
mod twin;

use std::borrow::Cow;

use self::twin::BLOCK;
use super::convert;
use crate::ops::kit::product_tile;
use crate::ops::matmul::tiles::{DENSE, DenseTile, NATIVE, native_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Listed, Matrices, Offset, Param, Plan, PlanBuffer, Slot,
    check_size, constants, named, params, place_of, shader, slots,
};
use crate::ragged::{DType, Layout, Pairs, Shape};
use crate::{Error, Result, host};

pub use epilogue::Activation;
pub(super) use epilogue::check_bias;
pub(crate) use epilogue::{BIAS, Bias, Epilogue, RESIDUAL, check_residual, whose_bias};

/// How a GPU computes matrix products: with kernels that require more or less of the device.
/// [`Product::tier`](crate::product::Product::tier) forces a tier; the CPU has one implementation, for both `Auto` and
/// `Baseline`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Tier {
    /// Matrices for `f16` if the device has them; otherwise the native tier if the device supports it and is not a
    /// software implementation.
    #[default]
    Auto,
    /// Kernels that run on any device.
    Baseline,
    /// Kernels for workgroups of up to 1,024 invocations and 32 KiB of memory. Sums of 256 products and more have
    /// dedicated kernels if a product has fewer than 128 tiles of 64 × 64: sets of invocations share a sum, always in
    /// the same order. The fewer tiles a call has, the more sets. All other products use the baseline's kernels,
    /// because no kernel with larger requirements was faster.
    Native,
    /// The device's cooperative matrices, 16 × 16 or 8 × 8: the former are some five to ten times as fast on large
    /// products.
    Matrix,
}

/// The device and tier that a launch targets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Target {
    Cpu,
    Baseline,
    Native,
    /// Cooperative matrices, and whether both operands begin at whole quads of words.
    Matrix {
        matrices: Matrices,
        quads: bool,
    },
}

/// A tile, and the kernel variant that computes it.
struct Kind {
    kernel: &'static Kernel,
    variant: usize,
    tile: &'static DenseTile,
    /// How many multiply-adds take as long as one multiply-add of scalars.
    rate: u64,
}

/// A build of `matmul/mod.wgsl`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    tile: DenseTile,
    /// The type of the factors. f16 products are summed in f32.
    values: DType,
}

/// Every tile for every type.
static BUILDS: [Build; 4 * NATIVE.len()] = {
    let types = [DType::F32, DType::I32, DType::U32, DType::F16];
    let mut all = [Build {
        tile: NATIVE[0],
        values: DType::F32,
    }; 4 * NATIVE.len()];
    let mut i = 0;
    while i < all.len() {
        all[i].tile = NATIVE[i / 4];
        all[i].values = types[i % 4];
        i += 1;
    }
    all
};

impl Listed for Build {
    fn dtype(&self) -> DType {
        match self.values {
            DType::F16 => DType::F32,
            values => values,
        }
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        named(&[
            (self.tile.native, "NATIVE"),
            (true, self.tile.flag),
            (self.values == DType::F16, "HALVES"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let tile = &self.tile;
        product_tile::numbers([tile.rows, tile.columns], tile.part, tile.depth, tile.sets)
    }
}

slots! {
    struct Slots { a: Read, b: Read, c: Write, list: Read, bias: Read, residual: Read }
}

params! {
    struct Params {
        a_base, b_base, tiles, a_transposed, b_transposed, epilogue, bias_base, residual_base, scale,
    }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("matmul/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[Epilogue::BITS, constants![BLOCK]],
    variants: &BUILDS,
};

/// The tiles with their kernel variants.
fn kinds(values: DType, tiles: &'static [DenseTile]) -> Vec<Kind> {
    let kind = |tile: &'static DenseTile| Kind {
        kernel: &KERNEL,
        variant: place_of(
            &BUILDS,
            &Build {
                tile: *tile,
                values,
            },
        ),
        tile,
        rate: 1,
    };
    tiles.iter().map(kind).collect()
}

/// The options of a matrix product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Form {
    /// Whether each operand holds the transposes of the factors.
    pub transposed: [bool; 2],
    /// Whether inner extents may differ, in which case the sum ends at the smaller one.
    pub ambient: bool,
    pub epilogue: Epilogue,
}

impl Form {
    pub(crate) fn op(&self) -> &'static str {
        if self.ambient {
            "matmul_ambient"
        } else {
            "matmul"
        }
    }
}

/// Extents of one product.
#[derive(Clone, Copy, Debug)]
struct Extents {
    m: u32,
    k: u32,
    n: u32,
    /// Row strides of the operands as stored.
    strides: [u32; 2],
}

/// Suggests a change that makes unequal inner extents equal. The factors are (m, k) and (l, n); `transposed` tells
/// which of them are stored transposed.
pub(in crate::ops) fn fits(
    transposed: [bool; 2],
    [m, k]: [u32; 2],
    [l, n]: [u32; 2],
) -> Option<&'static str> {
    let [left, right] = transposed;
    match (n == k, m == l, m == n) {
        (true, _, _) if right => Some("the right factor as it is, without transpose_right()"),
        (true, _, _) => Some("product().transpose_right()"),
        (_, true, _) if left => Some("the left factor as it is, without transpose_left()"),
        (_, true, _) => Some("product().transpose_left()"),
        (_, _, true) if !left && !right => Some("product().transpose_left().transpose_right()"),
        _ => None,
    }
}

/// Whether (m, k) and (l, n) can be multiplied. The shape (0, 0), which elements without values have in formats that
/// write no extents after a 0, fits every other one.
pub(crate) fn meet(left: [u32; 2], right: [u32; 2]) -> bool {
    left[1] == right[0] || [left, right].contains(&[0, 0])
}

fn extents(form: &Form, pair: usize, a: Shape, b: Shape) -> Result<Extents> {
    let (a, b) = (a.extents(), b.extents());
    let factor = |s: &[u32], transposed| {
        if transposed {
            (s[1], s[0])
        } else {
            (s[0], s[1])
        }
    };
    let (m, left) = factor(a, form.transposed[0]);
    let (right, n) = factor(b, form.transposed[1]);
    if !form.ambient && !meet([m, left], [right, n]) {
        return Err(Error::InnerExtents {
            op: form.op(),
            pair,
            left: left as usize,
            right: right as usize,
            fits: fits(form.transposed, [m, left], [right, n]),
        });
    }
    Ok(Extents {
        m,
        k: left.min(right),
        n,
        strides: [a[1], b[1]],
    })
}

/// The products of a launch, and the layout of their results.
fn products(
    form: &Form,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
) -> Result<(Vec<Extents>, Layout)> {
    let op = form.op();
    a.check_rank(op, 2)?;
    b.check_rank(op, 2)?;
    host::check(op, pairs.len(), size_of::<Extents>() + 12)?;
    let mut all = host::room(op, pairs.len())?;
    let mut offsets = Offset::new(op, pairs.len())?;
    let mut shapes = host::room(op, 2 * pairs.len())?;
    for (pair, (i, j)) in pairs.iter().enumerate() {
        let product = extents(form, pair, a.shape(i), b.shape(j))?;
        let size = u64::from(product.m) * u64::from(product.n);
        if size > u64::from(u32::MAX) {
            return Err(Error::size_overflow(
                op,
                format!("the product's {} x {} values", product.m, product.n),
            )
            .at(pair));
        }
        offsets.push(size)?;
        shapes.extend([product.m, product.n]);
        all.push(product);
    }
    let result = Layout::unchecked(offsets.finish(), 2, shapes);
    Ok((all, result))
}

/// Products of operands of one type, with results of the same type, or f32 results of f16 operands. Operand 2 is the
/// bias if there is one, and the last operand is the residual.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Matmul {
    pub form: Form,
    pub dtype: DType,
    pub result: DType,
    pub target: Target,
}

impl Operation for Matmul {
    const KERNELS: &[&Kernel] = &[&KERNEL, &matrix::KERNEL];

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        let pairs = request.pairs();
        let device = request.device;
        let Matmul {
            ref form,
            dtype,
            result,
            target,
        } = *self;
        let (a, b) = (inputs[0], inputs[1]);
        let (bias, residual) = form.epilogue.inputs();
        let [bias, residual] = [bias, residual].map(|input| input.map(|i| inputs[i]));
        let op = form.op();
        let (products, layout) = products(form, (a, b), pairs)?;
        check_size(op, &layout, result, device.binding)?;
        if let (Some(bias), Some(whose)) = (bias, form.epilogue.bias) {
            let columns = pairs.iter().zip(&products).map(|((_, j), p)| (j, p.n));
            check_bias(whose, bias, columns)?;
        }
        if let Some(residual) = residual {
            check_residual(residual, &layout)?;
        }
        let (mut scratch, mut all) = (Vec::new(), Vec::new());
        if target != Target::Cpu {
            // f16 results are summed in f32 and rounded once: by the kernel itself if it uses matrices and no two of
            // its invocations write to the same word.
            let whole = products.iter().all(|product| product.n % 8 == 0);
            let rounds = result == DType::F16 && whole && matches!(target, Target::Matrix { .. });
            let sums = match result {
                DType::F16 if !rounds => Slot::Scratch(0),
                _ => Slot::Output(0),
            };
            let bits = form.epilogue.bits() | if rounds { matrix::RESULT } else { 0 };
            all = dispatches(
                form,
                (dtype, target, bits),
                (a, b),
                pairs,
                &products,
                (&layout, &sums),
                bias,
            )?;
            if let Slot::Scratch(_) = sums {
                let values = layout.total();
                scratch.push(values as u64);
                let to = Slot::Output(0);
                all.push(convert::dispatch(result, values, sums, Param::U32(0), to));
            }
        }
        // Independent of the kernel: multiply-adds on matrices count like all others.
        let work = products.iter().fold(0, |work: u64, product| {
            let results = u64::from(product.m) * u64::from(product.n);
            work.saturating_add(results.saturating_mul(product.k.max(1).into()))
        });
        let twin = twin::of((dtype, result), *form);
        Ok(Launch::of(op, result, layout, (all, scratch), work, twin)
            .with_pairs(pairs)
            .into())
    }
}

fn dispatches(
    form: &Form,
    (dtype, target, bits): (DType, Target, u32),
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    products: &[Extents],
    (result, sums): (&Layout, &Slot),
    bias: Option<&Layout>,
) -> Result<Vec<Dispatch>> {
    let op = form.op();
    let begin = |layout: &Layout, i: usize| layout.offsets().as_slice()[i];
    let tiles: &[DenseTile] = match target {
        Target::Native => &NATIVE,
        _ => &DENSE,
    };
    let kinds = match target {
        Target::Matrix { matrices, .. } => matrix::kinds(form, matrices),
        _ => kinds(dtype, tiles),
    };
    let loose = |(i, j): (usize, usize), product: &Extents| {
        let places = [begin(a, i), begin(b, j)]
            .into_iter()
            .chain(product.strides);
        !places.fold(0, |all, place| all | place).is_multiple_of(4)
    };
    let of_native = match target {
        Target::Native => {
            let all = pairs.iter().zip(products);
            let all = all.map(|(pair, p)| ([p.m, p.k, p.n], loose(pair, p)));
            native_tiles(op, &host::exact(op, all)?)?
        }
        _ => Vec::new(),
    };
    let mut of_kind = vec![Vec::new(); kinds.len()];
    for (pair, ((i, j), product)) in pairs.iter().zip(products).enumerate() {
        if product.m == 0 || product.n == 0 {
            continue;
        }
        let begins = [begin(a, i), begin(b, j)];
        let kind = match target {
            Target::Matrix { matrices, quads } => {
                matrix::kind(form, matrices, product, quads.then_some(begins))
            }
            Target::Native => of_native[pair],
            _ => DenseTile::of(tiles, [product.m, product.n], loose((i, j), product)),
        };
        let bias = match (bias, form.epilogue.bias) {
            (Some(bias), Some(Bias::Right)) => begin(bias, j),
            _ => 0,
        };
        let one = (product, begins, begin(result, pair), bias);
        host::push(op, &mut of_kind[kind], one)?;
    }
    if let Target::Matrix { .. } = target {
        matrix::join_few(op, &mut of_kind, |(product, ..)| {
            (u64::from(product.m) * u64::from(product.n)).saturating_mul(product.k.into())
        })?;
    }
    let of_all = kinds.iter().zip(&of_kind).flat_map(|(kind, of_kind)| {
        let count = |(product, ..): &(&Extents, _, _, _)| kind.tile.count([product.m, product.n]);
        of_kind.iter().map(count)
    });
    let count = usize::try_from(of_all.sum::<u64>()).unwrap_or(usize::MAX);
    let mut words = host::room(op, count.saturating_mul(12))?;
    let mut tiles = Vec::new();
    for (kind, of_kind) in kinds.iter().zip(&mut of_kind) {
        // The last workgroups to start are short; among those of similar length, tiles follow the order in memory.
        of_kind.sort_unstable_by_key(|&(product, _, c, _)| {
            (std::cmp::Reverse(product.k.checked_ilog2()), c)
        });
        let first = words.len() / 4;
        let mut cost = 0u64;
        for &(product, [a, b], c, bias) in of_kind.iter() {
            let before = words.len();
            kind.tile.for_each([product.m, product.n], |row, column| {
                words.extend([a, b, c, product.m, product.k, product.n]);
                words.extend(product.strides);
                words.extend([row, column, bias, 0]);
            });
            // A partial tile takes as long as a full one.
            let tiles = (words.len() - before) as u64 / 12;
            let tile = u64::from(kind.tile.rows) * u64::from(kind.tile.columns);
            cost = cost.saturating_add(tiles * tile * u64::from(product.k.max(1)));
        }
        tiles.push((first, (words.len() / 4 - first) / 3, cost / kind.rate));
    }
    let list = PlanBuffer::new(words);
    let (bias, residual) = form.epilogue.inputs();
    let input = |input: Option<usize>| {
        // An input that is not there binds the first factor, which every kernel binds with the same access.
        let slot = Slot::Input(input.unwrap_or(0));
        (slot, input.map_or(Param::U32(0), Param::InputBase))
    };
    let ((bias, bias_base), (residual, residual_base)) = (input(bias), input(residual));
    let dispatches = kinds
        .iter()
        .zip(tiles)
        .filter(|(_, (_, count, _))| *count > 0)
        .map(|(kind, (first, count, cost))| {
            let params = Params {
                a_base: Param::InputBase(0),
                b_base: Param::InputBase(1),
                tiles: Param::U32(first as u32),
                a_transposed: Param::U32(u32::from(form.transposed[0])),
                b_transposed: Param::U32(u32::from(form.transposed[1])),
                epilogue: Param::U32(bits),
                bias_base,
                residual_base,
                scale: match form.epilogue.scale {
                    true => Param::Scalar(0),
                    false => Param::U32(0),
                },
            };
            let slots = Slots {
                a: Slot::Input(0),
                b: Slot::Input(1),
                c: sums.clone(),
                list: Slot::PlanBuffer(list.clone()),
                bias: bias.clone(),
                residual: residual.clone(),
            };
            let (variant, groups) = ((kind.kernel, kind.variant), count as u32);
            match target {
                Target::Matrix { .. } => {
                    let slots = matrix::Slots::from(slots);
                    Dispatch::new(variant, slots, params, groups, cost)
                }
                _ => Dispatch::new(variant, slots, params, groups, cost),
            }
        });
    Ok(dispatches.collect())
}
