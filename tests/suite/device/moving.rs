//! Copies of tensors on other devices, printing of tensors, and layouts as data.

use libtest_mimic::Trial;
use vsla::{Complex32, Device, Layout, Ragged, Shape, Tensor, f16, scalar::Scalar};

use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let trials = bench.all_on_each_device(&[
        ("moving::every_type", every_type),
        ("moving::views", views),
        ("moving::same_device", same_device),
        ("moving::prints", prints),
        ("moving::prints_long_elements", prints_long_elements),
        ("moving::layouts", layouts),
    ]);
    [trials, on_gpus(bench)].into_iter().flatten().collect()
}

#[cfg(feature = "gpu")]
fn on_gpus(bench: &Bench) -> Vec<Trial> {
    use crate::support::bench::gpu;
    vec![
        bench.on_gpu("moving::between_gpus", gpu, between_gpus),
        bench.on_gpu("moving::refuses", gpu, refuses),
        bench.on_gpu("moving::prints_a_lost_device", gpu, prints_a_lost_device),
    ]
}

#[cfg(not(feature = "gpu"))]
fn on_gpus(_: &Bench) -> Vec<Trial> {
    Vec::new()
}

const LENGTHS: [usize; 6] = [3, 0, 1, 4097, 0, 5];

fn batch<T: Scalar>(value: fn(usize) -> T) -> Ragged<T> {
    let layout = Layout::from_lengths(LENGTHS).unwrap();
    Ragged::from_fn(&layout, |element, i| value(100 * element + i)).unwrap()
}

fn there_and_back<T: Scalar>(
    device: &Device,
    batch: &Ragged<T>,
    both: fn(&Tensor<T>) -> Tensor<T>,
) {
    let bits = |batch: &Ragged<T>| bytemuck::pod_collect_to_vec::<T, u8>(batch.values());
    let cpu = Device::cpu();
    let x = both(&upload(device, batch));
    let y = x.to_device_blocking(&cpu).unwrap();
    assert!(!y.device().is_gpu() && y.layout() == x.layout());
    let expected = download(&x);
    assert_eq!(bits(&download(&y)), bits(&expected));
    let z = pollster::block_on(y.to_device(device)).unwrap();
    assert_eq!(z.device().is_gpu(), device.is_gpu());
    assert_eq!(bits(&download(&z)), bits(&expected));
    let z = pollster::block_on(z.to_device(&cpu)).unwrap();
    assert_eq!(bits(&download(&z)), bits(&expected));
    let z = y.to_device_blocking(device).unwrap();
    assert_eq!(bits(&download(&z)), bits(&expected));
}

/// All bits of all types, after work that is only recorded.
fn every_type(device: &Device) {
    there_and_back(
        device,
        &batch(|i| f32::from_bits((i as u32).wrapping_mul(0x0103_0507))),
        |x| x.copy().unwrap(),
    );
    there_and_back(device, &batch(|i| i as i32 - 7), |x| x.add(x).unwrap());
    there_and_back(device, &batch(|i| i as u32), |x| x.add(x).unwrap());
    there_and_back(
        device,
        &batch(|i| f16::from_bits((i as u16).wrapping_mul(17))),
        |x| x.copy().unwrap(),
    );
    let complex = batch(|i| Complex32::new(i as f32, -0.0));
    there_and_back(device, &complex, |x| x.neg().unwrap());
    let none = Ragged::<f32>::zeros(&Layout::from_lengths([]).unwrap()).unwrap();
    there_and_back(device, &none, |x| x.clone());
    let boxes = Layout::from_shapes(
        2,
        [Shape::new(&[2, 3]).unwrap(), Shape::new(&[0, 4]).unwrap()],
    );
    let boxes = Ragged::full(&boxes.unwrap(), 2.5f32).unwrap();
    there_and_back(device, &boxes, |x| x.clone());
}

/// Views begin anywhere, halves also within a word.
fn views(device: &Device) {
    there_and_back(device, &batch(|i| f16::from_f32(i as f32)), |x| {
        x.elements(1..6).unwrap()
    });
    there_and_back(device, &batch(|i| i as f32), |x| x.elements(2..4).unwrap());
    there_and_back(device, &batch(|i| Complex32::new(0.0, i as f32)), |x| {
        x.elements(3..6).unwrap()
    });
}

/// A handle of the same device shares the values, and has its own limits.
fn same_device(device: &Device) {
    let x = upload(device, &batch(|i| i as f32));
    let strict = device.with_work_limit(3);
    let y = x.to_device_blocking(&strict).unwrap();
    assert!(y.scale(2.0).is_err() && x.add(&y).is_ok());
    assert_eq!(download(&y), download(&x));
}

#[cfg(feature = "gpu")]
fn between_gpus(device: &Device) {
    let other = super::own_gpu(|_| ());
    let batch = batch(|i| i as f32);
    let x = upload(device, &batch).scale(2.0).unwrap();
    let y = x.to_device_blocking(&other).unwrap();
    let sum = y.add(&upload(&other, &batch)).unwrap();
    assert_eq!(download(&sum), batch.cast(|value| 3.0 * value).unwrap());
    let back = sum.to_device_blocking(device).unwrap();
    assert!(back.add(&x).is_ok() && back.add(&y).is_err());
    // More than one piece, of which the last word is incomplete, from within a word on.
    let layout = Layout::from_lengths([3, (32 << 20) + 5, 1]).unwrap();
    let bytes = Ragged::from_fn(&layout, |element, i| (element + i * 7 % 251) as u8).unwrap();
    let x = upload(device, &bytes).elements(1..3).unwrap();
    let expected = download(&x);
    for y in [
        x.to_device_blocking(&other),
        pollster::block_on(x.to_device(&other)),
    ] {
        assert_eq!(download(&y.unwrap()), expected);
    }
}

#[cfg(feature = "gpu")]
fn refuses(_: &Device) {
    let small = super::own_gpu(|options| options.max_binding_bytes = Some(1 << 12));
    let x = upload(&Device::cpu(), &batch(|i| i as f32));
    let error = x.to_device_blocking(&small).unwrap_err();
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("too_large", "to_device", Some(3))
    );
    let error = pollster::block_on(x.to_device(&small)).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("too_large", "to_device"));
    let layout = Layout::from_lengths(vec![1; 3000]).unwrap();
    let error = small.upload_layout(&layout).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("too_large", "upload_layout"));
}

fn about<T: Scalar>(x: &Tensor<T>) -> (String, String) {
    let text = x.to_string();
    let (about, values) = text.split_once('\n').unwrap();
    let info = x.device().info();
    let begin = format!(
        "Tensor<{}> on {} ({}): {}",
        T::DTYPE,
        info.name,
        info.backend,
        x.layout()
    );
    assert_eq!(about, begin);
    (about.to_owned(), values.to_owned())
}

/// Values are printed as those of a batch on the host.
fn prints(device: &Device) {
    let as_on_the_host = |x: &Tensor<f32>| {
        let (_, values) = about(x);
        let whole = download(x).to_string();
        assert_eq!(
            Some(values.as_str()),
            whole.split_once('\n').map(|(_, values)| values)
        );
        let (all, whole) = (format!("{x:#.2}"), format!("{:#.2}", download(x)));
        assert_eq!(
            all.split_once('\n').unwrap().1,
            whole.split_once('\n').unwrap().1
        );
    };
    let x = upload(device, &batch(|i| i as f32).elements_for_test());
    as_on_the_host(&x);
    as_on_the_host(&x.scale(0.5).unwrap());
    as_on_the_host(&x.elements(1..3).unwrap());
    let none = Ragged::<f32>::zeros(&Layout::from_lengths([]).unwrap()).unwrap();
    as_on_the_host(&upload(device, &none));
    let many = Ragged::from_fn(&Layout::from_lengths(0..30).unwrap(), |e, i| (e + i) as f32);
    as_on_the_host(&upload(device, &many.unwrap()));
    let shapes = [[2, 3, 1], [0, 4, 2], [12, 1, 9]].map(|shape| Shape::new(&shape).unwrap());
    let boxes = Ragged::from_fn(&Layout::from_shapes(3, shapes).unwrap(), |e, i| {
        (10 * e + i) as f32
    });
    as_on_the_host(&upload(device, &boxes.unwrap()));
    let halves = upload(
        device,
        &Ragged::from_rows([[f16::ONE, f16::NEG_ONE, f16::ONE]]).unwrap(),
    );
    assert_eq!(
        about(&halves.elements(0..1).unwrap()).1,
        "[[1.0, -1.0, 1.0]]"
    );
    let complex = upload(
        device,
        &Ragged::from_rows([[Complex32::new(1.0, -2.0)]]).unwrap(),
    );
    assert_eq!(about(&complex).1, "[[1.0-2.0i]]");
    // `Debug` has no values, because it reads nothing.
    assert!(!format!("{complex:?}").contains("1.0-2.0i"));
}

trait ForTest {
    fn elements_for_test(&self) -> Ragged<f32>;
}

impl ForTest for Ragged<f32> {
    /// Without the element that is too long to be read as a whole.
    fn elements_for_test(&self) -> Ragged<f32> {
        let rows = (0..self.len()).filter(|&element| self.row(element).len() <= 4096);
        Ragged::from_rows(rows.map(|element| self.row(element))).unwrap()
    }
}

/// Of elements that are too long to be read, the printed values are read.
fn prints_long_elements(device: &Device) {
    let x = upload(
        device,
        &Ragged::from_fn(&Layout::from_lengths([5000, 1]).unwrap(), |_, i| i as f32).unwrap(),
    );
    assert_eq!(
        about(&x).1,
        "[[0.0, 1.0, 2.0, ..., 4997.0, 4998.0, 4999.0],\n [0.0]]"
    );
    let value = |e: usize, i: usize| (e * 100_000 + i) as u32;
    for extents in [[2, 5000], [5000, 2], [100, 100], [1, 4097], [4097, 1]] {
        let layout = Layout::from_shapes(2, [Shape::new(&extents).unwrap(); 2]).unwrap();
        let batch = Ragged::from_fn(&layout, value).unwrap();
        let expected = batch.to_string();
        assert_eq!(
            about(&upload(device, &batch)).1,
            expected.split_once('\n').unwrap().1
        );
    }
    let halves = Ragged::from_fn(&Layout::from_lengths([1, 5001]).unwrap(), |_, i| {
        f16::from_f32(i as f32)
    });
    let halves = halves.unwrap();
    assert_eq!(
        about(&upload(device, &halves)).1,
        halves.to_string().split_once('\n').unwrap().1
    );
}

/// Values that cannot be read are replaced by the reason, and nothing panics.
#[cfg(feature = "gpu")]
fn prints_a_lost_device(_: &Device) {
    let device = super::own_gpu(|_| ());
    let x = upload(&device, &batch(|i| i as f32));
    device.wgpu().unwrap().0.destroy();
    let text = x.to_string();
    assert!(text.contains("<download: device lost: "), "{text}");
}

fn layouts(device: &Device) {
    let of = |layout: &Layout| {
        download(&device.upload_layout(layout).unwrap())
            .to_vecs()
            .unwrap()
    };
    let vectors = Layout::from_lengths([2, 0, 3]).unwrap();
    assert_eq!(of(&vectors), [vec![0, 2, 2, 5], vec![2, 0, 3]]);
    let boxes = [[2, 3], [0, 7], [1, 1]].map(|shape| Shape::new(&shape).unwrap());
    let boxes = Layout::from_shapes(2, boxes).unwrap();
    assert_eq!(of(&boxes), [vec![0, 6, 6, 7], vec![2, 3, 0, 7, 1, 1]]);
    assert_eq!(of(&Layout::from_lengths([]).unwrap()), [vec![0], vec![]]);
}
