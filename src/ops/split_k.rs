//! Generates the text of a tile whose inner sums are split among sets of invocations (split-K): shared by the native
//! kernels of dense and of block-sparse products.
//!
//! Such tiles are few and their sums are long, so what matters is how many loads are in flight. Each set goes through
//! memory on its own, four inner products at a time, with neighbouring invocations at neighbouring addresses, and
//! without workgroup memory and its barriers. At the end, the sums of the sets are added in the order of the sets.

use std::fmt::Write;

/// A tile, the part of it that one invocation computes, and the number of sets.
pub(super) struct SplitK {
    pub rows: u32,
    pub columns: u32,
    pub part: [u32; 2],
    pub sets: u32,
}

/// One of the factors: the quads of rows of a, or of columns of b, that an invocation multiplies.
pub(super) struct Side {
    pub name: &'static str,
    /// The first row or column of each of the invocation's quads, relative to the tile.
    pub places: Vec<String>,
    /// The condition under which values are stored in the opposite order to the one in which they are multiplied.
    turned: &'static str,
}

impl Side {
    /// The registers, four for each quad: one for each row or column, or for each inner product if `{name}_along`
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

    /// The distance between the quads of an invocation.
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

    /// Declares the workgroup size and its memory.
    pub fn declare(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "const WG = {}u;\nvar<workgroup> sh_sums: array<vec4<E>, {}>;",
            self.set() * self.sets,
            self.sets * self.quads()
        );
    }

    /// Declares the invocation's set and its position in the set.
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

    /// Declares the sums as zero.
    pub fn begin(&self, out: &mut String) {
        for (i, q) in self.sums() {
            let _ = writeln!(out, "    var s{i}_{q} = vec4<E>();");
        }
    }

    /// Adds four products to each sum, after transposing registers where necessary: a's then hold rows, and b's hold
    /// inner products.
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

    /// Adds the sums of all sets to the previous ones, `all`, which one invocation holds for each quad of the tile.
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

    /// Passes each four complete sums to `put`, as `all`, with the `row` and `column` in the tile.
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
