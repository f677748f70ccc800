//! Values of each line by indices on a device, and the sums of values with the same index, which are the gradient.

use libtest_mimic::Trial;
use vsla::device::DeviceKind;
use vsla::program::Program;
use vsla::scalar::{Float, Scalar};
use vsla::{Complex32, Device, Layout, Ragged, Shape, Tensor, f16};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::corpus::rng;
use crate::support::operation::{download, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("every_type_rank_and_base", every_type_rank_and_base),
        ("keeps_bits", keeps_bits),
        ("orders_another_batch", orders_another_batch),
        ("gradients_add_up", gradients_add_up),
        ("second_gradients", second_gradients),
        ("refused", refused),
    ];
    bench.all_on_each_device(tests)
}

fn layout<const R: usize>(all: &[[usize; R]]) -> Layout {
    Layout::from_shapes(R, all.iter().map(|shape| Shape::new(shape).unwrap())).unwrap()
}

/// NumPy 2.4: `np.take_along_axis(x, index, axis)`.
fn goldens(device: &Device) {
    let x = Ragged::from_parts(layout(&[[2, 3]]), vec![10, 20, 30, 40, 50, 60]).unwrap();
    let x = upload(device, &x);
    for (axis, shape, index, expected) in [
        (
            1,
            [2, 4],
            vec![2, 0, 0, 1, 1, 1, 2, 0],
            vec![30, 10, 10, 20, 50, 50, 60, 40],
        ),
        (0, [1, 3], vec![1, 0, 1], vec![40, 20, 60]),
    ] {
        let index = upload(
            device,
            &Ragged::from_parts(layout(&[shape]), index).unwrap(),
        );
        let got = download(&x.take_along_axis(&index, axis).unwrap());
        assert_eq!(
            (got.layout(), got.values()),
            (&layout(&[shape]), &expected[..])
        );
    }
}

/// The place in its element of each value that is taken, found by its coordinates.
fn places(x: &[u32], c: &[u32], axis: usize, index: &[u32]) -> Vec<Option<usize>> {
    let coordinates = |mut v: usize, extents: &[u32]| {
        let mut all = vec![0; extents.len()];
        for (at, &extent) in all.iter_mut().zip(extents).rev() {
            (*at, v) = ((v % extent as usize) as u32, v / extent as usize);
        }
        all
    };
    let place = |(v, &index): (usize, &u32)| {
        let mut at = coordinates(v, c);
        at[axis] = index;
        let along = at.iter().zip(x);
        let is_there = along.clone().all(|(at, extent)| at < extent);
        is_there.then(|| along.fold(0, |sum, (&at, &extent)| sum * extent as usize + at as usize))
    };
    index.iter().enumerate().map(place).collect()
}

/// Shapes of rank R with extents below `most`, an axis, and indices of lines along it: repeated, unordered, and some
/// beyond the end.
fn drawn<const R: usize>(seed: &str, most: usize, axis: usize) -> (Layout, Ragged<u32>) {
    let mut random = rng(seed);
    let shapes: Vec<[usize; R]> = (0..40)
        .map(|_| [0; R].map(|_| random.usize(0..most)))
        .collect();
    let mut of_index = shapes.clone();
    for shape in &mut of_index {
        shape[axis] = random.usize(0..2 * most);
    }
    let index = Ragged::from_fn(&layout(&of_index), |e, _| match random.u32(..30) {
        0 => u32::MAX,
        _ => random.u32(..shapes[e][axis] as u32 + 2),
    });
    (layout(&shapes), index.unwrap())
}

/// The extents of an element, those of its indices, and the indices.
fn element<'a>(x: &Layout, index: &'a Ragged<u32>, e: usize) -> (Vec<u32>, Vec<u32>, &'a [u32]) {
    let extents = |layout: &Layout| layout.shape(e).extents().to_vec();
    (extents(x), extents(index.layout()), index.row(e))
}

fn check<T: Scalar, const R: usize>(device: &Device, most: usize, value: impl Fn(u32) -> T) {
    for axis in 0..R {
        let (x, index) = drawn::<R>(&format!("take {R} {axis}"), most, axis);
        let mut at = 0;
        let all = Ragged::from_fn(&x, |_, _| {
            at += 1;
            value(at)
        });
        let (x, on_device) = (upload(device, &all.unwrap()), upload(device, &index));
        for first in [0, 1, 2, 7] {
            let [last, name] = [40, first];
            let x = x.elements(first..last).unwrap();
            let index = on_device.elements(first..last).unwrap();
            let got = download(&x.take_along_axis(&index, axis).unwrap());
            let (x, index) = (download(&x), download(&index));
            assert_eq!(got.layout(), index.layout());
            for e in 0..x.len() {
                let (of_x, of_index, list) = element(x.layout(), &index, e);
                let expected: Vec<T> = places(&of_x, &of_index, axis, list)
                    .into_iter()
                    .map(|place| place.map_or(T::default(), |place| x.row(e)[place]))
                    .collect();
                assert!(
                    got.row(e) == expected,
                    "{} {R} {axis}, element {e} from {name}",
                    T::DTYPE
                );
            }
        }
    }
}

fn every_type_rank_and_base(device: &Device) {
    fn of<T: Scalar>(device: &Device, value: fn(u32) -> T) {
        check::<T, 1>(device, 900, value);
        check::<T, 2>(device, 14, value);
        check::<T, 3>(device, 6, value);
        check::<T, 4>(device, 4, value);
    }
    of(device, |at| at as f32 + 0.5);
    of(device, |at| f16::from_bits((at % 0x7C00) as u16));
    of(device, |at| -(at as i32));
    of(device, |at| at);
    of(device, |at| at as u8);
    of(device, |at| Complex32::new(at as f32, -0.5));
    check::<u32, 1>(device, 20_000, |at| at);
}

fn keeps_bits(device: &Device) {
    let bits = [0x7FC0_0001, 0x7FA0_0000, 0xFFFF_FFFF, 0x8000_0000, 1];
    let x = upload(device, &rows([&bits.map(f32::from_bits)]));
    let index = upload(device, &rows([&[4u32, 3, 2, 1, 0, 5]]));
    let got = download(&x.take_along_axis(&index, 0).unwrap());
    let got: Vec<u32> = got.values().iter().map(|value| value.to_bits()).collect();
    assert_eq!(
        got,
        [1, 0x8000_0000, 0xFFFF_FFFF, 0x7FA0_0000, 0x7FC0_0001, 0]
    );
}

/// Recorded, by the places of `argsort` and `top_k`.
fn orders_another_batch(device: &Device) {
    let program = Program::new(device, |r| {
        let (keys, values): (Tensor<f32>, Tensor<u8>) = (r.input()?, r.input()?);
        r.output(&values.take_along_axis(&keys.argsort(0)?, 0)?)?;
        r.output(&values.take_along_axis(&keys.top_k_at_most(2, 0)?.1, 0)?)
    });
    let keys = upload(device, &rows([&[3.0f32, 1.0, 2.0][..], &[], &[5.0, 9.0]]));
    let values = upload(device, &rows([&[30u8, 10, 20][..], &[], &[50, 90]]));
    let plan = program.plan(&[keys.layout(), values.layout()]).unwrap();
    let outputs = plan.run(&[&keys, &values]).unwrap();
    let got = |i| download(&outputs.get::<u8>(i).unwrap()).to_vecs().unwrap();
    assert_eq!(got(0), [vec![10, 20, 30], vec![], vec![50, 90]]);
    assert_eq!(got(1), [vec![30, 20], vec![], vec![90, 50]]);
}

/// Sums of whole cotangents, which are exact, at the places that the indices name.
fn gradients_add_up(device: &Device) {
    of_floats::<f32, 1>(device, 300);
    of_floats::<f32, 3>(device, 5);
    of_floats::<f16, 2>(device, 9);
    let (layout, index, seed, expected) = sums::<2>(9, 1);
    let program = Program::new(device, |r| {
        let (x, index): (Tensor<Complex32>, Tensor<u32>) = (r.input()?, r.input()?);
        let seed: Tensor<f32> = r.input()?;
        let y = x.take_along_axis(&index, 1)?;
        let seeds = [(&y.real()?, &seed), (&y.imag()?, &seed.scale(-2.0)?)];
        let slopes = r.gradients_from(&seeds, &[&x])?;
        r.output(&slopes[0])
    });
    let x = upload(device, &Ragged::<Complex32>::zeros(&layout).unwrap());
    let (index, seed) = (upload(device, &index), upload(device, &seed));
    let plan = program.plan(&[&layout, index.layout(), seed.layout()]);
    let outputs = plan.unwrap().run(&[&x, &index, &seed]).unwrap();
    let got = download(&outputs.get::<Complex32>(0).unwrap());
    let expected = expected.iter().map(|&sum| Complex32::new(sum, -2.0 * sum));
    assert!(got.values().iter().copied().eq(expected));
}

fn of_floats<T: Float, const R: usize>(device: &Device, most: usize) {
    for axis in 0..R {
        let (layout, index, seed, expected) = sums::<R>(most, axis);
        let program = Program::new(device, move |r| {
            let (x, index): (Tensor<T>, Tensor<u32>) = (r.input()?, r.input()?);
            let seed: Tensor<f32> = r.input()?;
            let y = x.take_along_axis(&index, axis)?.to::<f32>()?;
            let slopes = r.gradients_from(&[(&y, &seed)], &[&x])?;
            r.output(&slopes[0].to::<f32>()?)
        });
        let x = upload(device, &Ragged::<T>::zeros(&layout).unwrap());
        let (index, seed) = (upload(device, &index), upload(device, &seed));
        let plan = program.plan(&[&layout, index.layout(), seed.layout()]);
        let outputs = plan.unwrap().run(&[&x, &index, &seed]).unwrap();
        let got = download(&outputs.get::<f32>(0).unwrap());
        assert!(got.values() == expected, "{} {R} {axis}", T::DTYPE);
    }
}

/// A layout, indices, small whole cotangents, and their sum for each value.
fn sums<const R: usize>(most: usize, axis: usize) -> (Layout, Ragged<u32>, Ragged<f32>, Vec<f32>) {
    let (layout, index) = drawn::<R>(&format!("slopes {R} {axis}"), most, axis);
    let seed = |e: usize, i: usize| ((5 * e + 3 * i) % 7) as f32 - 3.0;
    let seed = Ragged::from_fn(index.layout(), seed).unwrap();
    let sums = (0..layout.len()).flat_map(|e| {
        let (of_x, of_index, list) = element(&layout, &index, e);
        let mut sums = vec![0.0; layout.length(e)];
        let places = places(&of_x, &of_index, axis, list).into_iter();
        for (place, seed) in places.zip(seed.row(e)) {
            if let Some(place) = place {
                sums[place] += seed;
            }
        }
        sums
    });
    let sums = sums.collect();
    (layout, index, seed, sums)
}

/// The gradient of the sum of x\[index\]² is 2 n x, where n is how often a value is taken, and its gradient 2 n.
fn second_gradients(device: &Device) {
    let program = Program::new(device, |r| {
        let (x, index): (Tensor<f32>, Tensor<u32>) = (r.input()?, r.input()?);
        let loss = x.take_along_axis(&index, 0)?.square()?.sum()?;
        let [first] = r.gradients(&loss, [&x])?;
        let [second] = r.gradients(&first.sum()?, [&x])?;
        r.output(&first)?;
        r.output(&second)
    });
    let x = upload(device, &rows([&[1.5f32, -2.0, 4.0][..], &[7.0], &[]]));
    let index = upload(device, &rows([&[2u32, 0, 2, 2, 9][..], &[], &[0]]));
    let plan = program.plan(&[x.layout(), index.layout()]).unwrap();
    let outputs = plan.run(&[&x, &index]).unwrap();
    let got = |i| download(&outputs.get::<f32>(i).unwrap()).to_vecs().unwrap();
    assert_eq!(got(0), [vec![3.0, 0.0, 24.0], vec![0.0], vec![]]);
    assert_eq!(got(1), [vec![2.0, 0.0, 6.0], vec![0.0], vec![]]);
}

fn refused(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let index = |lists: &[&[u32]]| upload(device, &Ragged::from_rows(lists.to_vec()).unwrap());
    let refused = |index: &Tensor<u32>, axis| x.take_along_axis(index, axis).unwrap_err();
    let wrong = refused(&index(&[&[0], &[1], &[2]]), 0);
    assert_eq!(
        (wrong.op(), wrong.kind()),
        ("take_along_axis", "batch_size")
    );
    let wrong = refused(&index(&[&[0], &[1]]), 1);
    assert_eq!((wrong.op(), wrong.kind()), ("take_along_axis", "argument"));
    let matrix = upload(
        device,
        &Ragged::from_parts(layout(&[[1, 1], [1, 1]]), vec![0, 0]).unwrap(),
    );
    assert_eq!(refused(&matrix, 0).kind(), "rank");
    let of = |shapes: &[[usize; 2]]| upload(device, &Ragged::zeros(&layout(shapes)).unwrap());
    let x: Tensor<u32> = of(&[[2, 3], [2, 2]]);
    let wrong = x.take_along_axis(&of(&[[2, 3], [3, 2]]), 1).unwrap_err();
    assert_eq!((wrong.kind(), wrong.element()), ("shape", Some(1)));
    if device.info().kind == DeviceKind::Cpu {
        return;
    }
    let elsewhere = upload(&Device::cpu(), &Ragged::<u32>::zeros(x.layout()).unwrap());
    let wrong = x.take_along_axis(&elsewhere, 1).unwrap_err();
    assert_eq!(
        (wrong.op(), wrong.kind()),
        ("take_along_axis", "device_mismatch")
    );
}
