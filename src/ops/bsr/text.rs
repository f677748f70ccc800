//! Generates the part of `bsr_matmul.wgsl` that depends on the tile: everything between the walk and storing, unrolled.

use std::fmt::Write;

use super::shared;
use crate::ops::bsr::tiles::SparseTile;
use crate::ops::register_tile::{RegisterTile, Side};
use crate::ops::split_k::SplitK;

/// The text that replaces `#generate "bsr_matmul"`.
///
/// Uses: `E`, `p`, `c`, `scratch`, `Tile`, `HALF`, `begin`, `advance`, `inside`, `columns_of`, `column_of`, `there`,
/// `turned`, `mul_add`, `put_quad`, and of each factor `a_quad` and `a_values`. Defines: `HIGH`, `WIDE`, `WG`, `sh_a`,
/// `sh_b`, `make_tile(t, lid)`.
pub(super) fn generate(tile: &SparseTile, sampled: bool) -> String {
    let mut out = format!(
        "const HIGH = {}u;\nconst WIDE = {}u;\n",
        tile.rows, tile.columns
    );
    if tile.sets > 1 {
        return out
            + &shared::text(&SplitK {
                rows: tile.rows,
                columns: tile.columns,
                part: tile.part,
                sets: tile.sets,
            });
    }
    Writer {
        registers: RegisterTile {
            rows: tile.rows,
            columns: tile.columns,
            part: tile.part,
            depth: tile.depth,
        },
        sampled,
        out: &mut out,
    }
    .tile();
    out
}

struct Writer<'a> {
    registers: RegisterTile,
    sampled: bool,
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    fn tile(&mut self) {
        self.registers.declare(self.out);
        let _ = writeln!(self.out, "fn make_tile(t: Tile, lid: u32) {{");
        self.line("let a_along = t.a_row == 1u;");
        self.line("let b_along = t.b_column == 1u;");
        for side in self.registers.sides() {
            self.places(&side);
        }
        self.registers.squares(self.out);
        self.line("var w0 = begin(t);");
        self.line("var w1 = advance(t, w0);");
        self.load();
        self.line("var done = 0u;\n    loop {");
        self.line("let end = min(done + p.chunk, t.steps);");
        self.registers.begin(self.out);
        self.line("for (var step = done; step < end; step++) {");
        self.line("workgroupBarrier();");
        self.registers.stage(self.out);
        self.line("workgroupBarrier();");
        self.line("w0 = advance(t, w1);");
        self.line("w1 = advance(t, w0);");
        self.load();
        self.registers.multiply(self.out);
        self.line("}");
        self.line("let first = done == 0u;");
        self.line("done = end;");
        self.store();
        self.line("if done >= t.steps {\n        break;\n    }\n    }\n}");
    }

    /// Which half of a stage an invocation's quads are in, and their offsets from the beginning of that half. A quad
    /// lies in one half, and in one block.
    fn places(&mut self, side: &Side) {
        self.registers.places(side, self.out);
        let (name, [stride, deep]) = match side.name {
            "a" => ("a", ["t.a_row", "t.a_column"]),
            _ => ("b", ["t.b_column", "t.b_row"]),
        };
        for s in 0..self.registers.slots(side) {
            let id = format!("{name}{s}");
            let count = match name {
                "a" => format!("inside(t.a_rows, {id}_side)"),
                _ => format!("columns_of(t, {id}_side)"),
            };
            let count = match self.registers.partial(side, s) {
                true => format!(
                    "select(0u, {count}, lid < {}u)",
                    self.registers.quads(side) - s * self.registers.invocations()
                ),
                false => count,
            };
            let place = match name {
                "a" => format!("{id}_side * {stride}"),
                _ => format!("column_of(t, {id}_side) * {stride}"),
            };
            for text in [
                format!("let {id}_upper = {id}_deep >= HALF;"),
                format!("let {id}_within = {id}_deep % HALF;"),
                format!("let {id}_count = {count};"),
                // Values outside are never read; what replaces them affects no result that is stored.
                format!(
                    "let {id}_at = select(0u, {place} + {id}_within * {deep}, {id}_count > 0u);"
                ),
                format!("var {id} = vec4<E>();"),
            ] {
                self.line(&text);
            }
        }
    }

    /// Loads the next stage's values from memory. All loads are in one branch, so that they are in flight together.
    fn load(&mut self) {
        self.line("if t.quads && min(w0.left, w1.left) >= HALF {");
        for side in self.registers.sides() {
            let name = side.name;
            for s in 0..self.registers.slots(&side) {
                self.line(&format!(
                    "{name}{s} = {name}_quad(select(w0.{name}, w1.{name}, {name}{s}_upper) + {name}{s}_at);"
                ));
            }
        }
        self.line("} else {");
        for side in self.registers.sides() {
            let name = side.name;
            for s in 0..self.registers.slots(&side) {
                let id = format!("{name}{s}");
                self.line(&format!(
                    "{id} = {name}_values(select(w0.{name}, w1.{name}, {id}_upper) + {id}_at, there({name}_along, {id}_count, {id}_within, select(w0.left, w1.left, {id}_upper)));"
                ));
            }
        }
        self.line("}");
    }

    /// Adds the sums to the result, or stores them. Whole tiles have their own branch, so that all loads of earlier
    /// sums are in flight together.
    fn store(&mut self) {
        let mut put = String::new();
        let [mut add, mut set] = [(); 2].map(|()| String::new());
        self.registers.each(|i, q, row, column| {
            let _ = writeln!(put, "    put_quad(t, {row}, {column}, s{i}_{q}, first);");
            let at = format!("(t.c + ({row}) * t.c_row + {column}) >> 2u");
            let _ = writeln!(add, "    s{i}_{q} += TO[{at}];");
            let _ = writeln!(set, "    TO[{at}] = s{i}_{q};");
        });
        if self.sampled {
            self.out.push_str(&put);
            return;
        }
        for (test, to) in [("t.whole && t.slot == 0u", "c"), ("t.whole", "scratch")] {
            let [add, set] = [&add, &set].map(|text| text.replace("TO", to));
            self.line(&format!(
                "if {test} {{\n    if !first {{\n{add}    }}\n{set}    }} else "
            ));
        }
        self.line("{");
        self.out.push_str(&put);
        self.line("}");
    }
}
