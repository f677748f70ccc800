//! Accounting of device memory: the purpose of every byte requested from wgpu, and whether an allocation fits.
//!
//! Plain data behind the pool's lock. Bytes are reserved before a buffer is created and released after it is destroyed,
//! so the sum is never below what wgpu holds.

use crate::machine::{Memory, Watch};
use crate::{Error, Result};

/// The purpose of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Tensor,
    Upload,
    Read,
    /// Parameters and timestamps.
    Own,
}

impl Use {
    /// Index among the non-tensor uses; `None` for tensors.
    fn staging(self) -> Option<usize> {
        match self {
            Use::Tensor => None,
            Use::Upload => Some(0),
            Use::Read => Some(1),
            Use::Own => Some(2),
        }
    }
}

/// Released bytes that recorded or running work may still use.
pub(super) struct Leaving {
    pub what: Use,
    pub bytes: u64,
    /// The last submission that may use them; 0 for none.
    pub after: u64,
    /// The buffer; `None` if wgpu owns it.
    pub raw: Option<wgpu::Buffer>,
}

/// Transfer sizes and the number of dispatches per submission.
///
/// Without a memory limit these are the fastest sizes. With a limit each takes at most a 64th of it, so that a few
/// pieces in flight leave the rest to tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// Bytes of an upload buffer. Large transfers are split into pieces of this size, so that copying one piece
    /// overlaps the transfer of the previous one.
    pub upload: u64,
    /// Bytes of the small and large readback buffers.
    pub read_small: u64,
    pub read: u64,
    /// Dispatches recorded before a submission: enough to hide the cost of a submission, few enough that the GPU starts
    /// early.
    pub dispatches: u64,
}

pub(super) const LARGEST_PIECE: u64 = 16 << 20;
const SMALLEST_PIECE: u64 = 4 << 10;
const READ_SMALL: u64 = 1 << 20;
const DISPATCHES: u64 = 256;

impl Sizes {
    /// Sizes under a memory limit; `stride` is the number of bytes of one dispatch's parameters.
    pub(crate) fn within(limit: Option<u64>, stride: u64) -> Sizes {
        let share = limit.map_or(u64::MAX, |limit| limit / 64);
        let piece = match share.clamp(SMALLEST_PIECE, LARGEST_PIECE) {
            piece if piece.is_power_of_two() => piece,
            piece => piece.next_power_of_two() / 2,
        };
        Sizes {
            upload: piece,
            read_small: piece.min(READ_SMALL),
            read: piece,
            dispatches: (share / stride).clamp(1, DISPATCHES),
        }
    }
}

pub(crate) struct Account {
    /// Upper bound on the bytes held for all uses.
    limit: Option<u64>,
    /// Bytes per non-tensor use that tensors never take under a limit: enough for any transfer and any recording to
    /// make progress.
    floors: [u64; 3],
    live: u64,
    peak: u64,
    watch: Watch,
    cached: u64,
    /// Bytes of tensors only; bytes of another use stay counted there while they are leaving.
    leaving: u64,
    staging: [u64; 3],
    going: Vec<Leaving>,
    /// Bytes no longer in use, whose buffers are being destroyed.
    destroying: u64,
    /// All submissions up to this one are done.
    done: u64,
}

impl Account {
    /// # Errors
    /// When the limit leaves no room for tensors.
    pub(crate) fn new(limit: Option<u64>, sizes: Sizes, stride: u64) -> Result<Account> {
        // For parameters: the buffer itself, plus wgpu's copies for one running submission and one being recorded.
        let floors = [sizes.upload, sizes.read, 3 * stride * sizes.dispatches];
        let least: u64 = floors.iter().sum();
        match limit {
            Some(limit) if limit <= least => {
                Err(Error::out_of_memory(least, Some(limit)).named("device"))
            }
            _ => Ok(Account {
                limit,
                floors: if limit.is_some() { floors } else { [0; 3] },
                live: 0,
                peak: 0,
                watch: Watch::default(),
                cached: 0,
                leaving: 0,
                staging: [0; 3],
                going: Vec::new(),
                destroying: 0,
                done: 0,
            }),
        }
    }

    pub(super) fn memory(&self) -> Memory {
        Memory {
            live: self.live,
            peak: self.peak,
            cached: self.cached,
            leaving: self.leaving,
            staging: self.staging.iter().sum(),
            shared: 0,
        }
    }

    pub(super) fn cached(&self) -> u64 {
        self.cached
    }

    /// Bytes held, or kept free for staging.
    fn taken(&self) -> u64 {
        let staging = self.staging.iter().zip(&self.floors);
        self.live + self.cached + self.leaving + staging.map(|(s, f)| s.max(f)).sum::<u64>()
    }

    pub(super) fn reserve(&mut self, op: &'static str, what: Use, bytes: u64) -> Result<()> {
        if let Some(limit) = self.limit {
            let left = limit.saturating_sub(self.taken());
            // The unused part of the use's own floor comes first.
            let own = what
                .staging()
                .map_or(0, |i| self.floors[i].saturating_sub(self.staging[i]));
            if bytes > left + own {
                return Err(Error::out_of_memory(bytes, Some(left + own)).named(op));
            }
        }
        *self.counter(what) += bytes;
        Ok(())
    }

    pub(super) fn release(&mut self, what: Use, bytes: u64) {
        *self.counter(what) -= bytes;
    }

    fn counter(&mut self, what: Use) -> &mut u64 {
        match what.staging() {
            None => &mut self.live,
            Some(i) => &mut self.staging[i],
        }
    }

    /// Whether a tensor of this many bytes fits.
    pub(super) fn room(&self, bytes: u64) -> Room {
        let Some(limit) = self.limit else {
            return Room::Now;
        };
        let request = self.taken().saturating_add(bytes);
        if request <= limit {
            return Room::Now;
        }
        let going = self.going.iter().map(|leaving| leaving.bytes);
        // Upload buffers become free as well, except for the one covered by the floor.
        let uploads = self.staging[0].saturating_sub(self.floors[0]);
        let soon = going.sum::<u64>() + self.destroying + uploads;
        match request.saturating_sub(soon) <= limit {
            true => Room::Soon,
            false => Room::None,
        }
    }

    pub(super) fn is_anything_leaving(&self) -> bool {
        !self.going.is_empty() || self.destroying > 0
    }

    /// Updates the peak after a reserved tensor buffer was created.
    pub(super) fn note_peak(&mut self) {
        self.peak = self.peak.max(self.live);
        self.watch.note(self.live);
    }

    pub(super) fn watch(&mut self) -> bool {
        self.watch.begin(self.live)
    }

    pub(super) fn watched(&mut self) -> u64 {
        self.watch.end()
    }

    /// Moves a cached buffer's bytes to a live tensor.
    pub(super) fn reuse(&mut self, bytes: u64) {
        self.cached -= bytes;
        self.live += bytes;
    }

    /// Moves a live tensor's bytes to the cache.
    pub(super) fn keep(&mut self, bytes: u64) {
        self.live -= bytes;
        self.cached += bytes;
    }

    /// Evicts a cached tensor buffer.
    pub(super) fn evict(&mut self, leaving: Leaving) {
        self.cached -= leaving.bytes;
        self.leaving += leaving.bytes;
        self.going.push(leaving);
    }

    /// Releases a buffer of another use.
    pub(super) fn leave(&mut self, leaving: Leaving) {
        debug_assert!(leaving.what != Use::Tensor, "tensors are cached first");
        self.going.push(leaving);
    }

    pub(super) fn settle(&mut self, number: u64) {
        self.done = self.done.max(number);
    }

    /// Takes the entries that are no longer in use. The caller destroys them, then passes each to [`left`](Self::left).
    pub(super) fn take_gone(&mut self) -> Vec<Leaving> {
        let done = self.done;
        let gone: Vec<Leaving> = self
            .going
            .extract_if(.., |leaving| leaving.after <= done)
            .collect();
        self.destroying += gone.iter().map(|leaving| leaving.bytes).sum::<u64>();
        gone
    }

    pub(super) fn left(&mut self, gone: &Leaving) {
        self.destroying -= gone.bytes;
        match gone.what {
            Use::Tensor => self.leaving -= gone.bytes,
            other => self.release(other, gone.bytes),
        }
    }
}

/// Whether an allocation fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    Now,
    /// Once the GPU is done with the work that uses leaving buffers.
    Soon,
    None,
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn pieces_are_what_a_limit_allows() {
        let pieces = |limit| Sizes::within(limit, 256);
        let (full, small) = (pieces(None), pieces(Some(32 << 20)));
        assert_eq!(
            (full.upload, full.read_small, full.read),
            (16 << 20, 1 << 20, 16 << 20)
        );
        assert_eq!(pieces(Some(1 << 30)), full);
        assert_eq!(
            (small.upload, small.read, small.dispatches),
            (512 << 10, 512 << 10, 256)
        );
        assert_eq!(pieces(Some(3 << 20)).upload, 32 << 10);
        assert_eq!(pieces(Some(1 << 16)).dispatches, 4);
        assert_eq!(pieces(Some(0)).upload, SMALLEST_PIECE);
    }

    #[apply(unit_test)]
    fn staging_keeps_its_share_and_tensors_the_rest() {
        let limit = 4 << 20;
        let sizes = Sizes::within(Some(limit), 256);
        let mut account = Account::new(Some(limit), sizes, 256).unwrap();
        let rest = limit - sizes.upload - sizes.read - 3 * 65_536;
        assert_eq!(account.room(rest), Room::Now);
        assert!(account.reserve("t", Use::Tensor, rest + 1).is_err());
        account.reserve("t", Use::Tensor, rest).unwrap();
        assert!(account.reserve("t", Use::Tensor, 1).is_err());
        // The floor is available whatever tensors took, and no more than the floor.
        account.reserve("t", Use::Upload, sizes.upload).unwrap();
        account.reserve("t", Use::Read, sizes.read).unwrap();
        account.reserve("t", Use::Own, 3 * 65_536).unwrap();
        for what in [Use::Tensor, Use::Upload, Use::Read, Use::Own] {
            let error = account.reserve("t", what, 1).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::OutOfMemory {
                        available: Some(0),
                        ..
                    }
                ),
                "{error}"
            );
        }
        let memory = account.memory();
        assert_eq!(memory.live + memory.staging, limit);
        assert_eq!(account.room(1), Room::None);
        // Staging may exceed its floor when tensors leave room.
        account.release(Use::Tensor, rest);
        account.reserve("t", Use::Upload, rest).unwrap();
        assert!(account.reserve("t", Use::Tensor, 1).is_err());
    }

    #[apply(unit_test)]
    fn what_leaves_is_counted_until_its_submission_is_done() {
        let limit = 4 << 20;
        let mut account = Account::new(Some(limit), Sizes::within(Some(limit), 256), 256).unwrap();
        account.reserve("t", Use::Tensor, 2 << 20).unwrap();
        account.keep(2 << 20);
        account.evict(Leaving {
            what: Use::Tensor,
            bytes: 2 << 20,
            after: 7,
            raw: None,
        });
        assert_eq!(account.memory().leaving, 2 << 20);
        assert_eq!(account.room(3 << 20), Room::Soon);
        account.settle(6);
        assert!(account.take_gone().is_empty());
        account.settle(7);
        let gone = account.take_gone();
        assert_eq!(
            (gone.len(), account.memory().leaving),
            (1, 2 << 20),
            "not destroyed yet"
        );
        account.left(&gone[0]);
        assert_eq!(account.memory(), Memory::default());
        assert_eq!(account.room(3 << 20), Room::Now);
    }

    #[apply(unit_test)]
    fn a_limit_below_what_the_device_needs_is_refused() {
        let error = Account::new(Some(1_000), Sizes::within(Some(1_000), 256), 256)
            .err()
            .unwrap();
        let Error::OutOfMemory {
            op: "device",
            bytes,
            available: Some(1_000),
        } = error
        else {
            panic!("{error}");
        };
        assert!(Account::new(Some(bytes + 1), Sizes::within(Some(bytes + 1), 256), 256).is_ok());
    }
}
