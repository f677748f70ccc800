//! The images of a program, and the operations on them.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ops::imaging::code::{Direction, Function, Opcode, Orientation};
use crate::ops::imaging::graph::Graph;
use crate::ops::neighbours::Neighbours;

/// An image of each sample, in a program that is being recorded: `rows × columns` cells of type i32.
///
/// A number is an image of 1 × 1, a box an image of 1 × 4, a table an image with a row for each entry. Extents may
/// depend on values, and may be 0. Flags are 0 and 1, and any value but 0 is true. Integers wrap.
///
/// An operation that is impossible for a sample has an *invalid* result for it, and so has every operation on an
/// invalid operand, except [`is_valid`](Image::is_valid) and [`or_else`](Image::or_else). Other samples are not
/// affected. A result with more cells than its capacity is invalid, too. Unless a method says otherwise, its result has
/// at most as many cells as its largest operand.
///
/// Handles are cheap to clone. Methods record an operation and compute nothing.
///
/// ```
/// use vsla::image::{Alike, Neighbours, Place, Program};
/// use vsla::{Ragged, Shape};
///
/// // The largest region of each image, cut out.
/// let program = Program::new(|r| {
///     let x = r.input();
///     let labels = x.label(Alike::Values, Neighbours::Four, 0);
///     let table = labels.regions(&x, 100);
///     let largest = table.sort_rows(&table.column(0), true).row(0);
///     r.output(&x.crop(&largest.columns_from(1, 4)));
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

/// Which cells a component joins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alike {
    /// Neighbours of equal values.
    Values,
    /// All neighbours that are not background.
    Foreground,
}

/// An operand of an operation on images: an [`Image`] or a constant.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A number that is the same for all samples.
    Constant(i32),
    /// An image of each sample; where a number is expected, of 1 × 1.
    Image(&'a Image),
}

impl From<i32> for Operand<'_> {
    fn from(number: i32) -> Self {
        Operand::Constant(number)
    }
}

impl<'a> From<&'a Image> for Operand<'a> {
    fn from(image: &'a Image) -> Self {
        Operand::Image(image)
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
            pub fn $name<'a>(&self $(, $operand: impl Into<Operand<'a>>)*) -> Image {
                self.record(Opcode::$opcode, &[$($operand.into()),*], [$m as u32, $n as u32])
            }
        )+}
    };
}

operations! {
    /// `a + b` for each cell, which wraps.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn plus(other) = Combine [Function::Plus, 0];

    /// `a − b` for each cell, which wraps.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn minus(other) = Combine [Function::Minus, 0];

    /// `a · b` for each cell, which wraps.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn times(other) = Combine [Function::Times, 0];

    /// `⌊a / b⌋` for each cell. Invalid if a divisor is 0.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn divide(other) = Combine [Function::Divide, 0];

    /// `a − b ⌊a / b⌋` for each cell: it has the sign of the divisor. Invalid if a divisor is 0.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn remainder(other) = Combine [Function::Remainder, 0];

    /// The smaller of both cells.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn minimum(other) = Combine [Function::Minimum, 0];

    /// The larger of both cells.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn maximum(other) = Combine [Function::Maximum, 0];

    /// Whether both cells are equal.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn equals(other) = Combine [Function::Equals, 0];

    /// Whether both cells differ.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn differs(other) = Combine [Function::Differs, 0];

    /// Whether `a < b`, for each cell.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn less(other) = Combine [Function::Less, 0];

    /// Whether `a ≤ b`, for each cell.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn at_most(other) = Combine [Function::AtMost, 0];

    /// Whether `a > b`, for each cell.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn greater(other) = Combine [Function::Greater, 0];

    /// Whether `a ≥ b`, for each cell.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn at_least(other) = Combine [Function::AtLeast, 0];

    /// Whether both cells are true.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn and(other) = Combine [Function::And, 0];

    /// Whether a cell is true.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn or(other) = Combine [Function::Or, 0];

    /// Whether exactly one cell is true.
    ///
    /// As for all functions of two images, axes of extent 1 are repeated, and other extents must agree; else the result
    /// is invalid.
    fn xor(other) = Combine [Function::Xor, 0];

    /// Where this is true, the cell of the first image, and elsewhere that of the second.
    ///
    /// Axes of extent 1 are repeated in all three; other extents must agree.
    fn choose(yes, no) = Choose [0, 0];

    /// The image upside down.
    fn flip_rows() = Orient [Orientation::FlipRows, 0];

    /// The image with left and right exchanged.
    fn flip_columns() = Orient [Orientation::FlipColumns, 0];

    /// The image with rows and columns exchanged.
    fn transpose() = Orient [Orientation::Transpose, 0];

    /// The image with rows and columns exchanged along the other diagonal.
    fn anti_transpose() = Orient [Orientation::AntiTranspose, 0];

    /// The cells in a box: 1 × 4, the first row, the first column, and the ends of rows and columns, which are
    /// excluded. What is outside is left out, so the result may be empty.
    fn crop(bounds) = Crop [0, 0];

    /// The cells in a box, as [`crop`](Image::crop) cuts them. Invalid if the box reaches outside, or an end is before
    /// its begin.
    fn crop_strict(bounds) = Crop [1, 0];

    /// Each cell repeated to `f` rows and `f` columns; the factor is a number, or a row of two, for rows and for
    /// columns.
    ///
    /// Invalid for factors below 1. With constant factors, the capacity is known; else it is 16 times that of this
    /// image, or [`within`](Image::within) sets it.
    fn upscale(factor) = Upscale [0, 0];

    /// Every f-th row and column, beginning with the first; the factor is a number, or a row of two. Invalid for
    /// factors below 1.
    fn downscale(factor) = Downscale [0, 0];

    /// The image repeated, `f` times downwards and `f` times to the right; the factor is a number, or a row of two.
    ///
    /// Invalid for factors below 1. The capacity is that of [`upscale`](Image::upscale).
    fn tile(factor) = Tile [0, 0];

    /// The image with another to its right. Invalid if they have different numbers of rows. The capacity is the sum of
    /// both.
    fn beside(right) = Join [1, 0];

    /// The image with another below. Invalid if they have different numbers of columns. The capacity is the sum of
    /// both.
    fn above(below) = Join [0, 0];

    /// The image moved by an offset, a row of two: rows and columns. What leaves the image is lost, and `fill` comes
    /// in.
    fn translate(offset, fill) = Translate [0, 0];

    /// The image with a patch over it, whose first cell lies at a place, a row of two. What is outside is left out.
    fn paste(patch, place) = Paste [0, 0];

    /// The image in which cells of `background` that no path of background connects to the border become `value`. A
    /// cell has four neighbours.
    fn fill_holes(background, value) = FillHoles [0, 0];

    /// The entry of a table, a row or a column, for each cell. Invalid if a cell is not the place of an entry.
    fn lookup(table) = Lookup [0, 0];

    /// The sum of all cells; 0 if there is none.
    fn sum() = Reduce [0, 2];

    /// The sum of each row, as a column; 0 if there is none.
    fn sum_of_rows() = Reduce [0, 1];

    /// The sum of each column, as a row; 0 if there is none.
    fn sum_of_columns() = Reduce [0, 0];

    /// The smallest cell of all cells; invalid if there is none.
    fn min() = Reduce [1, 2];

    /// The smallest cell of each row, as a column; invalid if there is none.
    fn min_of_rows() = Reduce [1, 1];

    /// The smallest cell of each column, as a row; invalid if there is none.
    fn min_of_columns() = Reduce [1, 0];

    /// The largest cell of all cells; invalid if there is none.
    fn max() = Reduce [2, 2];

    /// The largest cell of each row, as a column; invalid if there is none.
    fn max_of_rows() = Reduce [2, 1];

    /// The largest cell of each column, as a row; invalid if there is none.
    fn max_of_columns() = Reduce [2, 0];

    /// The number of the first largest cell in row-major order. Invalid for an empty image.
    fn place_of_max() = Place [1, 0];

    /// The number of the first smallest cell in row-major order. Invalid for an empty image.
    fn place_of_min() = Place [0, 0];

    /// The smallest box around the cells that are true, as [`crop`](Image::crop) takes it. Invalid if none is.
    fn bounding_box() = Box [0, 0];

    /// The rows that are flagged by a column of as many flags.
    fn keep_rows(flags) = Compact [0, 0];

    /// The columns that are flagged by a row of as many flags.
    fn keep_columns(flags) = Compact [1, 0];

    /// Row k as an image; a negative number counts from the end. Invalid outside.
    fn row(k) = Pick [0, 0];

    /// Column k as an image; a negative number counts from the end. Invalid outside.
    fn column(k) = Pick [1, 0];

    /// The image in which the border of a box has a value. What is outside is left out.
    fn outline(bounds, value) = Outline [0, 0];

    /// Flags of the places at which a template lies in this image: (rows − r + 1) × (columns − c + 1) for a template of
    /// r × c. Empty if the template is, or is larger.
    fn matches(template) = Match [0, 0];

    /// Whether both images have the same extents and cells: a number.
    fn same(other) = Same [0, 0];

    /// The number of rows.
    fn rows() = Extent [0, 0];

    /// The number of columns.
    fn columns() = Extent [1, 0];

    /// The row of each cell.
    fn row_numbers() = Numbers [0, 0];

    /// The column of each cell.
    fn column_numbers() = Numbers [1, 0];

    /// Whether the image is valid: a number, which is always valid.
    fn is_valid() = Valid [0, 0];

    /// This image where it is valid, else the other one.
    fn or_else(other) = OrElse [0, 0];

    /// This image if a number is true, else an invalid one.
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

    /// The columns from `first` to `end`, which is excluded, of a table. Invalid if it has fewer.
    #[must_use]
    pub fn columns_from(&self, first: i32, end: i32) -> Image {
        let sides = self.constant(&[0, first]).beside(&self.rows());
        self.crop_strict(&sides.beside(end))
    }

    /// The largest of each cell and its neighbours inside the image.
    #[must_use]
    pub fn dilate(&self, neighbours: Neighbours) -> Image {
        self.record(
            Opcode::Extreme,
            &[],
            [1, u32::from(neighbours == Neighbours::Eight)],
        )
    }

    /// The smallest of each cell and its neighbours inside the image.
    #[must_use]
    pub fn erode(&self, neighbours: Neighbours) -> Image {
        self.record(
            Opcode::Extreme,
            &[],
            [0, u32::from(neighbours == Neighbours::Eight)],
        )
    }

    /// The connected components: labels 1, 2, … in row-major order of their first cells, and 0 for the background.
    #[must_use]
    pub fn label<'a>(
        &self,
        like: Alike,
        neighbours: Neighbours,
        background: impl Into<Operand<'a>>,
    ) -> Image {
        let numbers = [like == Alike::Foreground, neighbours == Neighbours::Eight];
        self.record(Opcode::Label, &[background.into()], numbers.map(u32::from))
    }

    /// A table of the regions that this image labels: a row for each label from 1 to the largest, and eight columns.
    /// These are the area, the box (four columns, as [`crop`](Image::crop) takes it), the mean row and the mean column,
    /// rounded down, and the value of `image` at the region's first cell.
    ///
    /// Labels below 1 are ignored, and one that no cell has gives a row of zeros. More than `limit` regions exceed the
    /// capacity of the result. Invalid if a label is larger than the number of cells, or the extents differ.
    #[must_use]
    pub fn regions(&self, image: &Image, limit: u32) -> Image {
        self.record(Opcode::Regions, &[image.into()], [limit, 0])
    }

    /// The numbers of cells with the values 0, 1, … below `size`, as a row. Invalid if there are others.
    #[must_use]
    pub fn histogram(&self, size: u32) -> Image {
        self.record(Opcode::Histogram, &[], [size, 0])
    }

    /// The different values in ascending order, as a row. Invalid if one is not in 0..size.
    #[must_use]
    pub fn palette(&self, size: u32) -> Image {
        self.record(Opcode::Palette, &[], [size, 0])
    }

    /// The value in 0..size that most cells have, the smallest of several. Invalid if a value is outside, or there is
    /// none.
    #[must_use]
    pub fn most_common(&self, size: u32) -> Image {
        let place = self.histogram(size).place_of_max();
        place.when(&self.rows().times(&self.columns()))
    }

    /// The value in 0..size that the fewest cells have, but at least one; the smallest of several. Invalid if a value
    /// is outside, or there is none.
    #[must_use]
    pub fn least_common(&self, size: u32) -> Image {
        let counts = self.histogram(size);
        let place = counts.choose(&counts, i32::MAX).place_of_min();
        place.when(&self.rows().times(&self.columns()))
    }

    /// The image without the rows and columns at its border that have only background. Invalid if all is background.
    #[must_use]
    pub fn trim<'a>(&self, background: impl Into<Operand<'a>>) -> Image {
        self.crop(&self.differs(background).bounding_box())
    }

    /// The rows in the order of a column of keys. Rows of equal keys keep their order.
    #[must_use]
    pub fn sort_rows(&self, keys: &Image, descending: bool) -> Image {
        self.record(Opcode::Sort, &[keys.into()], [descending.into(), 0])
    }

    /// The image with a line of a value from a place to another, both rows of two and included. What is outside is left
    /// out. Invalid if the line is neither in a row, nor in a column, nor in a diagonal.
    #[must_use]
    pub fn line<'a>(&self, from: &Image, to: &Image, value: impl Into<Operand<'a>>) -> Image {
        let ends = from.beside(to);
        self.record(Opcode::Line, &[(&ends).into(), value.into()], [0, 0])
    }

    /// The smallest number of rows (axis 0) or columns (axis 1) after which the image repeats: at most their number.
    /// Invalid if there are none.
    #[must_use]
    pub fn period(&self, axis: usize) -> Image {
        let axis = self.axis(axis);
        self.record(Opcode::Period, &[], [axis, 0])
    }

    /// The sums of the cells from the border to each cell, in a direction.
    #[must_use]
    pub fn scan_sum(&self, direction: Direction) -> Image {
        self.record(Opcode::Scan, &[], [0, direction as u32])
    }

    /// The largest of the cells from the border to each cell, in a direction.
    #[must_use]
    pub fn scan_max(&self, direction: Direction) -> Image {
        self.record(Opcode::Scan, &[], [1, direction as u32])
    }

    /// The smallest of the cells from the border to each cell, in a direction.
    #[must_use]
    pub fn scan_min(&self, direction: Direction) -> Image {
        self.record(Opcode::Scan, &[], [2, direction as u32])
    }

    /// The last value but 0 from the border to each cell, in a direction; 0 if there is none.
    #[must_use]
    pub fn carry(&self, direction: Direction) -> Image {
        self.record(Opcode::Scan, &[], [3, direction as u32])
    }

    /// An image of equal cells, whose extents are numbers. Invalid if one is negative; more than `capacity` cells are
    /// too many.
    #[must_use]
    pub fn filled<'a, 'b, 'c>(
        &self,
        rows: impl Into<Operand<'a>>,
        columns: impl Into<Operand<'b>>,
        value: impl Into<Operand<'c>>,
        capacity: u32,
    ) -> Image {
        let operands =
            [rows.into(), columns.into(), value.into()].map(|operand| self.operand(operand));
        let step = self.graph.borrow_mut().fill(operands, capacity);
        self.at(step)
    }

    /// The same image with a capacity of so many cells, whatever the size of the inputs.
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

    fn operand(&self, operand: Operand<'_>) -> u32 {
        match operand {
            Operand::Constant(number) => self.graph.borrow_mut().constant(&[number]),
            Operand::Image(image) => self.same_program(image),
        }
    }

    /// Records an operation on this image and others.
    fn record(&self, opcode: Opcode, others: &[Operand<'_>], numbers: [u32; 2]) -> Image {
        let mut operands = [self.step; 3];
        for (place, other) in operands[1..].iter_mut().zip(others) {
            *place = self.operand(*other);
        }
        let operands = &operands[..=others.len()];
        let step = self.graph.borrow_mut().push(opcode, operands, numbers);
        self.at(step)
    }
}
