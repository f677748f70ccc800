//! Matrix products, each of its own extents.
//!
//! `(A B)_ij = Σ_l A_il B_lj`, rank 2. Tiles of all products are the work of one dispatch for each size of tile, and a product's size of tile
//! depends on its own extents: neither the neighbours nor their number change what a product gives.

mod matrix;
#[cfg(feature = "gpu")]
mod text;
mod twin;

use std::sync::Arc;

use super::convert;
use crate::plan::{
    Access, Kernel, Launch, Output, OutputLayout, Slot, Stage, Variant, Word, Words,
};
use crate::ragged::{CacheKey, DType, Layout, Pairs, Shape};
use crate::{Error, Result};

pub(crate) use matrix::KERNEL as MATRIX;
#[cfg(feature = "gpu")]
pub(crate) use matrix::generate as generate_matrix;
#[cfg(feature = "gpu")]
pub(crate) use text::generate;

/// How products of `f16` are made on a GPU. [`Product::tier`](crate::Product::tier) forces one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Tier {
    /// By matrices where the device has them.
    #[default]
    Auto,
    /// By kernels that any device runs.
    Baseline,
    /// By the device's cooperative matrices of 16 × 16: some five to ten times as fast on large products.
    Matrix,
}

/// What a launch is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Cpu,
    Baseline,
    /// Cooperative matrices, and whether both operands begin at whole quads of words.
    Matrix {
        quads: bool,
    },
}

impl Target {
    pub(super) fn key(self) -> u64 {
        match self {
            Target::Cpu => 0,
            Target::Baseline => 1,
            Target::Matrix { quads } => 2 + u64::from(quads),
        }
    }
}

/// A size of tile, and what makes it.
struct Kind {
    kernel: &'static Kernel,
    variant: usize,
    rows: u32,
    columns: u32,
    /// Rows of tiles that are made together, so that what they read of b is still in the cache.
    band: u32,
    /// Multiply-adds that take as long as one that is done for itself.
    rate: u64,
}

/// The size of a tile, and how it is made.
#[derive(Debug)]
struct Build {
    flags: &'static [&'static str],
    /// The same for operands of f16.
    halves: &'static [&'static str],
    rows: u32,
    columns: u32,
    /// Inner products staged at a time.
    depth: u32,
    /// Results of an invocation.
    high: u32,
    wide: u32,
}

impl Build {
    fn invocations(&self) -> u32 {
        self.rows / self.high * (self.columns / self.wide)
    }
}

const BUILDS: [Build; 3] = [
    Build {
        flags: &["T32"],
        halves: &["T32", "HALVES"],
        rows: 32,
        columns: 32,
        depth: 16,
        high: 4,
        wide: 4,
    },
    Build {
        flags: &["T64"],
        halves: &["T64", "HALVES"],
        rows: 64,
        columns: 64,
        depth: 16,
        high: 8,
        wide: 4,
    },
    Build {
        flags: &["T128"],
        halves: &["T128", "HALVES"],
        rows: 128,
        columns: 128,
        depth: 16,
        high: 8,
        wide: 8,
    },
];

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "matmul",
    source: include_str!("../../../shaders/matmul.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Read,
    ],
    variants: &variants(),
};

const fn variants() -> [Variant; 12] {
    let types = [DType::F32, DType::I32, DType::U32];
    let mut all = [Variant {
        dtype: DType::F32,
        flags: &[],
    }; 12];
    let mut i = 0;
    while i < all.len() {
        all[i] = match i / 3 {
            // Sums of f16 are f32.
            3 => Variant {
                dtype: DType::F32,
                flags: BUILDS[i % 3].halves,
            },
            t => Variant {
                dtype: types[t],
                flags: BUILDS[i % 3].flags,
            },
        };
        i += 1;
    }
    all
}

/// Tiles of a product from which on larger tiles still leave work for every core.
const MANY: u64 = 128;

/// The tile of an m × n product: the largest of which there are many, else the smallest.
fn build(m: u32, n: u32) -> usize {
    let tiles =
        |build: &Build| u64::from(m.div_ceil(build.rows)) * u64::from(n.div_ceil(build.columns));
    let large = BUILDS.iter().rposition(|build| tiles(build) >= MANY);
    large.unwrap_or(0)
}

/// The sizes of tiles, each with its variant of the kernel.
fn kinds(dtype: DType) -> Vec<Kind> {
    BUILDS
        .iter()
        .map(|build| Kind {
            kernel: &KERNEL,
            variant: match dtype {
                DType::F16 => KERNEL.variant(DType::F32, build.halves),
                _ => KERNEL.variant(dtype, build.flags),
            },
            rows: build.rows,
            columns: build.columns,
            band: BAND,
            rate: 1,
        })
        .collect()
}

/// What is done to a sum before it is stored: `p.epilogue` of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Epilogue {
    pub scale: bool,
    pub activation: Activation,
    /// Whether there is a bias, and whether every product has its own.
    pub bias: Option<Bias>,
    pub residual: bool,
}

/// Whose bias it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Bias {
    /// The one that there is.
    Shared,
    /// Element j, for the right operand's element j.
    Right,
}

/// What a [`Product`](crate::Product) applies to every result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// max(x, 0), and NaN for NaN.
    Relu,
    /// x Φ(x) = ½ x erfc(−x/√2).
    Gelu,
}

impl Epilogue {
    fn bits(self) -> u32 {
        u32::from(self.scale)
            | u32::from(self.bias.is_some()) << 1
            | match self.activation {
                Activation::Identity => 0,
                Activation::Relu => 4,
                Activation::Gelu => 8,
            }
            | u32::from(self.residual) << 4
    }

    /// The number of the input that holds the bias, and that of the residual.
    fn inputs(self) -> (Option<usize>, Option<usize>) {
        let bias = self.bias.map(|_| 2);
        let residual = self.residual.then_some(2 + usize::from(bias.is_some()));
        (bias, residual)
    }
}

/// What is multiplied, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Form {
    /// Whether each operand holds the transposes of the factors.
    pub transposed: [bool; 2],
    /// Whether inner extents may differ: the sum ends with the shorter one.
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

    fn key(&self) -> u64 {
        let bias = match self.epilogue.bias {
            None => 0,
            Some(Bias::Shared) => 1,
            Some(Bias::Right) => 2,
        };
        u64::from(self.transposed[0])
            | u64::from(self.transposed[1]) << 1
            | u64::from(self.epilogue.bits()) << 2
            | bias << 8
    }
}

/// Extents of one product.
#[derive(Clone, Copy, Debug)]
struct Extents {
    m: u32,
    k: u32,
    n: u32,
    /// Row strides of the operands as they are stored.
    strides: [u32; 2],
}

fn extents(form: &Form, pair: usize, a: Shape, b: Shape) -> Result<Extents> {
    let (a, b) = (a.extents(), b.extents());
    let turned = |s: &[u32], turned: bool| if turned { (s[1], s[0]) } else { (s[0], s[1]) };
    let (m, left) = turned(a, form.transposed[0]);
    let (right, n) = turned(b, form.transposed[1]);
    if left != right && !form.ambient {
        return Err(Error::InnerExtents {
            op: form.op(),
            pair,
            left: left as usize,
            right: right as usize,
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
    for layout in [a, b] {
        if layout.rank() != 2 {
            return Err(Error::Rank {
                op,
                element: None,
                expected: "2".to_owned(),
                got: layout.rank(),
            });
        }
    }
    let mut all = Vec::with_capacity(pairs.len());
    let mut shapes = Vec::with_capacity(pairs.len());
    for (pair, (i, j)) in pairs.iter().enumerate() {
        let product = extents(form, pair, a.shape(i), b.shape(j))?;
        let shape = Shape::new(&[product.m as usize, product.n as usize]);
        shapes.push(shape.map_err(|_| Error::SizeOverflow {
            op,
            element: Some(pair),
            what: format!("the product's {} x {} values", product.m, product.n),
        })?);
        all.push(product);
    }
    let result = Layout::from_shapes(2, shapes).map_err(|error| match error {
        Error::SizeOverflow { element, what, .. } => Error::SizeOverflow { op, element, what },
        other => other,
    })?;
    Ok((all, result))
}

/// Whose the vectors of a bias are: one for all products, or one for each of the `right` operands.
pub(crate) fn whose_bias(form: &Form, bias: &Layout, right: usize) -> Result<Bias> {
    let op = form.op();
    if bias.rank() != 1 {
        return Err(Error::Rank {
            op,
            element: None,
            expected: "1".to_owned(),
            got: bias.rank(),
        });
    }
    match bias.len() {
        1 => Ok(Bias::Shared),
        len if len == right => Ok(Bias::Right),
        len => Err(Error::BatchSize {
            op,
            left: right,
            right: len,
        }),
    }
}

/// A bias is added to rows of its length.
fn check_bias(
    op: &'static str,
    whose: Bias,
    bias: &Layout,
    pairs: &Pairs,
    products: &[Extents],
) -> Result<()> {
    for ((_, j), product) in pairs.iter().zip(products) {
        let element = match whose {
            Bias::Shared => 0,
            Bias::Right => j,
        };
        if bias.length(element) != product.n as usize {
            return Err(Error::Length {
                op,
                element,
                expected: product.n as usize,
                got: bias.length(element),
            });
        }
    }
    Ok(())
}

/// A residual has the shapes of the results. That is looked at once for each pair of layouts.
pub(crate) fn check_residual(form: &Form, residual: &Layout, result: &Layout) -> Result<()> {
    let op = form.op();
    if residual.id() == result.id() {
        return Ok(());
    }
    if residual.len() != result.len() {
        return Err(Error::BatchSize {
            op,
            left: result.len(),
            right: residual.len(),
        });
    }
    let key = CacheKey {
        what: "residual",
        other: result.id(),
        device: 0,
        extra: 0,
    };
    let same = residual.cached(key, || {
        let wrong = (0..result.len()).find(|&i| residual.shape(i) != result.shape(i));
        match wrong {
            None => Ok(Arc::new(())),
            Some(element) => Err(Error::Shape {
                op,
                element,
                expected: result.shape(element).to_string(),
                got: residual.shape(element).to_string(),
            }),
        }
    });
    same.map(|_| ())
}

/// The launch of the product of every pair, of operands of `dtype` and with results of type `result`: the same, or f32 of f16.
/// Input 2 is the bias where there is one, and the last input the residual.
pub(crate) fn launch(
    form: &Form,
    (dtype, result): (DType, DType),
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    bias: Option<&Layout>,
    target: Target,
) -> Result<Arc<Launch>> {
    let op = form.op();
    let key = CacheKey {
        what: op,
        other: b.id(),
        // No device: what is wanted, and whose bias.
        device: bias.map_or(0, Layout::id) << 13
            | u64::from(result == dtype) << 12
            | form.key() << 2
            | target.key(),
        extra: pairs.key() * 16 + dtype as u64,
    };
    a.cached(key, || {
        let (products, layout) = products(form, (a, b), pairs)?;
        if let (Some(bias), Some(whose)) = (bias, form.epilogue.bias) {
            check_bias(op, whose, bias, pairs, &products)?;
        }
        let (mut temps, mut all) = (Vec::new(), Vec::new());
        if target != Target::Cpu {
            // Sums of f16 are kept in f32 until they are whole, and rounded once.
            let sums = match result {
                DType::F16 => Slot::Temp(0),
                _ => Slot::Output(0),
            };
            all = stages(
                form,
                (dtype, target),
                (a, b),
                pairs,
                &products,
                (&layout, &sums),
                bias,
            );
            if let Slot::Temp(_) = sums {
                let values = layout.total();
                temps.push(values as u64);
                let to = Slot::Output(0);
                all.push(convert::stage(result, values, sums, Word::U32(0), to));
            }
        }
        Ok(Arc::new(Launch {
            op,
            temps,
            stages: all,
            outputs: vec![Output::new(result, OutputLayout::of(layout, &[a, b]))],
            pairs: Some(pairs.clone()),
            twin: twin::of((dtype, result), *form),
        }))
    })
}

fn stages(
    form: &Form,
    (dtype, target): (DType, Target),
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    products: &[Extents],
    (result, sums): (&Layout, &Slot),
    bias: Option<&Layout>,
) -> Vec<Stage> {
    let begin = |layout: &Layout, i: usize| layout.offsets().as_slice()[i];
    let kinds = match target {
        Target::Matrix { .. } => matrix::kinds(form),
        _ => kinds(dtype),
    };
    let mut of_kind = vec![Vec::new(); kinds.len()];
    for (pair, ((i, j), product)) in pairs.iter().zip(products).enumerate() {
        if product.m == 0 || product.n == 0 {
            continue;
        }
        let begins = [begin(a, i), begin(b, j)];
        let kind = match target {
            Target::Matrix { quads } => matrix::kind(form, product, quads.then_some(begins)),
            _ => build(product.m, product.n),
        };
        let bias = match (bias, form.epilogue.bias) {
            (Some(bias), Some(Bias::Right)) => begin(bias, j),
            _ => 0,
        };
        of_kind[kind].push((product, begins, begin(result, pair), bias));
    }
    let mut words = Vec::with_capacity(products.len() * 12);
    let mut tiles = Vec::new();
    for (kind, of_kind) in kinds.iter().zip(&mut of_kind) {
        // The last workgroups to start are short ones.
        of_kind.sort_by_key(|(product, ..)| std::cmp::Reverse(product.k));
        let first = words.len() / 4;
        let mut cost = 0u64;
        for &(product, [a, b], c, bias) in of_kind.iter() {
            let before = words.len();
            for_tiles(
                (kind.rows, kind.columns, kind.band),
                product,
                |row, column| {
                    words.extend([a, b, c, product.m, product.k, product.n]);
                    words.extend(product.strides);
                    words.extend([row, column, bias, 0]);
                },
            );
            // A tile that is not full takes as long.
            let tiles = (words.len() - before) as u64 / 12;
            let tile = u64::from(kind.rows) * u64::from(kind.columns);
            cost = cost.saturating_add(tiles * tile * u64::from(product.k.max(1)));
        }
        tiles.push((first, (words.len() / 4 - first) / 3, cost / kind.rate));
    }
    let list = Words::new(words);
    let (bias, residual) = form.epilogue.inputs();
    let input = |input: Option<usize>| {
        let slot = input.map_or(Slot::Words(list.clone()), Slot::Input);
        (slot, input.map_or(Word::U32(0), Word::InputBase))
    };
    let ((bias, bias_base), (residual, residual_base)) = (input(bias), input(residual));
    kinds
        .iter()
        .zip(tiles)
        .filter(|(_, (_, count, _))| *count > 0)
        .map(|(kind, (first, count, cost))| Stage {
            kernel: kind.kernel,
            variant: kind.variant,
            slots: vec![
                Slot::Input(0),
                Slot::Input(1),
                sums.clone(),
                Slot::Words(list.clone()),
                bias.clone(),
                residual.clone(),
            ],
            params: vec![
                Word::InputBase(0),
                Word::InputBase(1),
                Word::U32(first as u32),
                Word::U32(u32::from(form.transposed[0])),
                Word::U32(u32::from(form.transposed[1])),
                Word::U32(form.epilogue.bits()),
                bias_base,
                residual_base,
                match form.epilogue.scale {
                    true => Word::Scalar(0),
                    false => Word::U32(0),
                },
            ],
            groups: count as u32,
            cost,
        })
        .collect()
}

const BAND: u32 = 8;

fn for_tiles(
    (rows, columns, band_rows): (u32, u32, u32),
    product: &Extents,
    mut tile: impl FnMut(u32, u32),
) {
    let step = (band_rows * rows) as usize;
    for band in (0..product.m).step_by(step) {
        let end = product.m.min(band.saturating_add(band_rows * rows));
        for column in (0..product.n).step_by(columns as usize) {
            for row in (band..end).step_by(rows as usize) {
                tile(row, column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value of every product is in exactly one tile.
    #[test]
    fn tiles_cover_every_result_once() {
        for (m, n) in [
            (1, 1),
            (33, 31),
            (64, 65),
            (700, 20),
            (1500, 1500),
            (1, 40_000),
        ] {
            let build = &BUILDS[build(m, n)];
            let product = Extents {
                m,
                k: 3,
                n,
                strides: [3, n],
            };
            let mut tiles = Vec::new();
            for_tiles(
                (build.rows, build.columns, BAND),
                &product,
                |row, column| {
                    tiles.push((row, column));
                },
            );
            tiles.sort_unstable();
            let rows = (0..m).step_by(build.rows as usize);
            let expected: Vec<_> = rows
                .flat_map(|row| {
                    let columns = (0..n).step_by(build.columns as usize);
                    columns.map(move |column| (row, column))
                })
                .collect();
            assert_eq!(tiles, expected, "{m} {n}");
        }
    }

    #[test]
    fn a_tile_depends_on_the_product_alone_and_leaves_work_for_all() {
        assert_eq!(build(8, 8), 0);
        assert_eq!(build(512, 512), 0);
        assert_eq!(build(1024, 1024), 1);
        assert_eq!(build(4096, 4096), 2);
    }
}
