//! What all plans of a program share on a GPU: the arena, the block of parameters and lists, and the bind groups.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Gpu;
use super::groups::Groups;
use super::pool::GpuBuffer;
use super::recorder::{Machine, Recorder};
use crate::{Error, Result};

/// Offsets of bindings are multiples of this: WebGPU's default for `min_storage_buffer_offset_alignment`.
const UNIT: u64 = 256;

/// What all plans of a program share on a device.
#[derive(Default)]
pub(crate) struct GpuFrame {
    pub slabs: Vec<Arc<GpuBuffer>>,
    /// The parameters and lists of the plan that ran last.
    block: Option<Arc<GpuBuffer>>,
    /// Where parameters lie in the block, and then each list, by its number.
    pub(super) rooms: Vec<Room>,
    /// How many times the rooms were moved.
    pub(super) moved: u64,
    /// The identity of the plan whose parameters and lists are in the block.
    pub(super) holds: u64,
    pub(super) groups: Groups<wgpu::BindGroup>,
    /// The bind groups made so far, and those of them without inputs and outputs.
    pub made: [u64; 2],
}

/// A range of the block, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub offset: u64,
    pub bytes: u64,
}

/// The rooms for parts of these sizes: not smaller than before, and those that grow with an eighth to spare. `None` if
/// every part fits.
fn grown(rooms: &[Room], parts: impl Iterator<Item = u64>) -> Option<Vec<Room>> {
    let mut next = rooms.to_vec();
    for (i, bytes) in parts.enumerate() {
        let spared = (bytes + bytes / 8).next_multiple_of(UNIT);
        match next.get_mut(i) {
            Some(room) if room.bytes >= bytes => (),
            Some(room) => room.bytes = spared,
            None => next.push(Room {
                offset: 0,
                bytes: spared,
            }),
        }
    }
    let mut end = 0;
    for room in &mut next {
        room.offset = end;
        end += room.bytes;
    }
    (next != rooms).then_some(next)
}

impl Gpu {
    /// Makes room for the parts of a plan in the frame, of these sizes. Returns whether it grew. If there is no memory
    /// for that, nothing changes.
    pub(crate) fn fit(
        &self,
        op: &'static str,
        frame: &mut GpuFrame,
        sizes: impl Iterator<Item = u64>,
    ) -> Result<bool> {
        let Some(rooms) = grown(&frame.rooms, sizes) else {
            return Ok(false);
        };
        let bytes: u64 = rooms.iter().map(|room| room.bytes).sum();
        let has = |block: &Arc<GpuBuffer>| block.raw.size();
        if frame.block.as_ref().map_or(0, has) < bytes {
            frame.block = Some(self.allocate(op, bytes / 4)?);
        }
        frame.rooms = rooms;
        frame.moved += 1;
        frame.holds = 0;
        Ok(true)
    }
}

impl GpuFrame {
    pub(super) fn block(&self) -> Result<&Arc<GpuBuffer>> {
        let none = || Error::gpu("run", "the plan has no room in the frame");
        self.block.as_ref().ok_or_else(none)
    }

    /// Copies parts of a plan's data, each given as (begin, bytes), to their rooms in the block. `plan` is the plan's
    /// identity.
    pub(super) fn fill(
        &mut self,
        (recorder, machine, op): (&mut Recorder, &Machine<'_>, &'static str),
        (data, plan): (&GpuBuffer, u64),
        parts: impl Iterator<Item = (u64, u64)>,
    ) -> Result<()> {
        let block = self.block()?.clone();
        self.holds = 0;
        let placed = parts.zip(&self.rooms);
        for ((from, bytes), room) in placed.filter(|((_, bytes), _)| *bytes > 0) {
            let to = (&block.raw, room.offset);
            recorder.copy(machine, op, data, from, to, bytes)?;
            block.written.store(recorder.number(), Ordering::Relaxed);
        }
        self.holds = plan;
        Ok(())
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::{Room, grown};

    fn rooms(all: &[(u64, u64)]) -> Vec<Room> {
        let room = |&(offset, bytes): &(u64, u64)| Room { offset, bytes };
        all.iter().map(room).collect()
    }

    /// Rooms keep their sizes for smaller parts, and grow with room to spare for larger ones.
    #[apply(unit_test)]
    fn rooms_only_grow() {
        let grown = |before: &[Room], parts: &[u64]| grown(before, parts.iter().copied());
        let first = grown(&[], &[1, 0, 4096]).unwrap();
        assert_eq!(first, rooms(&[(0, 256), (256, 0), (256, 4608)]));
        for fits in [&[1, 0, 4096][..], &[256, 0, 4608], &[7], &[]] {
            assert_eq!(grown(&first, fits), None);
        }
        let second = grown(&first, &[257, 0, 10, 300]).unwrap();
        assert_eq!(
            second,
            rooms(&[(0, 512), (512, 0), (512, 4608), (5120, 512)])
        );
    }
}
