//! Complex values on devices: the properties of all element types, for values of two words each.

mod arithmetic;
mod bounds;
mod maps;

use libtest_mimic::Trial;
use vsla::{
    Complex32, Device, Layout, Ragged,
    scalar::{DType, Scalar},
};

use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("there_and_back", there_and_back),
        ("views", views),
        ("copy", copy),
        ("full", full),
    ]);
    trials.extend(arithmetic::tests(bench));
    trials.extend(bounds::tests(bench));
    trials.extend(maps::tests(bench));
    trials.push(bench.host("named", named));
    trials.push(bench.host("printed", printed));
    #[cfg(feature = "gpu")]
    trials.extend([
        bench.on_gpu("sizes", crate::support::bench::gpu, |_| gpu::sizes()),
        bench.on_gpu("imported", crate::support::bench::gpu, gpu::imported),
    ]);
    trials
}

/// A batch in which no two words are equal.
fn numbered(layout: &Layout) -> Ragged<Complex32> {
    let offsets = layout.offsets().clone();
    Ragged::from_fn(layout, |element, i| {
        let at = (offsets.range(element).start + i) as f32;
        Complex32::new(at + 0.5, -at)
    })
    .unwrap()
}

fn ragged() -> Layout {
    Layout::from_lengths([3, 0, 1, 70_001, 2, 257]).unwrap()
}

fn there_and_back(device: &Device) {
    let batch = numbered(&ragged());
    let tensor = upload(device, &batch);
    assert_eq!(download(&tensor), batch);
    let mut values = vec![Complex32::default(); batch.values().len()];
    tensor.download_into_blocking(&mut values).unwrap();
    assert_eq!(values, batch.values());
    values.pop();
    let wrong = tensor.download_into_blocking(&mut values).unwrap_err();
    assert_eq!(wrong.kind(), "value_count");
    let nothing = numbered(&Layout::from_lengths([]).unwrap());
    assert_eq!(download(&upload(device, &nothing)), nothing);
}

fn views(device: &Device) {
    let batch = numbered(&ragged());
    let view = upload(device, &batch).elements(2..6).unwrap();
    let inner = view.elements(1..4).unwrap();
    let expected = Ragged::from_rows((3..6).map(|i| batch.row(i))).unwrap();
    assert_eq!(download(&inner), expected);
    assert_eq!(download(&inner.copy().unwrap()), expected);
}

fn copy(device: &Device) {
    let batch = numbered(&ragged());
    assert_eq!(download(&upload(device, &batch).copy().unwrap()), batch);
}

fn full(device: &Device) {
    let z = Complex32::new(1.5, -2.0);
    for layout in [ragged(), Layout::from_lengths([0, 1]).unwrap()] {
        let made = device.full(&layout, z).unwrap();
        assert_eq!(download(&made), Ragged::full(&layout, z).unwrap());
    }
}

fn named() {
    assert_eq!(Complex32::DTYPE, DType::C32);
    assert_eq!(DType::C32.size(), size_of::<Complex32>());
    assert_eq!(DType::C32.to_string(), "c32");
}

fn printed() {
    let z = Complex32::new;
    let batch = Ragged::from_rows([vec![z(1.0, -2.0), z(0.5, 0.0)], vec![]]).unwrap();
    assert_eq!(
        batch.to_string(),
        "\
Ragged<Complex<f32>>: 2 rows, 2 values, lengths 0..=2
[[1.0-2.0i, 0.5+0.0i],
 []]"
    );
    assert!(format!("{batch:.2}").contains("[1.00-2.00i, 0.50+0.00i]"));
    let nan = Ragged::from_rows([[z(f32::NAN, f32::NEG_INFINITY)]]).unwrap();
    assert!(nan.to_string().ends_with("[[NaN-infi]]"));
}

#[cfg(feature = "gpu")]
mod gpu {
    use vsla::Error;
    use vsla::device::wgpu::{self, BufferUsages};

    use super::*;
    use crate::device::own_gpu;

    /// A binding counts words: 512 complex values fill 4096 bytes.
    pub fn sizes() {
        let device = own_gpu(|options| options.max_binding_bytes = Some(4096));
        let fits = numbered(&Layout::from_lengths([500, 12]).unwrap());
        assert_eq!(download(&upload(&device, &fits)), fits);
        let too_large = Layout::from_lengths([500, 13]).unwrap();
        let expected = Error::TooLarge {
            op: "upload",
            element: Some(1),
            what: "the tensor".to_owned(),
            bytes: 513 * 8,
            limit: 4096,
        };
        assert_eq!(device.upload(&numbered(&too_large)).unwrap_err(), expected);
        let made = device.full(&too_large, Complex32::default());
        assert_eq!(made.unwrap_err().kind(), "too_large");
    }

    pub fn imported(device: &Device) {
        let batch = numbered(&Layout::from_lengths([3, 2]).unwrap());
        let (raw, queue) = device.wgpu().unwrap();
        let buffer = raw.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bytes: Vec<u8> = batch
            .values()
            .iter()
            .flat_map(|z| [z.re, z.im])
            .flat_map(f32::to_le_bytes)
            .collect();
        queue.write_buffer(&buffer, 24, &bytes);
        let tensor = device.import(&buffer, 24, batch.layout()).unwrap();
        assert_eq!(download(&tensor), batch);
        assert_eq!(tensor.export().unwrap().1, 24);
        assert_eq!(tensor.elements(1..2).unwrap().export().unwrap().1, 48);
        let refused = |offset, layout: &Layout| {
            let imported = device.import::<Complex32>(&buffer, offset, layout);
            imported.unwrap_err().kind()
        };
        assert_eq!(refused(20, batch.layout()), "unsupported");
        assert_eq!(refused(32, batch.layout()), "value_count");
    }
}
