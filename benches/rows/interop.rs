//! What it costs to bring data into the library and out of it, as a share of the README's workloads.
//!
//! A workload is what an application waits for that has its data on the host: operands are uploaded, the call of the
//! row runs, and results are downloaded. Around it, operands are made from what the application has, and results become
//! what it wants. Where the data is on the device already, a workload is the call alone.

use std::hint::black_box;
use std::time::{Duration, Instant};

#[cfg(feature = "arrow")]
use vsla::io::ArrowValue;
use vsla::io::Stored;
use vsla::scalar::{DType, Scalar};
use vsla::{Complex32, Device, Layout, Ragged, Shape, f16};

use crate::harness::report::Batch;
use crate::harness::{Bench, Outcome, Spec, Summary, Times};

/// The rows that are workloads, each at the beginning of a line.
const WORKLOADS: &str = include_str!("../readme.txt");
/// The most that bringing data in and out may take, in percent of a workload.
const MOST: f64 = 5.0;

/// The runs of each conversion. Those of a way take seconds together.
const RUNS: usize = 3;

/// The values of a batch that are converted, whole elements and at least one. The time of the others is extrapolated.
const CONVERTED: usize = 1 << 23;

/// A way to bring data in and out. Another one is a line in [`WAYS`] and a match arm in [`prepared`].
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    about: &'static str,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Vectors,
    Packed,
    #[cfg(feature = "arrow")]
    Arrow,
    #[cfg(feature = "arrow")]
    ArrowShared,
    #[cfg(feature = "ndarray")]
    Ndarray,
    #[cfg(feature = "safetensors")]
    Safetensors,
    #[cfg(feature = "gpu")]
    Wgpu,
}

const WAYS: &[Way] = &[
    Way {
        name: "interop/vectors",
        about: "from a vector for each element, and to them: from_rows and to_vecs",
        by: By::Vectors,
    },
    Way {
        name: "interop/packed",
        about: "from one vector of values and the shapes, and to them: from_parts and into_parts",
        by: By::Packed,
    },
    #[cfg(feature = "arrow")]
    Way {
        name: "interop/arrow",
        about: "from an array of lists that nothing else refers to, and to one: from_arrow and into_arrow",
        by: By::Arrow,
    },
    #[cfg(feature = "arrow")]
    Way {
        name: "interop/arrow-shared",
        about: "from an array of lists that its application keeps, so that values are copied, and to one",
        by: By::ArrowShared,
    },
    #[cfg(feature = "ndarray")]
    Way {
        name: "interop/ndarray",
        about: "from an array for each element, and to views: from_arrays and array",
        by: By::Ndarray,
    },
    #[cfg(feature = "safetensors")]
    Way {
        name: "interop/safetensors",
        about: "from the bytes of a file in memory, and to them",
        by: By::Safetensors,
    },
    #[cfg(feature = "gpu")]
    Way {
        name: "interop/wgpu",
        about: "from an application's buffers, and to them: import and export, without the submission of each kernel \
                that reads an imported buffer",
        by: By::Wgpu,
    },
];

impl By {
    /// Whether the data is on the device before and after.
    fn stays_on_device(self) -> bool {
        match self {
            #[cfg(feature = "gpu")]
            By::Wgpu => true,
            _ => false,
        }
    }
}

/// A row of the README, with its batches.
struct Workload {
    name: &'static str,
    call: Duration,
    transfers: Duration,
    batches: Vec<Batch>,
}

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    let on_device = |by: By| bench.device.is_gpu() || !by.stays_on_device();
    let ways = WAYS
        .iter()
        .filter(|way| bench.wants(way.name) && on_device(way.by));
    let ways: Vec<Way> = ways.copied().collect();
    if ways.is_empty() {
        return Ok(());
    }
    let mut workloads = Vec::new();
    for name in WORKLOADS.lines().filter_map(|line| line.split(' ').next()) {
        let row = bench.measured(name, super::operations)?;
        let Some(row) = row.filter(|row| !row.batches.is_empty()) else {
            continue;
        };
        let (call, batches) = (row.times.wall.median, row.batches.clone());
        let mut transfers = Duration::ZERO;
        for batch in &batches {
            transfers += transfer(bench, batch)?;
        }
        workloads.push(Workload {
            name,
            call,
            transfers,
            batches,
        });
    }
    ways.into_iter()
        .try_for_each(|way| row(bench, way, &workloads))
}

/// Calls a function of the type of a batch.
macro_rules! of_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F32 => $function::<f32>($($argument),*),
            DType::I32 => $function::<i32>($($argument),*),
            DType::U32 => $function::<u32>($($argument),*),
            DType::C32 => $function::<Complex32>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            other => Err(format!("no values of type {}", other.name()).into()),
        }
    };
}

/// The time to upload an operand, or to download a result.
fn transfer(bench: &Bench, batch: &Batch) -> Outcome<Duration> {
    of_type!(batch.dtype, transfer_of(bench, batch))
}

fn transfer_of<T: Value>(bench: &Bench, batch: &Batch) -> Outcome<Duration> {
    let host = values::<T>(&batch.layout)?;
    let tensor = bench.device.upload(&host)?;
    let once = || -> Outcome<Duration> {
        bench.sync()?;
        let began = Instant::now();
        match batch.result {
            true => drop(tensor.download_blocking()?),
            false => drop(bench.device.upload(&host)?),
        }
        bench.sync()?;
        Ok(began.elapsed())
    };
    let times = (0..bench.size.runs.0).map(|_| once());
    Ok(Summary::of(times.collect::<Outcome<_>>()?).median)
}

/// A conversion that can be repeated, and says how long it took without what prepares it.
type Conversion = Box<dyn FnMut() -> Outcome<Duration>>;

fn row(bench: &mut Bench, way: Way, workloads: &[Workload]) -> Outcome<()> {
    let mut first = Duration::ZERO;
    let (mut check, mut checked) = (None, 0);
    let (sums, reference) = bench.beside(|bench| {
        let mut sums = vec![[Duration::ZERO; RUNS]; workloads.len()];
        first = Duration::ZERO;
        checked = 0;
        for (workload, sums) in workloads.iter().zip(&mut sums) {
            for batch in &workload.batches {
                let part = part(batch)?;
                match prepared(&bench.device, way.by, &part)? {
                    Err(problem) => check = Some(format!("{}: {problem}", workload.name)),
                    Ok(mut convert) => {
                        let total = part.layout.total();
                        checked += total;
                        let share = batch.layout.total() as f64 / total.max(1) as f64;
                        first += convert()?.mul_f64(share);
                        for sum in sums.iter_mut() {
                            *sum += convert()?.mul_f64(share);
                        }
                    }
                }
            }
        }
        Ok(sums)
    })?;
    let all = (0..RUNS).map(|run| sums.iter().map(|runs| runs[run]).sum());
    let times = Times::of_wall(Summary::of(all.collect()));
    let spec = Spec {
        name: way.name,
        data: format!(
            "the batches of {} workloads, {}, extrapolated from the first {CONVERTED} values of each; a workload is {}",
            workloads.len(),
            way.about,
            match way.by.stays_on_device() {
                true => "the call alone",
                false => "upload, call and download",
            }
        ),
        bytes: 0,
        multiply_adds: 0,
        first,
        check: check.map_or_else(|| Ok(format!("all {checked} values converted")), Err),
    };
    let mut row = bench.row(spec, times, reference);
    let share =
        |time: Duration, of: Duration| 100.0 * time.as_secs_f64() / of.as_secs_f64().max(1e-9);
    let mut worst = 0.0f64;
    for (workload, runs) in workloads.iter().zip(sums) {
        let of = match way.by.stays_on_device() {
            true => workload.call,
            false => workload.call + workload.transfers,
        };
        let percent = share(Summary::of(runs.to_vec()).median, of);
        worst = worst.max(percent);
        row = row.note(format!("% of {}", workload.name), percent);
    }
    let calls = workloads.iter().map(|workload| workload.call).sum();
    row = row.note("% of all calls alone", share(times.wall.median, calls));
    bench.push(row.at_most("% of a workload", MOST, worst));
    Ok(())
}

/// The first elements of a batch.
fn part(batch: &Batch) -> vsla::Result<Batch> {
    let ends = &batch.layout.offsets().as_slice()[1..];
    let whole = ends.partition_point(|&end| end as usize <= CONVERTED);
    let layout = batch.layout.range(0..whole.max(1).min(ends.len()))?;
    Ok(Batch {
        layout,
        ..batch.clone()
    })
}

/// The conversion of an operand into a batch, or of a result into what the application wants, whose values have been
/// compared; or what was wrong with them.
fn prepared(device: &Device, by: By, batch: &Batch) -> Outcome<Result<Conversion, String>> {
    of_type!(batch.dtype, prepared_of(device, by, batch))
}

fn prepared_of<T: Value>(
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_variables, reason = "for wgpu's buffers")
    )]
    device: &Device,
    by: By,
    batch: &Batch,
) -> Outcome<Result<Conversion, String>> {
    let host = values::<T>(&batch.layout)?;
    Ok(match (by, batch.result) {
        (By::Vectors, false) => vectors_in(host)?,
        (By::Vectors, true) => vectors_out(host)?,
        (By::Packed, result) => packed(host, result)?,
        #[cfg(feature = "arrow")]
        (By::Arrow, _) | (By::ArrowShared, true) => lists::moved(host, batch.result)?,
        #[cfg(feature = "arrow")]
        (By::ArrowShared, false) => lists::copied(host)?,
        #[cfg(feature = "ndarray")]
        (By::Ndarray, false) => arrays::inward(host)?,
        #[cfg(feature = "ndarray")]
        (By::Ndarray, true) => arrays::outward(host)?,
        #[cfg(feature = "safetensors")]
        (By::Safetensors, result) => files::converted(host, result)?,
        #[cfg(feature = "gpu")]
        (By::Wgpu, result) => buffers::shared(device, host, result)?,
    })
}

/// Without the feature `arrow`, all types.
#[cfg(not(feature = "arrow"))]
trait ArrowValue {}

#[cfg(not(feature = "arrow"))]
impl<T> ArrowValue for T {}

/// Values of every type.
trait Value: Scalar + Stored + ArrowValue + PartialEq {
    fn of(value: f32) -> Self;
}

impl Value for f32 {
    fn of(value: f32) -> f32 {
        value
    }
}

impl Value for i32 {
    fn of(value: f32) -> i32 {
        (1e6 * value) as i32
    }
}

impl Value for u32 {
    fn of(value: f32) -> u32 {
        (1e6 * value) as u32
    }
}

impl Value for f16 {
    fn of(value: f32) -> f16 {
        f16::from_f32(value)
    }
}

impl Value for Complex32 {
    fn of(value: f32) -> Complex32 {
        Complex32::new(value, -value)
    }
}

fn values<T: Value>(layout: &Layout) -> vsla::Result<Ragged<T>> {
    Ragged::random(layout, 95)?.cast(T::of)
}

/// The shapes of elements, as an application has them.
fn shapes(layout: &Layout) -> Vec<Shape> {
    layout.shapes().collect()
}

/// A layout from them.
fn layout(rank: usize, shapes: &[Shape]) -> vsla::Result<Layout> {
    match rank {
        1 => Layout::from_lengths(shapes.iter().map(Shape::size)),
        _ => Layout::from_shapes(rank, shapes.iter().copied()),
    }
}

fn timed<R>(run: impl FnOnce() -> vsla::Result<R>) -> Outcome<(R, Duration)> {
    let began = Instant::now();
    let made = black_box(run()?);
    Ok((made, began.elapsed()))
}

/// A conversion into batches, after a comparison of the first one.
fn compared<T: Value>(
    host: &Ragged<T>,
    mut convert: impl FnMut() -> vsla::Result<Ragged<T>> + 'static,
) -> Outcome<Result<Conversion, String>> {
    Ok(match convert()? == *host {
        true => Ok(Box::new(move || Ok(timed(&mut convert)?.1))),
        false => Err("not the values that went in".to_owned()),
    })
}

fn vectors_in<T: Value>(host: Ragged<T>) -> Outcome<Result<Conversion, String>> {
    let (vectors, shapes) = (host.to_vecs()?, shapes(host.layout()));
    let rank = host.layout().rank();
    compared(&host, move || {
        let rows = Ragged::from_rows(&vectors)?;
        match rank {
            1 => Ok(rows),
            _ => Ragged::from_parts(layout(rank, &shapes)?, rows.into_parts().1),
        }
    })
}

fn vectors_out<T: Value>(host: Ragged<T>) -> Outcome<Result<Conversion, String>> {
    let vectors = host.to_vecs()?;
    let same = vectors
        .iter()
        .zip(host.iter())
        .all(|(vector, row)| vector == row);
    Ok(match same && vectors.len() == host.len() {
        true => Ok(Box::new(move || Ok(timed(|| host.to_vecs())?.1))),
        false => Err("not the values that went in".to_owned()),
    })
}

fn packed<T: Value>(host: Ragged<T>, result: bool) -> Outcome<Result<Conversion, String>> {
    let (rank, shapes) = (host.layout().rank(), shapes(host.layout()));
    let mut held = Some(host.values().to_vec());
    let again = Ragged::from_parts(layout(rank, &shapes)?, held.clone().unwrap_or_default())?;
    if again != host {
        return Ok(Err("not the values that went in".to_owned()));
    }
    Ok(Ok(Box::new(move || {
        let values = held.take().unwrap_or_default();
        let (batch, inward) = timed(|| Ragged::from_parts(layout(rank, &shapes)?, values))?;
        let ((_, values), outward) = timed(|| Ok(batch.into_parts()))?;
        held = Some(values);
        Ok(if result { outward } else { inward })
    })))
}

#[cfg(feature = "arrow")]
mod lists {
    use arrow_data::ArrayData;
    use arrow_schema::DataType;
    use vsla::scalar::DType;
    use vsla::{Layout, Ragged};

    use super::{Conversion, Outcome, Value, compared, timed};

    /// Lists in lists, as many as the elements have axes: of a fixed size where all elements have the same extent.
    fn lists<T: Value>(layout: &Layout) -> DataType {
        let number = match T::DTYPE {
            DType::F16 => DataType::Float16,
            DType::I32 => DataType::Int32,
            DType::U32 => DataType::UInt32,
            DType::C32 => DataType::new_fixed_size_list(DataType::Float32, 2, false),
            _ => DataType::Float32,
        };
        let fixed = |axis: usize| {
            let mut extents = layout.shapes().map(|shape| shape.extents()[axis]);
            let first = extents.next()?;
            let same = axis > 0 && extents.all(|extent| extent == first);
            i32::try_from(first).ok().filter(|_| same)
        };
        (0..layout.rank())
            .rev()
            .fold(number, |entry, axis| match fixed(axis) {
                Some(size) => DataType::new_fixed_size_list(entry, size, false),
                None => DataType::new_large_list(entry, false),
            })
    }

    /// Values move between batch and array, and are never copied.
    pub fn moved<T: Value>(host: Ragged<T>, result: bool) -> Outcome<Result<Conversion, String>> {
        let data_type = lists::<T>(host.layout());
        let array = host.clone().into_arrow(&data_type)?;
        let again = Ragged::from_arrow(array)?;
        if again != host {
            return Ok(Err("not the values that went in".to_owned()));
        }
        let mut held = Some(again);
        Ok(Ok(Box::new(move || {
            let batch = held.take().ok_or("a conversion has failed")?;
            let (array, outward): (ArrayData, _) = timed(|| batch.into_arrow(&data_type))?;
            let (batch, inward) = timed(|| Ragged::from_arrow(array))?;
            held = Some(batch);
            Ok(if result { outward } else { inward })
        })))
    }

    /// From an array that remains.
    pub fn copied<T: Value>(host: Ragged<T>) -> Outcome<Result<Conversion, String>> {
        let data_type = lists::<T>(host.layout());
        let array = host.clone().into_arrow(&data_type)?;
        compared(&host, move || Ragged::from_arrow(array.clone()))
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use std::hint::black_box;

    use vsla::Ragged;

    use super::{Conversion, Outcome, Value, compared, timed};

    pub fn inward<T: Value>(host: Ragged<T>) -> Outcome<Result<Conversion, String>> {
        let arrays = (0..host.len()).map(|i| Ok(host.array(i)?.into_owned()));
        let arrays = arrays.collect::<vsla::Result<Vec<_>>>()?;
        let rank = host.layout().rank();
        compared(&host, move || {
            Ragged::from_arrays(rank, arrays.iter().map(|array| array.view()))
        })
    }

    pub fn outward<T: Value>(host: Ragged<T>) -> Outcome<Result<Conversion, String>> {
        for i in 0..host.len() {
            if !host.array(i)?.iter().eq(host.row(i)) {
                return Ok(Err(format!("array {i} is not its element")));
            }
        }
        let views = move |host: &Ragged<T>| {
            (0..host.len()).try_for_each(|i| host.array(i).map(|view| drop(black_box(view))))
        };
        Ok(Ok(Box::new(move || Ok(timed(|| views(&host))?.1))))
    }
}

#[cfg(feature = "safetensors")]
mod files {
    use std::io::Cursor;

    use vsla::Ragged;
    use vsla::io::safetensors::{Reader, Writer};

    use super::{Conversion, Outcome, Value, compared, timed};

    pub fn converted<T: Value>(
        host: Ragged<T>,
        result: bool,
    ) -> Outcome<Result<Conversion, String>> {
        let mut bytes = Vec::new();
        Writer::new().add("batch", &host)?.write_to(&mut bytes)?;
        let file = bytes.clone();
        let read = compared(&host, move || {
            Reader::new(Cursor::new(&file[..]))?.read("batch")
        })?;
        if !result || read.is_err() {
            return Ok(read);
        }
        Ok(Ok(Box::new(move || {
            bytes.clear();
            let write = || Writer::new().add("batch", &host)?.write_to(&mut bytes);
            Ok(timed(write)?.1)
        })))
    }
}

#[cfg(feature = "gpu")]
mod buffers {
    use vsla::device::wgpu::{BufferDescriptor, BufferUsages};
    use vsla::{Device, Ragged};

    use super::{Conversion, Outcome, Value, timed};

    pub fn shared<T: Value>(
        device: &Device,
        host: Ragged<T>,
        result: bool,
    ) -> Outcome<Result<Conversion, String>> {
        let (gpu, queue) = device.wgpu().ok_or("no GPU")?;
        let (device, layout) = (device.clone(), host.layout().clone());
        let mut bytes = bytemuck::cast_slice::<T, u8>(host.values()).to_vec();
        bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
        let buffer = gpu.create_buffer(&BufferDescriptor {
            label: Some("an application's"),
            size: bytes.len() as u64,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&buffer, 0, &bytes);
        let tensor = device.import::<T>(&buffer, 0, &layout)?;
        if tensor.download_blocking()? != host {
            return Ok(Err("not the values of the buffer".to_owned()));
        }
        let tensor = device.upload(&host)?;
        let Some((exported, offset)) = tensor.export() else {
            return Ok(Err("no buffer".to_owned()));
        };
        let again = device.import::<T>(exported, offset, &layout)?;
        if again.download_blocking()? != host {
            return Ok(Err("not the values of the exported buffer".to_owned()));
        }
        Ok(Ok(match result {
            true => Box::new(move || Ok(timed(|| Ok(tensor.export().is_some()))?.1)),
            false => Box::new(move || Ok(timed(|| device.import::<T>(&buffer, 0, &layout))?.1)),
        }))
    }
}
