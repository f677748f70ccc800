//! Batches whose parts stay on their devices.

use std::ops::Range;
use std::sync::OnceLock;

use super::batches::sealed::Batches as _;
use super::cost::{Cost, shares};
use super::devices::Fleet;
use super::map::checked;
use super::replicated::on;
use crate::error::Named;
use crate::ragged::{Layout, Ragged, Scalar};
use crate::tensor::{Device, Tensor};
use crate::{Result, host};

const GATHER: &str = "gather";

/// A batch whose elements are divided among the devices of a [`Fleet`], and stay there: see [`Fleet::scatter`].
#[derive(Clone)]
pub struct Sharded<T: Scalar> {
    fleet: Fleet,
    /// One for each device, in order.
    parts: Vec<Tensor<T>>,
    /// That of the whole batch, once it is known.
    layout: OnceLock<Layout>,
}

impl Fleet {
    /// Copies a batch to the devices, each of which gets a part of the elements. Use it instead of [`map`](Self::map)
    /// when several functions follow one another, because values cross the bus only here and in
    /// [`gather`](Sharded::gather).
    ///
    /// Batches of equal size that are divided by equal costs are divided in the same way, so their parts belong
    /// together. Each device takes its part at once, as a single tensor, which may be without elements.
    ///
    /// ```
    /// use vsla::Ragged;
    /// use vsla::fleet::{Cost, Fleet, FleetOptions};
    ///
    /// let fleet = Fleet::open(FleetOptions::default())?;
    /// let x = Ragged::from_rows([vec![1.0f32, 2.0], vec![], vec![3.0]])?;
    /// let x = fleet.scatter(&x, Cost::values())?;
    /// let y = x.each(|_, part| part.conv(part))?.each(|_, part| part.scale(2.0))?;
    /// assert_eq!(y.gather_blocking()?.to_vecs()?, [vec![2.0, 8.0, 8.0], vec![], vec![18.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::upload`], in a [`Part`](crate::Error::Part) that names the device and its elements.
    pub fn scatter<T: Scalar>(&self, batch: &Ragged<T>, cost: Cost<'_>) -> Result<Sharded<T>> {
        const OP: &str = "scatter";
        let sums = cost.sums(batch.layout()).named(OP)?;
        let shares = shares(&sums, self.devices().len()).map(|share| (share, ()));
        let parts = self.on_each(OP, shares, |device, share, ()| {
            let on = &self.devices()[device];
            let part = batch.upload(on, share.clone())?;
            on.flush()?;
            Ok(part)
        })?;
        Ok(Sharded {
            fleet: self.clone(),
            parts,
            layout: batch.layout().clone().into(),
        })
    }
}

impl<T: Scalar> Sharded<T> {
    /// Runs a function on every part, on all devices at once, and returns its results, which stay on their devices.
    ///
    /// The function gets a device and the part on that device, and returns as many elements on the same device. Each
    /// result must depend on the element of the same index alone; then the results have the same bits for any fleet of
    /// one model. It runs on a thread for each device, and on the caller's thread if there is one device; also for
    /// parts without elements. Like other operations, this waits for no GPU.
    ///
    /// # Errors
    /// A [`Part`](crate::Error::Part), which names the device and the elements, with an error of the function,
    /// [`ElementCount`](crate::Error::ElementCount) for another number of elements,
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) for a result on another device, or [`Rank`](crate::Error::Rank)
    /// for results of different ranks. The other devices complete their parts. If several fail, the error is that of
    /// the first among them.
    ///
    /// # Panics
    /// If the function panics, the panic continues on the thread of the caller once the other devices are done.
    pub fn each<U, F>(&self, function: F) -> Result<Sharded<U>>
    where
        U: Scalar,
        F: Fn(&Device, &Tensor<T>) -> Result<Tensor<U>> + Sync,
    {
        let rank = OnceLock::new();
        let parts = self.shares().zip(&self.parts);
        let parts = self.fleet.on_each("each", parts, |device, _, part| {
            let on = &self.fleet.devices()[device];
            checked(on, part.len(), &rank, function(on, part)?)
        })?;
        Ok(Sharded {
            fleet: self.fleet.clone(),
            parts,
            layout: OnceLock::new(),
        })
    }

    /// Copies the batch to the host, with the elements in their order. Devices are read one after another;
    /// [`gather_blocking`](Self::gather_blocking) reads all at once.
    ///
    /// # Errors
    /// Those of [`layout`](Self::layout), and those of [`Tensor::download`] in a [`Part`](crate::Error::Part) that
    /// names the device and its elements.
    pub async fn gather(&self) -> Result<Ragged<T>> {
        let (layout, mut values) = self.host_values()?;
        let pieces = self.shares().zip(self.pieces(&mut values)).enumerate();
        for (device, (elements, (part, to))) in pieces {
            let read = part.download_into(to).await;
            read.map_err(|error| self.fleet.failed(GATHER, device, elements, error))?;
        }
        Ragged::from_parts(layout, values)
    }

    /// The blocking form of [`gather`](Self::gather).
    ///
    /// # Errors
    /// Those of [`gather`](Self::gather).
    pub fn gather_blocking(&self) -> Result<Ragged<T>> {
        let (layout, mut values) = self.host_values()?;
        let pieces = self.shares().zip(self.pieces(&mut values));
        self.fleet.on_each(GATHER, pieces, |_, _, (part, to)| {
            part.download_into_blocking(to)
        })?;
        Ragged::from_parts(layout, values)
    }

    /// The parts, in the order of the fleet's devices and of the elements.
    pub fn parts(&self) -> &[Tensor<T>] {
        &self.parts
    }

    /// The part on a device, for functions of the parts of several batches.
    ///
    /// ```
    /// # use vsla::Ragged;
    /// # use vsla::fleet::{Cost, Fleet, FleetOptions};
    /// # let fleet = Fleet::open(FleetOptions::default())?;
    /// # let [x, y] = [1.0f32, 2.0].map(|value| Ragged::from_rows([vec![value], vec![], vec![value; 2]]));
    /// let x = fleet.scatter(&x?, Cost::values())?;
    /// let y = fleet.scatter(&y?, Cost::values())?;
    /// let sums = x.each(|device, part| part.add(y.on(device)?))?;
    /// assert_eq!(sums.gather_blocking()?.to_vecs()?, [vec![3.0], vec![], vec![3.0; 2]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch) for a device outside the fleet.
    pub fn on(&self, device: &Device) -> Result<&Tensor<T>> {
        on(&self.parts, device)
    }

    /// The layout of the whole batch. The first call for results of [`each`](Self::each) takes nanoseconds for each
    /// element.
    ///
    /// # Errors
    /// [`SizeOverflow`](crate::Error::SizeOverflow) if the parts have 2³² values or more together, which no batch on
    /// the host can have; [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn layout(&self) -> Result<Layout> {
        if let Some(layout) = self.layout.get() {
            return Ok(layout.clone());
        }
        let layouts: Vec<&Layout> = self.parts.iter().map(Tensor::layout).collect();
        let layout = Layout::joined(&layouts).named("layout")?;
        Ok(self.layout.get_or_init(|| layout).clone())
    }

    /// The elements of each device.
    fn shares(&self) -> impl Iterator<Item = Range<usize>> {
        self.parts.iter().scan(0, |end, part| {
            let start = *end;
            *end += part.len();
            Some(start..*end)
        })
    }

    /// The layout of the batch, and room for its values.
    fn host_values(&self) -> Result<(Layout, Vec<T>)> {
        let layout = self.layout().named(GATHER)?;
        let values = host::zeroed(layout.total()).named(GATHER)?;
        Ok((layout, values))
    }

    /// The parts, each with its place among the values of the batch.
    fn pieces<'a>(
        &'a self,
        values: &'a mut [T],
    ) -> impl Iterator<Item = (&'a Tensor<T>, &'a mut [T])> {
        self.parts.iter().scan(values, |rest, part| {
            let (piece, after) = std::mem::take(rest).split_at_mut(part.layout().total());
            *rest = after;
            Some((part, piece))
        })
    }
}
