//! Operators: each equals the corresponding method bit by bit, and fails like it.

use libtest_mimic::Trial;
use vsla::{Device, Ragged, Result, Tensor, scalar::Real};

use crate::support::bench::Bench;
use crate::support::compare::{Comparable, assert_identical};
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[
        ("of_floats", of_floats),
        ("of_integers", of_integers),
        ("refuse", refuse),
    ])
}

fn same<T: Comparable + Real>(what: &str, got: Result<Tensor<T>>, expected: Result<Tensor<T>>) {
    assert_identical(
        what,
        &download(&got.unwrap()),
        &download(&expected.unwrap()),
    );
}

fn of_floats(device: &Device) {
    let a = upload(
        device,
        &Ragged::from_rows([vec![1.0f32, -2.0, 0.5], vec![], vec![7.0]]).unwrap(),
    );
    let b = upload(
        device,
        &Ragged::from_rows([vec![3.0f32, f32::NAN], vec![4.0], vec![]]).unwrap(),
    );
    same("a + b", &a + &b, a.add(&b));
    same("a - b", &a - &b, a.sub(&b));
    same("a * b", &a * &b, a.hadamard(&b));
    same("-a", -&a, a.neg());
    same("a + 3", &a + 3.0, a.add_scalar(3.0));
    same("3 + a", 3.0 + &a, a.add_scalar(3.0));
    same("a - 3", &a - 3.0, a.add_scalar(-3.0));
    same("3 - a", 3.0 - &a, a.sub_from(3.0));
    same("a * 3", &a * 3.0, a.scale(3.0));
    same("3 * a", 3.0 * &a, a.scale(3.0));
    same("a / 3", &a / 3.0, a.div_scalar(3.0));
    same("3 / a", 3.0 / &a, a.div_from(3.0));
    let c = || a.copy().unwrap();
    same("a + b by value", c() + b.copy().unwrap(), a.add(&b));
    same("a - b, a by value", c() - &b, a.sub(&b));
    same("b / a, a by value", &b / c(), b.div(&a));
    same("-a by value", -c(), a.neg());
    same("a * 3 by value", c() * 3.0, a.scale(3.0));
    same("3 / a by value", 3.0 / c(), a.div_from(3.0));
    let y = download(&((2.0 - &a).unwrap() / 4.0).unwrap());
    assert_eq!(
        y.to_vecs().unwrap(),
        [vec![0.25, 1.0, 0.375], vec![], vec![-1.25]]
    );
}

fn of_integers(device: &Device) {
    let a = upload(
        device,
        &Ragged::from_rows([vec![7, i32::MIN], vec![-7]]).unwrap(),
    );
    let rows = |y: Result<Tensor<i32>>| download(&y.unwrap()).to_vecs().unwrap();
    assert_eq!(rows(&a + 1), [vec![8, i32::MIN + 1], vec![-6]]);
    assert_eq!(
        rows(&a - i32::MIN),
        [vec![7 ^ i32::MIN, 0], vec![-7 ^ i32::MIN]]
    );
    assert_eq!(rows(1 - &a), [vec![-6, i32::MIN + 1], vec![8]]);
    assert_eq!(rows(&a / -1), [vec![-7, i32::MIN], vec![7]]);
    assert_eq!(rows(2 * &a), [vec![14, 0], vec![-14]]);
    let b = upload(device, &Ragged::from_rows([[5u32, 0]]).unwrap());
    assert_eq!(download(&(&b - 1).unwrap()).row(0), [4, u32::MAX]);
    assert_eq!(download(&(3 + &b).unwrap()).row(0), [8, 3]);
}

fn refuse(device: &Device) {
    let a = upload(device, &Ragged::from_rows([vec![1], vec![2]]).unwrap());
    let b = upload(device, &Ragged::from_rows([vec![1]]).unwrap());
    for (error, op) in [
        ((&a + &b).unwrap_err(), "add"),
        ((&a - &b).unwrap_err(), "sub"),
        ((&a * &b).unwrap_err(), "hadamard"),
    ] {
        assert_eq!((error.kind(), error.op()), ("batch_size", op));
    }
    assert_eq!((&a / 0).unwrap_err().kind(), "argument");
}
