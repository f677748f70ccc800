//! A ragged cache of keys and values: rows are appended in place, and attention reads them without a copy.
//!
//! Plans follow from layouts, so layouts must not change from one decoding step to the next: keys and values have the
//! layout of the reserved rows, for which tiles and pieces are planned, and lengths are a tensor of u32. The kernel
//! reads the number of keys there; lengths take the binding of the bias (`cached`), since a kernel has at most eight
//! storage buffers. Stages beyond the length are never loaded, and pieces that begin beyond it end at once.
//! `Plan::run_with` detaches the caches first, so that a run always changes them in place; on the CPU, it takes the
//! memory out of the caches during the run.

use std::sync::Arc;

use super::run::{Call, check_planned};
use super::trace::Trace;
use super::{Device, Storage, Tensor};
use crate::error::Named;
use crate::ops::append::{Append, OP, rows_of, widths};
use crate::ops::strided::extent_of;
use crate::ragged::{DType, Float, Layout, Ragged};
use crate::{Error, Result, host};

/// Keys and values of each element of a batch, which grow in reserved memory: for decoding, where each step attends
/// from a few new queries to all keys so far.
///
/// Element i has capacity for as many rows as its layout says, and a length, the number of rows in use. [`append`]
/// writes n_i new rows after those in use, where n_i may be 0, and moves nothing else. [`Tensor::attention_over`]
/// attends to the first rows of each element, as many as its length says, exactly as attention over tensors of these
/// rows alone would: causal masks, windows and ALiBi measure positions from the length.
///
/// # Lengths
/// Lengths are stored on the device, so that layouts, and with them all plans, stay the same from step to step. The
/// cache also keeps track of them on the host, and refuses rows that do not fit before any work starts. Reserved rows
/// beyond the length have no meaning and no effect, whatever they hold.
///
/// # Memory
/// A clone shares memory, as a clone of a tensor does. [`append`] changes memory that no other handle refers to in
/// place; otherwise it copies the memory first, so that clones, and tensors from [`keys`](Self::keys) and
/// [`values`](Self::values), never change.
///
/// # Programs
/// [`Recording::cache`](crate::program::Recording::cache) makes a cache an operand of a program, and
/// [`Plan::run_with`](crate::program::Plan::run_with) runs it on caches, which it changes in place, as the recorded
/// appends do. One plan serves all steps that append the same numbers of rows.
///
/// # Cost
/// Appending reads the new rows once and writes them once, in one dispatch, and allocates only the new lengths: 4 bytes
/// for each element. Attention is planned for the reserved rows, which the device's work limit counts, but reads only
/// the rows in use. It runs on the portable kernels, not on cooperative matrices. From 1,024 reserved rows on, the rows
/// are cut into pieces, and each piece costs a workgroup, even beyond the length.
///
/// There are no gradients.
///
/// ```
/// use vsla::attention::Cache;
/// use vsla::{Device, Layout, Ragged, Shape};
///
/// let device = Device::cpu();
/// let of = |values: Vec<f32>, rows: [usize; 2]| {
///     let shapes = [Shape::new(&[rows[0], 1])?, Shape::new(&[rows[1], 1])?];
///     device.upload(&Ragged::from_shapes(values, 2, shapes)?)
/// };
/// // Room for 4 rows of the first sentence and 2 of the second, one head of one value.
/// let room = Layout::from_shapes(2, [Shape::new(&[4, 1])?, Shape::new(&[2, 1])?])?;
/// let mut cache = Cache::<f32>::new(&device, &room, &room)?;
/// cache.append(&of(vec![0.0, 0.0, 0.0], [2, 1])?, &of(vec![1.0, 3.0, 5.0], [2, 1])?)?;
/// // Only the first sentence continues.
/// cache.append(&of(vec![0.0], [1, 0])?, &of(vec![8.0], [1, 0])?)?;
/// assert_eq!(cache.counts(), [3, 1]);
/// let y = of(vec![1.0, 1.0], [1, 1])?.attention_over(&cache).causal().run()?.download_blocking()?;
/// assert!((y.row(0)[0] - 4.0).abs() < 1e-5 && y.row(1)[0] == 5.0);
/// // The second sentence has room for one more row.
/// let full = cache.append(&of(vec![0.0; 2], [0, 2])?, &of(vec![0.0; 2], [0, 2])?).unwrap_err();
/// assert_eq!((full.op(), full.element()), ("append", Some(1)));
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// [`append`]: Self::append
#[derive(Clone)]
pub struct Cache<T: Float> {
    pub(super) keys: Tensor<T>,
    pub(super) values: Tensor<T>,
    /// One vector, with the length of each element.
    pub(super) lengths: Tensor<u32>,
    /// The same lengths on the host; in a recording, the number of rows appended so far.
    counts: Arc<Vec<u32>>,
}

/// The parts of a cache that a run of a program changes, without its element type.
pub struct Kept<'a> {
    pub(crate) device: Device,
    pub(crate) dtype: DType,
    /// Keys and values, which begin at the start of their buffers.
    pub(crate) rows: [(&'a mut Storage, &'a Layout); 2],
    pub(crate) lengths: &'a mut Tensor<u32>,
    pub(crate) counts: &'a mut Arc<Vec<u32>>,
}

impl<T: Float> Cache<T> {
    /// An empty cache with room for rows of these shapes: for each element (rows, heads, d) or (rows, heads · d) of
    /// keys, and as many rows of values; an element without room may have any other extents. The memory is filled with
    /// zeros.
    ///
    /// # Errors
    /// [`Rank`](Error::Rank), [`BatchSize`](Error::BatchSize), and [`Shape`](Error::Shape) with the first element whose
    /// numbers of rows differ or whose rows have another shape than those of other elements;
    /// [`Unsupported`](Error::Unsupported) for f16 rows with an odd number of values; those of
    /// [`Device::full`](crate::Device::full).
    pub fn new(device: &Device, keys: &Layout, values: &Layout) -> Result<Cache<T>> {
        check::<T>(keys, values)?;
        let zeros = |layout: &Layout| device.full(layout, T::default());
        let counts = host::zeroed(keys.len()).named(NEW)?;
        Cache::of(zeros(keys)?, zeros(values)?, counts)
    }

    /// A cache made of existing tensors: the first `lengths[i]` rows of element i are in use, and the others are free.
    /// The tensors are copied when rows are appended while another handle refers to their memory.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), [`ElementCount`](Error::ElementCount) for another number of lengths,
    /// [`Shape`](Error::Shape) for an element with fewer rows than its length, and
    /// [`DeviceMismatch`](Error::DeviceMismatch).
    pub fn with_lengths(keys: Tensor<T>, values: Tensor<T>, lengths: &[usize]) -> Result<Cache<T>> {
        keys.check_device(&values).named(NEW)?;
        check::<T>(keys.layout(), values.layout())?;
        if lengths.len() != keys.len() {
            return Err(Error::element_count(keys.len(), lengths.len()).named(NEW));
        }
        for (element, &length) in lengths.iter().enumerate() {
            if extent_of(keys.layout(), element, 0) < length as u64 {
                let got = keys.layout().shape(element);
                let expected = format!("({length}, ..) or more rows, the element's length");
                return Err(Error::shape(element, expected, got).named(NEW));
            }
        }
        let counts = lengths.iter().map(|length| *length as u32);
        let counts = host::exact(counts).named(NEW)?;
        Cache::of(keys, values, counts)
    }

    fn of(keys: Tensor<T>, values: Tensor<T>, counts: Vec<u32>) -> Result<Cache<T>> {
        let lengths = Ragged::from_parts(
            Layout::from_lengths([counts.len()])?,
            host::copied(&counts).named(NEW)?,
        )?;
        Ok(Cache {
            lengths: keys.device.upload(&lengths)?,
            keys,
            values,
            counts: Arc::new(counts),
        })
    }

    /// Three inputs of a recording, to which nothing has been appended yet.
    pub(crate) fn recorded(
        trace: &Arc<Trace>,
        [keys, values, lengths]: [&Layout; 3],
    ) -> Result<Cache<T>> {
        check::<T>(keys, values)?;
        if lengths != &Layout::from_lengths([keys.len()])? {
            let expected = format!("one vector of {} lengths", keys.len());
            return Err(Error::argument(expected, format!("{lengths:?}")).named(NEW));
        }
        let cache = Cache {
            counts: Arc::new(host::zeroed(keys.len()).named(NEW)?),
            keys: trace.input(keys)?,
            values: trace.input(values)?,
            lengths: trace.input(lengths)?,
        };
        trace.keep(host::zeroed(keys.len()).named(NEW)?);
        Ok(cache)
    }

    /// Appends rows to each element: n_i rows of keys and of values to element i, where n_i may be 0.
    ///
    /// The rows are written in place, unless another handle refers to the memory, which is then copied first. Bit
    /// patterns are preserved. In a recording, this records the change of the cache on which the program is run; of
    /// several clones of a recorded cache, only one can be appended to.
    ///
    /// # Errors
    /// Errors are returned before any work, and the cache stays as it was: [`Shape`](Error::Shape) with the first
    /// element that has no room for its rows, or whose rows have another shape than those of the cache;
    /// [`Rank`](Error::Rank), [`BatchSize`](Error::BatchSize), [`DeviceMismatch`](Error::DeviceMismatch),
    /// [`Recording`](Error::Recording) for a cache that is not an operand of the recording, or if rows were already
    /// appended to a clone of it,
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn append(&mut self, keys: &Tensor<T>, values: &Tensor<T>) -> Result<()> {
        let append = Append { dtype: T::DTYPE };
        self.keys.check_device(keys).named(OP)?;
        self.keys.check_device(values).named(OP)?;
        self.keys.layout().check_len(keys.len()).named(OP)?;
        // Checked before shared memory is copied.
        let all = [self.keys.layout(), self.values.layout()];
        append
            .check(all, [keys.layout(), values.layout()])
            .named(OP)?;
        let counts = grown(OP, &self.counts, keys.layout(), (self.keys.layout(), ""))?;
        let dtypes = [T::DTYPE, T::DTYPE, DType::U32];
        let device = self.keys.device.clone();
        let all = [&self.keys, &self.values, keys, values];
        if all.iter().any(|x| matches!(x.storage, Storage::Traced(_))) {
            let operands = [
                self.keys.operand(),
                self.values.operand(),
                self.lengths.operand(),
                keys.operand(),
                values.operand(),
            ];
            let (results, _) = Call::new(&device, append, &operands).values(&dtypes)?;
            if let Ok([keys, values, lengths]) = <[_; 3]>::try_from(results) {
                (self.keys, self.values) = (keys.typed(&device), values.typed(&device));
                self.lengths = lengths.typed(&device);
            }
        } else {
            let layouts = [
                self.keys.layout(),
                self.values.layout(),
                self.lengths.layout(),
                keys.layout(),
                values.layout(),
            ];
            check_planned(&device, append, &layouts)?;
            self.detach()?;
            let Cache {
                keys: all_keys,
                values: all_values,
                lengths,
                ..
            } = self;
            let operands = [
                lengths.shapes(&all_keys.layout),
                lengths.shapes(&all_values.layout),
                lengths.operand(),
                keys.operand(),
                values.operand(),
            ];
            let call = Call {
                changed: Some([&mut all_keys.storage, &mut all_values.storage]),
                ..Call::new(&device, append, &operands)
            };
            *lengths = call.one()?;
        }
        self.counts = Arc::new(counts);
        Ok(())
    }

    /// The length of each element, as the host knows it. In a recording, where lengths are not known, the number of
    /// rows appended so far.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The lengths on the device: one vector.
    pub fn lengths(&self) -> &Tensor<u32> {
        &self.lengths
    }

    /// All reserved rows of keys. Those beyond their element's length have no meaning.
    pub fn keys(&self) -> &Tensor<T> {
        &self.keys
    }

    /// All reserved rows of values. Those beyond their element's length have no meaning.
    pub fn values(&self) -> &Tensor<T> {
        &self.values
    }

    /// The layouts of keys, values and lengths, which [`Program::plan`](crate::program::Program::plan) takes for a
    /// cache.
    pub fn layouts(&self) -> [&Layout; 3] {
        [
            self.keys.layout(),
            self.values.layout(),
            self.lengths.layout(),
        ]
    }

    /// Copies memory that other handles refer to, so that the cache can be changed in place.
    pub(crate) fn detach(&mut self) -> Result<()> {
        for rows in [&mut self.keys, &mut self.values] {
            let alone = match &rows.storage {
                Storage::Cpu(buffer) => Arc::strong_count(buffer) == 1,
                #[cfg(feature = "gpu")]
                Storage::Gpu(buffer) => Arc::strong_count(buffer) == 1 && !buffer.is_shared(),
                Storage::Traced(_) => true,
            };
            if rows.base != 0 || !alone {
                *rows = rows.copy().named(OP)?;
            }
        }
        Ok(())
    }

    /// The parts that a run changes.
    pub(crate) fn kept(&mut self) -> Kept<'_> {
        Kept {
            device: self.keys.device.clone(),
            dtype: T::DTYPE,
            rows: [&mut self.keys, &mut self.values].map(|x| (&mut x.storage, &x.layout)),
            lengths: &mut self.lengths,
            counts: &mut self.counts,
        }
    }
}

impl<T: Float> std::fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("keys", &self.keys)
            .field("values", &self.values)
            .field("counts", &self.counts)
            .finish()
    }
}

/// The name of the constructors in error messages.
const NEW: &str = "cache";

fn check<T: Float>(keys: &Layout, values: &Layout) -> Result<()> {
    if !(2..=3).contains(&keys.rank()) {
        return Err(Error::rank("2 or 3", keys.rank()).named(NEW));
    }
    values.check_rank_of(keys, "the keys").named(NEW)?;
    keys.check_len(values.len()).named(NEW)?;
    let widths = widths([keys, values]).named(NEW)?;
    for element in 0..keys.len() {
        let rows = extent_of(keys, element, 0);
        if extent_of(values, element, 0) != rows {
            let expected = format!("({rows}, ..) of the values, as many rows as the keys have");
            return Err(Error::shape(element, expected, values.shape(element)).named(NEW));
        }
    }
    match widths.iter().find(|width| !width.is_multiple_of(2)) {
        Some(odd) if T::DTYPE == DType::F16 => {
            let what = format!(
                "f16 rows with an odd number of values ({odd}); pad them to an even number"
            );
            Err(Error::unsupported(what).named(NEW))
        }
        _ => Ok(()),
    }
}

/// The lengths `counts` after appending the rows of `new`; an error if they do not fit. `room` is the reserved layout,
/// and a text that names the cache in the error.
pub(crate) fn grown(
    op: &'static str,
    counts: &[u32],
    new: &Layout,
    room: (&Layout, &str),
) -> Result<Vec<u32>> {
    let rows = (0..new.len()).map(|element| extent_of(new, element, 0));
    grown_by(op, counts, rows, room)
}

/// As [`grown`], given the numbers of new rows.
pub(crate) fn grown_by(
    op: &'static str,
    counts: &[u32],
    new: impl Iterator<Item = u64>,
    (room, whose): (&Layout, &str),
) -> Result<Vec<u32>> {
    let mut all = host::room(counts.len()).named(op)?;
    for (element, (count, new)) in counts.iter().zip(new).enumerate() {
        let left = extent_of(room, element, 0).saturating_sub(u64::from(*count));
        if new > left {
            let shape = room.shape(element);
            let rows = |n: u64| rows_of(n as u32, shape.extents());
            let expected = format!("{} or fewer rows, the room that is left{whose}", rows(left));
            return Err(Error::shape(element, expected, rows(new)).named(op));
        }
        all.push(count + new as u32);
    }
    Ok(all)
}
