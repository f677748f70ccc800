//! Functions of three operands.

use libtest_mimic::Trial;
use vsla::{Device, Layout, Ragged, Tensor, f16};

use super::{Value, displaced, drawn, layout, of_every_type, places};
use crate::support::bench::Bench;
use crate::support::operation::{download, one, pick, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("mul_add", mul_add),
        ("mul_add::rounds_twice", rounds_twice),
        ("if_else", if_else),
        ("if_else::keeps_bits", keeps_bits),
        ("three::spread", spread),
        ("three::refused", refused),
    ])
}

/// Layouts of three operands: equal, and boxes of which none contains the others.
fn layouts() -> Vec<[Layout; 3]> {
    let alike = Layout::from_lengths([5, 0, 2100, 3]).unwrap();
    vec![
        [alike.clone(), alike.clone(), alike],
        [[3, 5, 0, 1100], [4, 2, 1, 1100], [1, 6, 2, 1000]]
            .map(|lengths| Layout::from_lengths(lengths).unwrap()),
        [
            layout(2, &[&[3, 2], &[1, 1]]),
            layout(2, &[&[2, 4], &[1, 1]]),
            layout(2, &[&[1, 5], &[1, 1]]),
        ],
    ]
}

/// A batch in the ambient shapes of three, with zeros.
fn wide<T: Value>(x: &Ragged<T>, all: &[&Layout; 3]) -> Ragged<T> {
    let shapes = (0..x.len()).map(|i| {
        let two = all[0].shape(i).ambient(&all[1].shape(i)).unwrap();
        two.ambient(&all[2].shape(i)).unwrap()
    });
    let shapes: Vec<_> = shapes.collect();
    let values = shapes.iter().enumerate().flat_map(|(i, &shape)| {
        places(shape, x.shape(i)).map(move |at| at.map_or(T::small(0), |at| x.row(i)[at]))
    });
    let values: Vec<T> = values.collect();
    Ragged::from_shapes(values, x.layout().rank(), shapes).unwrap()
}

fn mul_add(device: &Device) {
    of_every_type!(mul_add_of(device));
}

/// Small integers modulo 2³² in the type itself.
fn product_and_sum<T: Value>(x: T, y: T, z: T) -> f64 {
    let word = |x: T| x.wide() as i64;
    let sum = word(x).wrapping_mul(word(y)).wrapping_add(word(z));
    match T::DTYPE {
        vsla::scalar::DType::U32 => f64::from(sum as u32),
        _ => sum as f64,
    }
}

fn mul_add_of<T: Value>(device: &Device) {
    for layouts in layouts() {
        let [x, y, z] = [0, 1, 2].map(|i| drawn::<T>(&layouts[i], ["x", "y", "z"][i]));
        let tensors = [&x, &y, &z].map(|x| displaced(device, x, x.len() % 3 + 1));
        let got = download(&tensors[0].mul_add(&tensors[1], &tensors[2]).unwrap());
        let all = [x.layout(), y.layout(), z.layout()];
        let [x, y, z] = [&x, &y, &z].map(|x| wide(x, &all));
        assert_eq!(got.layout(), x.layout());
        let three = x.values().iter().zip(y.values()).zip(z.values());
        for (((&x, &y), &z), got) in three.zip(got.values()) {
            assert_eq!(
                got.wide(),
                product_and_sum(x, y, z),
                "{} {x} {y} {z}",
                T::DTYPE
            );
        }
    }
}

/// (1 + 2⁻¹²)² is not a float: the product must be rounded before the sum.
fn rounds_twice(device: &Device) {
    let x = 1.0 + f32::EPSILON * 2048.0;
    let [a, b, c] = [x, x, -1.0].map(|x| upload(device, &one(&[5], &[x; 5])));
    let got = download(&a.mul_add(&b, &c).unwrap());
    assert_eq!(got.row(0), [x * x - 1.0; 5]);
}

fn if_else(device: &Device) {
    of_every_type!(if_else_of(device));
}

fn if_else_of<T: Value>(device: &Device) {
    for layouts in layouts() {
        let mask = drawn::<i32>(&layouts[0], "mask")
            .cast(|x| u32::from(x > 0) * 5)
            .unwrap();
        let [x, y] = [1, 2].map(|i| drawn::<T>(&layouts[i], ["x", "y"][i - 1]));
        let tensor = displaced(device, &mask, 3);
        let tensors = [&x, &y].map(|x| displaced(device, x, x.len() % 3 + 1));
        let got = download(&tensor.if_else(&tensors[0], &tensors[1]).unwrap());
        let all = [mask.layout(), x.layout(), y.layout()];
        let mask = wide(&mask, &all);
        let [x, y] = [&x, &y].map(|x| wide(x, &all));
        assert_eq!(got.layout(), x.layout());
        let three = mask.values().iter().zip(x.values()).zip(y.values());
        for (((&mask, &x), &y), &got) in three.zip(got.values()) {
            assert!(got == if mask != 0 { x } else { y });
        }
    }
}

fn keeps_bits(device: &Device) {
    let nan = f32::from_bits(0x7FC1_2345);
    let mask = upload(device, &one(&[4], &[1u32, 0, 7, 0]));
    let x = upload(device, &one(&[4], &[nan, f32::NAN, -0.0, f32::INFINITY]));
    let y = upload(device, &one(&[4], &[f32::NAN, 1e-40, f32::NAN, -nan]));
    let got = download(&mask.if_else(&x, &y).unwrap());
    let expected = [nan, 1e-40, -0.0, -nan].map(f32::to_bits);
    assert_eq!(
        got.row(0).iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        expected
    );
    let halves = [0x7E01, 0x0001, 0xFC00].map(f16::from_bits);
    let x = upload(device, &one(&[3], &halves));
    let got = download(
        &upload(device, &one(&[3], &[1u32, 1, 1]))
            .if_else(&x, &x)
            .unwrap(),
    );
    assert!(
        got.row(0)
            .iter()
            .zip(halves)
            .all(|(x, y)| x.to_bits() == y.to_bits())
    );
}

fn spread(device: &Device) {
    of_every_type!(spread_of(device));
}

/// Every combination of whole and spread operands, compared with whole operands; and each element alone.
fn spread_of<T: Value>(device: &Device) {
    let layout = layout(2, &[&[3, 4], &[0, 2], &[30, 41], &[1, 1]]);
    let x = drawn::<T>(&layout, "x");
    let (y, z) = (drawn::<T>(&layout, "y"), drawn::<T>(&layout, "z"));
    let mask = drawn::<i32>(&layout, "mask")
        .cast(|x| u32::from(x > 0))
        .unwrap();
    let ones = drawn::<T>(&Layout::from_lengths([1; 4]).unwrap(), "ones");
    let columns = drawn::<T>(&Layout::from_lengths([4, 2, 41, 1]).unwrap(), "columns");
    let by_each = Ragged::from_fn(&layout, |e, _| ones.row(e)[0]).unwrap();
    let by_column =
        Ragged::from_fn(&layout, |e, i| columns.row(e)[i % columns.row(e).len()]).unwrap();
    let up = |x: &Ragged<T>| displaced(device, x, 1);
    let (tx, ty, tz, tmask) = (up(&x), up(&y), up(&z), displaced(device, &mask, 2));
    let (te, tc, we, wc) = (up(&ones), up(&columns), up(&by_each), up(&by_column));
    let values = |y: Tensor<T>| download(&y).cast(T::wide).unwrap();
    let (scalar, all) = (
        ones.values()[0],
        device.full(&layout, ones.values()[0]).unwrap(),
    );
    for (got, expected) in [
        (tx.mul_add(scalar, &tz), tx.mul_add(&all, &tz)),
        (tx.mul_add(scalar, te.each()), tx.mul_add(&all, &we)),
        (tmask.if_else(scalar, &ty), tmask.if_else(&all, &ty)),
        (tmask.if_else(&tx, scalar), tmask.if_else(&tx, &all)),
        (tx.mul_add(te.each(), &tz), tx.mul_add(&we, &tz)),
        (tx.mul_add(&ty, tc.along(1)), tx.mul_add(&ty, &wc)),
        (tx.mul_add(tc.along(1), te.each()), tx.mul_add(&wc, &we)),
        (tmask.if_else(&tx, te.each()), tmask.if_else(&tx, &we)),
        (tmask.if_else(tc.along(1), &ty), tmask.if_else(&wc, &ty)),
        (
            tmask.if_else(tc.along(1), te.each()),
            tmask.if_else(&wc, &we),
        ),
    ] {
        let (got, expected) = (values(got.unwrap()), values(expected.unwrap()));
        assert_eq!(got, expected, "{}", T::DTYPE);
        assert_eq!(got.layout(), &layout);
    }
    let all = values(tx.mul_add(tc.along(1), te.each()).unwrap());
    for element in [0, 2] {
        let few = |x: &Ragged<T>| up(&pick(x, &[element]));
        let single = few(&x)
            .mul_add(few(&columns).along(1), few(&ones).each())
            .unwrap();
        assert_eq!(values(single).row(0), all.row(element));
    }
}

fn refused(device: &Device) {
    let x = upload(device, &rows([&[1.0f32, 2.0], &[3.0]]));
    let one = upload(device, &rows([&[1.0f32]]));
    let mask = upload(device, &rows([&[1u32]]));
    for (got, op) in [
        (x.mul_add(&one, &x), "mul_add"),
        (mask.if_else(&x, &x), "if_else"),
    ] {
        let error = got.unwrap_err();
        assert_eq!((error.kind(), error.op()), ("batch_size", op));
        assert!(!error.to_string().contains("pairing"), "{error}");
    }
    let error = x.mul_add(x.each(), x.each()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mul_add: element 0: expected 1 value, got 2"
    );
    let limited = device.with_work_limit(3);
    let x = upload(&limited, &rows([&[1.0f32, 2.0], &[3.0, 4.0]]));
    assert_eq!(x.mul_add(&x, &x).unwrap_err().kind(), "work_limit");
}
