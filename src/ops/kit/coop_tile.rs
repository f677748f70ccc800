//! The numbers that `shaders/lib/coop_tile.wgsl` needs to write a tile on cooperative matrices.

/// A workgroup's tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub rows: u32,
    pub columns: u32,
    /// Depth along the inner extent that is staged at a time.
    pub depth: u32,
    /// Rows and columns of a subgroup's part.
    pub part: [u32; 2],
    /// Subgroups that take turns at the memory that sums pass through.
    pub turns: u32,
    /// Rows and columns of a matrix: 8 or 16.
    pub side: u32,
    /// Whether neighbours in memory belong to one row of a, and to one column of b.
    pub inner: [bool; 2],
}

/// An operand's part of a stage.
pub(crate) struct Part {
    pub inner: bool,
    /// Rows in memory order, and the units (eight values) in each.
    rows: u32,
    pub units: u32,
    pub invocations: u32,
}

impl Part {
    pub fn slots(&self) -> u32 {
        (self.rows * self.units).div_ceil(self.invocations)
    }

    /// The number of slots in which invocations take four units of a row each, and of those in which they take two; all
    /// others go through units in order.
    fn orders(&self) -> [u32; 2] {
        let fours = 4 * self.rows / self.invocations;
        if self.units == 4 && self.rows.is_multiple_of(8) {
            [self.slots(), 0]
        } else if self.units == 6 && self.inner && (2 * self.rows).is_multiple_of(self.invocations)
        {
            // Stages of depth 48.
            [fours, self.slots() - fours]
        } else {
            [0, 0]
        }
    }
}

impl Tile {
    fn subgroups(&self) -> u32 {
        self.rows / self.part[0] * (self.columns / self.part[1])
    }

    pub fn parts(&self) -> [Part; 2] {
        let part = |inner, side| Part {
            inner,
            rows: if inner { side } else { self.depth },
            units: if inner { self.depth } else { side } / 8,
            // Assuming subgroups of 32 lanes.
            invocations: 32 * self.subgroups(),
        };
        [
            part(self.inner[0], self.rows),
            part(self.inner[1], self.columns),
        ]
    }

    /// Whether no slot extends beyond its part of a stage, unless the part has fewer units than there are invocations.
    #[cfg(all(feature = "gpu", feature = "testing"))]
    pub fn is_whole(&self) -> bool {
        self.parts().iter().all(|part| {
            let units = part.rows * part.units;
            units < part.invocations || units.is_multiple_of(part.invocations)
        })
    }

    pub fn numbers(&self) -> Vec<(&'static str, u32)> {
        let subgroups = self.subgroups();
        // Values per element of staged memory. Drivers load 16 × 16 matrices fastest from vectors.
        let per = if self.side == 16 { 4 } else { 1 };
        let mut numbers = vec![
            ("WG", 32 * subgroups),
            ("SIDE", self.side),
            ("ROWS", self.rows),
            ("COLUMNS", self.columns),
            ("DEPTH", self.depth),
            ("SUBGROUPS", subgroups),
            ("ACROSS", self.columns / self.part[1]),
            ("TURNS", self.turns),
            // If there may be more subgroups than parts, the surplus ones need room for their results.
            (
                "SCRATCH",
                subgroups / self.turns + u32::from(self.side == 8),
            ),
            ("PER", per),
            ("A_MATRICES", self.part[0] / self.side),
            ("B_MATRICES", self.part[1] / self.side),
        ];
        let names = [
            [
                "A_INNER", "A_ROWS", "A_UNITS", "A_PITCH", "A_SLOTS", "A_FOURS", "A_TWOS",
            ],
            [
                "B_INNER", "B_ROWS", "B_UNITS", "B_PITCH", "B_SLOTS", "B_FOURS", "B_TWOS",
            ],
        ];
        for (part, names) in self.parts().iter().zip(names) {
            let [fours, twos] = part.orders();
            // An odd number of units from row to row, so that neighbouring rows are in different banks.
            let pitch = (part.units + 1) * 8 / per;
            let inner = u32::from(part.inner);
            let of_part = [
                inner,
                part.rows,
                part.units,
                pitch,
                part.slots(),
                fours,
                twos,
            ];
            numbers.extend(names.into_iter().zip(of_part));
        }
        numbers
    }
}
