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
mod launch;
mod matrix;
pub(crate) mod tiles;
mod twin;

use std::borrow::Cow;

use crate::ops::kit::product_tile;
use crate::ops::matmul::tiles::{DenseTile, NATIVE};
use crate::plan::{Kernel, Listed, Matrices, Offset, named, params, slots};
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
    /// The flag of a part of a build: whether it loads by quads.
    part: Option<&'static str>,
}

/// Every tile for every type.
static BUILDS: [Build; 4 * NATIVE.len()] = {
    let types = [DType::F32, DType::I32, DType::U32, DType::F16];
    let mut all = [Build {
        tile: NATIVE[0],
        values: DType::F32,
        part: None,
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
            (self.part.is_some(), "QUICK"),
            (self.part.is_some(), self.part.unwrap_or_default()),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let tile = &self.tile;
        product_tile::numbers([tile.rows, tile.columns], tile.part, tile.depth, tile.sets)
    }

    // Large tiles have a long loop for each way to load.
    fn parts(&self) -> Vec<Box<dyn Listed + Send>> {
        let [rows, columns] = self.tile.part;
        if self.part.is_some() || rows * columns <= 32 {
            return Vec::new();
        }
        let part = |flag| Build {
            part: Some(flag),
            ..*self
        };
        vec![Box::new(part("QUADS")), Box::new(part("FOURS"))]
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
        return Err(Error::inner_extents(
            pair,
            left as usize,
            right as usize,
            fits(form.transposed, [m, left], [right, n]),
        ));
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
    a.check_rank(2)?;
    b.check_rank(2)?;
    host::check(pairs.len(), size_of::<Extents>() + 12)?;
    let mut all = host::room(pairs.len())?;
    let mut offsets = Offset::new(pairs.len())?;
    let mut shapes = host::room(2 * pairs.len())?;
    for (pair, (i, j)) in pairs.iter().enumerate() {
        let product = extents(form, pair, a.shape(i), b.shape(j))?;
        let size = u64::from(product.m) * u64::from(product.n);
        if size > u64::from(u32::MAX) {
            return Err(Error::size_overflow(format!(
                "the product's {} x {} values",
                product.m, product.n
            ))
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
