//! The part of `matmul.wgsl` that depends on the tile: everything between loading and storing, unrolled.

use std::fmt::Write;

use crate::plan::{DENSE, DenseTile};

/// What `#generate "matmul"` stands for.
pub(crate) fn generate(flags: &[&str]) -> String {
    let wanted = |build: &&DenseTile| flags.contains(&build.flag);
    let build = DENSE.iter().find(wanted).unwrap_or(&DENSE[0]);
    let mut out = format!(
        "const WG = {}u;\nvar<workgroup> sh_a: array<vec4<E>, {}>;\nvar<workgroup> sh_b: array<vec4<E>, {}>;\n",
        build.invocations(),
        build.depth * build.rows / 4,
        build.depth * build.columns / 4,
    );
    Writer {
        build,
        out: &mut out,
    }
    .tile();
    out
}

/// One of the two factors, as it is staged: quads of a row of the tile (of a column, for b) at each depth.
struct Side {
    name: &'static str,
    /// Rows, or columns, of the tile.
    values: u32,
    /// Whether neighbours in memory are neighbours on this side, and not in depth.
    along: &'static str,
    origin: &'static str,
    extent: &'static str,
}

struct Writer<'a> {
    build: &'a DenseTile,
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    fn sides(&self) -> [Side; 2] {
        [
            Side {
                name: "a",
                values: self.build.rows,
                along: "p.a_transposed != 0u",
                origin: "row0",
                extent: "o.m",
            },
            Side {
                name: "b",
                values: self.build.columns,
                along: "p.b_transposed == 0u",
                origin: "column0",
                extent: "o.n",
            },
        ]
    }

    /// Quads that an invocation loads of a side.
    fn slots(&self, side: &Side) -> u32 {
        side.values * self.build.depth / 4 / self.build.invocations()
    }

    fn tile(&mut self) {
        let &DenseTile {
            rows,
            columns,
            depth,
            part: [high, wide],
            ..
        } = self.build;
        let _ = writeln!(
            self.out,
            "fn make_tile(o: Product, lid: u32) {{\n    let row0 = o.row0;\n    let column0 = o.column0;"
        );
        self.line("let last_deep = max(o.k, 1u) - 1u;");
        for side in self.sides() {
            self.places(&side);
        }
        // An invocation's squares: eight by four invocations beside each other share what they read.
        let across = columns / wide / 8;
        self.line(&format!("let tx = lid / 32u % {across}u * 8u + lid % 8u;"));
        self.line(&format!(
            "let ty = lid / 32u / {across}u * 4u + lid % 32u / 8u;"
        ));
        self.line("if o.k > 0u {");
        self.load("0u");
        self.line("}");
        self.line("var begin = 0u;");
        self.line("loop {");
        self.line("let end = min(begin + BLOCK, o.k);");
        for i in 0..high {
            for q in 0..wide / 4 {
                self.line(&format!("var s{i}_{q} = vec4<E>();"));
            }
        }
        self.line(&format!("for (var k = begin; k < end; k += {depth}u) {{"));
        self.end_of_depth();
        self.line("workgroupBarrier();");
        self.stage();
        self.line("workgroupBarrier();");
        self.load(&format!("k + {depth}u"));
        for d in 0..depth {
            self.multiply(d);
        }
        self.line("}");
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

    /// Where in the operand, and in workgroup memory, an invocation's quads are. Those beyond the operand's last row or column are
    /// the last one's, and make results that are not stored.
    fn places(&mut self, side: &Side) {
        let &Side {
            name,
            values,
            along,
            origin,
            extent,
        } = side;
        let (depth, group) = (self.build.depth, self.build.invocations());
        let (deep_quads, side_quads) = (depth / 4, values / 4);
        for text in [
            format!("let {name}_along = {along};"),
            format!(
                "let {name}_side = select(lid / {deep_quads}u, 4u * (lid % {side_quads}u), {name}_along);"
            ),
            format!(
                "let {name}_deep = select(4u * (lid % {deep_quads}u), lid / {side_quads}u, {name}_along);"
            ),
            format!(
                "let {name}_side_step = select({}u, 0u, {name}_along);",
                group / deep_quads
            ),
            format!(
                "let {name}_deep_step = select(0u, {}u, {name}_along);",
                group / side_quads
            ),
            format!("let {name}_by_side = select(o.{name}_stride, 1u, {name}_along);"),
            format!("let {name}_by_deep = select(1u, o.{name}_stride, {name}_along);"),
            format!("let {name}_by_side_4 = select(vec4<u32>(), RAMP, {name}_along);"),
            format!("let {name}_by_deep_4 = select(RAMP, vec4<u32>(), {name}_along);"),
            format!(
                "let {name}_last_side = {extent} - select(1u, min({extent}, 4u), {name}_along);"
            ),
            format!("let {name}_last_deep = select(last_deep & ~3u, last_deep, {name}_along);"),
        ] {
            self.line(&text);
        }
        for s in 0..self.slots(side) {
            for text in [
                format!("var {name}{s} = vec4<E>();"),
                format!("let {name}_side{s} = {origin} + {name}_side + {s}u * {name}_side_step;"),
                format!("let {name}_deep{s} = {name}_deep + {s}u * {name}_deep_step;"),
                format!(
                    "let {name}_at{s} = o.{name} + min({name}_side{s}, {name}_last_side) * {name}_by_side;"
                ),
            ] {
                self.line(&text);
            }
        }
    }

    /// The next stage's values from memory. All of them in one branch, so that all are under way together.
    fn load(&mut self, k: &str) {
        self.line("if o.quads {");
        for side in self.sides() {
            let name = side.name;
            for s in 0..self.slots(&side) {
                self.line(&format!(
                    "{name}{s} = {name}_quad({name}_at{s} + min({k} + {name}_deep{s}, {name}_last_deep) * {name}_by_deep);"
                ));
            }
        }
        self.line("} else {");
        for side in self.sides() {
            let Side { name, extent, .. } = side;
            for s in 0..self.slots(&side) {
                self.line(&format!(
                    "{name}{s} = {name}_values(o.{name} + min({name}_side{s} + {name}_by_side_4, vec4({extent} - 1u)) * {name}_by_side + min({k} + {name}_deep{s} + {name}_by_deep_4, vec4(last_deep)) * {name}_by_deep);"
                ));
            }
        }
        self.line("}");
    }

    /// Zeros behind the inner extent.
    fn end_of_depth(&mut self) {
        self.line(&format!("if k + {}u > o.k {{", self.build.depth));
        for side in self.sides() {
            let name = side.name;
            for s in 0..self.slots(&side) {
                self.line(&format!(
                    "{name}{s} = select({name}{s}, vec4<E>(), k + {name}_deep{s} + {name}_by_deep_4 >= vec4(o.k));"
                ));
            }
        }
        self.line("}");
    }

    /// What was loaded, into workgroup memory. A quad's place in its row is turned by its depth: four values that follow each other in
    /// depth go to four rows, and so to banks of their own.
    fn stage(&mut self) {
        for side in self.sides() {
            let (name, row) = (side.name, side.values / 4);
            self.line(&format!("if {name}_along {{"));
            for s in 0..self.slots(&side) {
                self.line(&format!(
                    "sh_{name}[{name}_deep{s} * {row}u + (({name}_side >> 2u) ^ turned({name}_deep{s}))] = {name}{s};"
                ));
            }
            self.line("} else {");
            for s in 0..self.slots(&side) {
                self.line(&format!(
                    "let side{s} = {name}_side + {s}u * {name}_side_step;\n    let at{s} = {name}_deep * {row}u + ((side{s} >> 2u) ^ turned({name}_deep));"
                ));
                for (d, part) in ["x", "y", "z", "w"].into_iter().enumerate() {
                    self.line(&format!(
                        "sh_{name}[at{s} + {}u][side{s} & 3u] = {name}{s}.{part};",
                        d as u32 * row
                    ));
                }
            }
            self.line("}");
        }
    }

    /// Column `d` of the staged part of a times row `d` of b's.
    fn multiply(&mut self, d: u32) {
        let &DenseTile {
            rows,
            columns,
            part: [high, wide],
            ..
        } = self.build;
        self.line("{");
        let turned = d / 4 % 4 * 2;
        for (name, side, quads, at) in [("a", rows, high / 4, "ty"), ("b", columns, wide / 4, "tx")]
        {
            for q in 0..quads {
                self.line(&format!(
                    "let {name}q{q} = sh_{name}[{}u + ({at} ^ {turned}u)];",
                    d * side / 4 + q * (side / quads / 4)
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
