//! Batches of bytes: each operation against itself on the same numbers as u32, and conversions against the host's.

use libtest_mimic::Trial;
use vsla::batch::{Permutation, Remainder};
use vsla::image::{Components, Neighbours};
use vsla::program::Program;
use vsla::scalar::{Ordered, Pixel};
use vsla::{Device, Indices, Layout, Pairing, Ragged, Result, Shape, Tensor, f16};

use crate::support::bench::{Bench, DeviceTest, is_hurried};
use crate::support::compare::assert_exact;
use crate::support::corpus::rng;
use crate::support::operation::{download, pick};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("by_hand", by_hand),
        ("there_and_back", there_and_back),
        ("conversions", conversions),
        ("views_begin_anywhere", views_begin_anywhere),
        ("images", images),
        ("series", series),
        ("boxes", boxes),
        ("large", large),
        ("empty", empty),
        ("in_programs", in_programs),
        ("refused", refused),
    ];
    bench.all_on_each_device(tests)
}

fn bytes(layout: &Layout, below: u8) -> Ragged<u8> {
    let mut random = rng("bytes");
    Ragged::from_fn(layout, |_, _| random.u8(..below)).unwrap()
}

fn matrices(shapes: &[[usize; 2]]) -> Layout {
    Layout::from_shapes(2, shapes.iter().map(|s| Shape::new(s).unwrap())).unwrap()
}

fn by_hand(device: &Device) {
    let layout = matrices(&[[1, 3], [0, 4], [2, 1]]);
    let x = Ragged::from_parts(layout, vec![0u8, 128, 255, 7, 1]).unwrap();
    let there = device.upload(&x).unwrap();
    let turned = there.rot90(1).unwrap().download_blocking().unwrap();
    assert_eq!(
        turned.to_vecs().unwrap(),
        [vec![255, 128, 0], vec![], vec![7, 1]]
    );
    assert_eq!(turned.shape(1), Shape::new(&[4, 0]).unwrap());
    let words = there.to::<u32>().unwrap();
    let expected = Ragged::from_parts(x.layout().clone(), vec![0u32, 128, 255, 7, 1]).unwrap();
    assert_exact("widened", &download(&words), &expected);
    let above = there.dilate(Neighbours::Four).unwrap();
    let above = above.download_blocking().unwrap();
    assert_eq!(above.values(), [128, 255, 255, 7, 7]);
}

/// Numbers of values around those of a word, an invocation and a workgroup, in one element and in many.
fn there_and_back(device: &Device) {
    let mut layouts: Vec<Layout> = (0..10)
        .chain([255, 1023, 1024, 1025, 4095, 4096, 4097, 70_001])
        .map(|length| Layout::from_lengths([length]).unwrap())
        .collect();
    let mut random = rng("lengths");
    let lengths: Vec<usize> = (0..3000).map(|_| random.usize(0..12)).collect();
    layouts.push(Layout::from_lengths(lengths).unwrap());
    layouts.push(Layout::from_lengths([0, 0]).unwrap());
    layouts.push(Layout::from_lengths([0; 0]).unwrap());
    let cube = [[2, 3, 5], [0, 1, 9], [1, 1, 7]].map(|s| Shape::new(&s).unwrap());
    layouts.push(Layout::from_shapes(3, cube).unwrap());
    for layout in layouts {
        let x = bytes(&layout, 255);
        let there = device.upload(&x).unwrap();
        assert_eq!(there.download_blocking().unwrap(), x);
        assert_eq!(there.copy().unwrap().download_blocking().unwrap(), x);
        let words = there.to::<u32>().unwrap();
        assert_exact("words", &download(&words), &x.cast(u32::from).unwrap());
        let back = words.to::<u8>().unwrap();
        assert_eq!(pollster::block_on(back.download()).unwrap(), x);
        let full = device.full(&layout, 77u8).unwrap();
        let expected = Ragged::from_fn(&layout, |_, _| 77u8).unwrap();
        assert_eq!(full.download_blocking().unwrap(), expected);
    }
}

fn conversions(device: &Device) {
    fn from<T: Ordered>(device: &Device, values: &[T], to: fn(T) -> u8) {
        // Every length, so that the last word is of every size.
        for length in 1..=values.len() {
            let x = Ragged::from_rows([&values[..length]]).unwrap();
            let expected = x.cast(to).unwrap();
            let there = device.upload(&x).unwrap();
            let got = there.to::<u8>().unwrap().download_blocking().unwrap();
            assert_eq!(got, expected);
        }
    }
    let unsigned = [0u32, 1, 254, 255, 256, 511, 65_536, 1 << 31, u32::MAX];
    from(device, &unsigned, |v| u8::try_from(v).unwrap_or(255));
    let signed = [0, -1, 255, 256, i32::MIN, i32::MAX, -256, 7, 65_535, 3];
    from(device, &signed, |v| v.clamp(0, 255) as u8);
    let floats = [
        0.0f32,
        -0.0,
        0.999,
        1.0,
        254.9,
        255.0,
        255.9,
        256.0,
        1e9,
        -1.0,
        -1e-9,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        1e-40,
    ];
    from(device, &floats, |v| v as u8);
    from(device, &floats.map(f16::from_f32), |v| v.to_f32() as u8);
    let all: Vec<u8> = (0..=255).collect();
    let x = Ragged::from_rows([&all[..3], &all[..0], &all[..], &all[9..20]]).unwrap();
    let there = device.upload(&x).unwrap();
    for first in 0..4 {
        let (x, there) = (
            pick(&x, &(first..4).collect::<Vec<_>>()),
            there.elements(first..4).unwrap(),
        );
        let floats = there.to::<f32>().unwrap().download_blocking().unwrap();
        assert_eq!(floats, x.cast(f32::from).unwrap());
        let halves = there.to::<f16>().unwrap().download_blocking().unwrap();
        assert_eq!(halves, x.cast(f16::from).unwrap());
        let signed = there.to::<i32>().unwrap().download_blocking().unwrap();
        assert_eq!(signed, x.cast(i32::from).unwrap());
        let same = there.to::<u8>().unwrap().download_blocking().unwrap();
        assert_eq!(same, x);
    }
}

fn views_begin_anywhere(device: &Device) {
    let layout = Layout::from_lengths([1, 2, 0, 3, 700, 5, 9]).unwrap();
    let x = bytes(&layout, 255);
    let there = device.upload(&x).unwrap();
    for first in 0..layout.len() {
        let view = there.elements(first..layout.len()).unwrap();
        for got in [&view, &view.copy().unwrap()] {
            let got = got.download_blocking().unwrap();
            assert_eq!(got.len(), layout.len() - first);
            for element in 0..got.len() {
                assert_eq!(got.row(element), x.row(first + element));
            }
        }
        let mut into = vec![1u8; view.layout().total()];
        view.download_into_blocking(&mut into).unwrap();
        assert_eq!(into, x.values()[layout.offsets().range(first).start..]);
    }
    // A shift by every number of bytes, at the first and the last word.
    let long = there.elements(4..5).unwrap();
    for before in 0..6 {
        let padded = long
            .pad(&[before], &[1])
            .unwrap()
            .download_blocking()
            .unwrap();
        assert_eq!(
            padded.values(),
            [&vec![0; before][..], x.row(4), &[0]].concat()
        );
    }
    let cpu = there.to_device_blocking(&Device::cpu()).unwrap();
    assert_eq!(cpu.download_blocking().unwrap(), x);
}

/// Results by name, converted to u32.
struct Results(Vec<(String, Ragged<u32>)>);

impl Results {
    fn add<T: Ordered>(&mut self, name: &str, result: Result<Tensor<T>>) {
        let words = result.and_then(|x| x.to::<u32>()?.download_blocking());
        let words = words.unwrap_or_else(|error| panic!("{name}: {error}"));
        self.0.push((name.to_owned(), words));
    }

    fn compare(&self, words: &Results) {
        assert!(self.0.len() > 10);
        for ((name, bytes), (_, words)) in self.0.iter().zip(&words.0) {
            assert_eq!(bytes.layout(), words.layout(), "{name}");
            assert_eq!(bytes.values(), words.values(), "{name}");
        }
    }
}

fn of_any_rank<T: Pixel + From<u8>>(x: &Tensor<T>, y: &Tensor<T>) -> Results {
    let mut r = Results(Vec::new());
    let (layout, rank, n) = (x.layout(), x.layout().rank(), x.len());
    let device = x.device();
    r.add("copy", x.copy());
    let last: Vec<usize> = (0..rank).collect();
    r.add("flip", x.flip(&last));
    r.add("flip", x.flip(&last[rank - 1..]));
    for before in 1..4 {
        r.add("pad", x.pad(&vec![before; rank], &vec![2; rank]));
    }
    r.add("slice", x.slice(&vec![1; rank], &vec![5; rank]));
    r.add("slice", x.slice(&vec![0; rank], &vec![3; rank]));
    for cut in [
        (None, None, 2),
        (Some(1), None, 1),
        (None, None, -1),
        (Some(-1), Some(0), -3),
    ] {
        r.add("strided_slice", x.strided_slice(&vec![cut; rank]));
    }
    r.add("resize", x.resize(y.layout()));
    r.add("resize", y.resize(layout));
    let swapped: Vec<usize> = (0..rank).rev().collect();
    r.add("transpose", x.transpose(&swapped));
    if rank == 1 {
        r.add("packed", x.packed().and_then(|x| x.copy()));
    }
    let firsts = x.slice(&vec![0; rank], &vec![1; rank]).unwrap();
    r.add("broadcast", firsts.broadcast(layout));
    for axis in 0..rank {
        r.add("concat", x.concat(y, axis));
        r.add("concat_all", x.concat_all(&[y, x, y], axis));
        let (values, places) = x.top_k_at_most(2, axis).unwrap();
        r.add("top_k", Ok(values));
        r.add("top_k", Ok(places));
        r.add("sort", x.sort(axis));
        r.add("argsort_descending", x.argsort_descending(axis));
    }
    r.add("block_diag", x.block_diag(y));
    let picked: Vec<u32> = (0..2 * n as u32).map(|i| (7 * i + 3) % n as u32).collect();
    r.add("select", x.select(&picked));
    let order = Permutation::new((0..n as u32).rev().collect::<Vec<_>>()).unwrap();
    r.add("reorder", x.reorder(&order));
    r.add("sort_by_length", x.sort_by_length().map(|sorted| sorted.0));
    r.add("join", x.join(&[y, x, y, x, y, x, y, x]));
    let halves = x.split(&[1, n - 1]).unwrap();
    for half in halves {
        r.add("split", half.copy());
    }
    let rows = |e: usize| layout.shape(e).extents()[0] as usize;
    let lists = (0..n).map(|e| (0..rows(e) as u32 + 2).rev().collect::<Vec<u32>>());
    let lists = Indices::new(Ragged::from_rows(lists).unwrap()).unwrap();
    r.add("gather", x.gather(&lists));
    let one = x.elements(n - 1..n).unwrap();
    r.add(
        "gather_paired",
        one.gather_paired(&lists, Pairing::OneToAll),
    );
    let order = (0..n).map(|e| (0..rows(e) as u32).rev().collect::<Vec<u32>>());
    let order = Indices::new(Ragged::from_rows(order).unwrap()).unwrap();
    r.add("scatter_set", x.scatter_set(&order, layout));
    let most = 1 << 20;
    if rank < 3 {
        let stack = x.stack(most).unwrap();
        r.add("unstack", stack.unstack(layout));
        r.add("stack", Ok(stack));
        r.add("stack_groups", x.stack_groups(&[n - 1, 1], most));
        r.add("window", x.window(2, 1, most));
        for level in x.pyramid(&[2], Remainder::Pad, most).unwrap() {
            r.add("pyramid", Ok(level));
        }
    }
    r.add("equal", x.equal(y));
    r.add("not_equal", x.not_equal(y));
    r.add("less", x.less(y));
    r.add("less_equal", x.less_equal(y));
    r.add("greater", x.greater(y));
    r.add("greater_equal", x.greater_equal(y));
    r.add("maximum", x.maximum(y));
    r.add("minimum", x.minimum(y));
    let value = |value: u8| device.full(&Layout::from_lengths([1]).unwrap(), T::from(value));
    let (three, nine) = (value(3).unwrap(), value(9).unwrap());
    let mask = x.less(three.each()).unwrap();
    r.add("if_else", mask.if_else(nine.each(), x));
    r.add("if_else", mask.if_else(x, three.each()));
    r.add("if_else", mask.if_else(x, y));
    r.add("equal_elements", x.equal_elements(y));
    r.add("equal_elements", x.equal_elements(&x.copy().unwrap()));
    let filled: Vec<u32> = (0..n as u32)
        .filter(|&e| layout.length(e as usize) > 0)
        .collect();
    let filled = x.select(&filled).unwrap();
    r.add("max", filled.max());
    r.add("min", filled.min());
    r.add("argmax", filled.argmax());
    r.add("argmin", filled.argmin());
    for axis in 0..rank {
        r.add("max_axis", filled.max_axis(axis));
        r.add("argmin_axis", filled.argmin_axis(axis));
    }
    r.add("most_common", filled.most_common());
    r.add("least_common", filled.least_common());
    r.add("palette", x.palette_blocking());
    r.add("bincount", x.bincount(7));
    r.add("bincount_strict", x.bincount_strict_blocking(256));
    let table: Vec<u32> = (0..256).map(|i| 1000 + 7 * i).collect();
    let table = device.upload(&Ragged::from_rows([table]).unwrap()).unwrap();
    r.add("lookup", x.lookup(&table));
    r.add("lookup_strict", x.lookup_strict_blocking(&table));
    let narrow: Vec<T> = (0..=255).map(|i: u8| T::from(i ^ 0x5a)).collect();
    let narrow = device
        .upload(&Ragged::from_rows([narrow]).unwrap())
        .unwrap();
    r.add("lookup", x.lookup(&narrow));
    r.add("lookup", x.to::<u32>().unwrap().lookup(&narrow));
    let tables = (0..n).map(|e| vec![T::from(e as u8); 1 + e % 5]);
    let tables = device.upload(&Ragged::from_rows(tables).unwrap()).unwrap();
    r.add("lookup", x.lookup(&tables));
    r
}

fn of_images<T: Pixel + From<u8>>(x: &Tensor<T>, y: &Tensor<T>) -> Results {
    let mut r = of_any_rank(x, y);
    let (layout, n) = (x.layout(), x.len());
    let device = x.device();
    for turns in 1..4 {
        r.add("rot90", x.rot90(turns));
    }
    r.add("anti_transpose", x.anti_transpose());
    let factors: Vec<[usize; 2]> = (0..n).map(|e| [1 + e % 3, 1 + e / 3 % 3]).collect();
    for factors in [&[[2, 3]][..], &factors] {
        r.add("upscale", x.upscale(factors));
        r.add("downscale", x.downscale(factors));
        r.add("tile", x.tile(factors));
    }
    let shifts: Vec<[i64; 2]> = (0..n as i64).map(|e| [e % 4 - 2, e % 7 - 3]).collect();
    r.add("translate", x.translate(&[[1, -1]], T::from(200)));
    r.add("translate", x.translate(&shifts, T::from(9)));
    for neighbours in [Neighbours::Four, Neighbours::Eight] {
        r.add("dilate", x.dilate(neighbours));
        r.add("erode", x.erode(neighbours));
        r.add(
            "fill_holes",
            x.fill_holes(neighbours, T::from(1), T::from(255)),
        );
        for components in [Components::of_equal_values(), Components::of_foreground()] {
            let components = components.neighbours(neighbours).background(T::from(2));
            let (labels, numbers) = x.label(components).unwrap();
            let regions = x.regions_blocking(&labels, &numbers).unwrap();
            r.add("labels", Ok(labels));
            r.add("numbers", Ok(numbers));
            r.add("areas", Ok(regions.areas));
            r.add("boxes", Ok(regions.boxes));
            r.add("values", Ok(regions.values));
        }
    }
    let boxes = x.bounding_box(T::from(0)).unwrap();
    r.add("crop", x.crop_blocking(&boxes));
    r.add("bounding_box", Ok(boxes));
    r.add("trim", x.trim_blocking(T::from(1)));
    let table = matrices(&vec![[2, 4]; n]);
    let figures = (0..n as u32).flat_map(|e| [e % 2, 0, e % 5, e % 3 + 1, 0, 1, 2, 2]);
    let figures = Ragged::from_parts(table.clone(), figures.collect()).unwrap();
    let figures = device.upload(&figures).unwrap();
    let values = (0..n as u8).map(|e| [T::from(e), T::from(250)]);
    let values = device.upload(&Ragged::from_rows(values).unwrap()).unwrap();
    r.add("draw_boxes", x.draw_boxes(&figures, &values));
    let lines = (0..n as i32).flat_map(|e| [-1, -1, 3, 3, e % 4, 0, e % 4, 5]);
    let lines = Ragged::from_parts(table, lines.collect()).unwrap();
    r.add("draw_lines", x.draw_lines(&lines, &values));
    let templates = x.slice(&[0, 0], &[1, 2]).unwrap();
    r.add("match_template", x.match_template(&templates));
    for axis in 0..2 {
        r.add("period", x.period(axis));
        let extent = |e: usize| layout.shape(e).extents()[axis];
        let flags = (0..n).map(|e| {
            (0..extent(e))
                .map(|i| (i + e as u32) % 3 / 2)
                .collect::<Vec<_>>()
        });
        let flags = device.upload(&Ragged::from_rows(flags).unwrap()).unwrap();
        r.add("compact", x.compact_blocking(&flags, axis));
    }
    r
}

/// Compares the results on bytes with those on words: of whole batches, and of views that begin at every byte of a
/// word.
fn alike(
    device: &Device,
    (x, y): (&Ragged<u8>, &Ragged<u8>),
    on_bytes: fn(&Tensor<u8>, &Tensor<u8>) -> Results,
    on_words: fn(&Tensor<u32>, &Tensor<u32>) -> Results,
) {
    let [x, y] = [x, y].map(|x| device.upload(x).unwrap());
    for first in 0..4 {
        let [x, y] = [&x, &y].map(|x| x.elements(first..x.len()).unwrap());
        let words = on_words(&x.to().unwrap(), &y.to().unwrap());
        on_bytes(&x, &y).compare(&words);
    }
}

fn images(device: &Device) {
    let mut random = rng("images");
    let mut shapes = vec![
        [1, 1],
        [1, 5],
        [2, 1],
        [1, 30],
        [30, 1],
        [0, 3],
        [3, 0],
        [64, 65],
    ];
    shapes.extend([[5, 2], [6, 3], [3, 4], [7, 2]]);
    shapes.extend((0..30).map(|_| [random.usize(0..12), random.usize(0..12)]));
    let mut others = shapes.clone();
    others[13..29].rotate_left(3);
    let (x, y) = (bytes(&matrices(&shapes), 4), bytes(&matrices(&others), 4));
    alike(device, (&x, &y), of_images, of_images);
}

fn series(device: &Device) {
    let lengths = [1, 1, 1, 1, 2, 0, 17, 300, 5000, 3, 4, 5, 31, 33, 0, 8];
    let x = bytes(&Layout::from_lengths(lengths).unwrap(), 255);
    let mut others = lengths;
    others[4..].reverse();
    let y = bytes(&Layout::from_lengths(others).unwrap(), 255);
    alike(device, (&x, &y), of_any_rank, of_any_rank);
}

fn boxes(device: &Device) {
    let mut random = rng("boxes");
    let shapes: Vec<[usize; 3]> = (0..24)
        .map(|_| [(); 3].map(|()| random.usize(0..6)))
        .collect();
    let layout = |shapes: &[[usize; 3]]| {
        Layout::from_shapes(3, shapes.iter().map(|s| Shape::new(s).unwrap())).unwrap()
    };
    let mut others = shapes.clone();
    others.rotate_left(5);
    let (x, y) = (bytes(&layout(&shapes), 9), bytes(&layout(&others), 9));
    alike(device, (&x, &y), of_any_rank, of_any_rank);
}

/// More values than a workgroup makes, in elements of odd sizes, and in one element.
fn large(device: &Device) {
    fn run<T: Pixel + From<u8>>(x: &Tensor<T>) -> Results {
        let mut r = Results(Vec::new());
        r.add("rot90", x.rot90(1));
        r.add("rot90", x.rot90(2));
        r.add("rot90", x.rot90(3));
        r.add("dilate", x.dilate(Neighbours::Eight));
        r.add("erode", x.erode(Neighbours::Four));
        r.add("upscale", x.upscale(&[[3, 2]]));
        r.add("downscale", x.downscale(&[[2, 3]]));
        r.add("tile", x.tile(&[[2, 1]]));
        r.add("translate", x.translate(&[[5, -7]], T::from(3)));
        r.add("slice", x.slice(&[1, 2], &[60, 70]));
        r.add("slice", x.slice(&[1, 0], &[90, 120]));
        r.add("pad", x.pad(&[1, 2], &[0, 3]));
        r.add("flip", x.flip(&[1]));
        let table: Vec<T> = (0..=255).map(|i: u8| T::from(!i)).collect();
        let table = Ragged::from_rows([table]).unwrap();
        r.add("lookup", x.lookup(&x.device().upload(&table).unwrap()));
        r.add("select", x.select(&[x.len() as u32 - 1, 0, 0]));
        let three = x
            .device()
            .full(&Layout::from_lengths([1]).unwrap(), T::from(3))
            .unwrap();
        r.add("not_equal", x.not_equal(three.each()));
        let flipped = x.flip(&[0]).unwrap();
        r.add("concat", x.concat(&flipped, 1));
        r.add("maximum", x.maximum(&flipped));
        r.add("minimum", flipped.minimum(x));
        let mask = x.less(&flipped).unwrap();
        r.add("if_else", mask.if_else(x, &flipped));
        r.add("less", Ok(mask));
        r.add("equal", x.equal(&flipped));
        r
    }
    let images = if is_hurried(device) { 8 } else { 40 };
    let uneven: Vec<[usize; 2]> = (0..images).map(|i| [90 + i, 131 - 3 * i]).collect();
    for shapes in [
        &uneven[..],
        &[[1, 1], [301, 257]],
        &[[1, 1], [1, 1], [1, 1], [256, 256]],
    ] {
        let x = device.upload(&bytes(&matrices(shapes), 255)).unwrap();
        for first in 0..shapes.len().min(3) {
            let x = x.elements(first..x.len()).unwrap();
            run(&x).compare(&run(&x.to::<u32>().unwrap()));
        }
    }
}

/// The extremes of an empty element are the ends of the range of bytes, not of u32.
fn empty(device: &Device) {
    let layout = Layout::from_lengths([0, 2, 0]).unwrap();
    let x = Ragged::from_parts(layout, vec![7u8, 9]).unwrap();
    let x = device.upload(&x).unwrap();
    let values = |x: Tensor<u8>| x.download_blocking().unwrap().values().to_vec();
    assert_eq!(values(x.max().unwrap()), [0, 9, 0]);
    assert_eq!(values(x.min().unwrap()), [255, 7, 255]);
    let flat = Ragged::from_parts(matrices(&[[0, 2], [1, 2]]), vec![7u8, 9]).unwrap();
    let flat = device.upload(&flat).unwrap();
    assert_eq!(values(flat.min_axis(0).unwrap()), [255, 255, 7, 9]);
    assert_eq!(values(flat.max_axis(0).unwrap()), [0, 0, 7, 9]);
    let places = x.argmin().unwrap().download_blocking().unwrap();
    assert_eq!(places.values(), [u32::MAX, 0, u32::MAX]);
}

/// A recording takes bytes as inputs and keeps them as constants, and gives what the operations give alone.
fn in_programs(device: &Device) {
    let layout = matrices(&[[5, 3], [0, 4], [9, 1], [7, 7]]);
    let x = bytes(&layout, 5);
    let constant = device.upload(&bytes(&layout, 9)).unwrap();
    fn made(
        x: &Tensor<u8>,
        constant: &Tensor<u8>,
    ) -> Result<(Tensor<u8>, Tensor<f32>, Tensor<u32>)> {
        let turned = x.maximum(constant)?.rot90(1)?.pad(&[0, 1], &[1, 0])?;
        let floats = turned.dilate(Neighbours::Eight)?.to::<f32>()?.scale(0.5)?;
        let labels = turned.label(Components::of_equal_values())?.0;
        Ok((turned, floats, labels))
    }
    let held = constant.clone();
    let program = Program::new(device, move |r| {
        let (turned, floats, labels) = made(&r.input::<u8>()?, &held)?;
        r.output(&turned)?;
        r.output(&floats)?;
        r.output(&labels)
    });
    let plan = program.plan(&[&layout]).unwrap();
    let x = device.upload(&x).unwrap();
    let outputs = plan.run(&[&x]).unwrap();
    let (turned, floats, labels) = made(&x, &constant).unwrap();
    let got = outputs.get::<u8>(0).unwrap().download_blocking().unwrap();
    assert_eq!(got, turned.download_blocking().unwrap());
    assert_exact(
        "floats",
        &download(&outputs.get::<f32>(1).unwrap()),
        &download(&floats),
    );
    assert_exact(
        "labels",
        &download(&outputs.get::<u32>(2).unwrap()),
        &download(&labels),
    );
}

/// Errors name the operation as for other types.
fn refused(device: &Device) {
    let x = device
        .upload(&bytes(&matrices(&[[2, 2], [3, 3]]), 9))
        .unwrap();
    let y = device.upload(&bytes(&matrices(&[[2, 2]]), 9)).unwrap();
    let refused = |error: vsla::Error, op: &str, kind: &str| {
        assert_eq!((error.op(), error.kind()), (op, kind), "{error}");
    };
    refused(
        x.upscale(&[[1, 1], [0, 1]]).unwrap_err(),
        "upscale",
        "argument",
    );
    refused(x.concat(&y, 0).unwrap_err(), "concat", "batch_size");
    let table = device
        .upload(&Ragged::from_rows([[1u8; 3]]).unwrap())
        .unwrap();
    refused(
        x.lookup_strict_blocking(&table).unwrap_err(),
        "lookup_strict",
        "argument",
    );
}
