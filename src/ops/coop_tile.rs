//! Generates the text of a tile on cooperative matrices: staging, multiplying and storing. The kernel itself decides
//! what to load, and in which order.
//!
//! A workgroup computes `rows` × `columns` sums; each of its subgroups computes `high` × `wide` of them, in matrices of
//! `side` × `side`. With 8 × 8 matrices, subgroups may have fewer than 32 lanes, and then there are more subgroups than
//! parts. Both operands are staged in memory order, `depth` inner products at a time; a transposed one is only loaded
//! into matrices the other way. Every tile sums in the same order, `side` inner products at a time, so sums do not
//! depend on its size.
//!
//! The kernel provides `halves(vec2<u32>) -> vec4<f16>` and, for results that are not stored directly, `put_matrix(o,
//! row, column, scratch, lane, lanes)`, which moves what a subgroup left in `sh_c` from `scratch` on to the result.

use std::fmt::Write;

/// A workgroup's tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub rows: u32,
    pub columns: u32,
    /// Depth along the inner extent that is staged at a time.
    pub depth: u32,
    /// A subgroup's part.
    pub high: u32,
    pub wide: u32,
    /// Stages that fit the staging memory.
    pub stages: u32,
    /// Subgroups that take turns at the memory that sums pass through.
    pub turns: u32,
    /// Rows and columns of a matrix: 8 or 16.
    pub side: u32,
    /// Whether neighbours in memory belong to one row of a, and to one column of b.
    pub inner: [bool; 2],
}

/// An operand's part of a stage.
pub(crate) struct Part {
    pub name: &'static str,
    pub inner: bool,
    /// Rows in memory order, and the quads of words (eight values) in each.
    rows: u32,
    units: u32,
    invocations: u32,
}

/// A quad of words that an invocation loads and stages.
pub(crate) struct Slot {
    /// The register that holds it.
    pub word: String,
    /// Its row of the part, and its quad in that row.
    pub row: String,
    pub unit: String,
}

impl Part {
    /// Quads of words from row to row: an odd number, so that neighbouring rows are in different banks.
    fn stride(&self) -> u32 {
        self.units + 1
    }

    fn count(&self) -> u32 {
        (self.rows * self.units).div_ceil(self.invocations)
    }

    /// The slots that an invocation stages, in register set number `set`.
    pub fn slots(&self, set: u32) -> Vec<Slot> {
        let name = self.name;
        let slot = |i| Slot {
            word: format!("{name}{set}_{i}"),
            row: format!("{name}_row{i}"),
            unit: format!("{name}_unit{i}"),
        };
        (0..self.count()).map(slot).collect()
    }

    /// Whether no slot extends beyond the part, unless the part has fewer quads than there are invocations.
    #[cfg(test)]
    pub fn is_whole(&self) -> bool {
        let units = self.rows * self.units;
        units < self.invocations || units.is_multiple_of(self.invocations)
    }

    /// The first row of a slot, and the number of rows from there on that all invocations together load in it.
    pub fn first(&self, slot: u32) -> Option<(u32, u32)> {
        let rows = self.invocations / self.units;
        let whole = self.invocations.is_multiple_of(self.units);
        whole.then_some((slot * rows, rows))
    }

    /// Declares the rows and units of the slots.
    fn places(&self) -> String {
        let (units, all) = (self.units, self.invocations);
        let mut text = String::new();
        for (i, slot) in self.slots(0).iter().enumerate() {
            let skipped = i as u32 * all;
            // Eight lanes store rows r and r + 4, which are in different banks.
            let in_fours = "(lid / 32u) * 8u + (lid / 4u % 2u) * 4u + lid % 32u / 8u";
            let wide = 4 * self.rows;
            // Stages of depth 48.
            let in_two = units == 6 && self.inner && wide.is_multiple_of(2 * all);
            let (row, unit) =
                if units == 4 && self.rows.is_multiple_of(8) || in_two && skipped < wide {
                    let row = format!("{in_fours} + {}u", skipped / 4);
                    (row, "lid % 4u".to_owned())
                } else if in_two {
                    // The last two units of each row; the first four are above.
                    let row = "(lid / 16u) * 8u + lid % 8u / 2u * 2u + lid % 16u / 8u";
                    let row = format!("{row} + {}u", (skipped - wide) / 2);
                    (row, "4u + lid % 2u".to_owned())
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

    /// Adds a condition to the text if not all invocations have something to stage.
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

    /// Invocations of a workgroup, assuming subgroups of 32 lanes.
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

    /// Values per element of staged memory. Drivers load 16 × 16 matrices fastest from vectors; Metal cannot load 8 × 8
    /// matrices from vectors.
    fn per(&self) -> u32 {
        if self.side == 16 { 4 } else { 1 }
    }

    /// The row pitch of a part in staged memory, in elements.
    fn pitch(&self, part: &Part) -> u32 {
        part.stride() * 8 / self.per()
    }

    /// Declares workgroup memory and the matrix types.
    pub fn declarations(&self) -> String {
        let side = self.side;
        // If there may be more subgroups than parts, the surplus ones need room for their results.
        let scratch = self.subgroups() / self.turns + u32::from(side == 8);
        let mut text = format!(
            "const WG = {}u;\nconst SIDE = {side}u;\nalias MA = coop_mat{side}x{side}<f16, A>;\nalias MB = coop_mat{side}x{side}<f16, B>;\nalias MC = coop_mat{side}x{side}<f32, C>;\nvar<workgroup> sh_c: array<f32, {}>;\nstruct Subgroup {{ id: u32, lane: u32, lanes: u32 }}\n",
            self.invocations(),
            scratch * side * side,
        );
        let element = if self.per() == 4 { "vec4<f16>" } else { "f16" };
        for part in self.parts() {
            let _ = writeln!(
                text,
                "var<workgroup> sh_{}: array<{element}, {}>;",
                part.name,
                self.stages * part.rows * self.pitch(&part)
            );
        }
        text
    }

    /// Where an invocation loads and stages, where the part and the scratch of its subgroup `s` begin, and the
    /// invocation's lane.
    pub fn places(&self) -> String {
        let (across, count) = (self.columns / self.wide, self.subgroups());
        // All subgroups multiply together, so a surplus one computes a part a second time, and discards the result.
        let [part, scratch, lane] = match self.side {
            8 => [
                format!("s.id % {count}u"),
                format!("min(s.id, {count}u)"),
                format!("select(SIDE * SIDE, s.lane, s.id < {count}u)"),
            ],
            _ => [
                "s.id".to_owned(),
                format!("s.id / {}u", self.turns),
                "s.lane".to_owned(),
            ],
        };
        let mut text = format!(
            "let part = {part};\nlet scratch = ({scratch}) * (SIDE * SIDE);\nlet lane = {lane};\nlet row_in = (part / {across}u) * {}u;\nlet column_in = (part % {across}u) * {}u;\n",
            self.high, self.wide
        );
        for part in self.parts() {
            text += &part.places();
        }
        text
    }

    /// Declares registers for `sets` stages.
    pub fn registers(&self, sets: u32) -> String {
        let mut text = String::new();
        for part in self.parts() {
            for slot in (0..sets).flat_map(|set| part.slots(set)) {
                let _ = writeln!(text, "var {} = vec4<u32>();", slot.word);
            }
        }
        text
    }

    /// Declares a subgroup's sums as zero.
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

    /// Stores a set of registers to workgroup memory.
    pub fn stage(&self, set: u32, stage: u32) -> String {
        let mut text = String::new();
        for part in self.parts() {
            let (name, pitch) = (part.name, self.pitch(&part));
            let first = stage * part.rows * pitch;
            let mut stores = String::new();
            for Slot { word, row, unit } in part.slots(set) {
                let per = self.per();
                let at = format!("{first}u + {row} * {pitch}u + {}u * {unit}", 8 / per);
                for (half, of) in ["xy", "zw"].into_iter().enumerate() {
                    let at = format!("{at} + {}u", half as u32 * 4 / per);
                    let values = format!("halves({word}.{of})");
                    let _ = match per {
                        4 => writeln!(stores, "sh_{name}[{at}] = {values};"),
                        _ => writeln!(
                            stores,
                            "let {word}_{of} = {values};\nsh_{name}[{at}] = {word}_{of}.x;\nsh_{name}[{at} + 1u] = {word}_{of}.y;\nsh_{name}[{at} + 2u] = {word}_{of}.z;\nsh_{name}[{at} + 3u] = {word}_{of}.w;"
                        ),
                    };
                }
            }
            let _ = write!(text, "{{\n{}}}\n", part.guarded(&stores));
        }
        text
    }

    /// Multiplies a staged stage. `meanwhile`, the loads for the next stage, comes after the loads of the first
    /// matrices, because those are needed first.
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
        let (name, pitch, per, side) = (part.name, self.pitch(part), self.per(), self.side);
        let (matrix, origin, count) = match name {
            "a" => ("MA", "row_in", self.high / side),
            _ => ("MB", "column_in", self.wide / side),
        };
        // If an operand is stored as it is multiplied, a row of memory is a row of the matrix.
        let rows = (name == "a") == part.inner;
        let load = if rows { "coopLoadT" } else { "coopLoad" };
        let first = stage * part.rows * pitch;
        for i in 0..count {
            let (across, along) = (side * i, side * step);
            let at = match part.inner {
                true => format!("({origin} + {across}u) * {pitch}u + {}u", along / per),
                false => format!("{}u + ({origin} + {across}u) / {per}u", along * pitch),
            };
            let _ = writeln!(
                text,
                "let m_{name}{step}_{i} = {load}<{matrix}>(&sh_{name}[{first}u + {at}], {pitch}u);"
            );
        }
    }

    /// Stores the sums of a whole tile of 16 × 16 matrices at `row0`, `column0` without an epilogue: to `c`, in quads
    /// of values, from `begin` on, with a row stride of `stride` values; or as f16. They still go through workgroup
    /// memory, so that a row of a matrix fills two whole sectors; a matrix stored directly to `c` would write sectors
    /// by halves.
    pub fn put_as_it_is(&self, begin: &str, stride: &str) -> String {
        let mut text = format!(
            "let stride = {stride} / 4u;\nlet corner = ({begin} + column0 + column_in) / 4u + (row0 + row_in) * stride;\nlet first = corner + lane / 4u * stride + lane % 4u;\nlet first_half = (corner + lane / 2u * stride) / 2u + lane % 2u;\nlet own = scratch + 4u * lane;\nlet halves_wanted = (p.epilogue & RESULT) != 0u;\n"
        );
        for (i, j) in self.matrices() {
            let (row, column) = (16 * i, 16 * j);
            let _ = writeln!(
                text,
                "workgroupBarrier();\n{{ let v = s{i}_{j}; let q = &sh_c[scratch]; let stride = SIDE; coopStoreT(v, q, stride); }}\nworkgroupBarrier();\nif halves_wanted {{\nput_halves(first_half + {}u * stride + {}u, sums_at(own + 4u * lane), sums_at(own + 4u * lane + 4u));\n}} else {{\nc[first + {row}u * stride + {}u] = sums_at(own);\nc[first + {}u * stride + {}u] = sums_at(own + 128u);\n}}",
                row / 2,
                column / 8,
                column / 4,
                row + 8,
                column / 4,
            );
        }
        text
    }

    /// Stores the sums of a tile, matrix by matrix through workgroup memory. All go through one loop, which must not be
    /// unrolled, because its body is long if it does more than store; compilers do not unroll a loop that runs
    /// `min(p.groups, 1u)` times a constant.
    pub fn put(&self) -> String {
        let side = self.side;
        let across = self.wide / side;
        let mut text = format!(
            "let count = {}u * min(p.groups, 1u);\nfor (var f = 0u; f < count; f += 1u) {{\nworkgroupBarrier();\n",
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
            "workgroupBarrier();\nput_matrix(o, row0 + row_in + {side}u * (f / {across}u), column0 + column_in + {side}u * (f % {across}u), scratch, lane, s.lanes);\n}}"
        );
        text
    }
}

/// An `if` around matrix code. The condition is uniform across invocations, but naga considers anything read from a
/// variable non-uniform and allows no matrices under such an `if`; it allows them in loops.
pub(crate) fn only_if(condition: &str, text: &str) -> String {
    format!("loop {{\nif !({condition}) {{ break; }}\n{text}break;\n}}\n")
}
