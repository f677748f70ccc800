//! Generates the part of `matmul.wgsl` that depends on the tile: everything from loading to storing, unrolled.

use std::fmt::Write;

use super::shared::{self, NATIVE_BLOCK};
use crate::ops::matmul::tiles::DenseTile;
use crate::ops::register_tile::{RegisterTile, Side};

/// The text that replaces `#generate "matmul"`.
///
/// Uses: `E`, `p`, `c`, `Product`, `BLOCK`, `RAMP`, `turned`, `mul_add`, `put_quad`, and of each factor `a_quad` and
/// `a_four`. Defines: `WG`, `sh_a`, `sh_b`, `make_tile(o, lid)`.
pub(super) fn generate(tile: &DenseTile) -> String {
    if tile.sets > 1 {
        return shared::text(tile);
    }
    let mut out = String::new();
    Writer {
        registers: RegisterTile {
            rows: tile.rows,
            columns: tile.columns,
            part: tile.part,
            depth: tile.depth,
        },
        kept: tile.native,
        out: &mut out,
    }
    .tile();
    out
}

struct Writer<'a> {
    registers: RegisterTile,
    /// Whether complete sums also stay in registers, instead of accumulating in the result.
    kept: bool,
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    fn tile(&mut self) {
        self.registers.declare(self.out);
        let _ = writeln!(
            self.out,
            "fn make_tile(o: Product, lid: u32) {{\n    let row0 = o.row0;\n    let column0 = o.column0;"
        );
        self.line("let a_along = p.a_transposed != 0u;");
        self.line("let b_along = p.b_transposed == 0u;");
        for side in self.registers.sides() {
            self.places(&side);
        }
        self.registers.squares(self.out);
        if self.late() {
            // One loop for each way to load, so that only one of them needs registers.
            for (test, ways) in [("if o.quads {", ["quad"]), ("} else {", ["four"])] {
                self.line(test);
                self.sum(&ways);
            }
            self.line("}");
        } else {
            self.sum(&["quad", "four"]);
        }
        if self.late() {
            self.finish();
        }
        self.line("}");
    }

    /// All sums, loading values in these `ways`: quads, single values, or either.
    fn sum(&mut self, ways: &[&str]) {
        self.load("0u", ways);
        self.line("var begin = 0u;");
        self.line(&format!(
            "let block = {};",
            if self.kept { NATIVE_BLOCK } else { "BLOCK" }
        ));
        if self.kept {
            self.of_all_sums("    var all{} = vec4<E>();\n");
        }
        self.line("loop {");
        self.line("let end = min(begin + block, o.k);");
        self.registers.begin(self.out);
        self.line(&format!(
            "for (var k = begin; k < end; k += {}u) {{",
            self.registers.depth
        ));
        self.line("workgroupBarrier();");
        self.registers.stage(self.out);
        self.line("workgroupBarrier();");
        self.load(&format!("(k + {}u)", self.registers.depth), ways);
        self.registers.multiply(self.out);
        self.line("}");
        if self.kept {
            self.of_all_sums("    all{} += s{};\n");
            self.line("begin += block;");
            self.line("if begin >= o.k {\n        break;\n    }\n    }");
            let mut put = String::new();
            self.registers.each(|i, q, row, column| {
                let _ = writeln!(
                    put,
                    "    put_quad(o, row0 + {row}, column0 + {column}, all{i}_{q}, true, true);"
                );
            });
            self.out.push_str(&put);
            return;
        }
        self.line("let first = begin == 0u;");
        self.line("begin += block;");
        self.line("let last = begin >= o.k;");
        self.store();
        self.line("if last {\n        break;\n    }\n    }");
    }

    /// A line for each quad of sums, whose name replaces the braces.
    fn of_all_sums(&mut self, line: &str) {
        let mut text = String::new();
        self.registers.each(|i, q, _, _| {
            text += &line.replace("{}", &format!("{i}_{q}"));
        });
        self.out.push_str(&text);
    }

    /// Whether the epilogue runs only after all sums are stored, so that the main loop of large register tiles has the
    /// registers to itself.
    fn late(&self) -> bool {
        let [high, wide] = self.registers.part;
        high * wide > 32
    }

    /// Where an invocation's quads are in the operand, relative to the beginning of a stage. Quads beyond the operand's
    /// last row or column read the last one instead; their results are not stored.
    fn places(&mut self, side: &Side) {
        self.registers.places(side, self.out);
        let (name, origin, extent) = bounds(side);
        for text in [
            format!("let {name}_by_side = select(o.{name}_stride, 1u, {name}_along);"),
            format!("let {name}_by_deep = select(1u, o.{name}_stride, {name}_along);"),
            format!("let {name}_by_deep_4 = select(RAMP, vec4<u32>(), {name}_along);"),
            format!(
                "let {name}_last_side = {extent} - select(1u, min({extent}, 4u), {name}_along && o.quads);"
            ),
        ] {
            self.line(&text);
        }
        for s in 0..self.registers.slots(side) {
            self.line(&format!("var {name}{s} = vec4<E>();"));
            self.line(&format!(
                "let {name}{s}_at = o.{name} + min({origin} + {name}{s}_side, {name}_last_side) * {name}_by_side;"
            ));
        }
    }

    /// Loads the values of the stage from k on, with zeros beyond the inner extent. All loads are in one branch, so
    /// that they are in flight together; whole stages need no further tests, above all those of quads.
    fn load(&mut self, k: &str, ways: &[&str]) {
        let depth = self.registers.depth;
        self.line(&format!("if {k} + {depth}u <= o.k {{"));
        for (i, way) in ways.iter().enumerate() {
            if ways.len() > 1 {
                self.line(["if o.quads {", "} else {"][i]);
            }
            for side in self.registers.sides() {
                let name = side.name;
                for s in 0..self.registers.slots(&side) {
                    self.line(&format!(
                        "{name}{s} = {name}_{way}({name}{s}_at + ({k} + {name}{s}_deep) * {name}_by_deep);"
                    ));
                }
            }
        }
        if ways.len() > 1 {
            self.line("}");
        }
        self.line(&format!("}} else if {k} < o.k {{"));
        let way = ways[ways.len() - 1];
        for side in self.registers.sides() {
            let name = side.name;
            let last = match way {
                // The last whole quad.
                "quad" => format!("select((o.k - 1u) & ~3u, o.k - 1u, {name}_along)"),
                _ => "o.k - 1u".to_owned(),
            };
            for s in 0..self.registers.slots(&side) {
                self.line(&format!(
                    "{name}{s} = {name}_{way}({name}{s}_at + min({k} + {name}{s}_deep, {last}) * {name}_by_deep);"
                ));
            }
        }
        for side in self.registers.sides() {
            let name = side.name;
            for s in 0..self.registers.slots(&side) {
                self.line(&format!(
                    "{name}{s} = select({name}{s}, vec4<E>(), {k} + {name}{s}_deep + {name}_by_deep_4 >= vec4(o.k));"
                ));
            }
        }
        self.line("}");
    }

    /// Adds the sums to the result, or stores them. Whole large tiles have their own branch, so that all loads of
    /// earlier sums are in flight together.
    fn store(&mut self) {
        let late = self.late();
        let [mut add, mut set, mut put] = [(); 3].map(|()| String::new());
        self.registers.each(|i, q, row, column| {
            let at = format!("(o.c + (row0 + {row}) * o.n + column0 + {column}) >> 2u");
            let _ = writeln!(add, "    s{i}_{q} += c[{at}];");
            let _ = writeln!(set, "    c[{at}] = s{i}_{q};");
            let last = if late { "false" } else { "last" };
            let _ = writeln!(
                put,
                "    put_quad(o, row0 + {row}, column0 + {column}, s{i}_{q}, first, {last});"
            );
        });
        let RegisterTile { rows, columns, .. } = self.registers;
        if !late {
            match self.fits_operands() {
                true => self.spread(&put),
                false => self.out.push_str(&put),
            }
            return;
        }
        self.line(&format!(
            "if row0 + {rows}u <= o.m && column0 + {columns}u <= o.n && ((o.c | o.n) & 3u) == 0u {{
    if !first {{\n{add}    }}\n{set}    }} else {{\n{put}    }}"
        ));
    }

    /// Whether each operand's staging memory has room for half of the tile, which is one subgroup's rows.
    fn fits_operands(&self) -> bool {
        let RegisterTile { rows, columns, .. } = self.registers;
        let fits = |side| 4 * self.registers.staged(&side) >= rows / 2 * columns;
        columns == 32
            && self.registers.invocations() == 64
            && self.registers.sides().into_iter().all(fits)
    }

    /// Stores the sums. If rows are unaligned and storing is all that is left to do, stores go through the operands'
    /// staging memory, so that neighbouring invocations store neighbouring values.
    fn spread(&mut self, put: &str) {
        let half = self.registers.rows / 2;
        let [mut above, mut below] = [(); 2].map(|()| String::new());
        self.registers.each(|i, _, row, _| {
            let _ = writeln!(above, "    sh_a[({row}) * 8u + tx] = s{i}_0;");
            let _ = writeln!(below, "    sh_b[({row} - {half}u) * 8u + tx] = s{i}_0;");
        });
        self.line(&format!(
            "if ((o.c | o.n) & 3u) == 0u || p.epilogue != 0u || !first || !last {{
{put}    }} else {{
    workgroupBarrier();
    let half = lid / 32u;
    if half == 0u {{
{above}    }} else {{
{below}    }}
    workgroupBarrier();
    let top = row0 + {half}u * half;
    let column = column0 + lid % 32u;
    if column < o.n {{
    let rows = min(max(o.m, top) - top, {half}u);
    for (var r = 0u; r < rows; r += 1u) {{
        let at = o.c + (top + r) * o.n + column;
        let i = r * 8u + lid % 32u / 4u;
        c[at >> 2u][at & 3u] = select(sh_b[i], sh_a[i], half == 0u)[lid & 3u];
    }}
    }}
    }}"
        ));
    }

    /// The epilogue of each sum, run by the invocation that stored it.
    fn finish(&mut self) {
        let &RegisterTile {
            rows,
            columns,
            part: [high, wide],
            ..
        } = &self.registers;
        let row = format!("row0 + 4u * ty + i / 4u * {}u + i % 4u", rows / (high / 4));
        let column = format!("column0 + 4u * tx + q * {}u", columns / (wide / 4));
        self.line(&format!(
            "if p.epilogue != 0u {{
    for (var i = 0u; i < {high}u; i += 1u) {{
    for (var q = 0u; q < {}u; q += 1u) {{
        put_quad(o, {row}, {column}, vec4<E>(), false, true);
    }}
    }}
    }}",
            wide / 4
        ));
    }
}

/// A side's name, the first row or column of the tile, and the product's extent on that side.
fn bounds(side: &Side) -> (&'static str, &'static str, &'static str) {
    match side.name {
        "a" => ("a", "row0", "o.m"),
        _ => ("b", "column0", "o.n"),
    }
}
