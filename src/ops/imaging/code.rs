//! The instructions of image programs: what each computes is in `twin/`, and for users in `tensor/imaging/image.rs`.
//!
//! To add an instruction:
//!
//! 1. Here: a row of `Opcode`, with a name for the shader, and with the operands and the meaning of the two numbers
//!    if they are not obvious. A function of two cells is a variant of `Function` instead, and needs no capacity.
//! 2. `graph.rs`: the capacity of its result, in `Graph::capacity`. In `compile.rs`, `Class::of` says what a cell
//!    costs; `words` lists the opcodes that need as many words again for themselves.
//! 3. `src/tensor/imaging/image.rs`: a line of `operations!` if all parameters are images, otherwise a method. Its
//!    documentation says what it computes, when the result is invalid, and its capacity if that is not the largest
//!    operand's.
//! 4. `twin/`: the function, and an arm of `run` in its `mod.rs`. It asks `Out` for room before it writes cells, which
//!    makes the result overflown if there are too many.
//! 5. `shaders/imaging/mod.wgsl`: the extents in `shape_of`, and the cells in `cell_of`, each independently. An
//!    operation that needs the whole image has a function of its own, which `execute` calls. All invocations of a
//!    workgroup must reach its barriers: decisions that depend on values go through `agreed` or `total`.
//! 6. `tests/suite/imaging.rs`: cases in `by_hand`, among them an invalid one; an arm in `recorded`, which the random
//!    programs draw from; and a comparison in `as_on_tensors` if a method of `Tensor` does the same.

use crate::plan::{Constants, constants};

/// Makes enums whose variants are constants of the shader, by the names beside them.
macro_rules! numbered {
    ($($(#[$of:meta])* enum $type:ident as $constants:ident $($all:ident)? {
        $($(#[$about:meta])* $name:ident $upper:ident,)+
    })+) => {$(
        $(#[$of])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u32)]
        pub(crate) enum $type {
            $($(#[$about])* $name,)+
        }

        pub(super) const $constants: Constants = &[$((stringify!($upper), $type::$name as u32)),+];

        numbered!(@all $type [$($all)?] $($name)+);
    )+};
    (@all $type:ident [] $($name:ident)+) => {};
    (@all $type:ident [ALL] $($name:ident)+) => {
        impl $type {
            /// All of them, by their numbers.
            pub(crate) const ALL: &[$type] = &[$($type::$name),+];
        }
    };
}

numbered! {
    /// What an instruction computes. `numbers` are its two constant numbers.
    enum Opcode as OPCODES {
        /// Input image `numbers[0]` of the sample.
        Input INPUT,
        /// `numbers[1]` constants from `numbers[0]` on, as a row.
        Constant CONSTANT,
        /// A [`Function`] of two, per cell, with extents of 1 repeated.
        Combine COMBINE,
        Choose CHOOSE,
        /// The image turned or reflected: an [`Orientation`].
        Orient ORIENT,
        /// Operands: image, box. `numbers[0]`: whether a box that reaches outside makes the result invalid.
        Crop CROP,
        Upscale UPSCALE,
        Downscale DOWNSCALE,
        Tile TILE,
        /// Along axis `numbers[0]`.
        Join JOIN,
        /// Operands: image, offset, fill.
        Translate TRANSLATE,
        /// `numbers[0]`: a [`Fold`], the smallest or the largest; `numbers[1]`: whether there are eight neighbours.
        Extreme EXTREME,
        /// Operands: image, patch, place.
        Paste PASTE,
        /// Operands: image, background. `numbers[0]`: whether all of the foreground is alike; `numbers[1]`: whether
        /// there are eight neighbours.
        Label LABEL,
        /// Operands: labels, image. `numbers[0]`: the largest number of rows.
        Regions REGIONS,
        /// Operands: image, background, value.
        FillHoles FILL_HOLES,
        /// `numbers[0]`: the number of bins.
        Histogram HISTOGRAM,
        /// `numbers[0]`: one more than the largest value.
        Palette PALETTE,
        /// Operands: image, table.
        Lookup LOOKUP,
        /// `numbers[0]`: a [`Fold`]; `numbers[1]`: along rows (columns remain) 0, along columns (rows
        /// remain) 1, both 2.
        Reduce REDUCE,
        /// The place of the first of the smallest or largest cells: `numbers[0]` is the [`Fold`].
        Place PLACE,
        Box BOX,
        /// Operands: image, flags. `numbers[0]`: the axis.
        Compact COMPACT,
        /// Operands: table, keys. `numbers[0]`: whether the order descends.
        Sort SORT,
        /// Operands: image, number. `numbers[0]`: 0 for a row, 1 for a column.
        Pick PICK,
        /// Operands: image, box, value.
        Outline OUTLINE,
        /// Operands: image, both ends as a row of four, value.
        Line LINE,
        /// Operands: image, template.
        Match MATCH,
        /// Along axis `numbers[0]`.
        Period PERIOD,
        Same SAME,
        /// The extent of axis `numbers[0]`.
        Extent EXTENT,
        /// The position of each cell along axis `numbers[0]`.
        Numbers NUMBERS,
        /// A scan: `numbers[0]` is a [`Fold`], `numbers[1]` a [`Direction`].
        Scan SCAN,
        Valid VALID,
        OrElse OR_ELSE,
        /// Operands: image, condition.
        When WHEN,
        /// Operands: rows, columns, value.
        Fill FILL,
        /// Result `numbers[0]` of the program.
        Output OUTPUT,
    }

    /// A function of two cells: `numbers[0]` of [`Opcode::Combine`].
    enum Function as FUNCTIONS ALL {
        Plus PLUS,
        Minus MINUS,
        Times TIMES,
        Divide DIVIDE,
        Remainder REMAINDER,
        Minimum MINIMUM,
        Maximum MAXIMUM,
        Equals EQUALS,
        Differs DIFFERS,
        Less LESS,
        AtMost AT_MOST,
        Greater GREATER,
        AtLeast AT_LEAST,
        And AND,
        Or OR,
        Xor XOR,
    }

    /// What many cells become, in reductions and scans.
    enum Fold as FOLDS ALL {
        Sum SUM,
        Smallest SMALLEST,
        Largest LARGEST,
        /// The last one that is not 0.
        Last LAST,
    }
}

/// A rotation or reflection: `numbers[0]` of [`Opcode::Orient`]. Bit 2: the axes are exchanged; then bit 1: the rows of
/// the result are reversed; bit 0: its columns are reversed. So cell (r, c) of the result is cell (r', c') of the
/// operand, with r' = r or rows − 1 − r (bit 1), c' likewise (bit 0), and both exchanged (bit 2) afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Orientation {
    FlipColumns = 1,
    FlipRows = 2,
    HalfTurn = 3,
    Transpose = 4,
    /// Clockwise.
    QuarterBack = 5,
    /// Anticlockwise.
    Quarter = 6,
    AntiTranspose = 7,
}

/// A direction in an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum Direction {
    /// To larger columns.
    Right,
    /// To larger rows.
    Down,
    /// To smaller columns.
    Left,
    /// To smaller rows.
    Up,
    /// To larger rows and columns.
    DownRight,
    /// To larger rows and smaller columns.
    DownLeft,
    /// To smaller rows and columns.
    UpLeft,
    /// To smaller rows and larger columns.
    UpRight,
}

/// The number of cells that a value may have: `per_unit` for each cell of the sample's largest input, and `fixed` more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Capacity {
    pub per_unit: u32,
    pub fixed: u32,
}

impl Capacity {
    pub(crate) fn fixed(cells: u32) -> Capacity {
        Capacity {
            per_unit: 0,
            fixed: cells,
        }
    }

    pub(crate) fn plus(self, other: Capacity) -> Capacity {
        Capacity {
            per_unit: self.per_unit.saturating_add(other.per_unit),
            fixed: self.fixed.saturating_add(other.fixed),
        }
    }

    pub(crate) fn times(self, n: u32) -> Capacity {
        Capacity {
            per_unit: self.per_unit.saturating_mul(n),
            fixed: self.fixed.saturating_mul(n),
        }
    }

    pub(crate) fn max(self, other: Capacity) -> Capacity {
        Capacity {
            per_unit: self.per_unit.max(other.per_unit),
            fixed: self.fixed.max(other.fixed),
        }
    }

    /// The cells for a sample whose largest input has `unit` cells.
    pub(crate) fn cells(self, unit: u32) -> u64 {
        u64::from(self.per_unit) * u64::from(unit) + u64::from(self.fixed)
    }
}

/// Stands for an operand that an instruction does not have.
pub(crate) const NONE: u32 = u32::MAX;

/// An instruction. Operands are earlier instructions of its program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    pub opcode: Opcode,
    pub operands: [u32; 3],
    pub numbers: [u32; 2],
    pub capacity: Capacity,
}

impl Step {
    pub(crate) fn operands(&self) -> impl Iterator<Item = u32> + use<> {
        self.operands
            .into_iter()
            .take_while(|&operand| operand != NONE)
    }
}

/// What is known of a value besides its cells. A value that is not valid has no cells.
pub(crate) const STATE_INVALID: u32 = 0;
pub(crate) const STATE_VALID: u32 = 1;
/// The result would have more cells than its capacity.
pub(crate) const STATE_OVERFLOW: u32 = 2;
pub(super) const STATES: Constants = constants![STATE_INVALID, STATE_VALID, STATE_OVERFLOW];
