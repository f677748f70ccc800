//! The text of a tile on cooperative matrices: staging, multiplying and storing. What is loaded, and in which order, is the kernel's own.
//!
//! A workgroup makes `rows` × `columns` sums; each of its subgroups of 32 makes `high` × `wide` of them, in matrices of `side` × `side`. Both
//! operands are staged as they lie in memory, `depth` inner products at a time, so a transposed one is only loaded the other way into
//! matrices. Every tile adds up in one order, `side` inner products at a time, so sums do not depend on its size.
//!
//! The kernel binds `c: array<vec4<f32>>` and has `halves(vec2<u32>) -> vec4<f16>`, and `put_matrix(row, column, scratch, lane)`, which takes what a
//! subgroup left in `sh_c` from `scratch` on to the result.

use std::fmt::Write;

/// A workgroup's tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub rows: u32,
    pub columns: u32,
    /// Inner products staged at a time.
    pub depth: u32,
    /// A subgroup's part.
    pub high: u32,
    pub wide: u32,
    /// Stages that there is memory for.
    pub stages: u32,
    /// Rows and columns of a matrix: 8 or 16.
    pub side: u32,
    /// Whether what lies side by side in memory is of one row of a, and of one column of b.
    pub inner: [bool; 2],
}

/// An operand's part of a stage.
pub(crate) struct Part {
    pub name: &'static str,
    pub inner: bool,
    /// Rows as they lie in memory, of so many quads of words, eight values.
    rows: u32,
    units: u32,
    invocations: u32,
}

/// A quad of words that an invocation loads and stages.
pub(crate) struct Slot {
    /// The register that holds it.
    pub word: String,
    /// Its row of the part, and its place in that.
    pub row: String,
    pub unit: String,
}

impl Part {
    /// Quads of words from row to row: an odd number, so that neighbours are in different banks.
    fn stride(&self) -> u32 {
        self.units + 1
    }

    fn count(&self) -> u32 {
        (self.rows * self.units).div_ceil(self.invocations)
    }

    /// What an invocation stages, of the set of registers with that number.
    pub fn slots(&self, set: u32) -> Vec<Slot> {
        let name = self.name;
        let slot = |i| Slot {
            word: format!("{name}{set}_{i}"),
            row: format!("{name}_row{i}"),
            unit: format!("{name}_unit{i}"),
        };
        (0..self.count()).map(slot).collect()
    }

    /// Whether no slot ends behind the part, but where few invocations have one.
    #[cfg(test)]
    pub fn is_whole(&self) -> bool {
        let units = self.rows * self.units;
        units < self.invocations || units.is_multiple_of(self.invocations)
    }

    /// The first row of a slot, and how many rows from there on all invocations together have in it.
    pub fn first(&self, slot: u32) -> Option<(u32, u32)> {
        let rows = self.invocations / self.units;
        let whole = self.invocations.is_multiple_of(self.units);
        whole.then_some((slot * rows, rows))
    }

    /// Rows and units of the slots.
    fn places(&self) -> String {
        let (units, all) = (self.units, self.invocations);
        let mut text = String::new();
        for (i, slot) in self.slots(0).iter().enumerate() {
            let skipped = i as u32 * all;
            let (row, unit) = if units == 4 && self.rows.is_multiple_of(8) {
                // Eight lanes store rows r and r + 4, which are in different banks.
                let row = "(lid / 32u) * 8u + (lid / 4u % 2u) * 4u + lid % 32u / 8u";
                (format!("{row} + {}u", skipped / 4), "lid % 4u".to_owned())
            } else if all.is_multiple_of(units) {
                (
                    format!("lid / {units}u + {}u", skipped / units),
                    format!("lid % {units}u"),
                )
            } else {
                (
                    format!("(lid + {skipped}u) / {units}u"),
                    format!("(lid + {skipped}u) % {units}u"),
                )
            };
            let _ = writeln!(
                text,
                "let {} = {row};\nlet {} = {unit};",
                slot.row, slot.unit
            );
        }
        text
    }

    /// The condition under which an invocation has anything to stage, where not all have.
    pub fn guarded(&self, text: &str) -> String {
        match self.rows * self.units {
            few if few < self.invocations => format!("if lid < {few}u {{\n{text}}}\n"),
            _ => text.to_owned(),
        }
    }
}

impl Tile {
    pub fn subgroups(&self) -> u32 {
        self.rows / self.high * (self.columns / self.wide)
    }

    pub fn invocations(&self) -> u32 {
        32 * self.subgroups()
    }

    pub fn parts(&self) -> [Part; 2] {
        let part = |name, inner, side| Part {
            name,
            inner,
            rows: if inner { side } else { self.depth },
            units: if inner { self.depth } else { side } / 8,
            invocations: self.invocations(),
        };
        [
            part("a", self.inner[0], self.rows),
            part("b", self.inner[1], self.columns),
        ]
    }

    /// A row of a part of staged memory, in quads of values: drivers load matrices fastest from those.
    fn pitch(&self, part: &Part) -> u32 {
        2 * part.stride()
    }

    /// Workgroup memory, and the kinds of matrices.
    pub fn declarations(&self) -> String {
        let side = self.side;
        let mut text = format!(
            "const WG = {}u;\nconst SIDE = {side}u;\nalias MA = coop_mat{side}x{side}<f16, A>;\nalias MB = coop_mat{side}x{side}<f16, B>;\nalias MC = coop_mat{side}x{side}<f32, C>;\nvar<workgroup> sh_c: array<f32, {}>;\n",
            self.invocations(),
            self.subgroups() * side * side,
        );
        for part in self.parts() {
            let _ = writeln!(
                text,
                "var<workgroup> sh_{}: array<vec4<f16>, {}>;",
                part.name,
                self.stages * part.rows * self.pitch(&part)
            );
        }
        text
    }

    /// Where an invocation loads and stages, and where its subgroup's part begins.
    pub fn places(&self) -> String {
        let across = self.columns / self.wide;
        let mut text = format!(
            "let row_in = (subgroup / {across}u) * {}u;\nlet column_in = (subgroup % {across}u) * {}u;\n",
            self.high, self.wide
        );
        for part in self.parts() {
            text += &part.places();
        }
        text
    }

    /// Registers for so many stages.
    pub fn registers(&self, sets: u32) -> String {
        let mut text = String::new();
        for part in self.parts() {
            for slot in (0..sets).flat_map(|set| part.slots(set)) {
                let _ = writeln!(text, "var {} = vec4<u32>();", slot.word);
            }
        }
        text
    }

    /// A subgroup's sums, all zero.
    pub fn sums(&self) -> String {
        let mut text = String::new();
        for (i, j) in self.matrices() {
            let _ = writeln!(text, "var s{i}_{j} = MC();");
        }
        text
    }

    /// A subgroup's matrices, by row and column.
    pub fn matrices(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (high, wide) = (self.high / self.side, self.wide / self.side);
        (0..high).flat_map(move |i| (0..wide).map(move |j| (i, j)))
    }

    /// A set of registers to memory.
    pub fn stage(&self, set: u32, stage: u32) -> String {
        let mut text = String::new();
        for part in self.parts() {
            let (name, pitch) = (part.name, self.pitch(&part));
            let first = stage * part.rows * pitch;
            let mut stores = String::new();
            for Slot { word, row, unit } in part.slots(set) {
                let at = format!("{first}u + {row} * {pitch}u + 2u * {unit}");
                let _ = writeln!(
                    stores,
                    "sh_{name}[{at}] = halves({word}.xy);\nsh_{name}[{at} + 1u] = halves({word}.zw);"
                );
            }
            let _ = write!(text, "{{\n{}}}\n", part.guarded(&stores));
        }
        text
    }

    /// Multiplies what is staged there. `meanwhile`, loads of what comes next, stands behind the first matrices: those are waited for first.
    pub fn multiply(&self, stage: u32, meanwhile: &str) -> String {
        let mut text = String::new();
        for step in 0..self.depth / self.side {
            for part in self.parts() {
                self.load_matrices(&mut text, &part, stage, step);
            }
            if step == 0 {
                text += meanwhile;
            }
            let wide = self.wide / self.side;
            for (i, turn) in self.matrices() {
                let j = if i % 2 == 0 { turn } else { wide - 1 - turn };
                let _ = writeln!(
                    text,
                    "s{i}_{j} = coopMultiplyAdd(m_a{step}_{i}, m_b{step}_{j}, s{i}_{j});"
                );
            }
        }
        text
    }

    fn load_matrices(&self, text: &mut String, part: &Part, stage: u32, step: u32) {
        let (name, pitch, side) = (part.name, self.pitch(part), self.side);
        let (matrix, origin, count) = match name {
            "a" => ("MA", "row_in", self.high / side),
            _ => ("MB", "column_in", self.wide / side),
        };
        // A row of memory is a row of the matrix where it is stored as it is multiplied.
        let rows = (name == "a") == part.inner;
        let load = if rows { "coopLoadT" } else { "coopLoad" };
        let first = stage * part.rows * pitch;
        for i in 0..count {
            let (across, along) = (side * i, side * step);
            let at = match part.inner {
                true => format!("({origin} + {across}u) * {pitch}u + {}u", along / 4),
                false => format!("{}u + ({origin} + {across}u) / 4u", along * pitch),
            };
            let _ = writeln!(
                text,
                "let m_{name}{step}_{i} = {load}<{matrix}>(&sh_{name}[{first}u + {at}], {pitch}u);"
            );
        }
    }

    /// The sums of a tile at `row0`, `column0`, as they are: to `c` from `begin` on, with so many values from row to row.
    pub fn put_as_it_is(&self, begin: &str, stride: &str) -> String {
        let mut text = format!(
            "let stride = {stride} / 4u;\nlet first = ({begin} + column0 + column_in) / 4u + (row0 + row_in) * stride;\n"
        );
        for (i, j) in self.matrices() {
            let _ = writeln!(
                text,
                "{{ let v = s{i}_{j}; let q = &c[first + {}u * stride + {}u]; coopStoreT(v, q, stride); }}",
                self.side * i,
                self.side * j / 4
            );
        }
        text
    }

    /// The sums of a tile, matrix after matrix through workgroup memory. All go through one loop, which must stay one: the body is long
    /// where it does more than store, and compilers do not unroll it to `min(p.groups, 1u)` times a constant.
    pub fn put(&self) -> String {
        let side = self.side;
        let across = self.wide / side;
        let mut text = format!(
            "let scratch = subgroup * {}u;\nlet count = {}u * min(p.groups, 1u);\nfor (var f = 0u; f < count; f += 1u) {{\nworkgroupBarrier();\n",
            side * side,
            self.high / side * across
        );
        for (i, j) in self.matrices() {
            let f = i * across + j;
            text += &only_if(
                &format!("f == {f}u"),
                &format!(
                    "let v = s{i}_{j};\nlet q = &sh_c[scratch];\nlet stride = SIDE;\ncoopStoreT(v, q, stride);\n"
                ),
            );
        }
        let _ = writeln!(
            text,
            "workgroupBarrier();\nput_matrix(o, row0 + row_in + {side}u * (f / {across}u), column0 + column_in + {side}u * (f % {across}u), scratch, lane);\n}}"
        );
        text
    }
}

/// `if` for matrices. What the condition reads is the same in all invocations, but naga takes whatever was in a variable for not so,
/// and has no matrices behind such an `if`; it has them in loops.
pub(crate) fn only_if(condition: &str, text: &str) -> String {
    format!("loop {{\nif !({condition}) {{ break; }}\n{text}break;\n}}\n")
}
