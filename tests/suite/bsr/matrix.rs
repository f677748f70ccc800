//! Products of f16 on cooperative matrices, where the GPU has them.

use libtest_mimic::Trial;
use vsla::{
    Bsr, BsrTensor, Device, Ragged, Tensor, Topology, f16,
    product::{Product, Tier},
};

use super::half::{narrowed, narrowed_matrix, sums};
use super::{FORMS, SIDES, Values, batch, bits, dense, matrices, matrix, multiply};
use crate::support::bench::{Bench, DeviceTest, cpu, depth_by_matrices, is_software, repeats};
use crate::support::compare::{assert_identical, assert_within};
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};
use crate::support::reference;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.on_each_device("matrix::refused", refused);
    for high in SIDES {
        let name = format!("matrix::blocks_{high}_high");
        trials.push(bench.on_matrices(&name, move |device| blocks(device, high)));
    }
    let tests: [DeviceTest; 9] = [
        ("matrix::heavy_rows", heavy_rows),
        ("matrix::many_tiles", many_tiles),
        ("matrix::sets", sets),
        ("matrix::alone", alone),
        ("matrix::infinities_stay", infinities_stay),
        ("matrix::beyond_the_edge", beyond_the_edge),
        ("matrix::empty", empty),
        ("matrix::sampled_rows", sampled_rows),
        (
            "matrix::repeated_runs_are_identical",
            repeated_runs_are_identical,
        ),
    ];
    trials.extend(tests.map(|(name, test)| bench.on_matrices(name, test)));
    trials
}

fn on_matrices(device: &Device, s: &Bsr<f32>) -> BsrTensor<f16> {
    device.upload_bsr(&narrowed_matrix(s)).unwrap()
}

/// Every form of the product, with f32 and f16 results, against the product of the dense matrices.
fn check(device: &Device, topology: &Topology, sets: usize, counts: &[usize], values: Values) {
    let s = matrix(topology, sets, values);
    let there = on_matrices(device, &s);
    let s = there.download_blocking().unwrap().to_dense().unwrap();
    let full = s.cast(f64::from).unwrap();
    for form in FORMS {
        let [transposed, left] = form;
        let x = narrowed(&batch(&dense(topology, form, counts), values, "dense"));
        let wide = x.cast(f64::from).unwrap();
        let pairs = (0..counts.len()).map(|i| (if sets == 1 { 0 } else { i }, i));
        let expected = if left {
            let pairs: Vec<_> = pairs.map(|(i, j)| (j, i)).collect();
            reference::matmul(&wide, &full, &pairs, [false, transposed])
        } else {
            let pairs: Vec<_> = pairs.collect();
            reference::matmul(&full, &wide, &pairs, [transposed, false])
        };
        let bounds = match values {
            Values::Integers => vec![0.0; expected.values.values().len()],
            Values::Random => expected.bounds(depth_by_matrices(device)),
        };
        let what = format!("{form:?} {values:?} {topology}");
        let x = upload(device, &x);
        let got = download(&sums(&there, &x, form));
        assert_within(&what, &got, &expected.values, &bounds);
        let rounded = download(&multiply(&there, &x, form));
        assert_eq!(rounded, got.cast(f16::from_f32).unwrap(), "{what}");
    }
}

fn product<'a>([a, b]: [&'a Tensor<f16>; 2], [left, right]: [bool; 2]) -> Product<'a, f16> {
    let mut product = a.product(b);
    if left {
        product = product.transpose_left();
    }
    if right {
        product = product.transpose_right();
    }
    product.tier(Tier::Matrix)
}

/// The stored blocks of products of these inner extents.
fn check_sampled(device: &Device, topology: &Topology, inner: &[usize], values: Values) {
    let [m, n] = topology.shape();
    for transposed in FORMS {
        let stored = |s: [usize; 2], transposed: bool| if transposed { [s[1], s[0]] } else { s };
        let left = matrices(inner.iter().map(|&k| stored([m, k], transposed[0])));
        let right = matrices(inner.iter().map(|&k| stored([k, n], transposed[1])));
        let a = narrowed(&batch(&left, values, "left"));
        let b = narrowed(&batch(&right, values, "right"));
        let pairs = reference::elementwise(inner.len());
        let (wide_a, wide_b) = (a.cast(f64::from).unwrap(), b.cast(f64::from).unwrap());
        let expected = reference::matmul(&wide_a, &wide_b, &pairs, transposed);
        let bounds = match values {
            Values::Integers => vec![0.0; expected.values.values().len()],
            Values::Random => expected.bounds(depth_by_matrices(device)),
        };
        let layout = expected.values.layout();
        let bounds = Ragged::from_parts(layout.clone(), bounds).unwrap();
        let (x, y) = (upload(device, &a), upload(device, &b));
        let product = product([&x, &y], transposed);
        let sums = product.clone().to::<f32>().sampled(topology).unwrap();
        let sums = sums.download_blocking().unwrap();
        for (i, &k) in inner.iter().enumerate() {
            let sample = |dense: &[f64]| {
                let values = Bsr::sample(topology, dense).unwrap();
                values.values().clone()
            };
            let layout = topology.values_layout(1).unwrap();
            let got = Ragged::from_parts(layout, sums.set(i).to_vec()).unwrap();
            assert_within(
                format!("{transposed:?} {values:?}, inner extent {k}, {topology}"),
                &got,
                &sample(expected.values.row(i)),
                sample(bounds.row(i)).values(),
            );
        }
        let rounded = product.sampled(topology).unwrap();
        let rounded = rounded.download_blocking().unwrap();
        assert_eq!(
            rounded.values(),
            &sums.values().cast(f16::from_f32).unwrap()
        );
    }
}

/// Without cooperative matrices, and on the CPU, an error before any work.
fn refused(device: &Device) {
    let topology = Topology::new([8, 8], [8, 8], &[(0, 0)]).unwrap();
    let s = Bsr::new(&topology, vec![f16::ONE; 64]).unwrap();
    let s = device.upload_bsr(&s).unwrap();
    let x = upload(
        device,
        &Ragged::full(&matrices([[8, 8]]), f16::ONE).unwrap(),
    );
    let eight = vec![f16::from_f32(8.0); 64];
    let got = s.product(&x).tier(Tier::Baseline).run().unwrap();
    assert_eq!(download(&got).values(), eight);
    match s.product(&x).tier(Tier::Matrix).run() {
        Ok(got) => assert_eq!(download(&got).values(), eight),
        Err(error) => {
            assert_eq!((error.kind(), error.op()), ("unsupported", "matmul"));
            let product_of_sums = x.product(&s).tier(Tier::Matrix).to::<f32>();
            let error = product_of_sums.run().unwrap_err();
            assert_eq!((error.kind(), error.op()), ("unsupported", "matmul"));
            let error = product([&x, &x], [false; 2])
                .sampled(&topology)
                .unwrap_err();
            assert_eq!((error.kind(), error.op()), ("unsupported", "sampled"));
        }
    }
}

/// Blocks of one height and every width, in matrices that are and are not whole multiples of them.
fn blocks(device: &Device, high: usize) {
    let mut rng = rng("matrices");
    for wide in SIDES {
        let places: Vec<_> = (0..12)
            .filter(|_| rng.u32(..3) > 0)
            .map(|i| (i / 4, i % 4))
            .collect();
        let whole = Topology::new([3 * high, 4 * wide], [high, wide], &places).unwrap();
        check(device, &whole, 1, &[136, 8], Values::Integers);
        let shape = [3 * high - rng.usize(1..high), 4 * wide - rng.usize(1..wide)];
        let cut = Topology::new(shape, [high, wide], &places).unwrap();
        check(device, &cut, 1, &[33, 1, 136], Values::Integers);
        check_sampled(device, &whole, &[16, 40], Values::Integers);
        check_sampled(device, &cut, &[21, 3], Values::Integers);
    }
}

/// Rows that are split next to rows that are not.
fn heavy_rows(device: &Device) {
    for (block, columns) in [([16, 8], 1100), ([48, 128], 66), ([64, 64], 130)] {
        let shape = [4 * block[0], columns * block[1]];
        let heavy = (0..2 * columns as u32).map(|i| (1 + i % 2 * 2, i / 2));
        let others = [(0, 3), (2, 0), (2, columns as u32 - 1)];
        let topology = Topology::from_unsorted(shape, block, heavy.chain(others)).unwrap();
        for values in [Values::Integers, Values::Random] {
            check(device, &topology, 1, &[5, 136], values);
        }
    }
}

/// Adjacent tiles, several of them computed by one workgroup, followed by a partial tile.
fn many_tiles(device: &Device) {
    for block in [[16, 8], [32, 32], [48, 16]] {
        let topology = Topology::random([2 * block[0], 96], block, 2, 7).unwrap();
        check(device, &topology, 1, &[264], Values::Integers);
    }
    // Enough equal products for several tiles per workgroup; alone, a product has one tile per workgroup.
    let count = if is_software(device) { 2 } else { 64 };
    let topology = Topology::random([64 * 128, 48], [128, 16], 2, 7).unwrap();
    let s = on_matrices(device, &matrix(&topology, 1, Values::Integers));
    let one = batch(&matrices([[48, 136]]), Values::Integers, "alike");
    let x = upload(device, &narrowed(&one));
    let expected = download(&s.matmul(&x).unwrap());
    let all = x.select(&vec![0; count]).unwrap();
    let got = download(&s.matmul(&all).unwrap());
    for i in 0..count {
        assert!(got.row(i) == expected.row(0), "product {i} of {count}");
    }
    if is_software(device) {
        return;
    }
    for (shape, block) in [([64 * 128, 96], [64, 32]), ([16 * 460, 32], [16, 16])] {
        let topology = Topology::random(shape, block, 2, 7).unwrap();
        check(device, &topology, 1, &[2300], Values::Integers);
    }
}

fn sets(device: &Device) {
    let topology = Topology::strided([48, 64], [16, 8], 3).unwrap();
    check(device, &topology, 4, &[8, 40, 0, 16], Values::Random);
    check(device, &topology, 4, &[3, 40, 0, 1], Values::Random);
}

/// An element's bits depend neither on its neighbours nor on the offsets of operands.
fn alone(device: &Device) {
    let places = (0..1100).map(|column| (1, column)).chain([(0, 7), (3, 2)]);
    let topology = Topology::from_unsorted([32, 8800], [8, 8], places).unwrap();
    let counts = [3, 40, 1, 136];
    let s = on_matrices(device, &matrix(&topology, 1, Values::Random));
    for form in FORMS {
        let x = narrowed(&batch(
            &dense(&topology, form, &counts),
            Values::Random,
            "x",
        ));
        let x = upload(device, &x);
        let whole = download(&sums(&s, &x, form));
        for i in 0..counts.len() {
            let one = x.elements(i..i + 1).unwrap();
            let got = download(&sums(&s, &one, form));
            assert_eq!(bits(got.row(0)), bits(whole.row(i)), "{form:?} {i}");
        }
    }
}

/// A NaN appears only in its column and in rows with a block at its position, and not through the padding of another
/// row's last stage.
fn infinities_stay(device: &Device) {
    for block in [[8, 8], [16, 16], [32, 48], [64, 8]] {
        let shape = [4 * block[0], 5 * block[1]];
        let topology = Topology::new(shape, block, &[(0, 0), (1, 1), (3, 1), (3, 2), (3, 4)]);
        let topology = topology.unwrap();
        let ones = Bsr::new(
            &topology,
            vec![1.0f32; topology.len() * block[0] * block[1]],
        )
        .unwrap();
        let s = on_matrices(device, &ones);
        for value in [f16::NAN, f16::INFINITY] {
            let mut x = Ragged::full(&matrices([[shape[1], 40]]), f16::ONE).unwrap();
            x.values_mut()[(block[1] + 2) * 40 + 7] = value;
            let got = download(&s.product(&upload(device, &x)).to::<f32>().run().unwrap());
            let expected = |blocks: usize| (blocks * block[1]) as f32;
            for (at, &got) in got.row(0).iter().enumerate() {
                let (row, column) = (at / 40 / block[0], at % 40);
                match (row, column == 7) {
                    (1 | 3, true) if value.is_nan() => assert!(got.is_nan(), "{row}"),
                    (1 | 3, true) => assert_eq!(got, f32::INFINITY, "{row}"),
                    _ => assert_eq!(got, expected([1, 1, 0, 3][row]), "{row} {column}"),
                }
            }
        }
        // The reverse.
        let mut infinite = ones.values().values().to_vec();
        infinite[block[0] * block[1]] = f32::INFINITY;
        let s = on_matrices(device, &Bsr::new(&topology, infinite).unwrap());
        let x = Ragged::full(&matrices([[shape[1], 40]]), f16::ONE).unwrap();
        let got = download(&s.product(&upload(device, &x)).to::<f32>().run().unwrap());
        for (at, &got) in got.row(0).iter().enumerate() {
            let row = at / 40;
            let blocks = [1, 1, 0, 3][row / block[0]];
            let expected = match row == block[0] {
                true => f32::INFINITY,
                false => (blocks * block[1]) as f32,
            };
            assert_eq!(got, expected, "{row}");
        }
    }
}

/// Block values beyond the matrix, and values after an operand in its buffer, count as zero.
fn beyond_the_edge(device: &Device) {
    let topology = Topology::new([11, 13], [8, 16], &[(0, 0), (1, 0)]).unwrap();
    let s = matrix(&topology, 2, Values::Integers);
    let mut spoilt = s.values().values().to_vec();
    for (at, value) in spoilt.iter_mut().enumerate() {
        if at % 16 >= 13 || at / 16 % 16 >= 11 {
            *value = f32::NAN;
        }
    }
    let spoilt = Bsr::from_sets(&topology, 2, spoilt).unwrap();
    let second = |device: &Device, s| {
        let both = device.upload_bsr(&narrowed_matrix(s)).unwrap();
        BsrTensor::new(&topology, both.values().elements(1..2).unwrap()).unwrap()
    };
    let s = second(cpu(), &s);
    let spoilt = second(device, &spoilt);
    for form in FORMS {
        let layout = dense(&topology, form, &[3, 40, 5]);
        let mut x = narrowed(&batch(&layout, Values::Integers, "x"));
        let expected = download(&sums(&s, &upload(cpu(), &x), form));
        let last = layout.offsets().as_slice()[2] as usize;
        x.values_mut()[last..].fill(f16::INFINITY);
        let got = download(&sums(&spoilt, &upload(device, &x), form));
        for i in 0..2 {
            assert_eq!(got.row(i), expected.row(i), "{form:?} {i}");
        }
    }
    for ([m, n], block, columns) in [([11, 13], [8, 16], 1), ([27, 125], [16, 16], 8)] {
        let all = (0..2 * columns).map(|i| (i / columns, i % columns));
        let topology = Topology::from_unsorted([m, n], block, all).unwrap();
        let infinite = |shape| {
            upload(
                device,
                &Ragged::full(&matrices([shape]), f16::INFINITY).unwrap(),
            )
        };
        let (a, b) = (infinite([m, 2]), infinite([2, n]));
        let product = product([&a, &b], [false; 2]);
        let got = product.clone().to::<f32>().sampled(&topology).unwrap();
        let expected = Bsr::sample(&topology, &vec![f32::INFINITY; m * n]).unwrap();
        let got = got.download_blocking().unwrap();
        assert_eq!(got.set(0), expected.set(0), "{topology}");
    }
}

fn empty(device: &Device) {
    for shape in [[24, 32], [0, 32], [24, 0], [0, 0]] {
        let none = Topology::new(shape, [8, 16], &[]).unwrap();
        check(device, &none, 1, &[0, 1, 40], Values::Integers);
        check(device, &none, 1, &[], Values::Integers);
        check_sampled(device, &none, &[0, 5], Values::Integers);
    }
    let some = Topology::new([24, 32], [8, 16], &[(1, 1)]).unwrap();
    check(device, &some, 1, &[0, 1, 40], Values::Integers);
    check_sampled(device, &some, &[0, 8, 0], Values::Integers);
    check_sampled(device, &some, &[], Values::Integers);
}

/// Rows of blocks that fill several tiles, and random sums.
fn sampled_rows(device: &Device) {
    for (shape, block) in [
        ([96, 700], [32, 16]),
        ([256, 600], [128, 64]),
        ([96, 640], [96, 48]),
    ] {
        let grid = [shape[0] / block[0], shape[1] / block[1]];
        let all = (0..grid[0] * grid[1]).map(|i| ((i / grid[1]) as u32, (i % grid[1]) as u32));
        let topology = Topology::from_unsorted(shape, block, all).unwrap();
        check_sampled(device, &topology, &[100, 520], Values::Random);
    }
    if is_software(device) {
        return;
    }
    // Enough blocks side by side for wide tiles on every core, and rows that do not fill theirs.
    for (wide, count) in [(8, 62), (48, 10)] {
        let all = (0..130 * count).map(|i| (i / count, i % count));
        let most = all.filter(|(row, column)| row % 16 > 0 || column % 3 > 0);
        let shape = [130 * 64 - 5, count as usize * wide - 3];
        let topology = Topology::from_unsorted(shape, [64, wide], most).unwrap();
        check_sampled(device, &topology, &[20], Values::Random);
    }
}

/// wgpu warns that cooperative matrices and workgroup memory may race. Repeated runs must give the same bits.
fn repeated_runs_are_identical(device: &Device) {
    for (block, per_row) in [
        ([8, 8], 13),
        ([16, 16], 13),
        ([32, 32], 7),
        ([48, 96], 3),
        ([64, 64], 5),
        ([128, 64], 5),
    ] {
        let topology = Topology::random([768, 768], block, per_row, 8).unwrap();
        let s = on_matrices(device, &matrix(&topology, 1, Values::Random));
        let layout = matrices([[768, 264], [264, 768]]);
        let x = upload(device, &narrowed(&batch(&layout, Values::Random, "again")));
        let [straight, transposed] = [0, 1].map(|i| x.elements(i..i + 1).unwrap());
        for form in [[false, false], [false, true]] {
            let x = if form[1] { &transposed } else { &straight };
            let first = download(&sums(&s, x, form));
            for _ in 0..repeats(device) {
                assert_identical("again", &download(&sums(&s, x, form)), &first);
            }
        }
        let product = product([&straight, &transposed], [false; 2]);
        let sampled = || {
            download(
                product
                    .clone()
                    .to::<f32>()
                    .sampled(&topology)
                    .unwrap()
                    .values(),
            )
        };
        let first = sampled();
        for _ in 0..repeats(device) {
            assert_identical("sampled again", &sampled(), &first);
        }
    }
}
