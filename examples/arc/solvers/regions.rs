//! Puzzles of regions: areas, ranks, the largest, the smallest, the odd one out.

use super::Solver;
use super::parts::{blank, box_of, neighbour_count, objects, per_cell, ranks, region_areas, spots};
use vsla::image::{Image, LabelBy, Neighbours};

/// The solvers of this file by puzzle id.
pub const SOLVERS: &[(&str, Solver)] = &[
    ("aedd82e4", lone_red_cells),
    ("67385a82", large_green_parts),
    ("d2abd087", regions_of_six),
    ("a61f2674", tallest_and_shortest_bar),
    ("08ed6ac7", bars_ranked),
    ("ea32f347", three_bars_ranked),
    ("6e82a1ae", regions_coloured_by_area),
    ("e8593010", black_gaps_by_area),
    ("b230c067", odd_object_out),
    ("b2862040", objects_with_holes),
    ("d5d6de2d", holes_only),
    ("00d62c1b", holes_yellow),
    ("a5313dff", holes_blue),
    ("b6afb2da", corners_and_edges_of_blocks),
    ("23b5c85d", smallest_block),
    ("be94b721", largest_object),
    ("1f85a75f", largest_among_noise),
    ("72ca375d", symmetric_object),
    ("5117e062", object_with_light_blue),
    ("b9b7f026", colour_with_hole),
    ("445eab21", larger_frame_colour),
    ("f8ff0b80", colours_by_size),
    ("d0f5fe59", number_of_objects_on_diagonal),
    ("a3325580", columns_of_largest_objects),
    ("6455b5f5", largest_and_smallest_gap),
    ("810b9b61", closed_shapes_green),
    ("b27ca6d3", pairs_surrounded),
    ("ddf7fa4f", grey_blocks_take_top_colour),
];

/// Red cells without a red neighbour become blue. Puzzle aedd82e4.
fn lone_red_cells(x: &Image) -> Image {
    let areas = region_areas(x);
    areas.equals(1).choose(1, x)
}

/// Green regions of three or more cells become light blue. Puzzle 67385a82.
fn large_green_parts(x: &Image) -> Image {
    let areas = region_areas(x);
    areas.at_least(3).choose(8, x)
}

/// Regions of six cells become red, the others blue. Puzzle d2abd087.
fn regions_of_six(x: &Image) -> Image {
    let areas = region_areas(x);
    areas.equals(6).choose(2, &spots(x))
}

/// Of the grey bars, the longest becomes blue and the shortest red; the others become black. Puzzle
/// a61f2674.
fn tallest_and_shortest_bar(x: &Image) -> Image {
    let areas = region_areas(x);
    let shortest = x.choose(&areas, 1000).min();
    x.and(&areas.equals(&areas.max()))
        .choose(1, &x.and(&areas.equals(&shortest)).times(2))
}

/// The grey bars take the colours 1, 2, … by their length, the longest first. Puzzle 08ed6ac7.
fn bars_ranked(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
    per_cell(&labels, &ranks(&labels.regions(x, 100).column(0)))
}

/// The longest bar becomes blue, the second one yellow and the shortest red. Puzzle ea32f347.
fn three_bars_ranked(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
    let rank = per_cell(&labels, &ranks(&labels.regions(x, 100).column(0)));
    rank.lookup(&x.constant(&[0, 1, 4, 2]))
}

/// Regions of four cells become blue, those of three red, and those of two green. Puzzle 6e82a1ae.
fn regions_coloured_by_area(x: &Image) -> Image {
    let areas = region_areas(x);
    areas.lookup(&x.constant(&[0, 0, 3, 2, 1]))
}

/// Black regions of one cell become green, those of two red, and those of three blue. Puzzle
/// e8593010.
fn black_gaps_by_area(x: &Image) -> Image {
    let areas = region_areas(&x.not());
    x.not().choose(
        &areas.lookup(&x.constant(&[0, 3, 2, 1]).beside(&blank(&x.row(0)))),
        x,
    )
}

/// The object whose area differs from that of the others becomes red, the others blue. Puzzle
/// b230c067.
fn odd_object_out(x: &Image) -> Image {
    let labels = objects(x);
    let areas = labels.regions(x, 100).column(0);
    let twins = areas.equals(&areas.transpose()).sum_of_rows();
    per_cell(&labels, &twins.equals(1).plus(1))
}

/// Blue objects that enclose a part of the maroon background become light blue. Puzzle b2862040.
fn objects_with_holes(x: &Image) -> Image {
    let ground = x.equals(9);
    let holes = ground.fill_holes(1, 2).equals(2);
    let labels = x
        .equals(1)
        .or(&holes)
        .label(LabelBy::Foreground, Neighbours::Four, 0);
    let per_label = labels.times(&holes).histogram(64);
    let ringed = labels.and(&labels.lookup(&per_label)).and(&x.equals(1));
    ringed.choose(8, x)
}

/// The insides of the red rings become green, and the rings black. Puzzle d5d6de2d.
fn holes_only(x: &Image) -> Image {
    x.fill_holes(0, 3).equals(3).times(3)
}

/// Black cells enclosed by green become yellow. Puzzle 00d62c1b.
fn holes_yellow(x: &Image) -> Image {
    x.fill_holes(0, 4)
}

/// Black cells enclosed by red become blue. Puzzle a5313dff.
fn holes_blue(x: &Image) -> Image {
    x.fill_holes(0, 1)
}

/// In the grey blocks, corners become blue, edges yellow, and inner cells red. Puzzle b6afb2da.
fn corners_and_edges_of_blocks(x: &Image) -> Image {
    let flags = spots(x);
    let n = neighbour_count(&flags);
    flags.choose(&n.lookup(&x.constant(&[0, 0, 1, 4, 2])), 0)
}

/// The block of the colour with the fewest cells is cut out. Puzzle 23b5c85d.
fn smallest_block(x: &Image) -> Image {
    let counts = x.histogram(10);
    let colour = counts.equals(0).choose(10000, &counts).place_of_min();
    x.crop(&x.equals(&colour).bounding_box())
}

/// The largest object is cut out. Puzzle be94b721.
fn largest_object(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
    let table = labels.regions(x, 100);
    let k = table.column(0).place_of_max();
    x.crop(&box_of(&table, &k))
}

/// The largest object is cut out; all others are noise. Puzzle 1f85a75f.
fn largest_among_noise(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Eight, 0);
    let table = labels.regions(x, 400);
    let k = table.column(0).place_of_max();
    x.crop(&box_of(&table, &k))
}

/// Of three objects, the one that equals its mirror image is cut out. Puzzle 72ca375d.
fn symmetric_object(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Eight, 0);
    let table = labels.regions(x, 100);
    let first = x.crop(&box_of(&table, &x.number(0)));
    let second = x.crop(&box_of(&table, &x.number(1)));
    let third = x.crop(&box_of(&table, &x.number(2)));
    let one = first.when(&first.same(&first.flip_columns()));
    let two = second.when(&second.same(&second.flip_columns()));
    one.or_else(&two).or_else(&third)
}

/// The object with a light blue cell is cut out, and this cell takes the colour of the object.
/// Puzzle 5117e062.
fn object_with_light_blue(x: &Image) -> Image {
    let labels = objects(x);
    let mark = x.equals(8);
    let label = mark.choose(&labels, 0).max();
    let cut = x.crop(&labels.equals(&label).bounding_box());
    cut.equals(8)
        .choose(&cut.equals(8).choose(0, &cut).max(), &cut)
}

/// The answer is one cell: the colour of the only block with a hole. Puzzle b9b7f026.
fn colour_with_hole(x: &Image) -> Image {
    let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
    let table = labels.regions(x, 100);
    let areas = table.column(0);
    let height = table.column(3).minus(&table.column(1));
    let width = table.column(4).minus(&table.column(2));
    let k = height.times(&width).minus(&areas).place_of_max();
    table.column(7).row(&k)
}

/// The answer is a block of two by two cells, in the colour of the larger frame. Puzzle 445eab21.
fn larger_frame_colour(x: &Image) -> Image {
    let table = x
        .label(LabelBy::Values, Neighbours::Four, 0)
        .regions(x, 100);
    let height = table.column(3).minus(&table.column(1));
    let width = table.column(4).minus(&table.column(2));
    let k = height.times(&width).place_of_max();
    table.column(7).row(&k).upscale(2)
}

/// The answer is a column of the objects' colours, the largest object first. Puzzle f8ff0b80.
fn colours_by_size(x: &Image) -> Image {
    let table = objects(x).regions(x, 100);
    table.sort_rows(&table.column(0), true).column(7)
}

/// The answer is a square whose side is the number of objects, with a light blue diagonal. Puzzle
/// d0f5fe59.
fn number_of_objects_on_diagonal(x: &Image) -> Image {
    let n = objects(x).max();
    let sheet = x.filled(&n, &n, 0, 900);
    sheet.row_numbers().equals(&sheet.column_numbers()).times(8)
}

/// The answer has a column for each object of the largest area, in its colour and from left to
/// right, and as many rows as that area. Puzzle a3325580.
fn columns_of_largest_objects(x: &Image) -> Image {
    let table = objects(x).regions(x, 100);
    let areas = table.column(0);
    let largest = areas.max();
    let kept = table.keep_rows(&areas.equals(&largest));
    let colours = kept.sort_rows(&kept.column(2), false).column(7).transpose();
    colours.upscale(&largest.beside(&x.number(1))).within(900)
}

/// The largest black region becomes blue, the smallest ones light blue. Puzzle 6455b5f5.
fn largest_and_smallest_gap(x: &Image) -> Image {
    let gaps = x.not();
    let areas = region_areas(&gaps);
    let smallest = gaps.choose(&areas, 10000).min();
    areas
        .equals(&areas.max())
        .choose(1, &areas.equals(&smallest).choose(8, x))
}

/// Blue shapes that enclose black cells become green. Puzzle 810b9b61.
fn closed_shapes_green(x: &Image) -> Image {
    let holes = x.fill_holes(0, 2).equals(2);
    let labels = x.or(&holes).label(LabelBy::Foreground, Neighbours::Four, 0);
    let per_label = labels.times(&holes).histogram(64);
    let closed = labels.and(&labels.lookup(&per_label)).and(x);
    closed.choose(3, x)
}

/// Each pair of red cells side by side gets a green ring. Puzzle b27ca6d3.
fn pairs_surrounded(x: &Image) -> Image {
    let pair = region_areas(x).equals(2);
    let around = pair.dilate(Neighbours::Eight).and(&x.not());
    around.choose(3, x)
}

/// Each grey block takes the colour that the top row has above it. Puzzle ddf7fa4f.
fn grey_blocks_take_top_colour(x: &Image) -> Image {
    let labels = x.equals(5).label(LabelBy::Values, Neighbours::Four, 0);
    let paint = x.row(0).differs(5).choose(&x.row(0), 0);
    let one = labels.equals(1).times(&paint).max();
    let two = labels.equals(2).times(&paint).max();
    let three = labels.equals(3).times(&paint).max();
    let colours = x.number(0).beside(&one).beside(&two).beside(&three);
    labels.choose(&labels.lookup(&colours), x)
}
