//! The launch of products.

use super::epilogue::{Bias, Epilogue, check_bias, check_residual};
use super::twin::BLOCK;
use super::{
    BUILDS, Build, Extents, Form, Kind, Matmul, Params, Slots, Target, matrix, products, twin,
};
use crate::ops::convert;
use crate::ops::matmul::tiles::{DENSE, DenseTile, NATIVE, native_tiles};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Param, Plan, PlanBuffer, Slot, check_size, constants,
    place_of, shader,
};
use crate::ragged::{DType, Layout, Pairs};
use crate::{Result, host};

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
                part: None,
            },
        ),
        tile,
        rate: 1,
    };
    tiles.iter().map(kind).collect()
}

impl Operation for Matmul {
    const KERNELS: &[&Kernel] = &[&KERNEL, &matrix::KERNEL];

    fn name(&self) -> &'static str {
        self.form.op()
    }

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
        let (products, layout) = products(form, (a, b), pairs)?;
        check_size(&layout, result, device.binding)?;
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
        Ok(Launch::of(result, layout, (all, scratch), work, twin)
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
            native_tiles(&host::exact(all)?)?
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
        host::push(&mut of_kind[kind], one)?;
    }
    if let Target::Matrix { .. } = target {
        matrix::join_few(&mut of_kind, |(product, ..)| {
            (u64::from(product.m) * u64::from(product.n)).saturating_mul(product.k.into())
        })?;
    }
    let of_all = kinds.iter().zip(&of_kind).flat_map(|(kind, of_kind)| {
        let count = |(product, ..): &(&Extents, _, _, _)| kind.tile.count([product.m, product.n]);
        of_kind.iter().map(count)
    });
    let count = usize::try_from(of_all.sum::<u64>()).unwrap_or(usize::MAX);
    let mut words = host::room(count.saturating_mul(12))?;
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
