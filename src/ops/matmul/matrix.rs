//! f16 products on cooperative matrices: tiles, and the generated part of `matmul_matrix.wgsl` that depends on them.
//!
//! A workgroup has one, four or eight subgroups. Tiles of all sizes sum in one order, by as many products at a time as
//! the matrices are deep, so a product's bits do not depend on its tile.

#[cfg(feature = "gpu")]
use std::fmt::Write;

use std::borrow::Cow;

use super::{Epilogue, Extents, Form, Kind};
#[cfg(feature = "gpu")]
use crate::ops::coop_tile::{Part, Slot, Tile, only_if};
use crate::ops::matmul::tiles::DenseTile;
use crate::plan::{Interface, Kernel, Listed, Matrices, constants, named, place_of, slots};
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

    #[cfg(feature = "gpu")]
    fn generate(&self, part: &str) -> Option<String> {
        (part == "matmul_matrix").then(|| Writer::new(self).text())
    }
}

slots! {
    pub(super) struct Slots {
        a: Write, b: Write, c: Write, list: Write, bias: Write, residual: Write, c_words: Write,
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

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "matmul_matrix",
    source: include_str!("../../../shaders/matmul_matrix.wgsl"),
    // Read-only operands are also bound read-write: compilers move loads from read-only buffers to just before their
    // use, which costs an eighth. Also, a buffer may be bound twice only with the same access.
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

/// Moves products of whole quads to the same tile for loose factors if they are little work beside those: a dispatch of
/// their own would take longer. Both tiles load the same values and sum in the same order, so no bit changes.
pub(super) fn join_few<T>(
    op: &'static str,
    of_kind: &mut [Vec<T>],
    work: impl Fn(&T) -> u64,
) -> Result<()> {
    let all = |products: &[T]| products.iter().map(&work).fold(0, u64::saturating_add);
    let (quads, others) = of_kind.split_at_mut(of_kind.len() / 2);
    for (few, many) in quads.iter_mut().zip(others) {
        if all(few) <= all(many) / 8 {
            host::reserve(op, many, few.len())?;
            many.append(few);
        }
    }
    Ok(())
}

#[cfg(feature = "gpu")]
struct Writer {
    tile: Tile,
    loose: bool,
}

#[cfg(feature = "gpu")]
impl Writer {
    fn new(build: &Build) -> Writer {
        let Build {
            tile: of, loose, ..
        } = *build;
        let [left, right] = build.transposed;
        let tile = Tile {
            rows: of.rows,
            columns: of.columns,
            // Assembling quads from words makes stages take longer, and less memory per workgroup lets more run.
            depth: if loose { of.depth.min(32) } else { of.depth },
            high: of.part[0],
            wide: of.part[1],
            stages: 1,
            turns: 1,
            side: build.matrices.side(),
            inner: [!left, right],
        };
        Writer { tile, loose }
    }

    /// The text that replaces `#generate "matmul_matrix"`.
    ///
    /// Uses: `p`, `a`, `b`, `c`, `Product`, `RESULT`, `a_unit_from`, `b_unit_from`, `values_left`, `sums_at`,
    /// `put_halves`, `put_matrix`, `halves`. Defines: what [`Tile::declarations`] does, `make_tile(o, lid, s)`.
    fn text(&self) -> String {
        let Tile {
            rows,
            columns,
            depth,
            ..
        } = self.tile;
        let each = |what: &dyn Fn(&Part) -> String| -> String {
            self.tile.parts().iter().map(what).collect()
        };
        let load = |stage: &str| each(&|part| self.load(part, stage));
        let last = |stage: &str| each(&|part| self.load_last(part, stage));
        let tile = &self.tile;
        let mut out = tile.declarations();
        out += "fn make_tile(o: Product, lid: u32, s: Subgroup) {\nlet row0 = o.row0;\nlet column0 = o.column0;\n";
        out += &tile.places();
        out += &each(&|part| self.places(part));
        out += &tile.registers(1);
        out += &tile.sums();
        // Whole stages, with an unconditional load of the next one, then the remainder of the inner extent.
        let _ = writeln!(
            out,
            "let stages = o.k / {depth}u;\nlet rest = stages * {depth}u < o.k;\nif stages > 0u {{\n{}}} else if rest {{\n{}}}",
            load("0u"),
            last("0u")
        );
        let staged = format!(
            "workgroupBarrier();\n{}workgroupBarrier();\n",
            tile.stage(0, 0)
        );
        if tile.side == 8 {
            // With twice as many matrices, there is only one copy of the multiplication code.
            let next = format!(
                "if n < stages {{\n{}}} else if n == stages && rest {{\n{}}}\n",
                load("n"),
                last("n")
            );
            let _ = writeln!(
                out,
                "for (var n = 1u; n <= stages + u32(rest); n += 1u) {{\n{staged}{}}}",
                tile.multiply(0, &next)
            );
            // Metal cannot store a matrix into vectors.
            out += &tile.put();
            out += "}\n";
            return out;
        }
        // A step that compilers cannot know, to prevent unrolling: unrolled loops need more registers than there are.
        out += "let step = min(p.groups, 1u);\n";
        if tile.subgroups() > 4 {
            // The largest tile is faster with two copies of the multiplication than with three, although its last loads
            // are wasted.
            let next = format!("let next = min(n + 1u, stages - 1u);\n{}", load("next"));
            let _ = writeln!(
                out,
                "for (var n = 0u; n < stages; n += step) {{\n{staged}{}}}",
                tile.multiply(0, &next)
            );
            out += &only_if(
                "rest",
                &format!("{}{staged}{}", last("stages"), tile.multiply(0, "")),
            );
        } else {
            let _ = writeln!(
                out,
                "for (var n = 1u; n < stages; n += step) {{\n{staged}{}}}",
                tile.multiply(0, &load("n"))
            );
            let meanwhile = format!("if rest {{\n{}}}\n", last("stages"));
            out += &only_if(
                "stages > 0u",
                &format!("{staged}{}", tile.multiply(0, &meanwhile)),
            );
            out += &only_if("rest", &format!("{staged}{}", tile.multiply(0, "")));
        }
        // Stored directly if the tile is whole and there is no epilogue.
        let _ = writeln!(
            out,
            "let plain = row0 + {rows}u <= o.m && column0 + {columns}u <= o.n && o.n % 4u == 0u && o.c % 4u == 0u && (p.epilogue | RESULT) == RESULT;"
        );
        out += &only_if("plain", &tile.put_as_it_is("o.c", "o.n"));
        out += &only_if("!plain", &tile.put());
        out += "}\n";
        out
    }

    /// Where each slot's values begin, in quads of words if those are whole. Rows and columns outside the product are
    /// clamped to its edge; they affect no result that is stored.
    fn places(&self, part: &Part) -> String {
        let (name, (extent, origin)) = (part.name, side(part));
        let mut text = match self.loose {
            true => format!("let {name}_pitch = o.{name}_stride;\n"),
            false => format!("let {name}_pitch = o.{name}_stride / 8u;\n"),
        };
        for (i, Slot { row, unit, .. }) in part.slots(0).iter().enumerate() {
            let at = match (part.inner, self.loose) {
                (true, false) => format!(
                    "o.{name} / 8u + min({origin} + {row}, {extent} - 1u) * {name}_pitch + {unit}"
                ),
                (false, false) => format!(
                    "o.{name} / 8u + {row} * {name}_pitch + min({origin} / 8u + {unit}, {extent} / 8u - 1u)"
                ),
                (true, true) => format!(
                    "o.{name} + min({origin} + {row}, {extent} - 1u) * {name}_pitch + 8u * {unit}"
                ),
                (false, true) => {
                    format!("o.{name} + {row} * {name}_pitch + {origin} + 8u * {unit}")
                }
            };
            let _ = writeln!(text, "let {name}_at{i} = {at};");
        }
        let stage = match (part.inner, self.loose) {
            (true, false) => format!("{}u", self.tile.depth / 8),
            (true, true) => format!("{}u", self.tile.depth),
            (false, _) => format!("{}u * {name}_pitch", self.tile.depth),
        };
        let _ = writeln!(text, "let {name}_stage = {stage};");
        text
    }

    /// Loads whole stage number `stage`.
    fn load(&self, part: &Part, stage: &str) -> String {
        let (name, (extent, origin)) = (part.name, side(part));
        let mut text = String::new();
        for (i, Slot { word, unit, .. }) in part.slots(0).iter().enumerate() {
            let at = format!("{name}_at{i} + {stage} * {name}_stage");
            let value = match (part.inner, self.loose) {
                (_, false) => format!("{name}[{at}]"),
                (true, true) => format!("{name}_unit_from({at}, 8u)"),
                (false, true) => {
                    format!("{name}_unit_from({at}, values_left({origin} + 8u * {unit}, {extent}))")
                }
            };
            let _ = writeln!(text, "{word} = {value};");
        }
        part.guarded(&text)
    }

    /// Loads the last, partial stage, with zeros beyond the inner extent.
    fn load_last(&self, part: &Part, stage: &str) -> String {
        let (name, (extent, origin)) = (part.name, side(part));
        let depth = self.tile.depth;
        let mut text = String::new();
        for (i, Slot { word, row, unit }) in part.slots(0).iter().enumerate() {
            let here = match part.inner {
                true => format!("{stage} * {depth}u + 8u * {unit}"),
                false => format!("{stage} * {depth}u + {row}"),
            };
            let at = format!("{name}_at{i} + {stage} * {name}_stage");
            let _ = match self.loose {
                true => {
                    let left = match part.inner {
                        true => format!("values_left({here}, o.k)"),
                        false => format!(
                            "select(0u, values_left({origin} + 8u * {unit}, {extent}), {here} < o.k)"
                        ),
                    };
                    writeln!(text, "{word} = {name}_unit_from({at}, {left});")
                }
                false => writeln!(
                    text,
                    "{word} = vec4<u32>();\nif {here} < o.k {{ {word} = {name}[{at}]; }}"
                ),
            };
        }
        part.guarded(&text)
    }
}

/// The extent and the origin of an operand's outer dimension.
#[cfg(feature = "gpu")]
fn side(part: &Part) -> (&'static str, &'static str) {
    match part.name {
        "a" => ("o.m", "row0"),
        _ => ("o.n", "column0"),
    }
}
