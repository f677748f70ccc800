//! f16 products on cooperative matrices: the builds of `matmul/matrix.wgsl`, and the rule that selects one.
//!
//! A workgroup has one, four or eight subgroups. Tiles of all sizes add products in the same order, as many at a time
//! as the matrices are deep, so the bits of a result do not depend on the tile.

use std::borrow::Cow;

use super::{Epilogue, Extents, Form, Kind};
use crate::ops::kit::coop_tile::Tile;
use crate::ops::matmul::tiles::DenseTile;
use crate::plan::{Interface, Kernel, Listed, Matrices, constants, named, place_of, shader, slots};
use crate::ragged::DType;
use crate::{Result, host};

/// Parameter flag: results are f16.
pub(super) const RESULT: u32 = 32;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    matrices: Matrices,
    tile: DenseTile,
    /// Whether factors are not made of whole aligned quads of words.
    loose: bool,
    /// Whether each factor is stored transposed.
    transposed: [bool; 2],
}

/// Every tile, for each of the ways in which the factors that it supports may be stored.
static BUILDS: [Build; 44] = {
    let mut all = [Build {
        matrices: Matrices::Sixteen,
        tile: Matrices::Sixteen.dense(false)[0],
        loose: false,
        transposed: [false; 2],
    }; 44];
    let (mut n, mut way) = (0, 0);
    while way < 16 {
        let matrices = match way & 8 {
            0 => Matrices::Sixteen,
            _ => Matrices::Eight,
        };
        let transposed = [way & 1 > 0, way & 2 > 0];
        let tiles = matrices.dense(transposed[1]);
        let mut at = 0;
        while at < tiles.len() {
            all[n] = Build {
                matrices,
                tile: tiles[at],
                loose: way & 4 > 0,
                transposed,
            };
            n += 1;
            at += 1;
        }
        way += 1;
    }
    assert!(n == all.len());
    all
};

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        let [left, right] = self.transposed;
        named(&[
            (true, "MATRIX"),
            (self.matrices == Matrices::Eight, "EIGHT"),
            (true, self.tile.flag),
            (self.loose, "LOOSE"),
            (left, "LEFT"),
            (right, "RIGHT"),
        ])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let (tile, [left, right]) = (&self.tile, self.transposed);
        // Assembling quads from words makes stages take longer, and less memory per workgroup lets more run.
        let most = if self.loose { 32 } else { u32::MAX };
        Tile {
            rows: tile.rows,
            columns: tile.columns,
            depth: tile.depth.min(most),
            part: tile.part,
            turns: 1,
            side: self.matrices.side(),
            inner: [!left, right],
        }
        .numbers()
    }
}

slots! {
    pub(super) struct Slots {
        a: Write, b: Write, c: Write, list: Read, bias: Write, residual: Write, c_words: Write,
    }
}

impl From<super::Slots> for Slots {
    fn from(slots: super::Slots) -> Slots {
        Slots {
            a: slots.a,
            b: slots.b,
            c_words: slots.c.clone(),
            c: slots.c,
            list: slots.list,
            bias: slots.bias,
            residual: slots.residual,
        }
    }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("matmul/matrix"),
    // Read-only operands are also bound read-write: compilers move loads from read-only buffers to just before their
    // use, which costs an eighth of the time. Also, a buffer may be bound twice only with the same access. The list is
    // read at the beginning only.
    interface: Interface::of::<Slots, super::Params>(),
    constants: &[Epilogue::BITS, constants![RESULT]],
    variants: &BUILDS,
};

/// The tiles with their kernel variants: first for factors of whole aligned quads of words, then for loose factors.
pub(super) fn kinds(form: &Form, matrices: Matrices) -> Vec<Kind> {
    let transposed = form.transposed;
    let kind = |tile: &'static DenseTile, loose| Kind {
        kernel: &KERNEL,
        variant: place_of(
            &BUILDS,
            &Build {
                matrices,
                tile: *tile,
                loose,
                transposed,
            },
        ),
        tile,
        rate: matrices.rate(),
    };
    let tiles = matrices.dense(transposed[1]);
    let loose = [false, true].into_iter();
    loose
        .flat_map(|loose| tiles.iter().map(move |tile| kind(tile, loose)))
        .collect()
}

/// The index of the kind for a product whose factors begin at `begins`, `None` if unaligned.
pub(super) fn kind(
    form: &Form,
    matrices: Matrices,
    product: &Extents,
    begins: Option<[u32; 2]>,
) -> usize {
    let [left, right] = form.transposed;
    let along = [
        if left { product.m } else { product.k },
        if right { product.k } else { product.n },
    ];
    let whole = |places: &[u32]| places.iter().all(|places| places % 8 == 0);
    let quads =
        begins.is_some_and(|begins| whole(&begins)) && whole(&product.strides) && whole(&along);
    let tiles = matrices.dense(right);
    let tile = DenseTile::of(tiles, [product.m, product.n], !quads);
    tile + if quads { 0 } else { tiles.len() }
}

/// Moves products of whole quads to the same tile for loose factors if they are little work compared to the products
/// there, because a separate dispatch would take longer. Both tiles load the same values and sum in the same order, so
/// no bit changes.
pub(super) fn join_few<T>(of_kind: &mut [Vec<T>], work: impl Fn(&T) -> u64) -> Result<()> {
    let all = |products: &[T]| products.iter().map(&work).fold(0, u64::saturating_add);
    let (quads, others) = of_kind.split_at_mut(of_kind.len() / 2);
    for (few, many) in quads.iter_mut().zip(others) {
        if all(few) <= all(many) / 8 {
            host::reserve(many, few.len())?;
            many.append(few);
        }
    }
    Ok(())
}
