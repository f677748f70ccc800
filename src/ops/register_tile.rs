//! Generates the text of a tile that is summed in registers, in squares of four by four: shared by the kernels of dense
//! and of block-sparse products.
//!
//! Workgroup memory holds a stage of a and one of b as rows of quads, one row for each step in depth, from which an
//! invocation reads the quads of its squares.

use std::fmt::Write;

/// A tile, the part of it that one invocation computes, and the depth of a stage.
pub(super) struct RegisterTile {
    pub rows: u32,
    pub columns: u32,
    pub part: [u32; 2],
    pub depth: u32,
}

/// A factor as it is staged: its width in values, which are rows of a or columns of b.
pub(super) struct Side {
    pub name: &'static str,
    pub values: u32,
}

impl Side {
    /// Quads from one row of the stage to the next; the swizzle must stay within a row.
    fn pitch(&self) -> u32 {
        self.values.div_ceil(32) * 8
    }
}

impl RegisterTile {
    pub fn invocations(&self) -> u32 {
        self.rows / self.part[0] * (self.columns / self.part[1])
    }

    pub fn sides(&self) -> [Side; 2] {
        [("a", self.rows), ("b", self.columns)].map(|(name, values)| Side { name, values })
    }

    /// Quads of a side that the invocations load for a stage.
    pub fn quads(&self, side: &Side) -> u32 {
        side.values * self.depth / 4
    }

    /// Quads of memory that a stage of a side occupies.
    pub fn staged(&self, side: &Side) -> u32 {
        self.depth * side.pitch()
    }

    pub fn slots(&self, side: &Side) -> u32 {
        self.quads(side).div_ceil(self.invocations())
    }

    /// Whether some invocations have nothing to load in this slot.
    pub fn partial(&self, side: &Side, slot: u32) -> bool {
        (slot + 1) * self.invocations() > self.quads(side)
    }

    /// Declares the workgroup size and its memory.
    pub fn declare(&self, out: &mut String) {
        let _ = writeln!(out, "const WG = {}u;", self.invocations());
        for side in self.sides() {
            let quads = self.staged(&side);
            let name = side.name;
            let _ = writeln!(out, "var<workgroup> sh_{name}: array<vec4<E>, {quads}>;");
        }
    }

    /// Declares which quad of the stage a slot loads: `{name}{s}_side`, its first row or column, and `{name}{s}_deep`,
    /// its depth. Neighbouring invocations load neighbours in memory: along the side if `{name}_along` holds, otherwise
    /// in depth.
    pub fn places(&self, side: &Side, out: &mut String) {
        let (name, across, deep) = (side.name, side.values / 4, self.depth / 4);
        for s in 0..self.slots(side) {
            let i = format!("(lid + {}u)", s * self.invocations());
            let _ = writeln!(
                out,
                "    let {name}{s}_side = select({i} / {deep}u, 4u * ({i} % {across}u), {name}_along);
    let {name}{s}_deep = select(4u * ({i} % {deep}u), {i} / {across}u, {name}_along);"
            );
        }
    }

    /// The invocation's squares. Those of a subgroup are close to each other and share what they read, above all those
    /// of invocations with close numbers.
    pub fn squares(&self, out: &mut String) {
        let [high, wide] = [self.rows / self.part[0], self.columns / self.part[1]];
        let near = high.min(4);
        let beside = 32 / near;
        let across = wide / beside;
        let _ = writeln!(
            out,
            "    let tx = lid / 32u % {across}u * {beside}u + lid / 2u % {beside}u;
    let ty = lid / 32u / {across}u * {near}u + lid % 32u / {}u * 2u + lid % 2u;",
            2 * beside
        );
    }

    /// Declares the sums as zero.
    pub fn begin(&self, out: &mut String) {
        self.each(|i, q, _, _| {
            let _ = writeln!(out, "    var s{i}_{q} = vec4<E>();");
        });
    }

    /// Calls `f` with every quad of sums, `s{i}_{q}`, and its row and column in the tile.
    pub fn each(&self, mut f: impl FnMut(u32, u32, &str, &str)) {
        let [high, wide] = self.part;
        for i in 0..high {
            for q in 0..wide / 4 {
                let row = i / 4 * (self.rows / (high / 4)) + i % 4;
                let column = q * (self.columns / (wide / 4));
                f(
                    i,
                    q,
                    &format!("4u * ty + {row}u"),
                    &format!("4u * tx + {column}u"),
                );
            }
        }
    }

    /// Stores the loaded quads `{name}{s}` to workgroup memory. A quad's position in its row is swizzled by its depth,
    /// so that four values that are consecutive in depth go to four rows in different banks.
    pub fn stage(&self, out: &mut String) {
        for side in self.sides() {
            let (name, pitch) = (side.name, side.pitch());
            for (along, test) in [(true, ""), (false, "!")] {
                let _ = writeln!(out, "    if {test}{name}_along {{");
                for s in 0..self.slots(&side) {
                    let partial = self.partial(&side, s);
                    if partial {
                        let _ = writeln!(
                            out,
                            "    if lid < {}u {{",
                            self.quads(&side) - s * self.invocations()
                        );
                    }
                    let _ = writeln!(
                        out,
                        "    let at{s} = {name}{s}_deep * {pitch}u + (({name}{s}_side >> 2u) ^ turned({name}{s}_deep));"
                    );
                    if along {
                        let _ = writeln!(out, "    sh_{name}[at{s}] = {name}{s};");
                    } else {
                        for (d, part) in ["x", "y", "z", "w"].into_iter().enumerate() {
                            let _ = writeln!(
                                out,
                                "    sh_{name}[at{s} + {}u][{name}{s}_side & 3u] = {name}{s}.{part};",
                                d as u32 * pitch
                            );
                        }
                    }
                    if partial {
                        let _ = writeln!(out, "    }}");
                    }
                }
                let _ = writeln!(out, "    }}");
            }
        }
    }

    /// Adds the products of the staged columns of a and the staged rows of b.
    pub fn multiply(&self, out: &mut String) {
        let [high, wide] = self.part;
        for d in 0..self.depth {
            let _ = writeln!(out, "    {{");
            let turned = d / 4 % 4 * 2;
            for (side, (count, at)) in self
                .sides()
                .into_iter()
                .zip([(high / 4, "ty"), (wide / 4, "tx")])
            {
                let (name, pitch) = (side.name, side.pitch());
                for q in 0..count {
                    let _ = writeln!(
                        out,
                        "    let {name}q{q} = sh_{name}[{}u + ({at} ^ {turned}u)];",
                        d * pitch + q * (side.values / count / 4)
                    );
                }
            }
            for i in 0..high {
                let part = ["x", "y", "z", "w"][i as usize % 4];
                for q in 0..wide / 4 {
                    let _ = writeln!(
                        out,
                        "    s{i}_{q} = mul_add(aq{}.{part}, bq{q}, s{i}_{q});",
                        i / 4
                    );
                }
            }
            let _ = writeln!(out, "    }}");
        }
    }
}
