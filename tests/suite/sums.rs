//! Sums across a batch: integers exactly, in all types and shapes.

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Layout, Ragged, Shape, f16,
    scalar::{DType, Number},
};

use crate::support::bench::{Bench, DeviceTest};
use crate::support::corpus::rng;
use crate::support::operation::{download, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let tests: &[DeviceTest] = &[
        ("goldens", goldens),
        ("vectors_and_boxes", vectors_and_boxes),
        ("many_elements", many_elements),
        ("specials_stay_at_their_index", specials_stay_at_their_index),
        ("depend_on_shapes_alone", depend_on_shapes_alone),
        ("refusals", refusals),
    ];
    bench.all_on_each_device(tests)
}

fn goldens(device: &Device) {
    let x = upload(
        device,
        &rows([&[1, 2][..], &[], &[10, 20, 30], &[i32::MAX], &[100]]),
    );
    let sums = download(&x.sum_groups(&[0, 3, 0, 4, 4], 5).unwrap());
    let wrapped = i32::MAX.wrapping_add(100);
    assert_eq!(sums, rows([&[11, 22, 30][..], &[], &[], &[], &[wrapped]]));
    let all = download(&x.sum_batch().unwrap());
    assert_eq!(all, rows([&[wrapped.wrapping_add(11), 22, 30][..]]));
    // Without elements, and without groups.
    let none = x.elements(0..0).unwrap();
    assert_eq!(download(&none.sum_batch().unwrap()), rows([&[] as &[i32]]));
    let nothing = download(&none.sum_groups(&[], 0).unwrap());
    assert_eq!((nothing.len(), nothing.layout().rank()), (0, 1));
    let lone = x.elements(2..3).unwrap();
    assert_eq!(
        download(&lone.sum_batch().unwrap()),
        rows([&[10, 20, 30][..]])
    );
}

/// The sums of groups, in f64, by index.
fn reference(x: &Ragged<f64>, groups: &[u32], count: usize) -> Ragged<f64> {
    let rank = x.layout().rank();
    let (mut shapes, mut values) = (Vec::new(), Vec::new());
    for group in 0..count as u32 {
        let members: Vec<usize> = (0..x.len()).filter(|&i| groups[i] == group).collect();
        let mut extents = vec![0usize; rank];
        for &member in &members {
            let shape = x.shape(member);
            let both = extents.iter_mut().zip(shape.extents());
            both.for_each(|(most, &extent)| *most = (*most).max(extent as usize));
        }
        let mut sums = vec![0.0; extents.iter().product()];
        for &member in &members {
            let shape = x.shape(member);
            for (i, value) in x.row(member).iter().enumerate() {
                let (mut rest, mut at, mut stride) = (i, 0, 1);
                for axis in (0..rank).rev() {
                    let extent = shape.extents()[axis] as usize;
                    at += rest % extent * stride;
                    rest /= extent;
                    stride *= extents[axis];
                }
                sums[at] += value;
            }
        }
        shapes.push(Shape::new(&extents).unwrap());
        values.extend(sums);
    }
    Ragged::from_shapes(values, rank, shapes).unwrap()
}

fn check<T: Number>(
    device: &Device,
    layout: &Layout,
    groups: &[u32],
    count: usize,
    of: fn(f64) -> T,
    wide: fn(T) -> f64,
) {
    let mut random = rng("sums");
    let small = Ragged::from_fn(layout, |_, _| f64::from(random.u8(..4))).unwrap();
    let x = upload(device, &small.cast(of).unwrap());
    let what = format!("{} of {layout}", T::DTYPE);
    for first in [0, 1] {
        // A view, too.
        let view = x.elements(first..layout.len()).unwrap();
        let wide_view = download(&view).cast(wide).unwrap();
        let got = download(&view.sum_groups(&groups[first..], count).unwrap());
        let expected = reference(&wide_view, &groups[first..], count);
        assert_eq!(got.layout(), expected.layout(), "{what}");
        assert_eq!(got.cast(wide).unwrap(), expected, "{what}");
        let got = download(&view.sum_batch().unwrap());
        let expected = reference(&wide_view, &vec![0; wide_view.len()], 1);
        assert_eq!(got.cast(wide).unwrap(), expected, "{what}");
    }
}

fn of_every_type(device: &Device, layout: &Layout, groups: &[u32], count: usize) {
    check::<f32>(device, layout, groups, count, |x| x as f32, f64::from);
    check::<i32>(device, layout, groups, count, |x| x as i32, f64::from);
    check::<u32>(device, layout, groups, count, |x| x as u32, f64::from);
    check::<f16>(device, layout, groups, count, f16::from_f64, f16::to_f64);
    let complex = |x: f64| Complex32::new(x as f32, -x as f32);
    check::<Complex32>(device, layout, groups, count, complex, |z| {
        assert_eq!(z.im, -z.re);
        z.re.into()
    });
    assert_eq!(<f16 as vsla::scalar::Scalar>::DTYPE, DType::F16);
}

fn vectors_and_boxes(device: &Device) {
    let lengths = [3, 0, 1, 70, 7, 7, 2, 300, 1];
    let layout = Layout::from_lengths(lengths).unwrap();
    of_every_type(device, &layout, &[0, 0, 1, 0, 3, 3, 3, 0, 5], 6);
    of_every_type(device, &layout, &[4; 9], 5);
    let shapes = [
        [2, 3, 1],
        [1, 1, 5],
        [0, 4, 4],
        [3, 2, 2],
        [1, 1, 1],
        [4, 4, 4],
    ];
    let shapes = shapes.map(|shape| Shape::new(&shape).unwrap());
    let layout = Layout::from_shapes(3, shapes).unwrap();
    of_every_type(device, &layout, &[0, 0, 2, 0, 2, 1], 3);
}

/// Many small elements beside a large one, in groups of one, of some and of many.
fn many_elements(device: &Device) {
    let lengths = (0..1500).map(|i| if i == 700 { 2000 } else { i * 7 % 9 });
    let layout = Layout::from_lengths(lengths).unwrap();
    let groups: Vec<u32> = (0..1500)
        .map(|i| if i % 3 == 0 { 0 } else { i % 97 })
        .collect();
    check::<i32>(device, &layout, &groups, 100, |x| x as i32, f64::from);
}

fn specials_stay_at_their_index(device: &Device) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = rows([
        &[1.0f32, nan, 2.0][..],
        &[inf, 1.0],
        &[1.0, 1.0, 1.0, 1.0],
        &[5.0],
    ]);
    let got = download(&upload(device, &x).sum_groups(&[0, 0, 0, 1], 2).unwrap());
    let [first, second, third, fourth, fifth] = got.values() else {
        panic!("{got}");
    };
    assert!(*first == inf && second.is_nan(), "{got}");
    assert_eq!([*third, *fourth, *fifth], [3.0, 1.0, 5.0]);
}

/// The bits of a group's sum do not depend on the other groups.
fn depend_on_shapes_alone(device: &Device) {
    let mut random = rng("bits");
    let layout = Layout::from_lengths((0..60).map(|i| i * 11 % 40)).unwrap();
    let x = Ragged::from_fn(&layout, |_, _| random.f32() - 0.5).unwrap();
    let groups: Vec<u32> = (0..60).map(|i| i * 5 % 7 % 4).collect();
    let on = upload(device, &x);
    let all = download(&on.sum_groups(&groups, 4).unwrap());
    for group in 0..4 {
        let members: Vec<u32> = (0..60).filter(|&i| groups[i as usize] == group).collect();
        let alone = download(&on.select(&members).unwrap().sum_batch().unwrap());
        let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(alone.row(0)), bits(all.row(group as usize)));
    }
}

fn refusals(device: &Device) {
    let x = upload(device, &rows([&[1.0f32], &[2.0]]));
    let error = x.sum_groups(&[0], 1).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("element_count", "sum_groups"));
    let error = x.sum_groups(&[0, 2], 2).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("index", "sum_groups"));
    let text = "sum_groups: position 1: the index 2 is not below 2";
    assert_eq!(error.to_string(), text);
}
