//! The part of `bsr_matmul.wgsl` that depends on the tile: everything between the walk and storing, unrolled.

use std::fmt::Write;

use super::baseline::DEPTH;
use crate::plan::{SPARSE, SparseTile};

/// What `#generate "bsr_matmul"` stands for.
pub(crate) fn generate(flags: &[&str]) -> String {
    let wanted = |build: &&SparseTile| flags.contains(&build.flag);
    let build = SPARSE.iter().find(wanted).unwrap_or(&SPARSE[0]);
    let mut out = format!(
        "const HIGH = {}u;\nconst WG = {}u;\nvar<workgroup> sh_a: array<vec4<E>, {}>;\nvar<workgroup> sh_b: array<vec4<E>, {}>;\n",
        build.rows,
        build.invocations(),
        DEPTH * quads(build.rows),
        DEPTH * quads(build.columns),
    );
    Writer {
        build,
        out: &mut out,
    }
    .tile();
    out
}

/// A column of the staged part of a, or a row of b's, with a quad of padding that spreads them over the banks.
fn quads(values: u32) -> u32 {
    values / 4 + 1
}

struct Writer<'a> {
    build: &'a SparseTile,
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    fn sides(&self) -> [(&'static str, u32); 2] {
        [("a", self.build.rows), ("b", self.build.columns)]
    }

    /// Values that an invocation loads of a side.
    fn slots(&self, side: u32) -> u32 {
        (side * DEPTH).div_ceil(self.build.invocations())
    }

    fn tile(&mut self) {
        let &SparseTile {
            rows: high,
            columns: wide,
            part: [rows, columns],
            ..
        } = self.build;
        let group = self.build.invocations();
        let _ = writeln!(self.out, "fn make_tile(t: Tile, lid: u32) {{");
        // Neighbours load along what lies side by side in memory.
        self.line("let a_along = t.a_row == 1u;");
        self.line("let b_along = t.b_column == 1u;");
        for (name, side) in self.sides() {
            for s in 0..self.slots(side) {
                let id = format!("{name}{s}");
                let place = match name {
                    "a" => {
                        format!("select(OUTSIDE, {id}_side * t.a_row, {id}_side < t.rows_inside)")
                    }
                    _ => format!("column_of(t, {id}_side)"),
                };
                let step = match name {
                    "a" => "t.a_column",
                    _ => "t.b_row",
                };
                let there = match (s + 1) * group > side * DEPTH {
                    true => format!("{id}_place == OUTSIDE || {id}_i >= {}u", side * DEPTH),
                    false => format!("{id}_place == OUTSIDE"),
                };
                for text in [
                    format!("let {id}_i = lid + {}u;", s * group),
                    format!(
                        "let {id}_side = select({id}_i / {DEPTH}u, {id}_i % {side}u, {name}_along);"
                    ),
                    format!(
                        "let {id}_deep = select({id}_i % {DEPTH}u, {id}_i / {side}u, {name}_along);"
                    ),
                    format!("let {id}_place = {place};"),
                    format!(
                        "let {id}_at = select({id}_place + {id}_deep * {step}, OUTSIDE, {there});"
                    ),
                    format!("var {id} = E(0);"),
                ] {
                    self.line(&text);
                }
            }
        }
        self.line(&format!("let tx = lid % {}u;", wide / columns));
        self.line(&format!("let ty = lid / {}u;", wide / columns));
        self.line("var w = begin(t);");
        self.load();
        self.line("var done = 0u;\n    loop {");
        self.line("let end = min(done + p.chunk, t.steps);");
        for i in 0..rows {
            for q in 0..columns / 4 {
                self.line(&format!("var s{i}_{q} = vec4<E>();"));
            }
        }
        self.line("for (var step = done; step < end; step++) {");
        self.line("workgroupBarrier();");
        self.stage();
        self.line("workgroupBarrier();");
        self.line("w = advance(t, w);");
        self.load();
        self.line(&format!("for (var d = 0u; d < {DEPTH}u; d += 4u) {{"));
        for d in 0..4 {
            self.multiply(d);
        }
        self.line("}\n    }");
        self.line("let first = done == 0u;");
        self.line("done = end;");
        for i in 0..rows {
            for q in 0..columns / 4 {
                let row = format!("4u * ty + {}u", i / 4 * (high / (rows / 4)) + i % 4);
                let side = format!("4u * tx + {}u", q * (wide / (columns / 4)));
                self.line(&format!("put_quad(t, {row}, {side}, s{i}_{q}, first);"));
            }
        }
        self.line("if done >= t.steps {\n        break;\n    }\n    }\n}");
    }

    /// The next values from memory, zeros outside.
    fn load(&mut self) {
        for (name, side) in self.sides() {
            for s in 0..self.slots(side) {
                let id = format!("{name}{s}");
                self.line(&format!(
                    "{id} = E(0);\n    if {id}_at != OUTSIDE && {id}_deep < w.left {{ {id} = {name}_value(w.{name} + {id}_at); }}"
                ));
            }
        }
    }

    /// What was loaded, into workgroup memory.
    fn stage(&mut self) {
        let group = self.build.invocations();
        for (name, side) in self.sides() {
            for s in 0..self.slots(side) {
                let id = format!("{name}{s}");
                self.line(&format!(
                    "let {id}_put = {id}_deep * {}u + {id}_side;",
                    4 * quads(side)
                ));
                let put = format!("sh_{name}[{id}_put >> 2u][{id}_put & 3u] = {id};");
                match (s + 1) * group > side * DEPTH {
                    true => self.line(&format!("if {id}_i < {}u {{ {put} }}", side * DEPTH)),
                    false => self.line(&put),
                }
            }
        }
    }

    /// Column `d` of the staged part of a times row `d` of b's.
    fn multiply(&mut self, d: u32) {
        let [rows, columns] = self.build.part;
        self.line("{");
        for ((name, side), (count, at)) in self
            .sides()
            .into_iter()
            .zip([(rows / 4, "ty"), (columns / 4, "tx")])
        {
            for q in 0..count {
                self.line(&format!(
                    "let {name}q{q} = sh_{name}[(d + {d}u) * {}u + {at} + {}u];",
                    quads(side),
                    q * (side / count / 4)
                ));
            }
        }
        for i in 0..rows {
            for q in 0..columns / 4 {
                let part = ["x", "y", "z", "w"][i as usize % 4];
                self.line(&format!(
                    "s{i}_{q} = fma(vec4(aq{}.{part}), bq{q}, s{i}_{q});",
                    i / 4
                ));
            }
        }
        self.line("}");
    }
}
