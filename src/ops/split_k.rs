//! The text of a tile whose inner sums sets of invocations share: what the native kernels of dense and of block-sparse
//! products have in common.
//!
//! Such tiles are few, and their sums are long: what counts is how much is under way at once. Each set goes its own way
//! through memory, four inner products at a time and neighbours beside each other, without workgroup memory and its
//! barriers. In the end the sets' sums are added in the sets' order.

use std::fmt::Write;

/// A tile, what of it an invocation makes, and the sets.
pub(super) struct SplitK {
    pub rows: u32,
    pub columns: u32,
    pub part: [u32; 2],
    pub sets: u32,
}

/// One of the factors: the quads of rows of a, or of columns of b, that an invocation multiplies.
pub(super) struct Side {
    pub name: &'static str,
    /// The first row or column of the invocation's quads, from the tile's on.
    pub places: Vec<String>,
    /// What makes values lie along the other way than they are multiplied.
    turned: &'static str,
}

impl Side {
    /// The registers, four of each quad: those of its rows or columns, or of its inner products where `{name}_along`
    /// holds.
    pub fn registers(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        (0..self.places.len()).flat_map(|g| (0..4).map(move |l| (g, l)))
    }
}

const PARTS: [&str; 4] = ["x", "y", "z", "w"];

impl SplitK {
    /// Invocations of a set.
    fn set(&self) -> u32 {
        self.rows / self.part[0] * (self.columns / self.part[1])
    }

    fn across(&self) -> u32 {
        self.columns / self.part[1]
    }

    /// Quads of a tile.
    fn quads(&self) -> u32 {
        self.rows * self.columns / 4
    }

    /// How far the quads of an invocation are apart.
    fn apart(&self) -> [u32; 2] {
        [
            4 * self.rows / self.part[0],
            4 * self.columns / self.part[1],
        ]
    }

    pub fn sides(&self) -> [Side; 2] {
        let side = |i: usize, name, at, turned| {
            let places =
                (0..self.part[i] / 4).map(|g| format!("4u * {at} + {}u", g * self.apart()[i]));
            Side {
                name,
                places: places.collect(),
                turned,
            }
        };
        [
            side(0, "a", "ty", "a_along"),
            side(1, "b", "tx", "!b_along"),
        ]
    }

    /// The size of a workgroup, and its memory.
    pub fn declare(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "const WG = {}u;\nvar<workgroup> sh_sums: array<vec4<E>, {}>;",
            self.set() * self.sets,
            self.sets * self.quads()
        );
    }

    /// The invocation's set, and its place in it.
    pub fn places(&self, out: &mut String) {
        let (set, across) = (self.set(), self.across());
        let _ = writeln!(
            out,
            "    let turn = lid / {set}u;\n    let tx = lid % {across}u;\n    let ty = lid % {set}u / {across}u;"
        );
        let _ = writeln!(out, "    var all = vec4<E>();");
        for side in self.sides() {
            for (g, l) in side.registers() {
                let _ = writeln!(out, "    var {}{g}_{l} = vec4<E>();", side.name);
            }
        }
    }

    fn sums(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let [high, wide] = self.part;
        (0..high).flat_map(move |i| (0..wide / 4).map(move |q| (i, q)))
    }

    /// Sums that begin.
    pub fn begin(&self, out: &mut String) {
        for (i, q) in self.sums() {
            let _ = writeln!(out, "    var s{i}_{q} = vec4<E>();");
        }
    }

    /// Adds four products to each sum, when a's registers have been made those of rows, and b's those of inner
    /// products.
    pub fn multiply(&self, out: &mut String) {
        for side in self.sides() {
            let name = side.name;
            let _ = writeln!(out, "    if {} {{", side.turned);
            for (g, l) in side.registers() {
                let part = PARTS[l as usize];
                let of = (0..4).map(|l| format!("{name}{g}_{l}.{part}"));
                let of: Vec<_> = of.collect();
                let _ = writeln!(out, "    let {name}t{g}_{l} = vec4({});", of.join(", "));
            }
            for (g, l) in side.registers() {
                let _ = writeln!(out, "    {name}{g}_{l} = {name}t{g}_{l};");
            }
            let _ = writeln!(out, "    }}");
        }
        for (d, part) in PARTS.iter().enumerate() {
            for (i, q) in self.sums() {
                let _ = writeln!(
                    out,
                    "    s{i}_{q} = mul_add(a{}_{}.{part}, b{q}_{d}, s{i}_{q});",
                    i / 4,
                    i % 4
                );
            }
        }
    }

    /// Adds the sums of all sets to those of before, `all`, which an invocation for each quad of the tile keeps.
    pub fn add_up(&self, out: &mut String) {
        let &SplitK {
            part: [_, wide],
            sets,
            ..
        } = self;
        let (set, quads) = (self.set(), self.quads());
        let _ = writeln!(out, "    workgroupBarrier();");
        for (i, q) in self.sums() {
            let at = (i * (wide / 4) + q) * set;
            let _ = writeln!(
                out,
                "    sh_sums[turn * {quads}u + {at}u + lid % {set}u] = s{i}_{q};"
            );
        }
        let _ = writeln!(
            out,
            "    workgroupBarrier();
    if lid < {quads}u {{
    for (var other = 0u; other < {sets}u; other += 1u) {{
        all += sh_sums[other * {quads}u + lid];
    }}
    }}"
        );
    }

    /// Leaves each four whole sums to `put`, as `all` for the `row` and `column` of the tile.
    pub fn put(&self, put: &str, out: &mut String) {
        let wide = self.part[1];
        let (set, across, quads) = (self.set(), self.across(), self.quads());
        let [apart_high, apart_wide] = self.apart();
        let _ = writeln!(
            out,
            "    if lid < {quads}u {{
    let i = lid / {}u;
    let row = 4u * (lid % {set}u / {across}u) + i / 4u * {apart_high}u + i % 4u;
    let column = 4u * (lid % {across}u) + lid / {set}u % {}u * {apart_wide}u;
    {put}
    }}",
            set * (wide / 4),
            wide / 4,
        );
    }
}
