//! A function of each element, computed by all devices.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::batches::Batches;
use super::cost::{Cost, ranges, shares};
use super::devices::Fleet;
use super::gathered::{Gathered, Piece, joined as batch};
use super::threads::{joined, spawned};
use crate::error::Named;
use crate::ragged::{Ragged, Scalar};
use crate::tensor::{Device, Tensor, Trace};
use crate::{Error, Result};

const OP: &str = "map";

/// The most bytes of operands in a range, by default: a few milliseconds of the bus, which is far more than what a
/// range costs on the host, and little enough for several to be on the way.
const RANGE: u64 = 32 << 20;

/// Results of a device that wait for being copied to the host, beside the one that is being copied.
const WAITING: usize = 1;

impl Fleet {
    /// Computes a function of the elements of a batch, or of several batches whose elements belong together, on all
    /// devices, and returns its results in the order of the elements.
    ///
    /// The function gets a device and a range of the elements on that device, and returns as many elements on the same
    /// device. Each result must depend on the element of the same index alone, and not on where the range begins; then
    /// the results have the same bits for any fleet of one model. Several batches are passed as `(&x, &y)`, and their
    /// parts arrive as a pair of tensors.
    ///
    /// Each device has a thread, on which the function runs for one range after another. On a CPU device, and for a
    /// single range, nothing overlaps. See [the module](crate::fleet) for how elements and memory are divided, and for
    /// the cost.
    ///
    /// ```
    /// use vsla::Ragged;
    /// use vsla::fleet::{Cost, Fleet, FleetOptions};
    ///
    /// let fleet = Fleet::open(FleetOptions::default())?;
    /// let x = Ragged::from_rows([vec![1.0f32, 2.0], vec![], vec![3.0]])?;
    /// let y = Ragged::from_rows([vec![1.0f32, 1.0], vec![5.0], vec![2.0]])?;
    /// let z = fleet.map((&x, &y), Cost::values(), |_, (x, y)| x.conv(y))?;
    /// assert_eq!(z.to_vecs()?, [vec![1.0, 3.0, 2.0], vec![], vec![6.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BatchSize`](Error::BatchSize) for batches of different sizes. Everything else is a [`Part`](Error::Part),
    /// which names the device and the elements: an error of the function, which may return one to cancel the call;
    /// [`ElementCount`](Error::ElementCount) when it returns another number of elements than it got;
    /// [`DeviceMismatch`](Error::DeviceMismatch) for a result on another device; [`Rank`](Error::Rank) for results of
    /// different ranks; [`DeviceLost`](Error::DeviceLost), unless [`retry`](super::FleetOptions::retry) is set and
    /// another device is left; and those of [`Device::upload`] and [`Tensor::download`]. The other devices stop after
    /// their current range. If several ranges fail, the error is that of the first among them.
    ///
    /// # Panics
    /// If the function panics, the other devices stop after their current range, and the panic continues on the thread
    /// of the caller, as in rayon.
    pub fn map<B, U, F>(&self, batches: B, cost: Cost<'_>, function: F) -> Result<Ragged<U>>
    where
        B: Batches,
        U: Scalar,
        F: Fn(&Device, &B::Parts) -> Result<Tensor<U>> + Sync,
    {
        let layout = batches.layout();
        batches.check(layout.len()).named(OP)?;
        let own = self.divided(&batches, &cost).named(OP)?;
        let mut values = Vec::new();
        let gathered = Gathered::new(&mut values);
        let pieces = Work::new(self, &batches, &function, own, gathered).run()?;
        batch(pieces, values, layout).named(OP)
    }

    /// The ranges of each device.
    fn divided<B: Batches>(&self, batches: &B, cost: &Cost<'_>) -> Result<Vec<Ranges>> {
        let layout = batches.layout();
        if layout.is_empty() {
            // The function determines the rank of the result.
            let mut own = vec![Ranges::new(); self.devices().len()];
            own[0].push_back(0..0);
            return Ok(own);
        }
        let sums = cost.sums(layout)?;
        let most = self.range_bytes.unwrap_or(RANGE);
        let bytes = |range| batches.bytes(range);
        let own = shares(&sums, self.devices().len());
        own.map(|share| Ok(ranges(share, bytes, most)?.into()))
            .collect()
    }
}

type Ranges = VecDeque<Range<usize>>;

/// A call, shared by its threads.
struct Work<'a, 'v, B, U, F> {
    fleet: &'a Fleet,
    batches: &'a B,
    function: &'a F,
    gathered: Gathered<'v, U>,
    /// The rank of the results.
    rank: OnceLock<usize>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What is left to do.
struct State {
    /// The ranges that each device has not begun.
    own: Vec<Ranges>,
    /// Ranges of lost devices, for any other device.
    spare: Ranges,
    /// The number of ranges that are not done.
    unfinished: usize,
    /// For each device, the number of results that are not on the host yet.
    on_the_way: Vec<usize>,
    lost: Vec<bool>,
    /// The error of the first range among those that failed, and where this range begins.
    failed: Option<(usize, Error)>,
    stopped: bool,
}

impl<'a, 'v, B, U, F> Work<'a, 'v, B, U, F>
where
    B: Batches,
    U: Scalar,
    F: Fn(&Device, &B::Parts) -> Result<Tensor<U>> + Sync,
{
    fn new(
        fleet: &'a Fleet,
        batches: &'a B,
        function: &'a F,
        own: Vec<Ranges>,
        gathered: Gathered<'v, U>,
    ) -> Self {
        let devices = own.len();
        Work {
            fleet,
            batches,
            function,
            gathered,
            rank: OnceLock::new(),
            state: Mutex::new(State {
                unfinished: own.iter().map(Ranges::len).sum(),
                own,
                spare: Ranges::new(),
                on_the_way: vec![0; devices],
                lost: vec![false; devices],
                failed: None,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes all ranges, and returns their results.
    fn run(self) -> Result<Vec<Piece<U>>> {
        let counts: Vec<usize> = self.state().own.iter().map(Ranges::len).collect();
        let all = 0..counts.len();
        // A device without ranges is needed only when another one is lost.
        let needed = |&device: &usize| counts[device] > 0 || self.fleet.retry;
        let needed: Vec<usize> = all.filter(needed).collect();
        match needed[..] {
            [device] if !self.overlaps(device, counts[device]) => {
                let _paused = Trace::pause();
                self.in_turn(device);
            }
            _ => self.on_threads(&needed, &counts),
        }
        let failed = self.state().failed.take();
        match failed {
            None => Ok(self.gathered.into_pieces()),
            Some((_, error)) => Err(error),
        }
    }

    /// Whether results of a device are copied to the host while others are computed.
    fn overlaps(&self, device: usize, ranges: usize) -> bool {
        ranges > 1 && self.fleet.devices()[device].is_gpu()
    }

    fn on_threads(&self, needed: &[usize], counts: &[usize]) {
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for &device in needed {
                let run = move || match self.overlaps(device, counts[device]) {
                    true => self.overlapped(scope, device),
                    false => self.in_turn(device),
                };
                threads.extend(self.spawned(scope, device, "", run));
            }
            joined(threads);
        });
    }

    /// Starts a thread for a device; if the system has none, the call fails.
    fn spawned<'scope, R: Send + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        device: usize,
        role: &str,
        run: impl FnOnce() -> R + Send + 'scope,
    ) -> Option<ScopedJoinHandle<'scope, R>> {
        let guarded = move || {
            let _guard = StopOnPanic(&self.state, &self.changed);
            run()
        };
        match spawned(scope, OP, format!("vsla-fleet-{device}{role}"), guarded) {
            Ok(thread) => Some(thread),
            Err(error) => {
                self.state().fail(0, error);
                self.changed.notify_all();
                None
            }
        }
    }

    /// Computes ranges of a device and copies their results, one after another.
    fn in_turn(&self, device: usize) {
        while let Some(range) = self.next(device) {
            let outcome = self
                .computed(device, &range)
                .and_then(|result| self.take(&range, &result));
            match outcome {
                Err(error) if self.takes_less(device, &range, &error) => {}
                outcome => self.finish(device, range, outcome),
            }
        }
    }

    /// Computes ranges of a device while another thread copies results to the host.
    fn overlapped<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, device: usize) {
        let (send, results) = sync_channel(WAITING);
        let read = move || self.read(device, results);
        let Some(reader) = self.spawned(scope, device, "-read", read) else {
            return;
        };
        while let Some(range) = self.next(device) {
            match self.computed(device, &range) {
                Ok(result) => {
                    self.state().on_the_way[device] += 1;
                    if send.send((range, result)).is_err() {
                        break;
                    }
                }
                Err(error) if self.takes_less(device, &range, &error) => {}
                Err(error) => self.finish(device, range, Err(error)),
            }
        }
        drop(send);
        reader.join().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Copies results to the host.
    fn read(&self, device: usize, results: Receiver<(Range<usize>, Tensor<U>)>) {
        for (range, result) in results {
            let stopped = self.state().stopped;
            let outcome = match stopped {
                true => Ok(()),
                false => self.take(&range, &result),
            };
            drop(result);
            self.state().on_the_way[device] -= 1;
            // This also wakes a thread that waits until nothing is on the way.
            self.finish(device, range, outcome);
        }
    }

    /// Copies a result to its place in the batch.
    fn take(&self, range: &Range<usize>, result: &Tensor<U>) -> Result<()> {
        let bytes = |range| self.batches.bytes(range);
        let all = self.batches.layout().len();
        self.gathered.take(range.clone(), all, bytes, result)
    }

    /// The result of a range, on its device.
    fn computed(&self, device: usize, range: &Range<usize>) -> Result<Tensor<U>> {
        let on = &self.fleet.devices()[device];
        let parts = self.batches.upload(on, range.clone())?;
        let result = (self.function)(on, &parts)?;
        checked(on, range.len(), &self.rank, result)
    }

    /// The next range for a device. Waits as long as one of another device may become its own.
    fn next(&self, device: usize) -> Option<Range<usize>> {
        let mut state = self.state();
        loop {
            if state.stopped || state.lost[device] {
                return None;
            }
            let next = state.own[device].pop_front();
            if let Some(range) = next.or_else(|| state.spare.pop_front()) {
                return Some(range);
            }
            if state.unfinished == 0 || !self.fleet.retry {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether less can be computed at once than failed with this error: the same range, once all results are on the
    /// host, or half of it. Only the thread that computes calls this, because it is the one that goes on.
    fn takes_less(&self, device: usize, range: &Range<usize>, error: &Error) -> bool {
        let is_memory = matches!(error, Error::OutOfMemory { .. });
        if !is_memory && !matches!(error, Error::TooLarge { .. }) {
            return false;
        }
        let mut state = self.state();
        if is_memory && state.on_the_way[device] > 0 {
            while state.on_the_way[device] > 0 && !state.stopped {
                state = self.wait(state);
            }
            state.own[device].push_front(range.clone());
            return true;
        }
        if range.len() < 2 {
            return false;
        }
        let middle = range.start + range.len() / 2;
        state.own[device].push_front(middle..range.end);
        state.own[device].push_front(range.start..middle);
        state.unfinished += 1;
        true
    }

    /// Notes that a range is done, or what its failure means.
    fn finish(&self, device: usize, range: Range<usize>, outcome: Result<()>) {
        let mut state = self.state();
        match outcome {
            Ok(()) => state.unfinished -= 1,
            Err(error) => {
                let is_lost = matches!(error, Error::DeviceLost { .. });
                state.lost[device] |= is_lost;
                if is_lost && self.fleet.retry && state.lost.contains(&false) {
                    log::warn!("map: device {device} is lost, the others continue: {error}");
                    let rest = std::mem::take(&mut state.own[device]);
                    state.spare.push_back(range);
                    state.spare.extend(rest);
                } else {
                    let start = range.start;
                    let error = self.fleet.failed(OP, device, range, error);
                    state.fail(start, error);
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl State {
    /// Stops all threads because of an error in the range that begins at this element.
    fn fail(&mut self, start: usize, error: Error) {
        self.stopped = true;
        let failed = self.failed.as_ref();
        if failed.is_none_or(|(first, _)| start < *first) {
            self.failed = Some((start, error));
        }
    }
}

/// A result of a function, which must be on this device, with so many elements, of the rank of other results. Its work
/// is submitted.
pub(super) fn checked<U: Scalar>(
    on: &Device,
    elements: usize,
    rank: &OnceLock<usize>,
    result: Tensor<U>,
) -> Result<Tensor<U>> {
    const RESULT: &str = "result";
    on.check_same(result.device()).named(RESULT)?;
    if result.len() != elements {
        return Err(Error::element_count(elements, result.len()).named(RESULT));
    }
    let own = result.layout().rank();
    let expected = *rank.get_or_init(|| own);
    if own != expected {
        return Err(Error::rank(expected, own).named(RESULT));
    }
    on.flush()?;
    Ok(result)
}

/// Stops the other threads when this one panics.
struct StopOnPanic<'a>(&'a Mutex<State>, &'a Condvar);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        let StopOnPanic(state, changed) = self;
        if thread::panicking() {
            state.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
            changed.notify_all();
        }
    }
}
