//! Puzzles of objects: moved, cut out, copied, completed.

use super::Solver;
use super::parts::{
    blank, box_of, gravity_step, left_half, lower_half, moved, objects, right_half, spots,
    top_left, upper_half,
};
use vsla::image::{Image, LabelBy, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("1e0a9b12", falling_cells),
    ("3618c87e", blue_cells_sink),
    ("3906de3d", red_cells_rise),
    ("5521c0d9", blocks_rise_by_height),
    ("8f2ea7aa", fractal_of_object),
    ("56ff96f3", boxes_filled),
    ("2013d3e2", corner_of_symmetric_object),
    ("7468f01a", mirrored_object),
    ("b94a9452", swapped_colours_of_object),
    ("a740d043", black_ground_of_object),
    ("beb8660c", rows_sorted_by_length),
    ("1caeab9d", aligned_to_blue),
    ("85c4e7cd", rings_reversed),
    ("bda2d7a6", rings_shifted),
    ("9ecd008a", masked_part_from_mirror),
    ("ff805c23", masked_part_from_mirror_blue),
    ("dc0a314f", masked_part_from_mirror_green),
    ("c909285e", frame_of_rare_colour),
    ("0b148d64", quarter_of_rare_colour),
    ("3de23699", inside_four_corners),
    ("48d8fb45", object_below_grey),
    ("1fad071e", squares_counted),
    ("54d82841", openings_marked),
    ("a1570a43", object_into_frame),
    ("ae4f1146", object_with_most_blue),
    ("d89b689b", four_colours_to_the_middle),
    ("88a10436", object_copied_to_grey_cell),
    ("e76a88a6", object_copied_over_blocks),
    ("a61ba2ce", four_angles),
    ("760b3cac", shape_mirrored_towards_pointer),
    ("3631a71a", covered_by_symmetry),
];

/// All coloured cells fall to the bottom of their columns. Puzzle 1e0a9b12.
fn falling_cells(x: &Image) -> Image {
    let mut y = x.clone();
    for _ in 0..6 {
        y = gravity_step(&y);
    }
    y
}

/// Blue cells sink through the grey ones to the last row. Puzzle 3618c87e.
fn blue_cells_sink(x: &Image) -> Image {
    let blue = x.equals(1).max_of_columns();
    let last = x.row_numbers().flip_rows().equals(0);
    last.and(&blue).choose(1, &x.equals(1).choose(0, x))
}

/// Red cells rise to the underside of the blue ones. Puzzle 3906de3d.
fn red_cells_rise(x: &Image) -> Image {
    let number = x.row_numbers().plus(1);
    let start = x.equals(1).times(&number).max_of_columns();
    let end = start.plus(&x.equals(2).sum_of_columns());
    let red = number.greater(&start).and(&number.at_most(&end));
    red.choose(2, &x.equals(1))
}

/// Each block moves up by its own height. Puzzle 5521c0d9.
fn blocks_rise_by_height(x: &Image) -> Image {
    let mut out = blank(x);
    for colour in [1, 2, 4] {
        let flags = x.equals(colour);
        let height = flags.max_of_rows().sum();
        let offset = height.times(-1).beside(&x.number(0));
        let moved_block = flags.translate(&offset, 0).times(colour).or_else(&blank(x));
        out = out.maximum(&moved_block);
    }
    out
}

/// Each cell of the small object becomes a copy of the object. Puzzle 8f2ea7aa.
fn fractal_of_object(x: &Image) -> Image {
    let cut = x.trim(0);
    spots(&cut)
        .upscale(3)
        .within(900)
        .times(&cut.tile(3).within(900))
}

/// For each colour, the smallest box around its cells is filled. Puzzle 56ff96f3.
fn boxes_filled(x: &Image) -> Image {
    let mut out = x.clone();
    for colour in 1..10 {
        let bounds = x.equals(colour).bounding_box();
        let height = bounds.column(2).minus(&bounds.column(0));
        let width = bounds.column(3).minus(&bounds.column(1));
        let patch = x.filled(&height, &width, colour, 900);
        out = out.paste(&patch, &top_left(&bounds)).or_else(&out);
    }
    out
}

/// The answer is the upper left quarter of the symmetric object. Puzzle 2013d3e2.
fn corner_of_symmetric_object(x: &Image) -> Image {
    let cut = x.trim(0);
    cut.crop(&x.constant(&[0, 0, 3, 3]))
}

/// The object is cut out and mirrored left to right. Puzzle 7468f01a.
fn mirrored_object(x: &Image) -> Image {
    x.trim(0).flip_columns()
}

/// The object is cut out, and its two colours change places. Puzzle b94a9452.
fn swapped_colours_of_object(x: &Image) -> Image {
    let cut = x.trim(0);
    cut.palette(10).sum().minus(&cut)
}

/// The object is cut out of the blue background, which becomes black. Puzzle a740d043.
fn black_ground_of_object(x: &Image) -> Image {
    let cut = x.trim(1);
    cut.equals(1).choose(0, &cut)
}

/// The bars are sorted by length, the shortest first, and moved to the right border. Puzzle
/// beb8660c.
fn rows_sorted_by_length(x: &Image) -> Image {
    let lengths = spots(x).sum_of_rows();
    let keys = lengths.sort_rows(&lengths, false);
    let colours = x.max_of_rows().sort_rows(&lengths, false);
    let far = x.column_numbers().flip_columns();
    far.less(&keys).times(&colours)
}

/// The blocks move up or down until they begin in the same row as the blue block. Puzzle 1caeab9d.
fn aligned_to_blue(x: &Image) -> Image {
    let target = x.equals(1).max_of_rows().place_of_max();
    let mut out = blank(x);
    for colour in [1, 2, 4] {
        let flags = x.equals(colour);
        let place = flags.max_of_rows().place_of_max();
        let offset = target.minus(&place).beside(&x.number(0));
        out = out.maximum(&flags.translate(&offset, 0).times(colour));
    }
    out
}

/// The nested rings take their colours in reverse order. Puzzle 85c4e7cd.
fn rings_reversed(x: &Image) -> Image {
    let r = x.row_numbers();
    let c = x.column_numbers();
    let ring = r
        .minimum(&r.flip_rows())
        .minimum(&c.minimum(&c.flip_columns()));
    let middle = x.row(&x.rows().divide(2));
    let n = x.rows().divide(2);
    n.minus(1).minus(&ring).lookup(&middle)
}

/// Each of the three nested rings takes the colour of the next outer one, and the outermost that of
/// the innermost. Puzzle bda2d7a6.
fn rings_shifted(x: &Image) -> Image {
    let middle = x.row(&x.rows().divide(2));
    let first = middle.column(0);
    let second = middle.column(1);
    let third = middle.column(2);
    x.equals(&first)
        .choose(&third, &x.equals(&second).choose(&first, &second))
}

/// A black box hides a part of a symmetric image. The answer is this part, as the mirror image
/// shows it. Puzzle 9ecd008a.
fn masked_part_from_mirror(x: &Image) -> Image {
    x.flip_columns().crop(&x.not().bounding_box())
}

/// A blue box hides a part of a symmetric image. The answer is this part, as the mirror image shows
/// it. Puzzle ff805c23.
fn masked_part_from_mirror_blue(x: &Image) -> Image {
    let bounds = x.equals(1).bounding_box();
    let across = x.flip_columns().crop(&bounds);
    let down = x.flip_rows().crop(&bounds);
    across.equals(1).choose(&down, &across)
}

/// A green box hides a part of a symmetric image. The answer is this part, as the mirror image
/// shows it. Puzzle dc0a314f.
fn masked_part_from_mirror_green(x: &Image) -> Image {
    let bounds = x.equals(3).bounding_box();
    let across = x.flip_columns().crop(&bounds);
    let down = x.flip_rows().crop(&bounds);
    across.equals(3).choose(&down, &across)
}

/// The frame of the least common colour is cut out. Puzzle c909285e.
fn frame_of_rare_colour(x: &Image) -> Image {
    x.crop(&x.equals(&x.least_common(10)).bounding_box())
}

/// Of four parts, the one in the less common colour is cut out. Puzzle 0b148d64.
fn quarter_of_rare_colour(x: &Image) -> Image {
    let counts = x.histogram(10);
    let colour = counts.equals(0).choose(10000, &counts).place_of_min();
    x.crop(&x.equals(&colour).bounding_box())
}

/// The object between four corner cells is cut out, and takes their colour. Puzzle 3de23699.
fn inside_four_corners(x: &Image) -> Image {
    let colour = x.least_common(10);
    let bounds = x
        .equals(&colour)
        .bounding_box()
        .plus(&x.constant(&[1, 1, -1, -1]));
    spots(&x.crop(&bounds)).times(&colour)
}

/// The object below the grey cell is cut out: three by three cells. Puzzle 48d8fb45.
fn object_below_grey(x: &Image) -> Image {
    let place = top_left(&x.equals(5).bounding_box());
    let bounds = place.beside(&place).plus(&x.constant(&[1, -1, 4, 2]));
    x.crop(&bounds)
}

/// The answer is a row of five cells: as many of them are blue as there are blue blocks of two by
/// two cells. Puzzle 1fad071e.
fn squares_counted(x: &Image) -> Image {
    let n = x
        .equals(1)
        .matches(&x.constant(&[1, 1]).above(&x.constant(&[1, 1])))
        .sum();
    let sheet = x.filled(1, 5, 0, 900);
    sheet.column_numbers().less(&n)
}

/// Below each opening of a shape, the cell in the last row becomes yellow. Puzzle 54d82841.
fn openings_marked(x: &Image) -> Image {
    let b = spots(x);
    let gap = x
        .not()
        .and(&moved(&b, 0, 1))
        .and(&moved(&b, 0, -1))
        .and(&moved(&b, 1, 0));
    let last = x.row_numbers().flip_rows().equals(0);
    last.and(&gap.max_of_columns()).choose(4, x)
}

/// The red object moves into the frame of four green corners. Puzzle a1570a43.
fn object_into_frame(x: &Image) -> Image {
    let red = x.equals(2);
    let corners = x.equals(3).times(3);
    let place = top_left(&corners.bounding_box()).plus(1);
    let object = x.crop(&red.bounding_box()).equals(2).times(2);
    corners.maximum(&blank(x).paste(&object, &place))
}

/// The object with the most blue cells is cut out. Puzzle ae4f1146.
fn object_with_most_blue(x: &Image) -> Image {
    let labels = x.label(LabelBy::Foreground, Neighbours::Four, 0);
    let blue = x.equals(1);
    let counts = labels.times(&blue).histogram(64);
    let seen = x
        .number(0)
        .beside(&counts.crop(&x.constant(&[0, 1, 1, 64])));
    let k = seen.place_of_max();
    x.crop(&labels.equals(&k).bounding_box())
}

/// The block in the middle takes the colours of the four cells around it, each in its corner.
/// Puzzle d89b689b.
fn four_colours_to_the_middle(x: &Image) -> Image {
    let block = x.equals(8);
    let cells = block.choose(0, x);
    let place = top_left(&block.bounding_box());
    let one = upper_half(&left_half(&cells)).max();
    let two = upper_half(&right_half(&cells)).max();
    let three = lower_half(&left_half(&cells)).max();
    let four = lower_half(&right_half(&cells)).max();
    let patch = one.beside(&two).above(&three.beside(&four));
    blank(x).paste(&patch, &place)
}

/// A copy of the object replaces the grey cell, with its middle there. Puzzle 88a10436.
fn object_copied_to_grey_cell(x: &Image) -> Image {
    let grey = x.equals(5);
    let cells = grey.choose(0, x);
    let place = top_left(&grey.bounding_box()).minus(1);
    cells.paste(&cells.trim(0), &place)
}

/// Each grey block is replaced by the coloured object. Puzzle e76a88a6.
fn object_copied_over_blocks(x: &Image) -> Image {
    let grey = x.equals(5);
    let object = grey.choose(0, x).trim(0);
    let table = grey
        .label(LabelBy::Values, Neighbours::Four, 0)
        .regions(x, 20);
    let mut out = x.clone();
    for k in 0..4 {
        out = out
            .paste(&object, &top_left(&box_of(&table, &x.number(k))))
            .or_else(&out);
    }
    out
}

/// Four angles of three cells become the corners of a square. Puzzle a61ba2ce.
fn four_angles(x: &Image) -> Image {
    let table = objects(x).regions(x, 20);
    let mut out = x.filled(4, 4, 0, 900);
    for k in 0..4 {
        let piece = x.crop(&box_of(&table, &x.number(k)));
        let corner = x.number(3).minus(&piece.place_of_min());
        let place = corner.divide(2).beside(&corner.remainder(2)).times(2);
        out = out.paste(&piece, &place);
    }
    out
}

/// The light blue shape is mirrored to the side that the yellow shape points to. Puzzle
/// 760b3cac.
fn shape_mirrored_towards_pointer(x: &Image) -> Image {
    let shape = x.crop(&x.constant(&[0, 3, 3, 6])).flip_columns();
    let left = x.row(3).column(3);
    let place = x.number(0).beside(&left.choose(0, 6));
    x.paste(&shape, &place)
}

/// Maroon patches hide parts of a symmetric pattern. These parts are restored. Puzzle 3631a71a.
fn covered_by_symmetry(x: &Image) -> Image {
    let clean = x.equals(9).choose(0, x);
    let turned = moved(&clean.flip_columns(), 0, 2);
    let across = clean.maximum(&turned);
    let upside = moved(&across.flip_rows(), 2, 0);
    let both = across.maximum(&upside);
    both.maximum(&both.transpose())
}
