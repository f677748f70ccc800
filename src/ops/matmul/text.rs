//! The part of `matmul.wgsl` that depends on the tile: everything between loading and storing, unrolled.

use std::fmt::Write;

use super::{BUILDS, Build};

/// Values of a column of the staged part of a, and of a row of b's, are spread over the banks by a quad of padding.
fn stride(values: u32) -> u32 {
    values / 4 + 1
}

/// What `#generate "matmul"` stands for.
pub(crate) fn generate(flags: &[&str]) -> String {
    let wanted = |build: &&Build| flags.contains(&build.flags[0]);
    let build = BUILDS.iter().find(wanted).unwrap_or(&BUILDS[0]);
    let mut out = format!(
        "const WG = {}u;\nvar<workgroup> sh_a: array<vec4<E>, {}>;\nvar<workgroup> sh_b: array<vec4<E>, {}>;\n",
        build.invocations(),
        build.depth * stride(build.rows),
        build.depth * stride(build.columns),
    );
    Writer {
        build,
        out: &mut out,
    }
    .tile();
    out
}

struct Writer<'a> {
    build: &'a Build,
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    /// Values that an invocation loads of a side of so many rows or columns.
    fn slots(&self, side: u32) -> u32 {
        side * self.build.depth / self.build.invocations()
    }

    fn tile(&mut self) {
        let &Build {
            rows,
            columns,
            depth,
            high,
            wide,
            ..
        } = self.build;
        let group = self.build.invocations();
        let _ = writeln!(
            self.out,
            "fn make_tile(o: Product, row0: u32, column0: u32, lid: u32) {{"
        );
        // Neighbours load along what lies side by side in memory.
        for (name, side, transposed, begin, origin) in [
            ("a", rows, "p.a_transposed != 0u", "o.a", "row0"),
            ("b", columns, "p.b_transposed == 0u", "o.b", "column0"),
        ] {
            for text in [
                format!("let {name}_along = {transposed};"),
                format!("let {name}_side = select(lid / {depth}u, lid % {side}u, {name}_along);"),
                format!("let {name}_deep = select(lid % {depth}u, lid / {side}u, {name}_along);"),
                format!(
                    "let {name}_side_step = select({}u, 0u, {name}_along);",
                    group / depth
                ),
                format!(
                    "let {name}_deep_step = select(0u, {}u, {name}_along);",
                    group.div_ceil(side)
                ),
                format!("let {name}_by_side = select(o.{name}_stride, 1u, {name}_along);"),
                format!("let {name}_by_deep = select(1u, o.{name}_stride, {name}_along);"),
                format!(
                    "let {name}_at = {begin} + ({origin} + {name}_side) * {name}_by_side + {name}_deep * {name}_by_deep;"
                ),
                format!(
                    "let {name}_step = {name}_side_step * {name}_by_side + {name}_deep_step * {name}_by_deep;"
                ),
            ] {
                self.line(&text);
            }
            for s in 0..self.slots(side) {
                self.line(&format!("var {name}{s} = E(0);"));
            }
        }
        self.line(&format!("let tx = lid % {}u;", columns / wide));
        self.line(&format!("let ty = lid / {}u;", columns / wide));
        self.load("0u");
        self.line("var begin = 0u;");
        self.line("loop {");
        self.line("let end = min(begin + BLOCK, o.k);");
        for i in 0..high {
            for q in 0..wide / 4 {
                self.line(&format!("var s{i}_{q} = vec4<E>();"));
            }
        }
        self.line(&format!("for (var k = begin; k < end; k += {depth}u) {{"));
        self.line("workgroupBarrier();");
        self.stage();
        self.line("workgroupBarrier();");
        self.load(&format!("k + {depth}u"));
        self.line(&format!("for (var d = 0u; d < {depth}u; d += 4u) {{"));
        for d in 0..4 {
            self.multiply(d);
        }
        self.line("}\n    }");
        self.line("let first = begin == 0u;");
        self.line("begin += BLOCK;");
        self.line("let last = begin >= o.k;");
        for i in 0..high {
            for q in 0..wide / 4 {
                let row = format!("row0 + 4u * ty + {}u", i / 4 * (rows / (high / 4)) + i % 4);
                let column = format!("column0 + 4u * tx + {}u", q * (columns / (wide / 4)));
                self.line(&format!(
                    "put_quad(o, {row}, {column}, s{i}_{q}, first, last);"
                ));
            }
        }
        self.line("if last {\n        break;\n    }\n    }\n}");
    }

    /// The next stage's values from memory, zeros outside.
    fn load(&mut self, k: &str) {
        let sides = [
            ("a", self.build.rows, "row0", "o.m"),
            ("b", self.build.columns, "column0", "o.n"),
        ];
        for (name, side, origin, extent) in sides {
            for s in 0..self.slots(side) {
                self.line(&format!(
                    "{name}{s} = E(0);\n    if {origin} + {name}_side + {s}u * {name}_side_step < {extent} && {k} + {name}_deep + {s}u * {name}_deep_step < o.k {{ {name}{s} = {name}_value({name}_at + {s}u * {name}_step + ({k}) * {name}_by_deep); }}"
                ));
            }
        }
    }

    /// What was loaded, into workgroup memory.
    fn stage(&mut self) {
        for (name, side) in [("a", self.build.rows), ("b", self.build.columns)] {
            let stride = 4 * stride(side);
            self.line(&format!(
                "let {name}_put = {name}_deep * {stride}u + {name}_side;"
            ));
            self.line(&format!(
                "let {name}_put_step = {name}_deep_step * {stride}u + {name}_side_step;"
            ));
            for s in 0..self.slots(side) {
                let at = format!("({name}_put + {s}u * {name}_put_step)");
                self.line(&format!("sh_{name}[{at} >> 2u][{at} & 3u] = {name}{s};"));
            }
        }
    }

    /// Column `d` of the staged part of a times row `d` of b's.
    fn multiply(&mut self, d: u32) {
        let &Build {
            rows,
            columns,
            high,
            wide,
            ..
        } = self.build;
        self.line("{");
        for (name, side, quads, at) in [("a", rows, high / 4, "ty"), ("b", columns, wide / 4, "tx")]
        {
            for q in 0..quads {
                self.line(&format!(
                    "let {name}q{q} = sh_{name}[(d + {d}u) * {}u + {at} + {}u];",
                    stride(side),
                    q * (side / quads / 4)
                ));
            }
        }
        for i in 0..high {
            for q in 0..wide / 4 {
                let part = ["x", "y", "z", "w"][i as usize % 4];
                self.line(&format!(
                    "s{i}_{q} = mul_add(aq{}.{part}, bq{q}, s{i}_{q});",
                    i / 4
                ));
            }
        }
        self.line("}");
    }
}
