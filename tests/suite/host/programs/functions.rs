//! Functions of one operand, of two and of three, and of lines.

use vsla::{Device, Layout, PairList, Pairing, Result, Shape, f16};

use super::values::*;

/// One vector for each of n elements.
fn vectors(n: usize, extent: usize) -> Result<Layout> {
    Layout::uniform(n, Shape::new(&[extent])?)
}

pub fn functions(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let (a, b) = (series(device, n, 0, &[])?, series(device, n, 3, &[])?);
    sum.add(a.div(&b)?)?;
    sum.add(a.less(&b)?)?;
    let pairs = PairList::new(listed(n, |i| (i as u32, (n - 1 - i) as u32))?)?;
    sum.add(a.pair(&b, Pairing::List(&pairs))?.maximum()?)?;
    let each = filled(device, &vectors(n, 1)?, number)?;
    sum.add(a.sub(each.each())?)?;
    sum.add(each.each().atan2(&a)?)?;
    let x = matrices(device, n, |i| [1 + i % 3, 2])?;
    let along = filled(device, &vectors(n, 2)?, number)?;
    sum.add(x.hadamard(along.along(1))?)?;
    sum.add(a.mul_add(&b, each.each())?)?;
    sum.add(x.mul_add(along.along(1), &x)?)?;
    sum.add(a.less(&b)?.if_else(&a, &b)?)?;
    sum.value()
}

pub fn maps(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = series(device, n, 0, &[])?;
    sum.add(x.exp()?)?;
    sum.add(x.clamp(-3.0, 3.0)?)?;
    sum.add(x.powi(2)?)?;
    sum.add(x.to::<f16>()?.tanh()?)?;
    let (ints, bits) = (x.to::<i32>()?, x.to::<u32>()?);
    sum.add(ints.rem(7)?)?;
    sum.add(bits.shift_left(3)?)?;
    sum.add(ints.to::<f32>()?)?;
    let z = x.complex(&x.polar(&x)?.imag()?)?;
    sum.add(z.hadamard(&z)?.abs()?)?;
    sum.add(z.view_as_real()?.view_as_complex()?.conj()?.imag()?)?;
    sum.value()
}

pub fn lines(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = series(device, n, 0, &[300, 9000])?;
    sum.add(x.mean()?)?;
    sum.add(x.log_sum_exp()?)?;
    sum.add(x.standardize()?)?;
    let x = matrices(device, n, |i| [1 + i % 3, 2 + i % 5])?;
    sum.add(x.sum_axis(0)?)?;
    sum.add(x.sum_batch()?)?;
    sum.add(x.max_axis(1)?)?;
    sum.add(x.argmax_axis(0)?)?;
    sum.add(x.to::<f16>()?.prod_axis(1)?)?;
    sum.add(x.log_softmax(1)?)?;
    sum.add(x.layer_norm(0, 1e-5)?)?;
    sum.value()
}

pub fn order(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = series(device, n, 0, &[300, 9000])?;
    sum.add(x.cumsum(0)?)?;
    sum.add(x.argsort_descending(0)?)?;
    sum.add(x.median()?)?;
    let x = matrices(device, n, |i| [1 + i % 3, 2 + i % 5])?;
    sum.add(x.cummax(0)?)?;
    sum.add(x.diff(0)?)?;
    let (values, places) = x.top_k_at_most(2, 0)?;
    sum.add(values)?;
    sum.add(places)?;
    sum.value()
}
