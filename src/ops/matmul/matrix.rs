//! Products of f16 on cooperative matrices: tiles, and the part of `matmul_matrix.wgsl` that depends on them.
//!
//! A workgroup is four or eight subgroups of 32. Tiles of all sizes sum in one order, 16 products at a time, so a product's bits do not
//! depend on its tile.

#[cfg(feature = "gpu")]
use std::fmt::Write;

use super::{Extents, Form};
#[cfg(feature = "gpu")]
use crate::ops::tile::{Part, Slot, Tile, only_if};
use crate::plan::{Access, Kernel, Variant};
use crate::ragged::DType;

/// A tile, and what of it a subgroup makes.
#[derive(Debug)]
struct Build {
    flag: &'static str,
    rows: u32,
    columns: u32,
    /// Inner products staged at a time.
    depth: u32,
    high: u32,
    wide: u32,
    /// Rows of tiles that are made together.
    band: u32,
    /// Tiles of a product from which on this one is taken. A larger one makes more of what it loads, a smaller one leaves work for
    /// every core.
    least: u64,
}

const BUILDS: [Build; 4] = [
    Build {
        flag: "T32",
        rows: 32,
        columns: 32,
        depth: 32,
        high: 16,
        wide: 16,
        band: 8,
        least: 0,
    },
    Build {
        flag: "T64",
        rows: 64,
        columns: 64,
        depth: 64,
        high: 32,
        wide: 32,
        band: 8,
        least: 2,
    },
    Build {
        flag: "T128",
        rows: 128,
        columns: 128,
        depth: 32,
        high: 64,
        wide: 64,
        band: 8,
        least: 100,
    },
    Build {
        flag: "T256",
        rows: 128,
        columns: 256,
        depth: 48,
        high: 64,
        wide: 64,
        band: 16,
        least: 128,
    },
];

const fn variant(flags: &'static [&'static str]) -> Variant {
    Variant {
        dtype: DType::F32,
        flags,
    }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "matmul_matrix",
    source: include_str!("../../../shaders/matmul_matrix.wgsl"),
    // What is only read is bound like what is written: loads of what cannot change are moved to just before their use, which
    // costs an eighth. And a buffer may be bound twice, but not both ways.
    access: &[Access::Write; 6],
    variants: &[
        variant(&["MATRIX", "T32"]),
        variant(&["MATRIX", "T32", "LEFT"]),
        variant(&["MATRIX", "T32", "RIGHT"]),
        variant(&["MATRIX", "T32", "LEFT", "RIGHT"]),
        variant(&["MATRIX", "T64"]),
        variant(&["MATRIX", "T64", "LEFT"]),
        variant(&["MATRIX", "T64", "RIGHT"]),
        variant(&["MATRIX", "T64", "LEFT", "RIGHT"]),
        variant(&["MATRIX", "T128"]),
        variant(&["MATRIX", "T128", "LEFT"]),
        variant(&["MATRIX", "T128", "RIGHT"]),
        variant(&["MATRIX", "T128", "LEFT", "RIGHT"]),
        variant(&["MATRIX", "T32", "LOOSE"]),
        variant(&["MATRIX", "T32", "LOOSE", "LEFT"]),
        variant(&["MATRIX", "T32", "LOOSE", "RIGHT"]),
        variant(&["MATRIX", "T32", "LOOSE", "LEFT", "RIGHT"]),
        variant(&["MATRIX", "T64", "LOOSE"]),
        variant(&["MATRIX", "T64", "LOOSE", "LEFT"]),
        variant(&["MATRIX", "T64", "LOOSE", "RIGHT"]),
        variant(&["MATRIX", "T64", "LOOSE", "LEFT", "RIGHT"]),
        variant(&["MATRIX", "T256"]),
        variant(&["MATRIX", "T256", "LEFT"]),
    ],
};

/// For factors that are not made of whole aligned quads of words, the first tiles are there once more.
const LOOSE: usize = 2;

/// The largest tile is for what is stored as it is multiplied on the right: turned, it does not fit.
const STRAIGHT: usize = 3;

/// The tiles, each with its variant of the kernel.
pub(super) fn kinds(form: &Form) -> Vec<super::Kind> {
    let turned = usize::from(form.transposed[0]) + 2 * usize::from(form.transposed[1]);
    let (turning, straight) = BUILDS.split_at(STRAIGHT);
    turning
        .iter()
        .chain(&BUILDS[..LOOSE])
        .chain(straight)
        .enumerate()
        .map(|(kind, build)| super::Kind {
            kernel: &KERNEL,
            variant: 4 * kind + turned,
            rows: build.rows,
            columns: build.columns,
            band: build.band,
            rate: 8,
        })
        .collect()
}

/// The number of the kind for a product whose factors begin there, or none of whose do at whole quads.
pub(super) fn kind(form: &Form, product: &Extents, begins: Option<[u32; 2]>) -> usize {
    let along = [
        if form.transposed[0] {
            product.m
        } else {
            product.k
        },
        if form.transposed[1] {
            product.k
        } else {
            product.n
        },
    ];
    let tiles = |build: &Build| {
        u64::from(product.m.div_ceil(build.rows)) * u64::from(product.n.div_ceil(build.columns))
    };
    let largest = |of: &[Build]| {
        let many = of.iter().rposition(|build| tiles(build) >= build.least);
        many.unwrap_or(0)
    };
    let whole = |places: &[u32]| places.iter().all(|places| places % 8 == 0);
    if begins.is_some_and(|begins| whole(&begins)) && whole(&product.strides) && whole(&along) {
        match largest(&BUILDS) {
            STRAIGHT if form.transposed[1] => STRAIGHT - 1,
            STRAIGHT => STRAIGHT + LOOSE,
            turning => turning,
        }
    } else {
        STRAIGHT + largest(&BUILDS[..LOOSE])
    }
}

/// What `#generate "matmul_matrix"` stands for.
#[cfg(feature = "gpu")]
pub(crate) fn generate(flags: &[&str]) -> String {
    let wanted = |build: &&Build| flags.contains(&build.flag);
    let build = BUILDS.iter().find(wanted).unwrap_or(&BUILDS[0]);
    let loose = flags.contains(&"LOOSE");
    let tile = Tile {
        rows: build.rows,
        columns: build.columns,
        // What is put together from words is at work longer on a stage, and less memory lets more workgroups in.
        depth: if loose { 32 } else { build.depth },
        high: build.high,
        wide: build.wide,
        stages: 1,
        side: 16,
        inner: [!flags.contains(&"LEFT"), flags.contains(&"RIGHT")],
    };
    Writer { tile, loose }.text()
}

#[cfg(feature = "gpu")]
struct Writer {
    tile: Tile,
    loose: bool,
}

#[cfg(feature = "gpu")]
impl Writer {
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
        let load = |k: &str| each(&|part| self.load(part, k));
        let last = |k: &str| each(&|part| self.load_last(part, k));
        let tile = &self.tile;
        let mut out = tile.declarations();
        out += "fn make_tile(o: Product, lid: u32, subgroup: u32) {\nlet lane = lid % 32u;\nlet row0 = o.row0;\nlet column0 = o.column0;\n";
        out += &tile.places();
        out += &each(&|part| self.places(part));
        out += &tile.registers(1);
        out += &tile.sums();
        // Whole stages: what comes next is loaded unconditionally but with the last one. Then what is left of the inner extent.
        let _ = writeln!(out, "let whole = o.k / {depth}u * {depth}u;");
        let _ = writeln!(
            out,
            "if whole > 0u {{\n{}}} else if o.k > 0u {{\n{}}}",
            load("0u"),
            last("0u")
        );
        let staged = format!(
            "workgroupBarrier();\n{}workgroupBarrier();\n",
            tile.stage(0, 0)
        );
        let _ = writeln!(
            out,
            "for (var k = {depth}u; k < whole; k += {depth}u) {{\n{staged}{}}}",
            tile.multiply(0, &load("k"))
        );
        let meanwhile = format!("if whole < o.k {{\n{}}}\n", last("whole"));
        out += &only_if(
            "whole > 0u",
            &format!("{staged}{}", tile.multiply(0, &meanwhile)),
        );
        out += &only_if("whole < o.k", &format!("{staged}{}", tile.multiply(0, "")));
        // As it is where the tile is whole and nothing is left to be done.
        let _ = writeln!(
            out,
            "let plain = row0 + {rows}u <= o.m && column0 + {columns}u <= o.n && o.n % 4u == 0u && o.c % 4u == 0u && p.epilogue == 0u;"
        );
        out += &only_if("plain", &tile.put_as_it_is("o.c", "o.n"));
        out += &only_if("!plain", &tile.put());
        out += "}\n";
        out
    }

    /// Where each slot's values begin, in quads of words where those are whole. Rows and columns outside of the product are taken from its
    /// edge: they get into no result that is kept.
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
        text
    }

    /// A whole stage.
    fn load(&self, part: &Part, k: &str) -> String {
        let (name, (extent, origin)) = (part.name, side(part));
        let mut text = String::new();
        for (i, Slot { word, unit, .. }) in part.slots(0).iter().enumerate() {
            let value = match (part.inner, self.loose) {
                (true, false) => format!("{name}[{name}_at{i} + {k} / 8u]"),
                (false, false) => format!("{name}[{name}_at{i} + {k} * {name}_pitch]"),
                (true, true) => format!("{name}_unit_from({name}_at{i} + {k}, 8u)"),
                (false, true) => {
                    let at = format!("{name}_at{i} + {k} * {name}_pitch");
                    format!("{name}_unit_from({at}, values_left({origin} + 8u * {unit}, {extent}))")
                }
            };
            let _ = writeln!(text, "{word} = {value};");
        }
        part.guarded(&text)
    }

    /// The stage that goes beyond the last inner product, with zeros from there on.
    fn load_last(&self, part: &Part, k: &str) -> String {
        let (name, (extent, origin)) = (part.name, side(part));
        let mut text = String::new();
        for (i, Slot { word, row, unit }) in part.slots(0).iter().enumerate() {
            let here = match part.inner {
                true => format!("{k} + 8u * {unit}"),
                false => format!("{k} + {row}"),
            };
            let at = match part.inner {
                true if self.loose => format!("{name}_at{i} + {k}"),
                true => format!("{name}_at{i} + {k} / 8u"),
                false => format!("{name}_at{i} + {k} * {name}_pitch"),
            };
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

/// The extent and the origin of an operand's own side.
#[cfg(feature = "gpu")]
fn side(part: &Part) -> (&'static str, &'static str) {
    match part.name {
        "a" => ("o.m", "row0"),
        _ => ("o.n", "column0"),
    }
}
