//! Functions of one operand, of two and of three, and of lines; labels, created batches and written functions.

use vsla::image::Components;
use vsla::{Device, Layout, Pairing, Result, Shape, batch::PairList, f16};

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
    sum.add(x.standardize(0.0)?)?;
    sum.add(x.softmax(0)?)?;
    sum.add(x.var()?)?;
    let x = matrices(device, n, |i| [1 + i % 3, 2 + i % 5])?;
    sum.add(x.sum_axis(0)?)?;
    sum.add(x.sum_batch()?)?;
    let groups = listed(n, |i| ((7 * i + 2) % n.min(9)) as u32)?;
    sum.add(x.sum_groups(&groups, n.min(9))?)?;
    sum.add(x.group_norm(1, 0.5)?)?;
    sum.add(x.l2_normalize(1, 0.5)?)?;
    sum.add(x.max_axis(1)?)?;
    sum.add(x.argmax_axis(0)?)?;
    sum.add(x.to::<f16>()?.prod_axis(1)?)?;
    sum.add(x.log_softmax(1)?)?;
    sum.add(x.layer_norm(0, 1e-5)?)?;
    sum.value()
}

pub fn labels(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let scores = matrices(device, n, |i| [1 + i % 3, 2 + i % 5])?;
    let targets = scores.argmax_axis(1)?;
    sum.add(scores.cross_entropy(&targets)?)?;
    sum.add(targets.one_hot::<f32>(3)?)?;
    sum.add(targets.one_hot::<f16>(5)?)?;
    let table = matrices(device, 1, |_| [3, 5])?;
    sum.add(table.embedding(&targets)?)?;
    // One row for each element.
    let x = series(device, n, 0, &[300, 9000])?;
    sum.add(x.cross_entropy(&x.argmax()?)?)?;
    sum.value()
}

pub fn created(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let layout = series_layout(n, 0, &[300, 9000])?;
    sum.add(device.arange(&layout, 5, -2)?)?;
    sum.add(device.linspace(&layout, 0.0f32, 1.0)?)?;
    sum.add(device.uniform(&layout, 0, 9, 1)?)?;
    sum.add(device.normal(&layout, f16::ZERO, f16::ONE, 1)?)?;
    sum.add(device.eye::<u32>(&matrix_layout(n, |i| [1 + i % 3, 2])?)?)?;
    sum.add(filled(device, &layout, number)?.dropout(0.5, 1)?)?;
    sum.value()
}

/// Functions that an application writes, made anew each time.
pub fn written(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let (a, b) = (series(device, n, 0, &[300])?, series(device, n, 0, &[300])?);
    let cubed = device.map1("x * x * x", |x: f32| x * x * x)?;
    sum.add(cubed.apply(&a)?)?;
    sum.add(cubed.apply(&a.to::<f16>()?)?)?;
    let larger = device.map2("max(a, -b)", |a: f32, b: f32| a.max(-b))?;
    sum.add(larger.apply(&a, &b)?)?;
    sum.value()
}

pub fn order(device: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let x = series(device, n, 0, &[300, 9000])?;
    sum.add(x.cumsum(0)?)?;
    sum.add(x.argsort_descending(0)?)?;
    sum.add(x.median()?)?;
    // As many edges as elements.
    let edges = listed(n, |i| i as f32 - 20.0)?;
    let long = x.elements(n..n + 2)?;
    sum.add(long.histogram(n, -50.0..=50.0)?)?;
    sum.add(long.histogram_edges(&edges)?)?;
    let x = matrices(device, n, |i| [1 + i % 3, 2 + i % 5])?;
    sum.add(x.cummax(0)?)?;
    sum.add(x.sort_descending(1)?)?;
    sum.add(x.quantile_axis(0.3, 0)?)?;
    sum.add(x.histogram_edges(&[-10.0, 0.0, 30.0])?)?;
    sum.add(x.diff(0)?)?;
    let images = x.to::<i32>()?;
    let (labels, numbers) = images.label(Components::of_foreground())?;
    if reads() {
        let regions = images.regions_blocking(&labels, &numbers)?;
        sum.host(&regions.areas.download_blocking()?);
        sum.host(&regions.centroids.download_blocking()?);
    }
    sum.add(labels)?;
    sum.add(numbers)?;
    let (values, places) = x.top_k_at_most(2, 0)?;
    sum.add(values)?;
    sum.add(places)?;
    sum.value()
}
