//! `.vsla` files: written files can be read back, and everything else is rejected.

#[cfg(feature = "arrow")]
mod arrow;
mod bad;
#[cfg(feature = "serde")]
mod documents;
#[cfg(feature = "ndarray")]
mod ndarray;
mod paths;
#[cfg(feature = "safetensors")]
mod safetensors;
#[cfg(feature = "serde")]
mod serde;

use std::io::{self, Read, Write};

use half::f16;
use libtest_mimic::Trial;
use vsla::io::{Any, Contents, Stored};
use vsla::{Bsr, Complex32, Layout, Ragged, Shape, Topology};

use crate::support::bench::Bench;
use crate::support::corpus::{self, rng};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![
        bench.host("golden", golden),
        bench.host("every_type", every_type),
        bench.host("corpus", every_case),
        bench.host("block_sparse", block_sparse),
        bench.host("streams", streams),
    ];
    trials.extend(bad::tests(bench));
    trials.extend(paths::tests(bench));
    #[cfg(feature = "arrow")]
    trials.extend(arrow::tests(bench));
    #[cfg(feature = "ndarray")]
    trials.extend(ndarray::tests(bench));
    #[cfg(feature = "safetensors")]
    trials.extend(safetensors::tests(bench));
    #[cfg(feature = "serde")]
    {
        trials.extend(serde::tests(bench));
        trials.extend(documents::tests(bench));
    }
    trials
}

/// The files that `files/make.py` writes.
const FILES: &[(&str, &[u8])] = &[
    ("v1-f64-3", include_bytes!("io/files/v1-f64-3.vsla")),
    ("v1-f64-5x7", include_bytes!("io/files/v1-f64-5x7.vsla")),
    (
        "v1-f32-big-2x3x1",
        include_bytes!("io/files/v1-f32-big-2x3x1.vsla"),
    ),
    ("v1-f32-0x3", include_bytes!("io/files/v1-f32-0x3.vsla")),
    ("f64", include_bytes!("io/files/f64.vsla")),
    ("f32", include_bytes!("io/files/f32.vsla")),
    ("f32-nan", include_bytes!("io/files/f32-nan.vsla")),
    ("f16", include_bytes!("io/files/f16.vsla")),
    ("u32", include_bytes!("io/files/u32.vsla")),
    ("i32", include_bytes!("io/files/i32.vsla")),
    ("c32", include_bytes!("io/files/c32.vsla")),
    ("u8", include_bytes!("io/files/u8.vsla")),
    ("none", include_bytes!("io/files/none.vsla")),
    ("empty", include_bytes!("io/files/empty.vsla")),
    ("bsr-f32", include_bytes!("io/files/bsr-f32.vsla")),
    ("bsr-f16-2", include_bytes!("io/files/bsr-f16-2.vsla")),
    ("bsr-none", include_bytes!("io/files/bsr-none.vsla")),
];

fn file(name: &str) -> &'static [u8] {
    let (_, bytes) = FILES.iter().find(|(known, _)| *known == name).unwrap();
    bytes
}

fn is_version_2(file: &[u8]) -> bool {
    file.starts_with(b"VSLAv02\0")
}

/// The contents that `files/make.py` writes.
fn ramp(i: usize) -> f64 {
    i as f64 / 2.0 - 3.0
}

fn box_of<T: Copy>(extents: &[usize], value: impl Fn(usize) -> T) -> Ragged<T> {
    let shape = Shape::new(extents).unwrap();
    let values = (0..shape.size()).map(value).collect();
    Ragged::from_shapes(values, shape.rank(), [shape]).unwrap()
}

fn golden() {
    assert_eq!(
        [file("v1-f64-3").len(), file("v1-f64-5x7").len()],
        [72, 576]
    );
    let f64_of = |batch| Any::F64(Contents::Ragged(batch));
    let f32_of = |batch| Any::F32(Contents::Ragged(batch));
    let ramp32 = |i| ramp(i) as f32;
    let shapes = [[2, 3], [3, 0], [1, 1]].map(|extents| Shape::new(&extents).unwrap());
    let topology = Topology::new([20, 17], [8, 16], &[(0, 1), (2, 0), (2, 1)]).unwrap();
    let set = topology.len() * 8 * 16;
    let none = Topology::new([16, 8], [8, 8], &[]).unwrap();
    let expected = [
        ("v1-f64-3", f64_of(box_of(&[3], ramp))),
        ("v1-f64-5x7", f64_of(box_of(&[5, 7], ramp))),
        ("v1-f32-big-2x3x1", f32_of(box_of(&[2, 3, 1], ramp32))),
        ("v1-f32-0x3", f32_of(box_of(&[0, 3], ramp32))),
        (
            "f64",
            f64_of(Ragged::from_lengths((0..3).map(ramp).collect(), [2, 0, 1]).unwrap()),
        ),
        (
            "f32",
            f32_of(Ragged::from_shapes((0..7).map(ramp32).collect(), 2, shapes).unwrap()),
        ),
        (
            "f16",
            Any::F16(Contents::Ragged(box_of(&[1, 2, 3], |i| {
                f16::from_f64(ramp(i))
            }))),
        ),
        (
            "u32",
            Any::U32(Contents::Ragged(box_of(&[1, 1, 1, 2, 1, 1, 1, 1], |i| {
                [1, u32::MAX][i]
            }))),
        ),
        (
            "i32",
            Any::I32(Contents::Ragged(box_of(&[2], |i| [-1, i32::MIN][i]))),
        ),
        (
            "c32",
            Any::C32(Contents::Ragged(
                Ragged::from_lengths(
                    (0..3)
                        .map(|i| Complex32::new(ramp32(2 * i), ramp32(2 * i + 1)))
                        .collect(),
                    [1, 2],
                )
                .unwrap(),
            )),
        ),
        (
            "u8",
            Any::U8(Contents::Ragged(
                Ragged::from_shapes(
                    vec![0, 128, 255],
                    2,
                    [[1, 3], [0, 2]].map(|extents| Shape::new(&extents).unwrap()),
                )
                .unwrap(),
            )),
        ),
        ("none", f32_of(Ragged::from_shapes(vec![], 3, []).unwrap())),
        (
            "empty",
            Any::I32(Contents::Ragged(
                Ragged::from_lengths(vec![], [0; 4]).unwrap(),
            )),
        ),
        (
            "bsr-f32",
            Any::F32(Contents::Bsr(
                Bsr::new(&topology, (0..set).map(ramp32).collect()).unwrap(),
            )),
        ),
        (
            "bsr-f16-2",
            Any::F16(Contents::Bsr(
                Bsr::from_sets(
                    &topology,
                    2,
                    (0..2 * set).map(|i| f16::from_f64(ramp(i))).collect(),
                )
                .unwrap(),
            )),
        ),
        (
            "bsr-none",
            Any::F32(Contents::Bsr(Bsr::new(&none, vec![]).unwrap())),
        ),
    ];
    assert_eq!(expected.len() + 1, FILES.len(), "f32-nan is below");
    for (name, expected) in expected {
        let any = Any::read_from(file(name)).expect(name);
        assert_eq!(any, expected, "{name}");
        if is_version_2(file(name)) {
            assert_eq!(written(&any), file(name), "{name}");
        }
    }

    let batch = Ragged::<f32>::read_from(file("f32-nan")).unwrap();
    let bits: Vec<_> = batch.values().iter().map(|x| x.to_bits()).collect();
    assert_eq!(bits, [0x7FC0_1234, 0xFF80_0001, 0x7F80_0000, 0x8000_0000]);
    assert_eq!(written_batch(&batch), file("f32-nan"));
}

fn written(any: &Any) -> Vec<u8> {
    fn of<T: Stored>(contents: &Contents<T>) -> Vec<u8> {
        match contents {
            Contents::Ragged(batch) => written_batch(batch),
            Contents::Bsr(bsr) => {
                let mut file = Vec::new();
                bsr.write_to(&mut file).unwrap();
                file
            }
        }
    }

    match any {
        Any::F64(contents) => of(contents),
        Any::F32(contents) => of(contents),
        Any::F16(contents) => of(contents),
        Any::U32(contents) => of(contents),
        Any::I32(contents) => of(contents),
        Any::C32(contents) => of(contents),
        Any::U8(contents) => of(contents),
        other => panic!("no type of these: {other:?}"),
    }
}

fn written_batch<T: Stored>(batch: &Ragged<T>) -> Vec<u8> {
    let mut file = Vec::new();
    batch.write_to(&mut file).unwrap();
    file
}

/// Writes a batch, reads it, and compares bits.
#[track_caller]
fn round_trip<T: Stored>(batch: &Ragged<T>) {
    let file = written_batch(batch);
    let read = Ragged::<T>::read_from(&file[..]).unwrap();
    assert_eq!(read.layout(), batch.layout());
    let bytes = |batch: &Ragged<T>| bytemuck::cast_slice::<T, u8>(batch.values()).to_vec();
    assert!(bytes(&read) == bytes(batch), "of {}", batch.layout());
}

/// Arbitrary bits, including all kinds of NaN.
fn every_type() {
    fn of<T: Stored>() {
        let mut rng = rng("every_type");
        for rank in 1..=8 {
            let mut shapes = Vec::new();
            for _ in 0..rng.usize(0..6) {
                let extents: Vec<_> = (0..rank).map(|_| rng.usize(0..4)).collect();
                shapes.push(Shape::new(&extents).unwrap());
            }
            let layout = Layout::from_shapes(rank, shapes).unwrap();
            let mut values = vec![T::zeroed(); layout.total()];
            rng.fill(bytemuck::cast_slice_mut(&mut values));
            round_trip(&Ragged::from_parts(layout, values).unwrap());
        }
    }

    of::<f64>();
    of::<f32>();
    of::<f16>();
    of::<u32>();
    of::<i32>();
    of::<Complex32>();
}

fn every_case() {
    for case in corpus::all() {
        let (a, b) = case.floats();
        round_trip(&a);
        round_trip(&b.cast(f64::from).unwrap());
    }
}

fn block_sparse() {
    let mut rng = rng("io::block_sparse");
    for block in [[8, 8], [16, 128], [96, 48]] {
        for sets in [0, 1, 3] {
            let shape = [rng.usize(0..300), rng.usize(0..300)];
            let each = shape[1].div_ceil(block[1]).min(2);
            let topologies = [
                Topology::random(shape, block, each, rng.u64(..)).unwrap(),
                Topology::new(shape, block, &[]).unwrap(),
                Topology::strided(shape, block, 1).unwrap(),
            ];
            for topology in topologies {
                let mut values = vec![0f32; sets * topology.len() * block[0] * block[1]];
                rng.fill(bytemuck::cast_slice_mut(&mut values));
                let bsr = Bsr::from_sets(&topology, sets, values).unwrap();
                let mut file = Vec::new();
                bsr.write_to(&mut file).unwrap();
                let read = Bsr::<f32>::read_from(&file[..]).unwrap();
                assert_eq!(read.topology(), bsr.topology());
                let bits = |bsr: &Bsr<f32>| bsr.values().cast(f32::to_bits).unwrap();
                assert!(bits(&read) == bits(&bsr));
            }
        }
    }
    let far = Topology::new([4_000_000, 80], [8, 8], &[(7, 0), (499_999, 9)]).unwrap();
    let far = Bsr::new(&far, vec![1i32; 128]).unwrap();
    let mut file = Vec::new();
    far.write_to(&mut file).unwrap();
    assert_eq!(Bsr::read_from(&file[..]).unwrap(), far);
}

/// A stream that reads and writes as few bytes at a time as it may, and is interrupted.
struct Slow<S>(S, bool);

impl<S> Slow<S> {
    fn interrupted(&mut self) -> io::Result<()> {
        self.1 = !self.1;
        match self.1 {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.interrupted()?;
        let end = bytes.len().min(1);
        self.0.read(&mut bytes[..end])
    }
}

impl<W: Write> Write for Slow<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupted()?;
        self.0.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn streams() {
    let layout = Layout::from_lengths((0..9000).map(|i| i % 5)).unwrap();
    let batch = Ragged::random(&layout, 3).unwrap();
    let mut file = Slow(Vec::new(), false);
    batch.write_to(&mut file).unwrap();
    assert_eq!(file.0, written_batch(&batch));
    let read = Ragged::<f32>::read_from(Slow(&file.0[..], false)).unwrap();
    assert_eq!(read, batch);
}
