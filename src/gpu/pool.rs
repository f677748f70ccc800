//! Device memory: storage buffers in rounded sizes, their reuse, and the accounting of every byte requested from wgpu.
//!
//! A dropped buffer can be reused at once: all work of a device goes through one queue in order, so work recorded later
//! runs after everything recorded before. A buffer that is released to wgpu is different: wgpu holds its memory until
//! the work that uses it is done, so it is counted until then.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::account::{Account, Leaving, Room, Use};
use super::errors::Health;
use super::freed::Freed;
use crate::machine::Memory;
use crate::{Error, Result};

/// Smaller sizes are rounded up to a multiple of a quarter of their power of two, larger ones by at most 1/16.
const FINE_ROUNDING_FROM: u64 = 1 << 20;
pub(crate) const SMALLEST: u64 = 256;
/// Bytes of a quad of words, the granularity of kernel accesses.
pub(crate) const QUAD: u64 = 16;

/// Rounds a size up to its size class.
pub(crate) fn class_of(bytes: u64) -> u64 {
    let bytes = bytes.max(SMALLEST);
    let octave = u64::BITS - 1 - bytes.leading_zeros();
    let steps = if bytes < FINE_ROUNDING_FROM { 2 } else { 4 };
    bytes.next_multiple_of(1 << (octave - steps))
}

/// A buffer cached for reuse.
struct Free {
    id: u64,
    raw: wgpu::Buffer,
    /// The number of the last submission that writes it, or 0.
    written: u64,
    /// Its position in the order in which buffers were returned.
    since: u64,
    /// The last submission that may use it.
    after: u64,
}

struct State {
    account: Account,
    /// By size class, most recently returned last.
    free: HashMap<u64, Vec<Free>>,
    returns: u64,
    /// Ids of buffers released since the recorder last asked. Their bind groups must be dropped.
    retired: Vec<u64>,
    /// The ids of the latest buffers that the application held when they were dropped.
    shared_gone: VecDeque<u64>,
    /// How many such buffers there were in all.
    shared_gone_ever: u64,
}

/// How many ids of such buffers are kept for programs that have not run meanwhile.
const SHARED_GONE: usize = 256;

/// The shared part of the pool; buffers return to it when dropped.
pub(crate) struct Pool {
    health: Arc<Health>,
    state: Mutex<State>,
    /// Held while buffers are destroyed, so that waiting for their bytes waits for this lock.
    sweeping: Mutex<()>,
    next_id: AtomicU64,
    /// The latest submission passed to the queue.
    submitted: AtomicU64,
    /// Bytes of the largest buffer that can be created and bound whole.
    largest: u64,
    /// Maximum bytes cached for reuse.
    cache_limit: u64,
    /// Whether bindings end where the data ends, not where the buffer ends.
    exact: bool,
    /// Notified whenever a readback buffer is freed or destroyed.
    pub freed: Freed,
    /// For tests: buffers of at least this many bytes fail as if wgpu had no memory.
    #[cfg(feature = "testing")]
    pub refused: AtomicU64,
}

/// A storage buffer of the pool, or one lent by the application.
pub(crate) struct GpuBuffer {
    pub raw: wgpu::Buffer,
    /// Never reused for another buffer, so that a cache keyed by it cannot confuse two buffers.
    pub id: u64,
    bytes: u64,
    /// Bytes bound to kernels: the whole buffer, so that the next tensor in it can reuse its bind groups. If the pool
    /// is exact, these are the requested bytes, rounded up to whole quads of words.
    pub bound: u64,
    /// Whether the application owns it.
    lent: bool,
    /// Whether it was exported. The application may keep the handle, so the buffer must not be reused.
    exported: AtomicBool,
    /// The number of the last submission that writes it, or 0.
    pub written: AtomicU64,
    pool: Arc<Pool>,
}

/// The bytes that kernels need of a buffer of `words` words.
pub(super) fn bound_of(words: u64) -> u64 {
    (words * 4).next_multiple_of(QUAD).max(QUAD)
}

impl GpuBuffer {
    /// Whether the application can destroy it, map it or write to it.
    pub(crate) fn is_shared(&self) -> bool {
        self.lent || self.exported.load(Ordering::Relaxed)
    }

    /// The number of the last submission that writes it, or 0.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Marks the buffer as exported; called before the application gets it. False if it is the application's already.
    pub(crate) fn share(&self) -> bool {
        !self.lent && !self.exported.swap(true, Ordering::Relaxed)
    }
}

impl std::fmt::Display for GpuBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = if self.lent { "imported" } else { "exported" };
        write!(f, "the {whose} buffer of {} bytes", self.raw.size())
    }
}

impl Pool {
    pub(crate) fn new(
        health: Arc<Health>,
        largest: u64,
        cache_limit: u64,
        exact: bool,
        account: Account,
    ) -> Arc<Pool> {
        Arc::new(Pool {
            health,
            largest,
            state: Mutex::new(State {
                account,
                free: HashMap::new(),
                returns: 0,
                retired: Vec::new(),
                shared_gone: VecDeque::new(),
                shared_gone_ever: 0,
            }),
            sweeping: Mutex::new(()),
            next_id: AtomicU64::new(1),
            submitted: AtomicU64::new(0),
            cache_limit,
            exact,
            freed: Freed::default(),
            #[cfg(feature = "testing")]
            refused: AtomicU64::new(u64::MAX),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> Memory {
        self.lock().account.memory()
    }

    /// Begins to watch the bytes of live tensors. False if they are being watched already.
    pub(crate) fn watch(&self) -> bool {
        self.lock().account.watch()
    }

    /// Ends it, and returns the most bytes.
    pub(crate) fn watched(&self) -> u64 {
        self.lock().account.watched()
    }

    /// Bytes of the largest buffer that can be created and bound whole.
    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// A buffer of at least `words` 32-bit words, with arbitrary contents.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        op: &'static str,
        words: u64,
    ) -> Result<Arc<GpuBuffer>> {
        if words * 4 > self.largest {
            return Err(Error::too_large("the buffer", words * 4, self.largest).named(op));
        }
        let bytes = class_of(words * 4).min(self.largest);
        let mut state = self.lock();
        let (id, raw) = match state.reusable(bytes, &self.health) {
            Some(free) => {
                state.account.reuse(bytes);
                (free.id, free.raw)
            }
            None => {
                // Reserved under the same lock as the search, and before the buffer is created.
                state.account.reserve(op, Use::Tensor, bytes)?;
                drop(state);
                let made = self.create(
                    op,
                    &wgpu::BufferDescriptor {
                        label: Some("vsla"),
                        size: bytes,
                        // Programs keep their parameters in such buffers.
                        usage: wgpu::BufferUsages::STORAGE
                            | wgpu::BufferUsages::UNIFORM
                            | wgpu::BufferUsages::COPY_SRC
                            | wgpu::BufferUsages::COPY_DST,
                        mapped_at_creation: false,
                    },
                );
                state = self.lock();
                match made {
                    Ok(raw) => (self.next_id.fetch_add(1, Ordering::Relaxed), raw),
                    Err(error) => {
                        state.account.release(Use::Tensor, bytes);
                        return Err(error);
                    }
                }
            }
        };
        state.account.note_peak();
        drop(state);
        Ok(Arc::new(GpuBuffer {
            raw,
            id,
            bytes,
            bound: match self.exact {
                true => bound_of(words),
                false => bytes,
            },
            lent: false,
            exported: AtomicBool::new(false),
            written: AtomicU64::new(0),
            pool: self.clone(),
        }))
    }

    /// Wraps an application's buffer: never pooled, and not counted as ours.
    pub(crate) fn lend(self: &Arc<Self>, raw: wgpu::Buffer) -> Arc<GpuBuffer> {
        Arc::new(GpuBuffer {
            bound: raw.size(),
            raw,
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            bytes: 0,
            lent: true,
            exported: AtomicBool::new(false),
            written: AtomicU64::new(0),
            pool: self.clone(),
        })
    }

    /// Creates a buffer whose bytes are already reserved.
    pub(super) fn create(
        &self,
        op: &'static str,
        descriptor: &wgpu::BufferDescriptor<'_>,
    ) -> Result<wgpu::Buffer> {
        #[cfg(feature = "testing")]
        if descriptor.size >= self.refused.load(Ordering::Relaxed) {
            return Err(Error::out_of_memory(descriptor.size, None).named(op));
        }
        self.health
            .caught(op, || self.health.device.create_buffer(descriptor))
            .map_err(|error| match error {
                Error::OutOfMemory { op, available, .. } => {
                    Error::out_of_memory(descriptor.size, available).named(op)
                }
                other => other,
            })
    }

    /// Counts the bytes of a buffer before its creation. Every byte reserved is released once.
    pub(super) fn reserve(&self, op: &'static str, what: Use, bytes: u64) -> Result<()> {
        self.lock().account.reserve(op, what, bytes)
    }

    pub(super) fn release(&self, what: Use, bytes: u64) {
        self.lock().account.release(what, bytes);
    }

    /// Releases a buffer, or a copy owned by wgpu, once submission `after` is done.
    pub(super) fn leave(&self, leaving: Leaving) {
        self.lock().account.leave(leaving);
        self.sweep();
    }

    /// Whether this many more bytes fit within the limit, now or once the GPU is done with leaving buffers.
    pub(super) fn room(&self, bytes: u64) -> Room {
        self.lock().account.room(bytes)
    }

    /// Whether any released memory is still counted.
    pub(super) fn is_anything_leaving(&self) -> bool {
        self.lock().account.is_anything_leaving()
    }

    /// Evicts cached buffers, oldest first, until there will be room for this many bytes, or all of them if `None`.
    ///
    /// True if any was evicted.
    pub(crate) fn evict(&self, until: Option<u64>) -> bool {
        let mut state = self.lock();
        let mut any = false;
        while state.account.cached() > 0
            && !until.is_some_and(|bytes| state.account.room(bytes) != Room::None)
        {
            any |= state.evict_oldest();
        }
        drop(state);
        self.sweep();
        any
    }

    /// Takes the ids whose bind groups must be dropped; each is reported once.
    pub(crate) fn take_retired(&self) -> Vec<u64> {
        std::mem::take(&mut self.lock().retired)
    }

    /// The ids of the buffers that the application held when they were dropped, except for the first `seen` ones, which
    /// then counts all. `None` if there were too many since.
    pub(crate) fn shared_gone_since(&self, seen: &mut u64) -> Option<Vec<u64>> {
        let state = self.lock();
        let ever = state.shared_gone_ever;
        let new = (ever - std::mem::replace(seen, ever)) as usize;
        let known = state.shared_gone.len().checked_sub(new)?;
        Some(state.shared_gone.range(known..).copied().collect())
    }

    /// Whether bindings end where the data ends, not where the room for it ends.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Caches a buffer for reuse, and evicts the oldest ones above the cache limit.
    fn give_back(&self, id: u64, written: u64, bytes: u64, raw: wgpu::Buffer) {
        let after = self.recorded();
        let mut state = self.lock();
        state.account.keep(bytes);
        let since = state.returns;
        state.returns += 1;
        let free = Free {
            id,
            raw,
            written,
            since,
            after,
        };
        state.free.entry(bytes).or_default().push(free);
        if state.account.cached() <= self.cache_limit {
            return;
        }
        while state.account.cached() > self.cache_limit && state.evict_oldest() {}
        drop(state);
        self.sweep();
    }

    /// The latest submission that may use a buffer released now.
    pub(super) fn recorded(&self) -> u64 {
        self.health.recorded()
    }

    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    pub(super) fn note_submitted(&self, number: u64) {
        self.submitted.store(number, Ordering::Release);
    }

    /// Marks all submissions up to `number` as done, and frees the memory released by then.
    pub(super) fn settle(&self, number: u64) {
        self.lock().account.settle(number);
        self.sweep();
    }

    /// Frees released memory that is no longer in use.
    fn sweep(&self) {
        let _sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = self.lock().account.take_gone();
        if gone.is_empty() {
            return;
        }
        for leaving in &gone {
            // Dropping is not enough: cached bind groups hold a reference, too.
            if let Some(raw) = &leaving.raw {
                raw.destroy();
            }
        }
        let mut state = self.lock();
        for leaving in &gone {
            state.account.left(leaving);
        }
        drop(state);
        if gone.iter().any(|leaving| leaving.what == Use::Read) {
            self.freed.notify();
        }
    }
}

impl State {
    /// Takes the buffer of this size class that was returned last. Evicts those that a failed submission writes: in a
    /// browser, such a buffer may be the reason.
    fn reusable(&mut self, bytes: u64, health: &Health) -> Option<Free> {
        loop {
            let free = self.free.get_mut(&bytes)?.pop()?;
            if health.failure(free.written).is_none() {
                return Some(free);
            }
            self.retire(bytes, free);
        }
    }

    fn retire(&mut self, bytes: u64, free: Free) {
        self.retired.push(free.id);
        self.account.evict(Leaving {
            what: Use::Tensor,
            bytes,
            after: free.after,
            raw: Some(free.raw),
        });
    }

    /// Evicts the buffer cached for the longest time. False if there is none.
    fn evict_oldest(&mut self) -> bool {
        let oldest = self
            .free
            .iter()
            .filter_map(|(bytes, free)| Some((free.first()?.since, *bytes)))
            .min();
        let Some((_, bytes)) = oldest else {
            return false;
        };
        let Some(free) = self.free.get_mut(&bytes) else {
            return false;
        };
        let oldest = free.remove(0);
        if free.is_empty() {
            self.free.remove(&bytes);
        }
        self.retire(bytes, oldest);
        true
    }
}

impl Drop for GpuBuffer {
    fn drop(&mut self) {
        if !self.is_shared() {
            self.pool
                .give_back(self.id, self.written(), self.bytes, self.raw.clone());
            return;
        }
        let mut state = self.pool.lock();
        state.retired.push(self.id);
        if state.shared_gone.len() == SHARED_GONE {
            state.shared_gone.pop_front();
        }
        state.shared_gone.push_back(self.id);
        state.shared_gone_ever += 1;
        if !self.lent {
            // Not destroyed: the application may still use it.
            state.account.keep(self.bytes);
            state.account.evict(Leaving {
                what: Use::Tensor,
                bytes: self.bytes,
                after: self.pool.recorded(),
                raw: None,
            });
            drop(state);
            self.pool.sweep();
        }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::class_of;

    #[apply(unit_test)]
    fn classes_round_up_by_little() {
        for bytes in (1..5000)
            .chain((1 << 20..(1 << 20) + 100_000).step_by(977))
            .chain([1 << 31])
        {
            let class = class_of(bytes);
            assert!(class >= bytes, "{bytes} -> {class}");
            assert_eq!(class_of(class), class, "a class is its own class");
            if bytes >= 1 << 20 {
                assert!(class - bytes <= bytes / 16, "{bytes} -> {class}");
            }
        }
    }
}
