//! Programs of operations on images: against the operations on tensors and by hand, and random programs on each device.

use libtest_mimic::Trial;
#[cfg(feature = "gpu")]
use vsla::device::GpuOptions;
use vsla::image::{
    Components, Direction, Image, ImageProgram, LabelBy, Machine, Neighbours, Place, Recorder,
    Results,
};
use vsla::{Device, Ragged, Result, Shape, Tensor};

#[cfg(feature = "gpu")]
use crate::support::bench;
use crate::support::bench::{Bench, DeviceTest, is_hurried, is_software};
use crate::support::corpus::rng;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("by_hand", by_hand),
        ("as_on_tensors", as_on_tensors),
        ("random", random),
        ("alone_as_in_a_batch", alone_as_in_a_batch),
        ("passes_change_nothing", passes_change_nothing),
        ("many_components", many_components),
        ("large_images", large_images),
        ("thin_lines", thin_lines),
        ("nothing", nothing),
        ("only_background", only_background),
        ("many_samples", many_samples),
        ("counters", counters),
        ("two_inputs", two_inputs),
        ("awaited", awaited),
        ("automatic", automatic),
    ];
    let mut trials = bench.all_on_each_device(tests);
    trials.push(bench.host("refusals", refusals));
    #[cfg(feature = "gpu")]
    trials.extend([
        bench.on_gpu("in_parts", bench::gpu, in_parts),
        bench.on_gpu("too_large", bench::gpu, |_| too_large()),
    ]);
    trials
}

pub fn images(shapes: &[[usize; 2]], cell: impl FnMut() -> i32) -> Ragged<i32> {
    let total = shapes.iter().map(|[rows, columns]| rows * columns).sum();
    let mut cell = cell;
    let cells = (0..total).map(|_| cell()).collect();
    let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
    Ragged::from_shapes(cells, 2, shapes).unwrap()
}

/// The cells of one image: rows of digits.
fn picture(rows: &[&str]) -> Ragged<i32> {
    let digits = rows
        .iter()
        .flat_map(|row| row.bytes())
        .map(|digit| i32::from(digit - b'0'));
    let shape = Shape::new(&[rows.len(), rows.first().map_or(0, |row| row.len())]).unwrap();
    Ragged::from_shapes(digits.collect(), 2, [shape]).unwrap()
}

/// What each function makes of an image: `None` if it is invalid.
fn outputs(
    results: &Results,
    outputs: usize,
    sample: usize,
) -> Vec<Option<([usize; 2], Vec<i32>)>> {
    (0..outputs)
        .map(|i| {
            let shape = results.images(i).shape(sample);
            let extents = [shape.extents()[0] as usize, shape.extents()[1] as usize];
            let cells = results.images(i).row(sample).to_vec();
            if !results.is_valid(i, sample) {
                assert_eq!(extents, [0, 0], "an invalid image has cells");
            }
            results.is_valid(i, sample).then_some((extents, cells))
        })
        .collect()
}

type Case = (&'static str, fn(&Image) -> Image, &'static [&'static str]);

/// Results that are written down, for the image 0120 / 0110 / 3003. No rows: invalid.
fn by_hand(device: &Device) {
    let x = picture(&["0120", "0110", "3003"]);
    let cases: &[Case] = &[
        ("plus", |x| x.plus(1), &["1231", "1221", "4114"]),
        (
            "minus row",
            |x| x.minus(&x.min_of_columns()),
            &["0120", "0110", "3003"],
        ),
        (
            "divide",
            |x| x.plus(&x.constant(&[6, 7, 8, 9])).divide(2),
            &["3454", "3444", "4346"],
        ),
        (
            "floor",
            |x| x.minus(3).divide(2).plus(2),
            &["0110", "0110", "2002"],
        ),
        (
            "modulo",
            |x| x.minus(3).remainder(2),
            &["1011", "1001", "0110"],
        ),
        ("by zero", |x| x.divide(x), &[]),
        ("less", |x| x.less(1), &["1001", "1001", "0110"]),
        ("xor", |x| x.xor(&x.equals(1)), &["0010", "0000", "1001"]),
        (
            "choose",
            |x| x.equals(0).choose(5, x),
            &["5125", "5115", "3553"],
        ),
        ("rotate", |x| x.rotate(1), &["003", "210", "110", "003"]),
        ("back", |x| x.rotate(-1), &["300", "011", "012", "300"]),
        ("half", |x| x.rotate(2), &["3003", "0110", "0210"]),
        ("flip rows", |x| x.flip_rows(), &["3003", "0110", "0120"]),
        (
            "flip columns",
            |x| x.flip_columns(),
            &["0210", "0110", "3003"],
        ),
        (
            "transpose",
            |x| x.transpose(),
            &["003", "110", "210", "003"],
        ),
        (
            "anti",
            |x| x.anti_transpose(),
            &["300", "012", "011", "300"],
        ),
        (
            "crop",
            |x| x.crop(&x.constant(&[1, -1, 9, 2])),
            &["01", "30"],
        ),
        (
            "strict",
            |x| x.crop_strict(&x.constant(&[1, -1, 9, 2])),
            &[],
        ),
        (
            "strict, ends first",
            |x| x.crop_strict(&x.constant(&[2, 1, 1, 3])),
            &[],
        ),
        (
            "no factor of columns",
            |x| x.upscale(&x.constant(&[1, 0])),
            &[],
        ),
        (
            "upscale",
            |x| x.row(0).upscale(&x.constant(&[2, 1])),
            &["0120", "0120"],
        ),
        ("downscale", |x| x.downscale(2), &["02", "30"]),
        (
            "tile",
            |x| x.row(-1).tile(&x.constant(&[1, 2])),
            &["30033003"],
        ),
        ("no factor", |x| x.tile(0), &[]),
        (
            "beside",
            |x| x.column(1).beside(&x.column(2)),
            &["12", "11", "00"],
        ),
        ("above", |x| x.row(0).above(&x.row(2)), &["0120", "3003"]),
        ("unequal", |x| x.above(&x.column(0)), &[]),
        (
            "translate",
            |x| x.translate(&x.constant(&[1, -1]), 7),
            &["7777", "1207", "1107"],
        ),
        (
            "dilate",
            |x| x.dilate(Neighbours::Four),
            &["1222", "3123", "3333"],
        ),
        (
            "erode",
            |x| x.erode(Neighbours::Eight),
            &["0000", "0000", "0000"],
        ),
        (
            "paste",
            |x| x.paste(&x.row(2), &x.constant(&[0, -3])),
            &["3120", "0110", "3003"],
        ),
        (
            "label",
            |x| x.label(LabelBy::Values, Neighbours::Four, 0),
            &["0120", "0110", "3004"],
        ),
        (
            "blobs",
            |x| x.label(LabelBy::Foreground, Neighbours::Eight, 0),
            &["0110", "0110", "1001"],
        ),
        (
            "regions",
            |x| x.label(LabelBy::Values, Neighbours::Four, 0).regions(x, 9),
            &["30123011", "10213022", "12031203", "12334233"],
        ),
        (
            "too many",
            |x| x.label(LabelBy::Values, Neighbours::Four, 0).regions(x, 3),
            &[],
        ),
        (
            "holes",
            |x| {
                x.erode(Neighbours::Four)
                    .plus(1)
                    .outline(&x.constant(&[0, 0, 3, 4]), 4)
                    .fill_holes(1, 9)
            },
            &["4444", "4994", "4444"],
        ),
        ("histogram", |x| x.histogram(4), &["6312"]),
        ("many bins", |x| x.times(300).histogram(1000).sum(), &["<"]),
        ("outside", |x| x.histogram(3), &[]),
        (
            "template of two rows",
            |x| x.matches(&x.constant(&[0, 3]).transpose()),
            &["0000", "1001"],
        ),
        ("palette", |x| x.palette(10), &["0123"]),
        (
            "lookup",
            |x| x.lookup(&x.constant(&[9, 8, 7, 6])),
            &["9879", "9889", "6996"],
        ),
        ("sum", |x| x.sum(), &[";"]),
        ("rows", |x| x.sum_of_rows(), &["3", "2", "6"]),
        ("columns", |x| x.max_of_columns(), &["3123"]),
        ("most", |x| x.most_common(4), &["0"]),
        ("least", |x| x.least_common(9), &["2"]),
        ("box", |x| x.equals(1).bounding_box(), &["0123"]),
        ("no box", |x| x.equals(8).bounding_box(), &[]),
        ("trim", |x| x.equals(1).trim(0), &["10", "11"]),
        ("keep rows", |x| x.keep_rows(&x.column(0)), &["3003"]),
        (
            "keep columns",
            |x| x.keep_columns(&x.row(0)),
            &["12", "11", "00"],
        ),
        (
            "sort",
            |x| x.sort_rows(&x.sum_of_rows(), false),
            &["0110", "0120", "3003"],
        ),
        (
            "descending",
            |x| x.sort_rows(&x.column(0), true),
            &["3003", "0120", "0110"],
        ),
        (
            "outline",
            |x| x.outline(&x.constant(&[1, 1, 9, 9]), 8),
            &["0120", "0888", "3803"],
        ),
        (
            "line",
            |x| x.line(&x.constant(&[3, -1]), &x.constant(&[0, 2]), 9),
            &["0190", "0910", "9003"],
        ),
        (
            "skew",
            |x| x.line(&x.constant(&[0, 0]), &x.constant(&[1, 2]), 9),
            &[],
        ),
        (
            "matches",
            |x| x.matches(&x.constant(&[1, 1])),
            &["000", "010", "000"],
        ),
        ("period", |x| x.beside(x).period(1), &["4"]),
        ("same", |x| x.same(&x.rotate(2).rotate(2)), &["1"]),
        ("differs", |x| x.same(&x.transpose()), &["0"]),
        ("extents", |x| x.rows().beside(&x.columns()), &["34"]),
        (
            "numbers",
            |x| x.row_numbers().plus(&x.column_numbers()),
            &["0123", "1234", "2345"],
        ),
        (
            "scan sum",
            |x| x.scan_sum(Direction::Right),
            &["0133", "0122", "3336"],
        ),
        (
            "scan max",
            |x| x.scan_max(Direction::UpLeft),
            &["1320", "0130", "3003"],
        ),
        (
            "carry",
            |x| x.carry(Direction::Down),
            &["0120", "0110", "3113"],
        ),
        (
            "valid",
            |x| x.tile(0).is_valid().beside(&x.is_valid()),
            &["01"],
        ),
        ("or else", |x| x.tile(0).or_else(&x.row(1)), &["0110"]),
        ("when", |x| x.row(0).when(&x.rows().equals(3)), &["0120"]),
        (
            "filled",
            |x| x.filled(&x.rows(), 2, 5, 6),
            &["55", "55", "55"],
        ),
        ("overflow", |x| x.filled(&x.rows(), 2, 5, 5), &[]),
        (
            "columns from",
            |x| x.columns_from(1, 3),
            &["12", "11", "00"],
        ),
    ];
    let record = |r: &mut Recorder| {
        let x = r.input();
        for (_, case, _) in cases {
            r.output(&case(&x));
        }
    };
    let program = ImageProgram::new(record).unwrap();
    let results = program.run_blocking(&Place::from(device), &[&x]).unwrap();
    let found = outputs(&results, cases.len(), 0);
    for ((name, _, expected), found) in cases.iter().zip(found) {
        let digit = |digit: u8| i32::from(digit) - i32::from(b'0');
        let cells = || {
            expected
                .iter()
                .flat_map(|row| row.bytes())
                .map(digit)
                .collect()
        };
        let expected = expected
            .first()
            .map(|row| ([expected.len(), row.len()], cells()));
        assert_eq!(found, expected, "{name}");
    }
    assert!(
        results.is_overflown(
            cases
                .iter()
                .position(|(name, ..)| *name == "overflow")
                .unwrap(),
            0
        )
    );
}

fn some_shapes(samples: usize, most: usize) -> Vec<[usize; 2]> {
    let mut rng = rng("imaging::shapes");
    let special = [[1, 1], [1, 30], [30, 1], [0, 0], [0, 3], [30, 30]];
    let random = (special.len()..samples).map(|_| [rng.usize(1..most), rng.usize(1..most)]);
    special.into_iter().chain(random).collect()
}

/// Operations that tensors have, too, give the same images there.
fn as_on_tensors(device: &Device) {
    type Pair = (fn(&Image) -> Image, fn(&Tensor<i32>) -> Result<Ragged<i32>>);
    let mut rng = rng("imaging::tensors");
    let shapes: Vec<_> = some_shapes(30, 20)
        .into_iter()
        .filter(|[rows, _]| *rows > 0)
        .collect();
    let x = images(&shapes, || rng.i32(0..3));
    let pairs: &[Pair] = &[
        (|x| x.rotate(1), |x| x.rot90(1)?.download_blocking()),
        (
            |x| x.anti_transpose(),
            |x| x.anti_transpose()?.download_blocking(),
        ),
        (
            |x| x.upscale(3),
            |x| x.upscale(&[3, 3])?.download_blocking(),
        ),
        (
            |x| x.downscale(2),
            |x| x.downscale(&[2, 2])?.download_blocking(),
        ),
        (|x| x.tile(2), |x| x.tile(&[2, 2])?.download_blocking()),
        (
            |x| x.translate(&x.constant(&[2, -1]), 5),
            |x| x.translate(&[[2, -1]], 5)?.download_blocking(),
        ),
        (
            |x| x.dilate(Neighbours::Eight),
            |x| x.dilate(Neighbours::Eight)?.download_blocking(),
        ),
        (
            |x| x.erode(Neighbours::Four),
            |x| x.erode(Neighbours::Four)?.download_blocking(),
        ),
        (
            |x| x.label(LabelBy::Values, Neighbours::Eight, 1),
            |x| {
                labels(
                    x,
                    Components::of_equal_values()
                        .neighbours(Neighbours::Eight)
                        .background(1),
                )
            },
        ),
        (
            |x| x.label(LabelBy::Foreground, Neighbours::Four, 0),
            |x| labels(x, Components::of_foreground()),
        ),
        (
            |x| x.fill_holes(0, 7),
            |x| x.fill_holes(Neighbours::Four, 0, 7)?.download_blocking(),
        ),
    ];
    let program = ImageProgram::new(|r| {
        let x = r.input();
        pairs.iter().for_each(|(image, _)| r.output(&image(&x)));
    });
    let results = program
        .unwrap()
        .run_blocking(&Place::from(device), &[&x])
        .unwrap();
    let x = Device::cpu().upload(&x).unwrap();
    for (i, (_, tensor)) in pairs.iter().enumerate() {
        let expected = tensor(&x).unwrap();
        assert_eq!(results.images(i), &expected, "operation {i}");
    }
}

fn labels(x: &Tensor<i32>, components: Components<i32>) -> Result<Ragged<i32>> {
    let labels = x.label(components)?.0.download_blocking()?;
    labels.cast(|label| label as i32)
}

/// A random program of all operations, whose operands are often impossible.
pub fn recorded(seed: &str, number: usize, operations: usize) -> impl Fn(&mut Recorder) {
    let seed = format!("{seed} {number}");
    move |r: &mut Recorder| {
        let mut rng = rng(&seed);
        let x = r.input();
        let mut all = vec![x.clone()];
        for constants in [&[0][..], &[2], &[-1, 1], &[1, 2, 3], &[0, 1, 3, 4]] {
            all.push(r.constant(constants));
        }
        for _ in 0..operations {
            let last = all.len();
            // Recent images and the input are drawn more often.
            let mut any = || match rng.usize(0..4) {
                0 => all[0].clone(),
                1 => all[rng.usize(0..last)].clone(),
                _ => all[rng.usize(last.saturating_sub(8)..last)].clone(),
            };
            let (a, b, c) = (any(), any(), any());
            let small = rng.i32(-2..5);
            let n = [Neighbours::Four, Neighbours::Eight][rng.usize(0..2)];
            let like = [LabelBy::Values, LabelBy::Foreground][rng.usize(0..2)];
            let d = DIRECTIONS[rng.usize(0..8)];
            let limit = rng.u32(1..20);
            all.push(match rng.usize(0..66) {
                0 => a.plus(&b),
                1 => a.minus(&b),
                2 => a.times(&b),
                3 => a.divide(&b),
                4 => a.remainder(small),
                5 => a.minimum(&b),
                6 => a.maximum(small),
                7 => a.equals(&b),
                8 => a.differs(small),
                9 => a.less(&b),
                10 => a.at_most(small),
                11 => a.greater(small),
                12 => a.at_least(&b),
                13 => a.and(&b),
                14 => a.or(&b),
                15 => a.xor(&b),
                16 => a.choose(&b, &c),
                17 => a.equals(small).choose(small, &a),
                18 => a.rotate(small),
                19 => a.flip_rows(),
                20 => a.flip_columns(),
                21 => a.transpose(),
                22 => a.anti_transpose(),
                23 => a.crop(&b),
                24 => a.crop_strict(&b.bounding_box()),
                25 => a.upscale(small).within(2000),
                26 => a.downscale(small),
                27 => a.tile(&b).within(2000),
                28 => a.beside(&b).within(1500),
                29 => a.above(&b).within(1500),
                30 => a.translate(&b, small),
                31 => a.translate(&a.constant(&[small, 1]), 3),
                32 => a.dilate(n),
                33 => a.erode(n),
                34 => a.paste(&b, &a.constant(&[small, -small])),
                35..=37 => a.label(like, n, small),
                38..=39 => a.label(like, n, 0).regions(&a, limit),
                40 => a.regions(&b, limit),
                41 => a.fill_holes(small, 7),
                42 => a.histogram(limit),
                43 => a.palette(limit),
                44 => a.lookup(&b),
                45 => a.sum(),
                46 => a.min_of_rows(),
                47 => a.max_of_columns(),
                48 => a.place_of_max(),
                49 => a.place_of_min(),
                50 => a.bounding_box(),
                51 => a.keep_rows(&a.sum_of_rows().equals(small)),
                52 => a.keep_columns(&a.max_of_columns().greater(small)),
                53 => a.sort_rows(&a.column(small), small % 2 == 0),
                54 => a.row(small),
                55 => a.column(&b),
                56 => a.outline(&b, small),
                57 => a.line(&b, &a.constant(&[small, small]), 5),
                58 => a.matches(&b),
                59 => a.period((limit % 2) as usize),
                60 => a.same(&b),
                61 => a.rows().beside(&a.columns()),
                62 => a.row_numbers().minus(&a.column_numbers()),
                63 => [a.scan_sum(d), a.scan_max(d), a.scan_min(d), a.carry(d)]
                    [(limit % 4) as usize]
                    .clone(),
                64 => a.is_valid().beside(&a.or_else(&b).when(&c.is_valid())),
                _ => a.filled(&b, &a.rows(), small, 40 * limit),
            });
        }
        all.iter().for_each(|image| r.output(image));
    }
}

const DIRECTIONS: [Direction; 8] = [
    Direction::Right,
    Direction::Down,
    Direction::Left,
    Direction::Up,
    Direction::DownRight,
    Direction::DownLeft,
    Direction::UpLeft,
    Direction::UpRight,
];

/// All devices and threads agree on each cell of each intermediate image.
fn random(device: &Device) {
    let (mut valid, mut all) = (0, 0);
    let programs = if is_software(device) { 10 } else { 40 };
    for number in 0..programs {
        let record = recorded("imaging::random", number, 60);
        let program = ImageProgram::new(&record).unwrap();
        let mut rng = rng(&format!("imaging::random images {number}"));
        let x = images(&some_shapes(24, 33), || rng.i32(0..4));
        let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
        for place in [Place::AllCores, Place::from(device)] {
            let found = program.run_blocking(&place, &[&x]).unwrap();
            compare(
                &found,
                &expected,
                x.len(),
                &format!("program {number} on {place:?}"),
            );
        }
        all += 66 * x.len();
        valid += 66 * x.len() - expected.report().invalid;
    }
    // The test would prove little if most images were invalid.
    assert!(valid > all / 3, "{valid} of {all} results are valid");
}

fn compare(found: &Results, expected: &Results, samples: usize, what: &str) {
    for i in 0..66 {
        for sample in 0..samples {
            let of = |results: &Results| {
                (
                    results.is_valid(i, sample),
                    results.is_overflown(i, sample),
                    results.images(i).shape(sample),
                    results.images(i).row(sample).to_vec(),
                )
            };
            assert_eq!(
                of(found),
                of(expected),
                "{what}: output {i} of sample {sample}"
            );
        }
    }
}

fn alone_as_in_a_batch(device: &Device) {
    let program = ImageProgram::new(recorded("imaging::alone", 0, 60)).unwrap();
    let mut rng = rng("imaging::alone images");
    let shapes = some_shapes(16, 12);
    let x = images(&shapes, || rng.i32(0..4));
    let all = program.run_blocking(&Place::from(device), &[&x]).unwrap();
    for (sample, shape) in shapes.iter().enumerate() {
        let alone = Ragged::from_shapes(x.row(sample).to_vec(), 2, [Shape::new(shape).unwrap()]);
        let alone = program
            .run_blocking(&Place::from(device), &[&alone.unwrap()])
            .unwrap();
        assert_eq!(
            outputs(&alone, 66, 0),
            outputs(&all, 66, sample),
            "sample {sample}"
        );
    }
}

fn passes_change_nothing(device: &Device) {
    let mut rng = rng("imaging::passes images");
    let x = images(&some_shapes(12, 12), || rng.i32(0..4));
    for number in 0..4 {
        let record = recorded("imaging::passes", number, 60);
        let program = ImageProgram::new(&record).unwrap();
        let expected = program.run_blocking(&Place::from(device), &[&x]).unwrap();
        for (share, prune, schedule) in [
            (false, true, "levels"),
            (true, false, "levels"),
            (true, true, "kinds"),
            (true, true, "whole"),
        ] {
            let other = ImageProgram::with(share, prune, schedule, &record).unwrap();
            let found = other.run_blocking(&Place::from(device), &[&x]).unwrap();
            compare(&found, &expected, x.len(), schedule);
        }
        let twice = ImageProgram::new(|r| {
            let x = r.input();
            let [a, b] = [x.plus(1), x.plus(1)];
            let _unused = x.times(7);
            r.output(&a.same(&b));
        });
        assert_eq!(twice.unwrap().operations(), 2, "one sum, and `same`");
    }
}

/// A checkerboard of two values has as many components as cells.
fn many_components(device: &Device) {
    let board = |side: usize| {
        let cells = (0..side * side).map(|cell| 1 + ((cell / side + cell % side) % 2) as i32);
        Ragged::from_shapes(cells.collect(), 2, [Shape::new(&[side, side]).unwrap()]).unwrap()
    };
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let table = x
            .label(LabelBy::Values, Neighbours::Four, 0)
            .regions(&x, 900);
        r.output(&table);
        r.output(&table.sort_rows(&table.column(7), true).column(2));
    });
    let program = program.unwrap();
    for side in [29, 30] {
        let results = program
            .run_blocking(&Place::from(device), &[&board(side)])
            .unwrap();
        let [table, sorted] = [0, 1].map(|i| results.images(i).row(0).to_vec());
        assert_eq!(table.len(), 8 * side * side);
        for (cell, row) in table.chunks(8).enumerate() {
            let (r, c) = ((cell / side) as i32, (cell % side) as i32);
            assert_eq!(row, [1, r, c, r + 1, c + 1, r, c, 1 + (r + c) % 2]);
        }
        assert_eq!(sorted.len(), side * side);
    }
    let more = program
        .run_blocking(&Place::from(device), &[&board(31)])
        .unwrap();
    assert!(more.is_overflown(0, 0) && more.is_overflown(1, 0));
    assert_eq!((more.report().invalid, more.report().overflown), (2, 2));
}

/// Images that exceed what a workgroup holds.
fn large_images(device: &Device) {
    let mut rng = rng("imaging::large");
    let x = images(&[[120, 75], [3, 700], [40, 40]], || {
        i32::from(rng.u8(0..10) < 6)
    });
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let labels = x.label(LabelBy::Foreground, Neighbours::Four, 0);
        r.output(&labels);
        r.output(&labels.regions(&x, 4000));
        r.output(&x.fill_holes(0, 2));
        r.output(&labels.keep_rows(&x.column(0)).keep_columns(&x.row(0)));
        r.output(&labels.palette(9000));
        r.output(&x.scan_sum(Direction::DownLeft));
        r.output(&x.sort_rows(&labels.column(-1), true));
        r.output(&x.sum().beside(&labels.max()).beside(&x.period(0)));
    });
    let program = program.unwrap();
    let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
    let found = program.run_blocking(&Place::from(device), &[&x]).unwrap();
    assert_eq!(expected.report().invalid, 0);
    for sample in 0..3 {
        assert_eq!(
            outputs(&found, 8, sample),
            outputs(&expected, 8, sample),
            "sample {sample}"
        );
    }
}

/// Lines of one cell's width in images whose rows are longer than an invocation's part, so that each pair of neighbours
/// in two rows matters.
fn thin_lines(device: &Device) {
    let shapes = [[3, 700], [5, 401], [2, 1000]];
    let patterns: [fn(usize, usize) -> usize; 3] =
        [|_, c| c % 2, |r, c| (c + r) % 3, |r, c| (c + 2 * r) % 3];
    let program = ImageProgram::new(|r| {
        let x = r.input();
        r.output(&x.label(LabelBy::Foreground, Neighbours::Four, 0));
        r.output(&x.label(LabelBy::Foreground, Neighbours::Eight, 0));
    });
    let program = program.unwrap();
    for pattern in patterns {
        let cells = shapes.iter().flat_map(|&[rows, columns]| {
            (0..rows).flat_map(move |r| (0..columns).map(move |c| i32::from(pattern(r, c) == 0)))
        });
        let shapes = shapes.iter().map(|shape| Shape::new(shape).unwrap());
        let x = Ragged::from_shapes(cells.collect(), 2, shapes).unwrap();
        let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
        let found = program.run_blocking(&Place::from(device), &[&x]).unwrap();
        for sample in 0..x.len() {
            assert_eq!(outputs(&found, 2, sample), outputs(&expected, 2, sample));
        }
        // A line of each third or second column, or of each third diagonal.
        let lines = expected.images(1).row(0).iter().max();
        assert!(
            lines.is_some_and(|&lines| (233..=351).contains(&lines)),
            "{lines:?}"
        );
    }
}

fn nothing(device: &Device) {
    let program = ImageProgram::new(recorded("imaging::nothing", 0, 60)).unwrap();
    let none = images(&[], || 0);
    let results = program
        .run_blocking(&Place::from(device), &[&none])
        .unwrap();
    assert_eq!((results.images(5).len(), results.report().invalid), (0, 0));
}

/// Images without foreground: no component, no hole and no box, whatever the value of the background.
fn only_background(device: &Device) {
    let shapes = [[1, 1], [5, 7], [1, 40], [0, 3], [120, 75]];
    for background in [0, 3] {
        let x = images(&shapes, || background);
        let program = ImageProgram::new(|r| {
            let x = r.input();
            let labels = x.label(LabelBy::Values, Neighbours::Four, background);
            r.output(&labels);
            r.output(&labels.regions(&x, 10));
            r.output(&x.fill_holes(background, 9));
            r.output(&x.differs(background).bounding_box());
            r.output(&x.histogram(4));
        });
        let place = Place::from(device);
        let results = program.unwrap().run_blocking(&place, &[&x]).unwrap();
        for (sample, [rows, columns]) in shapes.into_iter().enumerate() {
            let cells = rows * columns;
            let mut counts = vec![0; 4];
            counts[background as usize] = cells as i32;
            let expected = [
                Some(([rows, columns], vec![0; cells])),
                Some(([0, 8], Vec::new())),
                Some(([rows, columns], vec![background; cells])),
                None,
                Some(([1, 4], counts)),
            ];
            assert_eq!(outputs(&results, 5, sample), expected, "{rows} × {columns}");
        }
    }
}

/// Each sample has another size, and a box that the device computes.
fn many_samples(device: &Device) {
    let mut rng = rng("imaging::many_samples");
    let shapes: Vec<_> = (0..4308)
        .map(|_| [rng.usize(0..14), rng.usize(0..14)])
        .collect();
    let x = images(&shapes, || rng.i32(0..3));
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let labels = x.label(LabelBy::Values, Neighbours::Four, 0);
        let table = labels.regions(&x, 40);
        let largest = table.sort_rows(&table.column(0), true).row(0);
        r.output(&labels);
        r.output(&table);
        r.output(&x.crop(&largest.columns_from(1, 5)));
    });
    let program = program.unwrap();
    let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
    let found = program.run_blocking(&Place::from(device), &[&x]).unwrap();
    let cells: usize = (0..x.len())
        .map(|sample| expected.images(2).row(sample).len())
        .sum();
    assert!(cells > 5 * x.len() && expected.report().overflown > 0);
    for sample in 0..x.len() {
        assert_eq!(
            outputs(&found, 3, sample),
            outputs(&expected, 3, sample),
            "sample {sample}"
        );
        let overflown = |results: &Results| [0, 1, 2].map(|i| results.is_overflown(i, sample));
        assert_eq!(overflown(&found), overflown(&expected), "sample {sample}");
    }
}

/// One upload, one submission, one download, and a dispatch for each level, for thousands of samples and for one.
fn counters(device: &Device) {
    // The counts include the work of other trials on the same device.
    #[cfg(feature = "gpu")]
    let own = device.is_gpu().then(|| bench::opened_for_one(|_| ()));
    #[cfg(feature = "gpu")]
    let device = own.as_ref().unwrap_or(device);
    let mut rng = rng("imaging::counters");
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let mut y = x.clone();
        for i in 0..6 {
            y = y.rotate(i % 3).plus(i).minimum(&x.rotate(1 + i % 2));
        }
        r.output(&y.or_else(&x));
        r.output(&y.is_valid());
    });
    let program = program.unwrap();
    let many = if is_hurried(device) { 430 } else { 4308 };
    for samples in [1, many] {
        let x = images(&vec![[5, 6]; samples], || rng.i32(0..9));
        // The first run also copies the program to the device.
        let place = Place::from(device);
        program.run_blocking(&place, &[&x]).unwrap();
        let results = program.run_blocking(&place, &[&x]).unwrap();
        let report = results.report();
        assert_eq!(
            (report.samples, report.operations),
            (samples, program.operations())
        );
        let on_gpu = usize::from(device.is_gpu());
        assert_eq!(
            [report.uploads, report.downloads, report.submissions],
            [on_gpu; 3]
        );
        assert_eq!(report.dispatches, on_gpu * program.levels());
        assert!(program.levels() <= program.depth() + 2);
        assert_eq!(
            report.place,
            if device.is_gpu() {
                Machine::Gpu
            } else {
                Machine::AllCores
            }
        );
    }
}

/// Samples of different sizes, with results of different sizes, whose order shows in the results.
#[cfg(feature = "gpu")]
fn many_sizes(samples: usize) -> Ragged<i32> {
    let mut rng = rng("imaging::many_sizes");
    let shapes: Vec<_> = (0..samples)
        .map(|_| [rng.usize(0..9), rng.usize(0..9)])
        .collect();
    images(&shapes, || rng.i32(0..9))
}

/// A batch that exceeds a binding or the memory runs in several parts, with the same results.
#[cfg(feature = "gpu")]
fn in_parts(device: &Device) {
    let hurried = is_hurried(device);
    let x = many_sizes(if hurried { 800 } else { 3000 });
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let table = x
            .label(LabelBy::Values, Neighbours::Four, 0)
            .regions(&x, 64);
        r.output(&table);
        r.output(&x.crop(&table.row(0).columns_from(1, 5)));
        r.output(&x.upscale(3).beside(&x.upscale(3)));
    });
    let program = program.unwrap();
    let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
    let limits: [fn(&mut GpuOptions); 2] = match hurried {
        true => [
            |options| options.max_binding_bytes = Some(1 << 20),
            |options| options.memory_limit = Some(5 << 19),
        ],
        false => [
            |options| options.max_binding_bytes = Some(1 << 22),
            |options| options.memory_limit = Some(9 << 20),
        ],
    };
    for (limit, what) in limits.into_iter().zip(["binding", "memory"]) {
        let device = bench::opened_for_one(limit);
        let place = Place::from(&device);
        for _ in 0..2 {
            let found = program.run_blocking(&place, &[&x]).unwrap();
            assert!(found.report().downloads > 1, "{what}: {:?}", found.report());
            for sample in 0..x.len() {
                assert_eq!(
                    outputs(&found, 3, sample),
                    outputs(&expected, 3, sample),
                    "{what}, sample {sample}"
                );
            }
        }
    }
}

/// A sample whose values exceed a binding is refused, with what it needs, before anything runs.
#[cfg(feature = "gpu")]
fn too_large() {
    let device = bench::opened_for_one(|options| options.max_binding_bytes = Some(1 << 16));
    let program = ImageProgram::new(|r| {
        let x = r.input();
        r.output(&x.upscale(4));
    });
    let program = program.unwrap();
    let x = images(&[[1, 1], [40, 40], [3, 3]], || 1);
    let error = program
        .run_blocking(&Place::from(&device), &[&x])
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.element()),
        ("too_large", Some(1)),
        "{error}"
    );
    // Each image of 40 × 40 becomes 160 × 160 cells, in the arena and as a result.
    let vsla::Error::TooLarge { bytes, limit, .. } = error else {
        panic!("{error:?}");
    };
    assert!(bytes > 4 * 160 * 160 && limit == 1 << 16, "{bytes} {limit}");
    let small = images(&[[1, 1], [3, 3]], || 1);
    // Nothing was compiled for the batch that was refused; a prepared program compiles nothing more.
    assert_eq!(device.info().pipelines, 0);
    program.prepare(&Place::from(&device)).unwrap();
    assert_eq!(device.info().pipelines, 1);
    assert_eq!(
        program
            .run_blocking(&Place::from(&device), &[&small])
            .unwrap()
            .images(0)
            .len(),
        2
    );
    assert_eq!(device.info().pipelines, 1);
    // A single sample for which there is no memory, either.
    let device = bench::opened_for_one(|options| options.memory_limit = Some(9 << 20));
    let large = images(&[[500, 500]], || 1);
    let error = program
        .run_blocking(&Place::from(&device), &[&large])
        .unwrap_err();
    assert_eq!(error.kind(), "out_of_memory", "{error}");
}

/// The call that yields instead of blocking has the same results, and a limit of work holds.
fn awaited(device: &Device) {
    let program = ImageProgram::new(recorded("imaging::awaited", 0, 60)).unwrap();
    let mut rng = rng("imaging::awaited images");
    let x = images(&[[3, 4], [5, 5], [1, 7]], || rng.i32(0..4));
    let place = Place::from(device);
    let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
    let found = pollster::block_on(program.run(&place, &[&x])).unwrap();
    for sample in 0..3 {
        assert_eq!(outputs(&found, 6, sample), outputs(&expected, 6, sample));
    }
    let limited = Place::from(&device.with_work_limit(10));
    let error = program.run_blocking(&limited, &[&x]).unwrap_err();
    assert_eq!(error.kind(), "work_limit", "{error}");
}

fn two_inputs(device: &Device) {
    let program = ImageProgram::new(|r| {
        let (x, y) = (r.input(), r.input());
        r.output(&x.transpose().same(&y));
    });
    let x = images(&[[2, 3], [1, 4], [2, 2]], || 1);
    let y = images(&[[3, 2], [1, 4], [2, 2]], || 1);
    let results = program
        .unwrap()
        .run_blocking(&Place::from(device), &[&x, &y])
        .unwrap();
    assert_eq!(results.images(0).values(), [1, 0, 1]);
}

/// A place that is chosen gives the same results, and says what it expected.
fn automatic(device: &Device) {
    let mut rng = rng("imaging::automatic");
    let calibration = device.calibrate().unwrap();
    let lines = calibration.to_string();
    assert!(lines.starts_with("one core: "), "{lines}");
    assert_eq!(lines.contains("\nGPU: "), device.is_gpu(), "{lines}");
    let place = Place::Auto(calibration);
    let program = ImageProgram::new(recorded("imaging::automatic", 0, 60)).unwrap();
    for samples in [7, 40] {
        let x = images(&some_shapes(samples, 12), || rng.i32(0..4));
        let expected = program.run_blocking(&Place::OneCore, &[&x]).unwrap();
        for _ in 0..4 {
            let found = program.run_blocking(&place, &[&x]).unwrap();
            compare(&found, &expected, samples, "auto");
            assert!(
                found
                    .report()
                    .predicted
                    .is_some_and(|time| time.as_secs_f64() > 0.0)
            );
        }
        assert_eq!(expected.report().predicted, None);
    }
}

fn refusals() {
    let expect = |result: Result<ImageProgram>, text: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    expect(ImageProgram::new(|_| ()), "0 of `input` and 0 of `output`");
    let mut foreign = None;
    let program = ImageProgram::new(|r| {
        let x = r.input();
        foreign = Some(x.clone());
        r.output(&x);
    });
    let program = program.unwrap();
    let foreign = foreign.unwrap();
    expect(
        ImageProgram::new(|r| {
            let x = r.input();
            r.output(&x.plus(&foreign))
        }),
        "another program",
    );
    expect(
        ImageProgram::new(|r| {
            let x = r.input();
            r.output(&x);
            r.output(&foreign)
        }),
        "another program",
    );
    expect(
        ImageProgram::new(|r| {
            let x = r.input();
            r.output(&x.period(2))
        }),
        "axis 0 or 1",
    );
    expect(
        ImageProgram::new(|r| {
            let x = r.input();
            r.output(&x.tile(2).within(0))
        }),
        "at least 1 cell",
    );
    let without: [fn(&Image) -> Image; 6] = [
        |x| x.regions(x, 0),
        |x| x.histogram(0),
        |x| x.palette(0),
        |x| x.most_common(0),
        |x| x.filled(1, 1, 1, 0),
        |x| x.constant(&[]),
    ];
    for image in without {
        let program = ImageProgram::new(|r| {
            let x = r.input();
            // No output needs it, but the program was recorded with it.
            image(&x);
            r.output(&x);
        });
        let error = program.unwrap_err();
        assert_eq!((error.kind(), error.op()), ("argument", "image program"));
        let text = error.to_string();
        assert!(
            text.contains("capacities of at least 1 cell") && text.ends_with("got 0"),
            "{text}"
        );
    }
    let x = images(&[[2, 2]], || 1);
    let refused = |inputs: &[&Ragged<i32>], text: &str| {
        let error = program
            .run_blocking(&Place::OneCore, inputs)
            .unwrap_err()
            .to_string();
        assert!(error.contains(text), "{error}");
    };
    refused(&[], "1 input");
    refused(&[&x, &x], "1 input");
    refused(&[&Ragged::from_rows([vec![1]]).unwrap()], "rank");
    let program = ImageProgram::new(|r| {
        let (x, y) = (r.input(), r.input());
        r.output(&x.same(&y));
    });
    let two = images(&[[2, 2], [1, 1]], || 1);
    let error = program
        .unwrap()
        .run_blocking(&Place::OneCore, &[&x, &two])
        .unwrap_err();
    assert!(error.to_string().contains("equal size"), "{error}");
}
