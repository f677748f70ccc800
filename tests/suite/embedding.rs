//! Rows of a table by ids on a device, and the sums of rows with the same id, which are its gradient.

use libtest_mimic::Trial;
use vsla::program::Program;
use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::compare::{Comparable, assert_exact, assert_identical};
use crate::support::corpus::rng;
use crate::support::operation::{download, one, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("named_rows", named_rows),
        ("views", views),
        ("bits", bits),
        ("refused", refused),
        ("gradient", gradient),
        ("gradient_of_frequent_ids", gradient_of_frequent_ids),
        ("gradient_of_views", gradient_of_views),
        ("gradient_of_halves", gradient_of_halves),
        ("same_sums_everywhere", same_sums_everywhere),
    ];
    bench.all_on_each_device(tests)
}

fn shapes<const R: usize>(all: &[[usize; R]]) -> Layout {
    Layout::from_shapes(R, all.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}

/// Values of which no two in a row are equal.
fn table<T: Float>(rows: usize, width: usize, value: fn(f32) -> T) -> Ragged<T> {
    Ragged::from_fn(&shapes(&[[rows, width]]), |_, i| {
        value((i % 2039) as f32 - 500.0)
    })
    .unwrap()
}

/// Ids of which a few are outside the vocabulary.
fn ids(layout: &Layout, vocabulary: usize) -> Ragged<u32> {
    Ragged::from_fn(layout, |e, i| match (e + i) % 11 {
        3 => u32::MAX,
        7 => vocabulary as u32,
        _ => ((7 * e + 3 * i) % vocabulary.max(1)) as u32,
    })
    .unwrap()
}

fn layouts() -> Vec<Layout> {
    vec![
        Layout::from_lengths([]).unwrap(),
        Layout::from_lengths([0, 0]).unwrap(),
        Layout::from_lengths([0, 3, 0, 1, 2, 700, 5]).unwrap(),
        Layout::from_lengths((0..3000).map(|i| i % 4)).unwrap(),
        shapes(&[[2, 3], [0, 5], [7, 30]]),
        shapes(&[[2, 3, 2], [1, 1, 1]]),
    ]
}

/// The shapes of rows for these ids.
fn of_rows(ids: &Layout, width: usize) -> Layout {
    let wider = ids.shapes().map(|shape| {
        let extents = shape.extents().iter().map(|&n| n as usize);
        Shape::new(&extents.chain([width]).collect::<Vec<_>>()).unwrap()
    });
    Layout::from_shapes(ids.rank() + 1, wider).unwrap()
}

fn expected<T: Float>(table: &Ragged<T>, ids: &Ragged<u32>, nan: T) -> Ragged<T> {
    let [vocabulary, width] = *table.shape(0).extents() else {
        panic!("a matrix");
    };
    let width = width as usize;
    Ragged::from_fn(&of_rows(ids.layout(), width), |e, i| {
        let id = ids.row(e)[i / width];
        match id < vocabulary {
            true => table.values()[id as usize * width + i % width],
            false => nan,
        }
    })
    .unwrap()
}

fn check<T: Float + Comparable>(device: &Device, table: &Ragged<T>, ids: &Ragged<u32>, nan: T) {
    let got = upload(device, table)
        .embedding(&upload(device, ids))
        .unwrap();
    let what = format!("{} of {}, {}", ids.layout(), table.layout(), T::DTYPE);
    assert_exact(what, &download(&got), &expected(table, ids, nan));
}

fn named_rows(device: &Device) {
    for layout in layouts() {
        for width in [0, 1, 2, 3, 4, 5, 8, 9, 24, 129] {
            for vocabulary in [0, 1, 2, 50] {
                let ids = ids(&layout, vocabulary);
                let table = table(vocabulary, width, |x| x);
                check(device, &table, &ids, f32::NAN);
                let halves = table.cast(f16::from_f32).unwrap();
                check(device, &halves, &ids, f16::NAN);
            }
        }
    }
    // Rows over several tiles.
    let table = table(3, 5001, |x| x);
    check(device, &table, &rows([&[2u32, 9][..], &[0]]), f32::NAN);
}

/// The table and the ids begin anywhere in their buffers.
fn views(device: &Device) {
    for width in [3, 4, 7, 8] {
        let lengths = [1, 2, 700, 0, 3];
        let all = upload(device, &ids(&Layout::from_lengths(lengths).unwrap(), 9));
        for skipped in 0..5 {
            let both = shapes(&[[1, skipped], [9, width]]);
            let of = Ragged::from_fn(&both, |e, i| (300 * e + i) as f32).unwrap();
            let halves = of.cast(f16::from_f32).unwrap();
            for begin in 0..4 {
                let ids = all.elements(begin..5).unwrap();
                let host = download(&ids);
                let what = format!("{begin}, {skipped} of width {width}");
                let part = upload(device, &of).elements(1..2).unwrap();
                let got = download(&part.embedding(&ids).unwrap());
                assert_identical(&what, &got, &expected(&download(&part), &host, f32::NAN));
                let part = upload(device, &halves).elements(1..2).unwrap();
                let got = download(&part.embedding(&ids).unwrap());
                assert_identical(&what, &got, &expected(&download(&part), &host, f16::NAN));
            }
        }
    }
}

/// Rows are copied with the payload of NaN and the sign of zero.
fn bits(device: &Device) {
    let words = [0x7fc0_1234, 0xffc0_0001, 0x8000_0000, 1];
    let table = one(&[2, 2], &words.map(f32::from_bits));
    let got = upload(device, &table).embedding(&upload(device, &rows([&[1u32, 0][..]])));
    let got = download(&got.unwrap());
    let got: Vec<u32> = got.values().iter().map(|x| x.to_bits()).collect();
    assert_eq!(got, [words[2], words[3], words[0], words[1]]);
}

fn refused(device: &Device) {
    let ids = upload(device, &rows([&[1u32, 2][..], &[3]]));
    let of = |layout: &Layout| upload(device, &Ragged::<f32>::zeros(layout).unwrap());
    let text = |got: Result<Tensor<f32>>| got.unwrap_err().to_string();
    assert_eq!(
        text(of(&shapes(&[[1, 2], [1, 2]])).embedding(&ids)),
        "embedding: expected a table of one element, got 2 elements"
    );
    assert_eq!(
        text(of(&Layout::from_lengths([4]).unwrap()).embedding(&ids)),
        "embedding: expected a rank of 2 for the table, got 1"
    );
    let table = of(&shapes(&[[4, 2]]));
    let deep = upload(device, &one(&[1; 8], &[0u32]));
    assert_eq!(table.embedding(&deep).unwrap_err().kind(), "rank");
    let wide = of(&shapes(&[[0, 1 << 31]]));
    let error = wide.embedding(&ids).unwrap_err();
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("size_overflow", "embedding", Some(0))
    );
    let limited = device.with_work_limit(100);
    let table = upload(&limited, &table_of_ones(4, 30));
    let error = table.embedding(&upload(&limited, &rows([&[0u32; 4][..]])));
    assert_eq!(error.unwrap_err().kind(), "work_limit");
}

fn table_of_ones(rows: usize, width: usize) -> Ragged<f32> {
    Ragged::full(&shapes(&[[rows, width]]), 1.0).unwrap()
}

/// The gradient of a table for these cotangents.
fn slopes<T: Float>(
    device: &Device,
    table: &Layout,
    ids: &Tensor<u32>,
    cotangents: &Tensor<f32>,
) -> Ragged<T> {
    let table = upload(device, &Ragged::<T>::zeros(table).unwrap());
    let program = Program::new(device, |r| {
        let (table, ids): (Tensor<T>, Tensor<u32>) = (r.input()?, r.input()?);
        let seed: Tensor<f32> = r.input()?;
        let rows = table.embedding(&ids)?.to::<f32>()?;
        let slopes = r.gradients_from(&[(&rows, &seed)], &[&table])?;
        r.output(&slopes[0])
    });
    let layouts = [table.layout(), ids.layout(), cotangents.layout()];
    let plan = program.plan(&layouts).unwrap();
    let outputs = plan.run(&[&table, ids, cotangents]).unwrap();
    download(&outputs.get::<T>(0).unwrap())
}

/// Small whole numbers, whose sums are exact.
fn whole(layout: &Layout) -> Ragged<f32> {
    Ragged::from_fn(layout, |e, i| ((5 * e + 3 * i) % 17) as f32 - 8.0).unwrap()
}

fn sums(table: &Layout, ids: &Ragged<u32>, rows: &Ragged<f32>) -> Ragged<f32> {
    let [vocabulary, width] = *table.shape(0).extents() else {
        panic!("a matrix");
    };
    let (width, mut all) = (width as usize, vec![0.0; table.total()]);
    if width > 0 {
        for (&id, row) in ids.values().iter().zip(rows.values().chunks_exact(width)) {
            if id < vocabulary {
                let sum = &mut all[id as usize * width..][..width];
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
        }
    }
    Ragged::from_parts(table.clone(), all).unwrap()
}

fn gradient(device: &Device) {
    for layout in layouts() {
        for width in [0, 1, 3, 4, 33] {
            for vocabulary in [0, 1, 2, 50, 1000] {
                let ids = ids(&layout, vocabulary);
                let table = shapes(&[[vocabulary, width]]);
                let g = whole(&of_rows(&layout, width));
                let (on, of) = (upload(device, &ids), upload(device, &g));
                let got = slopes::<f32>(device, &table, &on, &of);
                let what = format!("{layout} of {table}");
                assert_exact(what, &got, &sums(&table, &ids, &g));
            }
        }
    }
}

/// Runs of one id that begin and end anywhere in groups of 64 places, and that fill many.
fn gradient_of_frequent_ids(device: &Device) {
    let mut random = rng("frequent");
    for counts in [
        vec![64],
        vec![63, 1, 64],
        vec![1, 64, 64, 63],
        vec![128, 0, 65, 127],
        vec![20, 5000, 3, 700, 1],
    ] {
        let each = counts.iter().zip(0..).map(|(&n, id)| vec![id as u32; n]);
        let mut all = each.collect::<Vec<_>>().concat();
        random.shuffle(&mut all);
        let ids = rows([&all[..all.len() / 2], &[], &all[all.len() / 2..]]);
        let (table, width) = (shapes(&[[counts.len(), 5]]), 5);
        let g = whole(&of_rows(ids.layout(), width));
        let got = slopes::<f32>(device, &table, &upload(device, &ids), &upload(device, &g));
        assert_exact(format!("{counts:?}"), &got, &sums(&table, &ids, &g));
    }
}

fn gradient_of_views(device: &Device) {
    let layout = Layout::from_lengths([1, 2, 700, 0, 3]).unwrap();
    let (ids, table) = (ids(&layout, 9), shapes(&[[9, 3]]));
    let all = upload(device, &ids);
    let of = upload(device, &whole(&of_rows(&layout, 3)));
    for begin in 0..5 {
        let ids = all.elements(begin..5).unwrap();
        let g = of.elements(begin..5).unwrap();
        let got = slopes::<f32>(device, &table, &ids, &g);
        let expected = sums(&table, &download(&ids), &download(&g));
        assert_exact(format!("from {begin}"), &got, &expected);
    }
}

/// Sums are rounded once: 2048 and eight halves of its last place.
fn gradient_of_halves(device: &Device) {
    for width in [1, 2, 5] {
        let ids = rows([&[1u32; 9][..], &[0, 7]]);
        let g = Ragged::from_fn(&of_rows(ids.layout(), width), |e, i| match (e, i / width) {
            (0, 0) => 2048.0,
            _ => 1.0,
        });
        let (ids, g) = (upload(device, &ids), upload(device, &g.unwrap()));
        let got = slopes::<f16>(device, &shapes(&[[3, width]]), &ids, &g);
        let expected = [1.0, 2056.0, 0.0].map(|x| vec![f16::from_f32(x); width]);
        assert_eq!(got.values(), expected.concat());
    }
    // Groups of 64, of odd width.
    let (ids, table) = (rows([&[2u32; 200][..]]), shapes(&[[3, 3]]));
    let g = whole(&of_rows(ids.layout(), 3));
    let got = slopes::<f16>(device, &table, &upload(device, &ids), &upload(device, &g));
    let expected = sums(&table, &ids, &g).cast(f16::from_f32).unwrap();
    assert_exact("groups", &got, &expected);
}

/// The order of additions depends on the ids alone: not on the device, the run, or how ids are divided into elements.
fn same_sums_everywhere(device: &Device) {
    let mut random = rng("sums");
    let layout = Layout::from_lengths([700, 0, 3, 1000]).unwrap();
    let ids = Ragged::from_fn(&layout, |_, _| {
        let id = random.u32(..40);
        if id < 20 { 3 } else { id }
    })
    .unwrap();
    let g = Ragged::from_fn(&of_rows(&layout, 7), |_, _| random.f32() - 0.5).unwrap();
    let table = shapes(&[[38, 7]]);
    let of = |device: &Device, ids: &Ragged<u32>, g: &Ragged<f32>| {
        slopes::<f32>(device, &table, &upload(device, ids), &upload(device, g))
    };
    let got = of(device, &ids, &g);
    assert_identical("again", &of(device, &ids, &g), &got);
    assert_identical("the CPU", &of(&Device::cpu(), &ids, &g), &got);
    let line = |n: usize| Layout::from_lengths([n]).unwrap();
    let together = Ragged::from_parts(line(1703), ids.values().to_vec()).unwrap();
    let rows = shapes(&[[1703, 7]]);
    let of_all = Ragged::from_parts(rows, g.values().to_vec()).unwrap();
    assert_identical("one element", &of(device, &together, &of_all), &got);
    let expected = sums(&table, &ids, &g);
    for (got, expected) in got.values().iter().zip(expected.values()) {
        assert!((got - expected).abs() < 1e-4, "{got}, not {expected}");
    }
}
