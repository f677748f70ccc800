//! Connected components: against a flood fill, cell by cell.

use libtest_mimic::Trial;
use vsla::image::{Components, Neighbours};
use vsla::program::Program;
use vsla::scalar::Integer;
use vsla::{Device, Ragged, Shape, Tensor};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("by_hand", by_hand),
        ("random_images", random_images),
        ("images_of_one_workgroup", images_of_one_workgroup),
        ("images_of_many_tiles", images_of_many_tiles),
        ("images_of_many_blocks", images_of_many_blocks),
        ("edges_of_tiles", edges_of_tiles),
        ("thin_images", thin_images),
        ("long_chains", long_chains),
        ("many_components", many_components),
        ("many_images", many_images),
        ("any_value_is_background", any_value_is_background),
        ("views_begin_anywhere", views_begin_anywhere),
        ("alone_and_in_company", alone_and_in_company),
        ("programs", programs),
        ("nothing", nothing),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

/// The options of the reference, in plain values.
#[derive(Clone, Copy, Debug)]
struct Options<T> {
    eight: bool,
    foreground: bool,
    background: T,
}

impl<T: Integer> Options<T> {
    fn all(background: T) -> [Options<T>; 4] {
        [(false, false), (false, true), (true, false), (true, true)].map(|(eight, foreground)| {
            Options {
                eight,
                foreground,
                background,
            }
        })
    }

    fn components(self) -> Components<T> {
        let components = match self.foreground {
            true => Components::of_foreground(),
            false => Components::of_equal_values(),
        };
        let neighbours = match self.eight {
            true => Neighbours::Eight,
            false => Neighbours::Four,
        };
        components
            .neighbours(neighbours)
            .background(self.background)
    }
}

/// Fills one component after the other, in row-major order of their first cells.
fn flooded<T: Integer>(
    cells: &[T],
    [rows, columns]: [usize; 2],
    options: Options<T>,
) -> (Vec<u32>, u32) {
    let mut labels = vec![0; cells.len()];
    let mut count = 0;
    for first in 0..cells.len() {
        if labels[first] != 0 || cells[first] == options.background {
            continue;
        }
        count += 1;
        labels[first] = count;
        let mut todo = vec![first];
        while let Some(cell) = todo.pop() {
            let (row, column) = ((cell / columns) as i64, (cell % columns) as i64);
            for (down, right) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right)))
            {
                let near = match options.eight {
                    true => true,
                    false => down == 0 || right == 0,
                };
                let (row, column) = (row + down, column + right);
                let inside =
                    (0..rows as i64).contains(&row) && (0..columns as i64).contains(&column);
                if !near || !inside {
                    continue;
                }
                let other = row as usize * columns + column as usize;
                let alike = match options.foreground {
                    true => cells[other] != options.background,
                    false => cells[other] == cells[cell],
                };
                if alike && labels[other] == 0 {
                    labels[other] = count;
                    todo.push(other);
                }
            }
        }
    }
    (labels, count)
}

fn expected<T: Integer>(x: &Ragged<T>, options: Options<T>) -> (Ragged<u32>, Vec<u32>) {
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for element in 0..x.len() {
        let shape = x.shape(element);
        let extents = [shape.extents()[0] as usize, shape.extents()[1] as usize];
        let (labels, count) = flooded(x.row(element), extents, options);
        all.extend(labels);
        counts.push(count);
    }
    (Ragged::from_parts(x.layout().clone(), all).unwrap(), counts)
}

fn check_one<T: Integer>(what: &str, on: &Tensor<T>, options: Options<T>) {
    let what = format!("{what}, {options:?}, {}", T::DTYPE);
    let (labels, counts) = expected(&download(on), options);
    let (got, numbers) = on.label(options.components()).unwrap();
    assert_exact(what.clone(), &download(&got), &labels);
    let numbers = download(&numbers);
    assert!(numbers.layout().lengths().all(|length| length == 1));
    assert_eq!(numbers.values(), counts, "{what}");
}

fn check<T: Integer>(device: &Device, what: &str, x: &Ragged<T>) {
    let on = upload(device, x);
    for options in Options::all(T::default()) {
        check_one(what, &on, options);
    }
}

pub fn images<T: Integer>(
    shapes: impl IntoIterator<Item = [usize; 2]>,
    mut cell: impl FnMut([usize; 2], usize, usize) -> T,
) -> Ragged<T> {
    let (mut cells, mut all) = (Vec::new(), Vec::new());
    for shape in shapes {
        let [rows, columns] = shape;
        cells.extend((0..rows * columns).map(|i| cell(shape, i / columns, i % columns)));
        all.push(Shape::new(&shape).unwrap());
    }
    Ragged::from_shapes(cells, 2, all).unwrap()
}

/// Cells that are not background with this probability, of so many values.
pub fn noise(seed: &str, shapes: &[[usize; 2]], density: f64, kinds: u32) -> Ragged<u32> {
    let mut random = rng(seed);
    images(shapes.iter().copied(), |_, _, _| {
        match random.f64() < density {
            true => random.u32(1..=kinds),
            false => 0,
        }
    })
}

fn by_hand(device: &Device) {
    let rows = [
        "..a.bb.", //
        "aaa..b.", //
        ".....c.", //
        "a.b.cc.", //
        ".a.b..c",
    ];
    let cells = rows.iter().flat_map(|row| row.bytes());
    let cells = cells.map(|cell| if cell == b'.' { 0 } else { i32::from(cell) });
    let image = Ragged::from_shapes(cells.collect(), 2, [Shape::new(&[5, 7]).unwrap()]).unwrap();
    let on = upload(device, &image);
    let labels = |components: Components<i32>| {
        let (labels, numbers) = on.label(components).unwrap();
        let labels = download(&labels).values().to_vec();
        assert_eq!(download(&numbers).values(), [*labels.iter().max().unwrap()]);
        labels
    };
    let of = |text: &str| -> Vec<u32> {
        let digits = text.bytes().filter(u8::is_ascii_digit);
        digits.map(|digit| u32::from(digit - b'0')).collect()
    };
    assert_eq!(
        labels(Components::of_equal_values()),
        of("0010220 1110020 0000030 4050330 0607008")
    );
    assert_eq!(
        labels(Components::of_foreground()),
        of("0010220 1110020 0000020 3040220 0506007")
    );
    let eight = Components::of_equal_values().neighbours(Neighbours::Eight);
    assert_eq!(labels(eight), of("0010220 1110020 0000030 4050330 0405003"));
    let eight = Components::of_foreground().neighbours(Neighbours::Eight);
    assert_eq!(labels(eight), of("0010220 1110020 0000020 2020220 0202002"));
}

fn random_images(device: &Device) {
    let shapes = [
        [1, 1],
        [1, 30],
        [30, 1],
        [7, 9],
        [0, 5],
        [33, 31],
        [64, 64],
        [5, 0],
        [50, 97],
        [100, 40],
        [2, 2],
    ];
    for percent in [0, 5, 30, 45, 55, 60, 65, 80, 95, 100] {
        for kinds in [1, 2, 5] {
            let density = f64::from(percent) / 100.0;
            let what = format!("{percent} % of {kinds} values");
            let x = noise(&what, &shapes, density, kinds);
            check(device, &what, &x);
        }
    }
    let x = noise("signed", &shapes, 0.6, 3);
    check(device, "signed", &x.cast(|x| x as i32 - 2).unwrap());
}

/// Shapes that just fit in a workgroup, and that just do not.
fn images_of_one_workgroup(device: &Device) {
    let fits = (1..=64).map(|rows| [rows, 32 * (64 / rows)]);
    let shapes: Vec<_> = fits
        .flat_map(|[rows, columns]| {
            [
                [rows, columns],
                [rows, columns - 1],
                [rows, columns - 31],
                [rows, columns + 1],
                [rows + 1, columns],
            ]
        })
        .collect();
    for (density, kinds) in [(0.6, 1), (1.0, 2)] {
        check(
            device,
            "one workgroup",
            &noise("one workgroup", &shapes, density, kinds),
        );
    }
}

fn images_of_many_tiles(device: &Device) {
    let shapes = [[200, 200], [129, 300], [500, 33], [31, 700], [3, 3000]];
    for (density, kinds) in [(0.2, 1), (0.41, 1), (0.6, 1), (0.9, 2), (1.0, 3), (1.0, 1)] {
        check(
            device,
            "many tiles",
            &noise("many tiles", &shapes, density, kinds),
        );
    }
}

/// More words of the map than one workgroup counts.
fn images_of_many_blocks(device: &Device) {
    let shapes = [[200, 100], [600, 500], [90, 45], [3000, 2]];
    let on = upload(device, &noise("many blocks", &shapes, 0.5, 1));
    for options in Options::all(0) {
        check_one("many blocks", &on, options);
    }
}

/// Components that touch in every way where four tiles meet, at row 32 and column 64.
fn edges_of_tiles(device: &Device) {
    for bits in 0..1 << 9 {
        let x = images([[40, 80]], |_, row, column| {
            let near = (31..34).contains(&row) && (63..66).contains(&column);
            u32::from(near && bits >> (3 * (row - 31) + column - 63) & 1 != 0)
        });
        let on = upload(device, &x);
        for eight in [false, true] {
            let options = Options {
                eight,
                foreground: true,
                background: 0,
            };
            check_one(&format!("corner {bits:b}"), &on, options);
        }
    }
}

fn thin_images(device: &Device) {
    let shapes = [
        [1, 5000],
        [5000, 1],
        [2, 4000],
        [4000, 2],
        [3000, 3],
        [64, 33],
        [1, 2049],
    ];
    for (density, kinds) in [(0.5, 1), (0.97, 1), (1.0, 1), (1.0, 2)] {
        check(device, "thin", &noise("thin", &shapes, density, kinds));
    }
}

/// One component that winds through the whole image.
fn long_chains(device: &Device) {
    // Rings, each of which is open next to a different corner.
    let spiral = |[rows, columns]: [usize; 2], row: usize, column: usize| {
        let ring = row
            .min(column)
            .min(rows - 1 - row)
            .min(columns - 1 - column);
        let on_ring = ring.is_multiple_of(2);
        let is_gap = row == ring + 1 && column == ring && ring + 2 < rows.min(columns) / 2;
        let is_bridge = ring % 2 == 1 && row == ring + 1 && column == ring;
        u32::from((on_ring && !is_gap) || is_bridge)
    };
    let comb = |_, row: usize, column: usize| u32::from(column.is_multiple_of(2) || row == 0);
    let upside_down = |[rows, _]: [usize; 2], row, column: usize| {
        u32::from(column.is_multiple_of(2) || row + 1 == rows)
    };
    let snake = |[_, columns]: [usize; 2], row: usize, column: usize| {
        let turn = match row % 4 {
            1 => column + 1 == columns,
            _ => column == 0,
        };
        u32::from(row.is_multiple_of(2) || turn)
    };
    let stairs = |_, row: usize, column: usize| u32::from(!(row + column).is_multiple_of(3));
    let shapes = [[30, 30], [64, 32], [150, 151], [33, 400], [201, 70]];
    check(device, "spiral", &images(shapes, spiral));
    check(device, "comb", &images(shapes, comb));
    check(device, "comb upside down", &images(shapes, upside_down));
    check(device, "snake", &images(shapes, snake));
    check(device, "stairs", &images(shapes, stairs));
}

fn many_components(device: &Device) {
    let shapes = [[30, 30], [45, 31], [100, 101], [1, 4097]];
    let checkerboard = |_, row: usize, column: usize| ((row + column) % 2) as u32;
    check(device, "checkerboard", &images(shapes, checkerboard));
    let different = |[_, columns]: [usize; 2], row, column| (row * columns + column) as u32;
    check(device, "all different", &images(shapes, different));
    // 841 values other than the background, which has the frame.
    let grid = images([[30, 30]], |_, row, column| match row.min(column) {
        0 => 0,
        _ => (30 * row + column) as u32,
    });
    let (_, numbers) = upload(device, &grid)
        .label(Components::of_equal_values())
        .unwrap();
    assert_eq!(download(&numbers).values(), [841]);
    check(device, "background", &images(shapes, |_, _, _| 0u32));
    check(device, "foreground", &images(shapes, |_, _, _| 7u32));
}

fn many_images(device: &Device) {
    let mut random = rng("many images");
    let shapes: Vec<_> = (0..4308)
        .map(|_| [random.usize(0..12), random.usize(0..12)])
        .collect();
    check(
        device,
        "many images",
        &noise("many images", &shapes, 0.6, 2),
    );
    let mixed: Vec<_> = (0..40)
        .map(|i| match i % 4 {
            0 => [random.usize(60..90), random.usize(40..150)],
            _ => [random.usize(1..30), random.usize(1..30)],
        })
        .collect();
    check(device, "small and large", &noise("mixed", &mixed, 0.6, 2));
}

fn any_value_is_background(device: &Device) {
    let shapes = [[20, 30], [70, 70]];
    let x = noise("background", &shapes, 0.7, 3);
    for background in [1, 2, 9, u32::MAX] {
        let on = upload(device, &x);
        for options in Options::all(background) {
            check_one("background", &on, options);
        }
    }
    let wide = x
        .cast(|x| (x as i32 - 1).wrapping_mul(i32::MIN / 2))
        .unwrap();
    for background in [i32::MIN, 0, i32::MIN / 2, -1] {
        let on = upload(device, &wide);
        for options in Options::all(background) {
            check_one("background", &on, options);
        }
    }
}

fn views_begin_anywhere(device: &Device) {
    let shapes = [[1, 1], [3, 7], [70, 40], [0, 3], [65, 33], [5, 5]];
    let on = upload(device, &noise("views", &shapes, 0.6, 2));
    for first in 0..shapes.len() {
        for end in first..=shapes.len() {
            let view = on.elements(first..end).unwrap();
            for options in Options::all(0) {
                check_one("view", &view, options);
            }
        }
    }
}

fn alone_and_in_company(device: &Device) {
    let shapes = [[70, 70], [4, 4], [33, 90], [1, 3000], [64, 32]];
    let on = upload(device, &noise("company", &shapes, 0.62, 1));
    let components = Components::of_foreground().neighbours(Neighbours::Eight);
    let (together, numbers) = on.label(components).unwrap();
    for element in 0..shapes.len() {
        let alone = on.elements(element..element + 1).unwrap().copy().unwrap();
        let (labels, number) = alone.label(components).unwrap();
        let part = together.elements(element..element + 1).unwrap();
        assert_exact("alone", &download(&labels), &download(&part));
        assert_eq!(download(&number).values(), download(&numbers).row(element));
    }
}

fn programs(device: &Device) {
    let x = noise("program", &[[9, 9], [40, 100]], 0.6, 2);
    let on = upload(device, &x);
    let program = Program::new(device, |r| {
        let x: Tensor<u32> = r.input()?;
        let components = Components::of_equal_values().background(1);
        let (labels, numbers) = x.add_scalar(1)?.label(components)?;
        r.output(&labels)?;
        r.output(&numbers)
    });
    let plan = program.plan(&[x.layout()]).unwrap();
    let (labels, counts) = expected(&x, Options::all(0)[0]);
    for _ in 0..2 {
        let outputs = plan.run(&[&on]).unwrap();
        assert_exact(
            "program",
            &download(&outputs.get::<u32>(0).unwrap()),
            &labels,
        );
        let numbers = download(&outputs.get::<u32>(1).unwrap());
        assert_eq!(numbers.values(), counts);
    }
}

fn nothing(device: &Device) {
    let none = images(Vec::<[usize; 2]>::new(), |_, _, _| 0u32);
    let (labels, numbers) = upload(device, &none)
        .label(Components::of_foreground())
        .unwrap();
    assert!(labels.is_empty() && numbers.is_empty());
    check(
        device,
        "empty",
        &images([[0, 3], [4, 0], [0, 0], [0, 100_000]], |_, _, _| 1u32),
    );
    check(
        device,
        "empty and not",
        &images([[0, 3], [1, 1], [100, 0]], |_, _, _| 1u32),
    );
}

fn refusals(device: &Device) {
    let of = |shape: &[usize], values: usize| {
        let shape = Shape::new(shape).unwrap();
        let rank = shape.rank();
        let x = Ragged::from_shapes(vec![1u32; values], rank, [shape]).unwrap();
        upload(device, &x).label(Components::of_foreground())
    };
    for (shape, values) in [(&[6][..], 6), (&[1, 2, 3], 6)] {
        let error = of(shape, values).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("rank", "label"));
        let text = format!("label: expected a rank of 2, got {}", shape.len());
        assert!(error.to_string().starts_with(&text), "{error}");
    }
    let limited = upload(
        &device.with_work_limit(100),
        &images([[20, 20]], |_, _, _| 1u32),
    );
    let error = limited.label(Components::of_foreground()).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("work_limit", "label"));
}
