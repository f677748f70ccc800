//! Large windows that overlap, which are put together in passes.

use vsla::program::Program;
use vsla::{Device, Layout, Ragged, Shape, Tensor, f16};

use super::{batch, check, maxima, means, run};
use crate::support::compare::assert_within;
use crate::support::corpus::rng;
use crate::support::operation::{download, upload};

/// Windows that passes put together: extents with all digits of base 4, short along one axis, and strides. An element
/// alone has the bits that it has in its batch, whatever values its neighbours have.
pub fn windows(device: &Device) {
    let mut series = batch("long", &[&[300], &[0], &[1], &[700], &[129], &[128], &[5]]);
    let check_all = |x: &Ragged<f32>, window: &[usize], strides: &[usize]| {
        check(device, x, window, strides);
        let all = upload(device, x);
        let pooled = |x: &Tensor<f32>| {
            let pooling = x.pooling(window).stride(strides);
            [pooling.max().unwrap(), pooling.mean().unwrap()].map(|y| download(&y))
        };
        let whole = pooled(&all);
        for e in 0..x.len() {
            let alone = pooled(&upload(device, &download(&all.elements(e..e + 1).unwrap())));
            for (alone, whole) in alone.iter().zip(&whole) {
                let bits = |row: &[f32]| row.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(alone.row(0)), bits(whole.row(e)), "{window:?}, {e}");
            }
        }
    };
    for (window, stride) in [
        (128, 1),
        (129, 1),
        (255, 1),
        (300, 2),
        (600, 3),
        (699, 5),
        (700, 1),
    ] {
        check_all(&series, &[window], &[stride]);
    }
    // NaN, infinities and the largest numbers stay in their windows.
    let mut values = series.values().to_vec();
    for (place, value) in [
        (9, f32::NAN),
        (310, f32::INFINITY),
        (990, f32::NEG_INFINITY),
    ] {
        values[place] = value;
    }
    values[1000..1002].fill(f32::MAX);
    series = Ragged::from_parts(series.layout().clone(), values).unwrap();
    check_all(&series, &[131], &[1]);
    let images = batch(
        "wide",
        &[
            &[20, 20],
            &[0, 5],
            &[16, 9],
            &[140, 3],
            &[2, 200],
            &[33, 40],
        ],
    );
    for (window, strides) in [
        ([16, 8], [1, 1]),
        ([16, 16], [2, 1]),
        ([130, 1], [1, 1]),
        ([1, 150], [1, 1]),
        ([2, 190], [1, 2]),
        ([20, 20], [1, 3]),
        ([33, 40], [1, 1]),
    ] {
        check_all(&images, &window, &strides);
    }
    check_all(&images, &[150], &[1]);
    let boxes = batch(
        "deep",
        &[
            &[2, 3, 20, 12],
            &[1, 2, 13, 13],
            &[3, 0, 20, 20],
            &[1, 1, 3, 50],
        ],
    );
    check_all(&boxes, &[13, 11], &[1, 1]);
    check_all(&boxes, &[3, 50], &[1, 1]);
    // Other types, bit for bit; halves at odd bases.
    let mut random = rng("others");
    let layout = Layout::from_lengths([7, 301, 200]).unwrap();
    let x = Ragged::from_fn(&layout, |_, _| random.i32(..)).unwrap();
    let largest = |pooled: Ragged<f64>, expected: Ragged<f64>| {
        assert_eq!(pooled.values(), expected.values());
    };
    let got = download(&run(&upload(device, &x), &[150], &[1]).unwrap());
    largest(got.cast(f64::from).unwrap(), maxima(&x, &[150], &[1]));
    let x = x.cast(|x| x as u32).unwrap();
    let got = download(&run(&upload(device, &x), &[150], &[1]).unwrap());
    largest(got.cast(f64::from).unwrap(), maxima(&x, &[150], &[1]));
    let x = Ragged::from_fn(&layout, |_, _| f16::from_f32(random.f32() - 0.5)).unwrap();
    let wide: Ragged<f32> = x.cast(f16::to_f32).unwrap();
    let view = upload(device, &x).elements(1..3).unwrap();
    let wide = download(&upload(device, &wide).elements(1..3).unwrap());
    let pooling = view.pooling(&[150]).stride(&[1]);
    let got = pooling.max().unwrap().download_blocking().unwrap();
    largest(got.cast(f64::from).unwrap(), maxima(&wide, &[150], &[1]));
    let got = pooling.mean().unwrap().download_blocking().unwrap();
    let (expected, bounds) = means(&wide, &[150], &[1]);
    let bounds: Vec<f64> = expected
        .values()
        .iter()
        .zip(bounds)
        .map(|(value, bound)| bound + (value.abs() + bound) * 2f64.powi(-11) + 2f64.powi(-25))
        .collect();
    let got = got.cast(f16::to_f32).unwrap();
    assert_within("means of halves", &got, &expected, &bounds);
}

/// The cotangents of large windows go to the first of their largest values.
pub fn slopes(device: &Device) {
    let mut random = rng("slopes");
    for (shapes, window, strides) in [
        (vec![vec![140], vec![7], vec![200]], vec![128], vec![1]),
        (vec![vec![20, 20], vec![16, 17]], vec![16, 16], vec![1, 2]),
    ] {
        let shapes: Vec<Shape> = shapes.iter().map(|s| Shape::new(s).unwrap()).collect();
        let layout = Layout::from_shapes(window.len(), shapes).unwrap();
        let x = Ragged::from_fn(&layout, |_, _| random.u32(..9) as f32).unwrap();
        let (of_window, of_strides) = (window.clone(), strides.clone());
        let program = Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let loss = x.pooling(&of_window).stride(&of_strides).max()?.sum()?;
            let [slope] = r.gradients(&loss, [&x])?;
            r.output(&slope)
        });
        let on = upload(device, &x);
        let outputs = program.plan(&[on.layout()]).unwrap().run(&[&on]).unwrap();
        let got = download(&outputs.get::<f32>(0).unwrap());
        // Values numbered by their places.
        let mut expected = vec![0.0f32; x.values().len()];
        let numbered = Ragged::from_parts(layout, (0..expected.len()).collect::<Vec<_>>());
        let (_, places) = super::windows(&numbered.unwrap(), &window, &strides, |all| {
            let value = |&&place: &&usize| x.values()[place];
            let top = all.iter().map(|place| value(&place)).fold(0.0, f32::max);
            *all.iter().find(|place| value(place) == top).unwrap()
        });
        places.into_iter().for_each(|place| expected[place] += 1.0);
        assert_eq!(got.values(), expected, "{window:?}");
    }
}
