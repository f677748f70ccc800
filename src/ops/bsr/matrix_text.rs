//! Generates the part of `bsr_matrix.wgsl` that depends on the tile: the walk over blocks, loads and stores.

use std::fmt::Write;

use crate::ops::bsr::tiles::SparseTile;
use crate::ops::coop_tile::{Tile, only_if};
use crate::plan::Matrices;

pub(super) fn tile(of: &SparseTile, matrices: Matrices, inner: [bool; 2]) -> Tile {
    Tile {
        // Blocks of eight rows leave half of a 16 × 16 matrix unused.
        rows: of.rows.max(matrices.side()),
        columns: of.columns,
        depth: of.depth,
        high: of.part[0],
        wide: of.part[1],
        stages: 1,
        turns: of.turns(inner[1]),
        side: matrices.side(),
        inner,
    }
}

/// The text that replaces `#generate "bsr_matrix"`.
///
/// Uses: `p`, `a`, `b`, `order`, `Tile`, `halves`, `put_8`, `put_4`, `put_eight`. Defines: `HIGH`, `DEPTH`, what
/// [`Tile::declarations`] does, `make_tiles(t, lid, s)`.
pub(super) fn generate(of: &SparseTile, tile: Tile, segment: u32, sampled: bool) -> String {
    let mut out = format!(
        "const HIGH = {}u;\nconst DEPTH = {}u;\n{}fn make_tiles(t: Tile, lid: u32, s: Subgroup) {{\n{}",
        of.rows,
        tile.depth,
        tile.declarations(),
        tile.places(),
    );
    Writer {
        segment,
        sampled,
        high: of.rows,
        tile,
        out: &mut out,
    }
    .tiles();
    out + "}\n"
}

struct Writer<'a> {
    tile: Tile,
    /// Rows of a block that are in the tile.
    high: u32,
    /// Inner products of a stage that lie in one block.
    segment: u32,
    sampled: bool,
    out: &'a mut String,
}

/// The load of one register by an invocation.
struct Load {
    name: &'static str,
    number: usize,
    word: String,
    row: String,
    unit: String,
    /// The index of its segment, and the position within it.
    segment: usize,
    within: String,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    /// The loads and their segments, each segment as an expression for its number.
    fn loads(&self) -> (Vec<Load>, Vec<String>) {
        let mut segments = Vec::new();
        let mut loads = Vec::new();
        let size = self.segment;
        for part in self.tile.parts() {
            for (number, slot) in part.slots(0).into_iter().enumerate() {
                let inner = match part.inner {
                    true => format!("(8u * {})", slot.unit),
                    false => slot.row.clone(),
                };
                let (segment, within) = match part.first(number as u32) {
                    _ if size >= self.tile.depth || self.sampled => ("0u".to_owned(), inner),
                    // The slot's rows all lie in one segment.
                    Some((first, rows)) if !part.inner && size.is_multiple_of(rows) => {
                        let begin = first / size;
                        (
                            format!("{begin}u"),
                            format!("({inner} - {}u)", begin * size),
                        )
                    }
                    _ => (format!("{inner} / {size}u"), format!("({inner} % {size}u)")),
                };
                let at = segments.iter().position(|known| *known == segment);
                let segment = at.unwrap_or_else(|| {
                    segments.push(segment);
                    segments.len() - 1
                });
                loads.push(Load {
                    name: part.name,
                    number,
                    word: slot.word,
                    row: slot.row,
                    unit: slot.unit,
                    segment,
                    within,
                });
            }
        }
        (loads, segments)
    }

    fn tiles(&mut self) {
        let (loads, segments) = self.loads();
        let columns = self.tile.columns;
        let load = match self.sampled {
            true => self.sampled_walk(&loads),
            false => self.walk(&loads, &segments),
        };
        self.line(&self.tile.registers(1));
        self.line(&format!("if t.steps > 0u {{\n{load}}}"));
        self.line("for (var tile = 0u; tile < t.tiles; tile++) {");
        let text = self.tile.sums();
        self.line(&text);
        // A step that compilers cannot know, to prevent unrolling: unrolled loops need more registers than there are.
        self.line("let one = min(p.groups, 1u);\nfor (var step = 0u; step < t.steps; step += one) {\nworkgroupBarrier();");
        // If blocks consist of whole stages, no stage is partial.
        if !self.sampled && self.segment < self.tile.depth {
            self.end_of_row(&loads, &segments);
        }
        let text = self.tile.stage(0, 0);
        self.line(&text);
        self.line("workgroupBarrier();");
        let text = self.tile.multiply(0, &load);
        self.line(&text);
        self.line("}");
        self.store();
        self.line(&format!("c_column += {columns}u;\n}}"));
    }

    /// Clears the values beyond a row's last inner product.
    fn end_of_row(&mut self, loads: &[Load], segments: &[String]) {
        let depth = self.tile.depth;
        self.line(&format!(
            "if step + 1u == t.steps && t.inner % {depth}u != 0u {{\nlet left = t.inner % {depth}u;"
        ));
        for load in loads {
            let Load { word, within, .. } = load;
            let at = format!("{} * {}u + {within}", segments[load.segment], self.segment);
            self.line(&format!(
                "{word} = select({word}, vec4<u32>(), {at} >= left);"
            ));
        }
        self.line("}");
    }

    /// The walk along the blocks of a row: declares an invocation's state, and returns the text that loads a stage and
    /// advances. The entry of a stage's block is read one stage ahead, so that no load waits for its address.
    fn walk(&mut self, loads: &[Load], segments: &[String]) -> String {
        let (depth, size, columns) = (self.tile.depth, self.segment, self.tile.columns);
        self.line("var column = t.column;\nvar c_column = t.column;\nvar ahead = 0u;");
        self.line(&format!(
            "let whole = {depth}u / p.block_wide;\nlet rest = {depth}u % p.block_wide;\nlet last = max(t.end, 1u) - 1u;"
        ));
        let mut begin = String::new();
        for (i, segment) in segments.iter().enumerate() {
            self.line(&format!(
                "let begin{i} = {segment} * {size}u;\nvar block{i} = t.first + begin{i} / p.block_wide;\nvar within{i} = begin{i} % p.block_wide;\nvar entry{i} = order[min(block{i}, last)];"
            ));
            let _ = writeln!(
                begin,
                "block{i} = t.first + begin{i} / p.block_wide;\nwithin{i} = begin{i} % p.block_wide;"
            );
        }
        self.line(
            "let block_units = p.block_wide / 8u;\nlet last_column = (t.columns + 7u) / 8u - 1u;",
        );
        let [a, b] = self.tile.inner;
        let mut text = String::new();
        for i in 0..segments.len() {
            let a_step = match a {
                true => format!("within{i} / 8u"),
                false => format!("within{i} * (HIGH / 8u)"),
            };
            let b_step = match b {
                true => "/ 8u",
                false => "* t.b_pitch",
            };
            let _ = writeln!(
                text,
                "let a_from{i} = t.a + entry{i}.x * (HIGH * block_units) + {a_step};\nlet b_from{i} = t.b + (entry{i}.y * p.block_wide + within{i}) {b_step};"
            );
        }
        text += &self.gets(loads, |load| self.at(load));
        for i in 0..segments.len() {
            let _ = writeln!(
                text,
                "block{i} += whole;\nwithin{i} += rest;\nif within{i} >= p.block_wide {{\nwithin{i} -= p.block_wide;\nblock{i} += 1u;\n}}"
            );
        }
        let _ = writeln!(
            text,
            "ahead += 1u;\nif ahead == t.steps {{\nahead = 0u;\ncolumn += {columns}u;\n{begin}}}"
        );
        for i in 0..segments.len() {
            let _ = writeln!(text, "entry{i} = order[min(block{i}, last)];");
        }
        text
    }

    /// A load's row of a block. Rows that a block of eight lacks read its last row instead; they affect no result that
    /// is stored.
    fn block_row(&self, load: &Load) -> String {
        match self.high {
            8 => format!("min({}, 7u)", load.row),
            _ => load.row.clone(),
        }
    }

    fn block_unit(&self, load: &Load) -> String {
        match self.high {
            8 => "0u".to_owned(),
            _ => load.unit.clone(),
        }
    }

    /// Loads the registers of each part from the addresses that `at` returns.
    fn gets(&self, loads: &[Load], at: impl Fn(&Load) -> String) -> String {
        let mut text = String::new();
        for part in self.tile.parts() {
            let of_part = loads.iter().filter(|load| load.name == part.name);
            let get = |load: &Load| format!("{} = {}[{}];\n", load.word, load.name, at(load));
            text += &part.guarded(&of_part.map(get).collect::<String>());
        }
        text
    }

    /// A load's address, relative to its segment. What differs between loads is a constant where possible, so that
    /// these loads share an address.
    fn at(&self, load: &Load) -> String {
        let Load {
            row,
            unit,
            segment,
            within,
            ..
        } = load;
        let unit_within = match self.segment >= self.tile.depth {
            true => unit.clone(),
            false => format!("{unit} % {}u", self.segment / 8),
        };
        match (load.name, self.tile.inner) {
            ("a", [true, _]) => format!(
                "a_from{segment} + {} * block_units + {unit_within}",
                self.block_row(load)
            ),
            ("a", _) => format!(
                "a_from{segment} + {within} * (HIGH / 8u) + {}",
                self.block_unit(load)
            ),
            (_, [_, true]) => format!(
                "b_from{segment} + min(column + {row}, t.columns - 1u) * t.b_pitch + {unit_within}"
            ),
            _ => format!(
                "b_from{segment} + {within} * t.b_pitch + min(column / 8u + {unit}, last_column)"
            ),
        }
    }

    /// The walk along the inner extent, where the blocks select the columns of b.
    fn sampled_walk(&mut self, loads: &[Load]) -> String {
        let [_, b] = self.tile.inner;
        self.line("var c_column = 0u;\nvar k = 0u;");
        for Load {
            number, row, unit, ..
        } in loads.iter().filter(|load| load.name == "b")
        {
            let side = match b {
                true => row.clone(),
                false => format!("(8u * {unit})"),
            };
            self.line(&format!(
                "let b_column{number} = order[min(t.first + {side} / p.block_wide, t.end - 1u)].y * p.block_wide + {side} % p.block_wide;"
            ));
        }
        let at = |load: &Load| self.sampled_at(load);
        let depth = self.tile.depth;
        // Nothing uses what is loaded after the last stage.
        self.gets(loads, at) + &format!("k = select(k + {depth}u, 0u, k + {depth}u >= t.inner);\n")
    }

    fn sampled_at(&self, load: &Load) -> String {
        let Load {
            number, row, unit, ..
        } = load;
        match (load.name, self.tile.inner) {
            ("a", [true, _]) => format!(
                "t.a + k / 8u + (t.row + {}) * t.a_pitch + {unit}",
                self.block_row(load)
            ),
            ("a", _) => format!(
                "t.a + (k + {row}) * t.a_pitch + t.row / 8u + {}",
                self.block_unit(load)
            ),
            (_, [_, true]) => {
                format!("t.b + k / 8u + b_column{number} * t.b_pitch + {unit}")
            }
            _ => format!("t.b + (k + {row}) * t.b_pitch + b_column{number} / 8u"),
        }
    }

    /// Stores matrix by matrix through workgroup memory: whole tiles in whole lines of a matrix, others value by value.
    fn store(&mut self) {
        let turned = self.tile.inner[1] && !self.sampled;
        let whole = self.whole();
        self.line(&format!("if {whole} {{"));
        for (i, j) in self.tile.matrices() {
            let (halves, singles) = (self.put(turned, [i, j], 8), self.put(turned, [i, j], 4));
            let put = format!("if p.halves != 0u {{\n{halves}}} else {{\n{singles}}}\n");
            self.in_turns(turned, [i, j], &put);
        }
        self.line("} else {");
        for (i, j) in self.tile.matrices() {
            let put = self.put_inside(turned, [i, j]);
            self.in_turns(turned, [i, j], &put);
        }
        self.line("}");
    }

    /// Stores a matrix to workgroup memory, and from there by `put`.
    fn in_turns(&mut self, turned: bool, [i, j]: [u32; 2], put: &str) {
        let store = if turned { "coopStore" } else { "coopStoreT" };
        let staged = format!(
            "let v = s{i}_{j};\nlet q = &sh_c[scratch];\nlet stride = SIDE;\n{store}(v, q, stride);\n"
        );
        let turns = self.tile.turns;
        for turn in 0..turns {
            let is_next = format!("s.id % {turns}u == {turn}u");
            let text = match turns {
                1 => format!("{{\n{staged}}}\nworkgroupBarrier();\n{put}"),
                _ => format!(
                    "{}workgroupBarrier();\nif {is_next} {{\n{put}\n}}",
                    only_if(&is_next, &staged)
                ),
            };
            self.line(&format!("workgroupBarrier();\n{text}"));
        }
    }

    /// Whether the tile crosses no edge, and its lines begin at quads.
    fn whole(&self) -> String {
        let (rows, columns) = (self.high, self.tile.columns);
        let across = match self.sampled {
            true => format!(
                "(t.end - t.first) * p.block_wide == {columns}u && p.block_wide % 16u == 0u && (order[t.end - 1u].y + 1u) * p.block_wide <= p.wide"
            ),
            false => format!("t.quads && c_column + {columns}u <= t.columns"),
        };
        format!("t.rows_inside == {rows}u && {across}")
    }

    /// Stores a matrix to whole lines of c, `values` values at a time. Neighbouring invocations write neighbouring
    /// values, so that no sector of memory is written in parts.
    fn put(&self, turned: bool, [i, j]: [u32; 2], values: u32) -> String {
        let side = self.tile.side;
        let (in_line, all) = (side / values, side * side / values);
        let put = |q: &str| {
            let (line, along) = (
                format!("{q} / {in_line}u"),
                format!("{q} % {in_line}u * {values}u"),
            );
            let from = format!("scratch + SIDE * ({line}) + {along}");
            let [row, column] = match turned {
                true => [along, line],
                false => [line, along],
            };
            let at = self.place(
                turned,
                &format!("(row_in + {}u + {row})", side * i),
                [format!("column_in + {}u", side * j), column],
            );
            let put = format!("put_{values}({at}, {from});");
            match self.high < side {
                true => format!("if {row} < HIGH {{ {put} }}\n"),
                false => put + "\n",
            }
        };
        match side {
            16 => (0..all)
                .step_by(32)
                .map(|first| put(&format!("(lane + {first}u)")))
                .collect(),
            _ => format!(
                "for (var q = lane; q < {all}u; q += s.lanes) {{\n{}}}\n",
                put("q")
            ),
        }
    }

    /// The index in c of a value of a whole tile.
    fn place(&self, turned: bool, row: &str, [first, column]: [String; 2]) -> String {
        match (self.sampled, turned) {
            (true, _) => format!(
                "t.c + ((t.first + ({first}) / p.block_wide) * HIGH + {row}) * p.block_wide + ({first}) % p.block_wide + {column}"
            ),
            (_, true) => {
                format!("t.c + (c_column + {first} + {column}) * t.c_pitch + {row}")
            }
            _ => format!("t.c + {row} * t.c_pitch + c_column + {first} + {column}"),
        }
    }

    /// Stores a matrix of a tile that crosses an edge.
    fn put_inside(&self, turned: bool, [i, j]: [u32; 2]) -> String {
        let side = self.tile.side;
        // Eight values each: half a line, or a whole line if there are enough lanes.
        let (line, along) = match side {
            16 => ("lane / 2u", "lane % 2u * 8u"),
            _ => ("i", "0u"),
        };
        let (row, column) = match turned {
            true => (along, line),
            false => (line, along),
        };
        let put = format!(
            "put_eight(t, row_in + {}u + {row}, c_column + column_in + {}u + {column}, scratch + SIDE * ({line}) + {along});",
            side * i,
            side * j
        );
        match side {
            16 => put,
            _ => format!("for (var i = lane; i < SIDE; i += s.lanes) {{ {put} }}"),
        }
    }
}
