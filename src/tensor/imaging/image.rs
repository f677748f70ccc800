//! The images of a program, and the operations on them.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ops::imaging::code::{Direction, Fold, Function, Opcode, Orientation};
use crate::ops::imaging::graph::Graph;
use crate::ops::kit::Neighbours;

/// An image of each sample, in a program that is being recorded: `rows × columns` cells of type i32.
///
/// A number is an image of 1 × 1, a place or an offset an image of 1 × 2 (row and column), a box an image of 1 × 4, and
/// a table an image with a row for each entry. Extents may depend on values, and may be 0. Conditions and flags are
/// integers: 0 is false, and every other value is true. Operations that return flags return 0 and 1. Integers wrap.
///
/// If an operation is impossible for a sample, its result for this sample is *invalid*. Every operation on an invalid
/// operand has an invalid result, too, except [`is_valid`](Image::is_valid) and [`or_else`](Image::or_else). Other
/// samples are not affected.
///
/// Each result has a *capacity*, the largest number of cells that it may have. A result with more cells is invalid.
/// Unless a method says otherwise, the capacity is that of this image, or the largest of all operands if they are
/// combined cell by cell. A row and a column together make an image that is larger than both, so such a result needs
/// [`within`](Image::within).
///
/// An `Image` is a handle, cheap to clone. Methods only record an operation; they compute nothing.
///
/// ```
/// use vsla::image::{ImageProgram, LabelBy, Neighbours, Place};
/// use vsla::{Ragged, Shape};
///
/// // The largest region of each image, cut out.
/// let program = ImageProgram::new(|r| {
///     let x = r.input();
///     let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
///     let table = labels.regions(&x, 100);
///     let largest = table.sort_rows(&table.column(0), true).row(0);
///     r.output(&x.crop(&largest.columns_from(1, 5)));
/// })?;
/// let image = Ragged::from_shapes(vec![0, 5, 5, 3, 0, 5], 2, [Shape::new(&[2, 3])?])?;
/// let results = program.run_blocking(&Place::OneCore, &[&image])?;
/// assert_eq!(results.images(0).row(0), [5, 5, 0, 5]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    graph: Rc<RefCell<Graph>>,
    step: u32,
}

/// Which neighbouring cells belong to the same component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LabelBy {
    /// Neighbours of equal values.
    Values,
    /// All neighbours that are not background.
    Foreground,
}

/// An operand of an operation on images: an [`Image`] or a constant.
#[derive(Clone, Copy, Debug)]
pub enum ImageOperand<'a> {
    /// A number that is the same for all samples.
    Constant(i32),
    /// An image of each sample. Where a number is expected, it must have 1 × 1 cells.
    Image(&'a Image),
}

impl From<i32> for ImageOperand<'_> {
    fn from(number: i32) -> Self {
        ImageOperand::Constant(number)
    }
}

impl<'a> From<&'a Image> for ImageOperand<'a> {
    fn from(image: &'a Image) -> Self {
        ImageOperand::Image(image)
    }
}

/// Records the inputs and outputs of a program.
#[derive(Debug)]
pub struct Recorder {
    pub(super) graph: Rc<RefCell<Graph>>,
}

impl Recorder {
    /// The next input: an image of each sample.
    pub fn input(&mut self) -> Image {
        let step = self.graph.borrow_mut().input();
        self.image(step)
    }

    /// Makes an image the next output.
    pub fn output(&mut self, image: &Image) {
        let mut graph = self.graph.borrow_mut();
        match Rc::ptr_eq(&self.graph, &image.graph) {
            true => graph.output(image.step),
            false => refuse_foreign(&mut graph),
        }
    }

    /// A number that is the same for all samples.
    pub fn number(&mut self, number: i32) -> Image {
        self.image(0).number(number)
    }

    /// A row of constants.
    pub fn constant(&mut self, cells: &[i32]) -> Image {
        self.image(0).constant(cells)
    }

    fn image(&self, step: u32) -> Image {
        Image {
            graph: self.graph.clone(),
            step,
        }
    }
}

fn refuse_foreign(graph: &mut Graph) {
    let expected = "images of the program that is being recorded";
    graph.wrong = Some((expected, "an image of another program".to_owned()));
}

/// The operations whose only parameters are other images.
macro_rules! operations {
    ($($(#[$about:meta])* fn $name:ident($($operand:ident),*) = $opcode:ident [$m:expr, $n:expr];)+) => {
        impl Image {$(
            $(#[$about])*
            #[must_use]
            #[allow(clippy::extra_unused_lifetimes, reason = "some have no other operand")]
            pub fn $name<'a>(&self $(, $operand: impl Into<ImageOperand<'a>>)*) -> Image {
                self.record(Opcode::$opcode, &[$($operand.into()),*], [$m as u32, $n as u32])
            }
        )+}
    };
}

/// Functions of two cells.
macro_rules! functions_of_two {
    ($($(#[$about:meta])* fn $name:ident = $function:ident;)+) => {
        operations! {$(
            $(#[$about])*
            ///
            /// As in all functions of two images, an axis of extent 1 is repeated to the extent of the other image. If
            /// extents differ otherwise, the result is invalid.
            fn $name(other) = Combine [Function::$function, 0];
        )+}
    };
}

functions_of_two! {
    /// `a + b` for each cell, which wraps.
    fn plus = Plus;

    /// `a − b` for each cell, which wraps.
    fn minus = Minus;

    /// `a · b` for each cell, which wraps.
    fn times = Times;

    /// `⌊a / b⌋` for each cell. Invalid if a divisor is 0.
    fn divide = Divide;

    /// `a − b ⌊a / b⌋` for each cell: it has the sign of the divisor. Invalid if a divisor is 0.
    fn remainder = Remainder;

    /// The smaller of the two cells.
    fn minimum = Minimum;

    /// The larger of the two cells.
    fn maximum = Maximum;

    /// Whether both cells are equal.
    fn equals = Equals;

    /// Whether both cells differ.
    fn differs = Differs;

    /// Whether `a < b`, for each cell.
    fn less = Less;

    /// Whether `a ≤ b`, for each cell.
    fn at_most = AtMost;

    /// Whether `a > b`, for each cell.
    fn greater = Greater;

    /// Whether `a ≥ b`, for each cell.
    fn at_least = AtLeast;

    /// Whether both cells are true.
    fn and = And;

    /// Whether at least one of the two cells is true.
    fn or = Or;

    /// Whether exactly one of the two cells is true.
    fn xor = Xor;
}

operations! {
    /// The cell of `yes` where this image is true, and that of `no` elsewhere.
    ///
    /// Axes of extent 1 are repeated in all three images. If extents differ otherwise, the result is invalid.
    fn choose(yes, no) = Choose [0, 0];

    /// The image upside down.
    fn flip_rows() = Orient [Orientation::FlipRows, 0];

    /// The image with left and right exchanged.
    fn flip_columns() = Orient [Orientation::FlipColumns, 0];

    /// The image with rows and columns exchanged.
    fn transpose() = Orient [Orientation::Transpose, 0];

    /// The image reflected across its other diagonal, from the lower left to the upper right.
    fn anti_transpose() = Orient [Orientation::AntiTranspose, 0];

    /// The cells in a box. A box is a row of four: the first row, the first column, the end of the rows and the end of
    /// the columns; the ends are excluded. The part of the box outside of the image is left out, so the result may be
    /// empty.
    fn crop(bounds) = Crop [0, 0];

    /// As [`crop`](Image::crop), but invalid if the box reaches outside of the image, or an end is smaller than its
    /// first row or column.
    fn crop_strict(bounds) = Crop [1, 0];

    /// Each cell repeated to `f` rows and `f` columns; the factor is a number, or a row of two, for rows and for
    /// columns.
    ///
    /// Invalid for factors below 1. If the factors are constants, the capacity is that of this image times both
    /// factors. Otherwise it is 16 times that of this image; [`within`](Image::within) sets another.
    fn upscale(factor) = Upscale [0, 0];

    /// Every `f`-th row and column, from the first on; the factor is a number, or a row of two. Invalid for factors
    /// below 1.
    fn downscale(factor) = Downscale [0, 0];

    /// The image repeated, `f` times downwards and `f` times to the right; the factor is a number, or a row of two.
    ///
    /// Invalid for factors below 1. The capacity is that of [`upscale`](Image::upscale).
    fn tile(factor) = Tile [0, 0];

    /// The image, and another to its right. Invalid if they have different numbers of rows. The capacity is the sum of
    /// both capacities.
    fn beside(right) = Join [1, 0];

    /// The image, and another below it. Invalid if they have different numbers of columns. The capacity is the sum of
    /// both capacities.
    fn above(below) = Join [0, 0];

    /// The image moved by an offset, a row of two: down by so many rows, and right by so many columns. Cells that leave
    /// the image are lost, and those that become free have the value `fill`.
    fn translate(offset, fill) = Translate [0, 0];

    /// The image with a patch over it. The first cell of the patch lies at `place`, a row of two. The part of the patch
    /// outside of the image is left out.
    fn paste(patch, place) = Paste [0, 0];

    /// The image with its holes filled: cells of `background` become `value` unless a path of background cells connects
    /// them to the border. A path goes from a cell to one of its four neighbours.
    fn fill_holes(background, value) = FillHoles [0, 0];

    /// For each cell, the entry of a table at the position that the cell gives, from 0 on. The table is one row or one
    /// column. Invalid if it has no entry at one of the positions.
    fn lookup(table) = Lookup [0, 0];

    /// The sum of all cells; 0 if there is none.
    fn sum() = Reduce [Fold::Sum, 2];

    /// The sum of each row, as a column; 0 if there is none.
    fn sum_of_rows() = Reduce [Fold::Sum, 1];

    /// The sum of each column, as a row; 0 if there is none.
    fn sum_of_columns() = Reduce [Fold::Sum, 0];

    /// The smallest of all cells; invalid if there is none.
    fn min() = Reduce [Fold::Smallest, 2];

    /// The smallest cell of each row, as a column; invalid if there is none.
    fn min_of_rows() = Reduce [Fold::Smallest, 1];

    /// The smallest cell of each column, as a row; invalid if there is none.
    fn min_of_columns() = Reduce [Fold::Smallest, 0];

    /// The largest of all cells; invalid if there is none.
    fn max() = Reduce [Fold::Largest, 2];

    /// The largest cell of each row, as a column; invalid if there is none.
    fn max_of_rows() = Reduce [Fold::Largest, 1];

    /// The largest cell of each column, as a row; invalid if there is none.
    fn max_of_columns() = Reduce [Fold::Largest, 0];

    /// The position, in row-major order and from 0 on, of the first of the largest cells. Invalid for an empty image.
    fn place_of_max() = Place [Fold::Largest, 0];

    /// The position, in row-major order and from 0 on, of the first of the smallest cells. Invalid for an empty image.
    fn place_of_min() = Place [Fold::Smallest, 0];

    /// The smallest box that contains all cells that are not 0, as [`crop`](Image::crop) takes it. Invalid if all cells
    /// are 0.
    fn bounding_box() = Box [0, 0];

    /// The rows whose flag is true. `flags` is a column with a flag for each row; otherwise, the result is invalid.
    fn keep_rows(flags) = Compact [0, 0];

    /// The columns whose flag is true. `flags` is a row with a flag for each column; otherwise, the result is invalid.
    fn keep_columns(flags) = Compact [1, 0];

    /// Row `k`, as an image of one row. A negative `k` counts from the end. Invalid if there is no such row.
    fn row(k) = Pick [0, 0];

    /// Column `k`, as an image of one column. A negative `k` counts from the end. Invalid if there is no such column.
    fn column(k) = Pick [1, 0];

    /// The image with the border of a box drawn on it: the box's first and last rows and columns become `value`. The
    /// part outside of the image is left out.
    fn outline(bounds, value) = Outline [0, 0];

    /// For each place, whether a template occurs in this image with its first cell there. The flags have
    /// (rows − r + 1) × (columns − c + 1) cells for a template of r × c, and 0 × 0 if the template is empty or does not
    /// fit.
    fn matches(template) = Match [0, 0];

    /// Whether both images have the same extents and the same cells, as a number.
    fn same(other) = Same [0, 0];

    /// The number of rows.
    fn rows() = Extent [0, 0];

    /// The number of columns.
    fn columns() = Extent [1, 0];

    /// For each cell, the number of its row, from 0 on.
    fn row_numbers() = Numbers [0, 0];

    /// For each cell, the number of its column, from 0 on.
    fn column_numbers() = Numbers [1, 0];

    /// Whether the image is valid, as a number. This number is always valid.
    fn is_valid() = Valid [0, 0];

    /// For each sample, this image if it is valid, else the other one.
    fn or_else(other) = OrElse [0, 0];

    /// For each sample, this image if `condition`, a number, is true; else an invalid image.
    fn when(condition) = When [0, 0];
}

impl Image {
    /// A number that is the same for all samples.
    #[must_use]
    pub fn number(&self, number: i32) -> Image {
        self.constant(&[number])
    }

    /// A row of constants.
    #[must_use]
    pub fn constant(&self, cells: &[i32]) -> Image {
        let step = self.graph.borrow_mut().constant(cells);
        self.at(step)
    }

    /// Whether each cell is 0.
    #[must_use]
    pub fn not(&self) -> Image {
        self.equals(0)
    }

    /// The image turned by `k` quarters, anticlockwise.
    #[must_use]
    pub fn rotate(&self, k: i32) -> Image {
        let orientation = match k.rem_euclid(4) {
            0 => return self.clone(),
            1 => Orientation::Quarter,
            2 => Orientation::HalfTurn,
            _ => Orientation::QuarterBack,
        };
        self.record(Opcode::Orient, &[], [orientation as u32, 0])
    }

    /// The columns of a table from `first` on, before `end`. Invalid if it has fewer.
    #[must_use]
    pub fn columns_from(&self, first: i32, end: i32) -> Image {
        let sides = self.constant(&[0, first]).beside(&self.rows());
        self.crop_strict(&sides.beside(end))
    }

    /// The largest of each cell and its neighbours inside the image.
    #[must_use]
    pub fn dilate(&self, neighbours: Neighbours) -> Image {
        self.extreme(Fold::Largest, neighbours)
    }

    /// The smallest of each cell and its neighbours inside the image.
    #[must_use]
    pub fn erode(&self, neighbours: Neighbours) -> Image {
        self.extreme(Fold::Smallest, neighbours)
    }

    fn extreme(&self, fold: Fold, neighbours: Neighbours) -> Image {
        let is_eight = u32::from(neighbours == Neighbours::Eight);
        self.record(Opcode::Extreme, &[], [fold as u32, is_eight])
    }

    /// Labels of the connected components. Each cell gets the number of its component, and background cells get 0.
    /// Components are numbered 1, 2, … in row-major order of their first cells.
    #[must_use]
    pub fn label<'a>(
        &self,
        like: LabelBy,
        neighbours: Neighbours,
        background: impl Into<ImageOperand<'a>>,
    ) -> Image {
        let numbers = [like == LabelBy::Foreground, neighbours == Neighbours::Eight];
        self.record(Opcode::Label, &[background.into()], numbers.map(u32::from))
    }

    /// A table of the regions that this image labels. It has a row for each label from 1 to the largest, and eight
    /// columns: 0 is the area, 1 to 4 are the box, as [`crop`](Image::crop) takes it, 5 and 6 the mean row and the mean
    /// column, rounded down, and 7 is the value of `image` at the first cell of the region.
    ///
    /// Labels below 1 are ignored. A label that no cell has gives a row of zeros. Invalid if a label is larger than the
    /// number of cells, or if the two images have different extents. More than `limit` regions exceed the capacity of
    /// the result.
    #[must_use]
    pub fn regions(&self, image: &Image, limit: u32) -> Image {
        self.record(Opcode::Regions, &[image.into()], [limit, 0])
    }

    /// For each value from 0 to `size` − 1, the number of cells that have it, as a row. Invalid if a cell has another
    /// value.
    #[must_use]
    pub fn histogram(&self, size: u32) -> Image {
        self.record(Opcode::Histogram, &[], [size, 0])
    }

    /// The values that occur, each once and in ascending order, as a row. Invalid if one is not in `0..size`.
    #[must_use]
    pub fn palette(&self, size: u32) -> Image {
        self.record(Opcode::Palette, &[], [size, 0])
    }

    /// The most frequent value, or the smallest of several. Invalid if a value is not in `0..size`, or the image is
    /// empty.
    #[must_use]
    pub fn most_common(&self, size: u32) -> Image {
        let place = self.histogram(size).place_of_max();
        place.when(&self.rows().times(&self.columns()))
    }

    /// The least frequent of the values that occur, or the smallest of several. Invalid if a value is not in `0..size`,
    /// or the image is empty.
    #[must_use]
    pub fn least_common(&self, size: u32) -> Image {
        let counts = self.histogram(size);
        let place = counts.choose(&counts, i32::MAX).place_of_min();
        place.when(&self.rows().times(&self.columns()))
    }

    /// The image without the outer rows and columns that have only background cells. Invalid if all cells are
    /// background.
    #[must_use]
    pub fn trim<'a>(&self, background: impl Into<ImageOperand<'a>>) -> Image {
        self.crop(&self.differs(background).bounding_box())
    }

    /// The rows in the order of their keys, a column with a key for each row; otherwise, the result is invalid. Rows of
    /// equal keys keep their order.
    #[must_use]
    pub fn sort_rows(&self, keys: &Image, descending: bool) -> Image {
        self.record(Opcode::Sort, &[keys.into()], [descending.into(), 0])
    }

    /// The image with a line drawn on it: the cells from one place to another, both included, become `value`. A place
    /// is a row of two. The part of the line outside of the image is left out. Invalid if the line is neither
    /// horizontal, nor vertical, nor diagonal (at 45°).
    #[must_use]
    pub fn line<'a>(&self, from: &Image, to: &Image, value: impl Into<ImageOperand<'a>>) -> Image {
        let ends = from.beside(to);
        self.record(Opcode::Line, &[(&ends).into(), value.into()], [0, 0])
    }

    /// The smallest number of rows (axis 0) or columns (axis 1) after which the image repeats. If it never does, this
    /// is the number of its rows or columns. Invalid if this is 0.
    #[must_use]
    pub fn period(&self, axis: usize) -> Image {
        let axis = self.axis(axis);
        self.record(Opcode::Period, &[], [axis, 0])
    }

    /// For each cell, the sum of the cells from the border up to and including it, in a direction.
    #[must_use]
    pub fn scan_sum(&self, direction: Direction) -> Image {
        self.scan(Fold::Sum, direction)
    }

    /// For each cell, the largest of the cells from the border up to and including it, in a direction.
    #[must_use]
    pub fn scan_max(&self, direction: Direction) -> Image {
        self.scan(Fold::Largest, direction)
    }

    /// For each cell, the smallest of the cells from the border up to and including it, in a direction.
    #[must_use]
    pub fn scan_min(&self, direction: Direction) -> Image {
        self.scan(Fold::Smallest, direction)
    }

    /// For each cell, the last value that is not 0 on the way from the border up to and including it, in a direction; 0
    /// if there is none.
    #[must_use]
    pub fn carry(&self, direction: Direction) -> Image {
        self.scan(Fold::Last, direction)
    }

    fn scan(&self, fold: Fold, direction: Direction) -> Image {
        self.record(Opcode::Scan, &[], [fold as u32, direction as u32])
    }

    /// An image of equal cells, whose numbers of rows and columns are given by numbers. Invalid if one is negative, or
    /// if there are more than `capacity` cells.
    #[must_use]
    pub fn filled<'a, 'b, 'c>(
        &self,
        rows: impl Into<ImageOperand<'a>>,
        columns: impl Into<ImageOperand<'b>>,
        value: impl Into<ImageOperand<'c>>,
        capacity: u32,
    ) -> Image {
        let operands =
            [rows.into(), columns.into(), value.into()].map(|operand| self.operand(operand));
        let step = self.graph.borrow_mut().fill(operands, capacity);
        self.at(step)
    }

    /// The same image with a capacity of so many cells, whatever the size of the inputs. It replaces the capacity of
    /// the operation that makes this image, and may be larger or smaller.
    #[must_use]
    pub fn within(&self, capacity: u32) -> Image {
        let step = self.graph.borrow_mut().within(self.step, capacity);
        self.at(step)
    }

    fn at(&self, step: u32) -> Image {
        Image {
            graph: self.graph.clone(),
            step,
        }
    }

    fn axis(&self, axis: usize) -> u32 {
        if axis > 1 {
            self.graph.borrow_mut().wrong = Some(("axis 0 or 1", axis.to_string()));
        }
        axis.min(1) as u32
    }

    /// The instruction that makes an operand. Those of other programs are refused when recording ends.
    fn same_program(&self, other: &Image) -> u32 {
        if Rc::ptr_eq(&self.graph, &other.graph) {
            return other.step;
        }
        refuse_foreign(&mut self.graph.borrow_mut());
        self.step
    }

    fn operand(&self, operand: ImageOperand<'_>) -> u32 {
        match operand {
            ImageOperand::Constant(number) => self.graph.borrow_mut().constant(&[number]),
            ImageOperand::Image(image) => self.same_program(image),
        }
    }

    /// Records an operation on this image and others.
    fn record(&self, opcode: Opcode, others: &[ImageOperand<'_>], numbers: [u32; 2]) -> Image {
        let mut operands = [self.step; 3];
        for (place, other) in operands[1..].iter_mut().zip(others) {
            *place = self.operand(*other);
        }
        let operands = &operands[..=others.len()];
        let step = self.graph.borrow_mut().push(opcode, operands, numbers);
        self.at(step)
    }
}
