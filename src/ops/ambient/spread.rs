//! Spread operands on the CPU: materializes them chunk by chunk.

use bytemuck::Pod;

use crate::ops::par_tiles;
use crate::plan::CpuArgs;
use crate::ragged::Layout;

/// How an operand is spread over the elements of the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Mode {
    /// Not spread: the operand has the result's layout.
    Whole,
    /// One value for the whole element.
    Each,
    /// A vector along this axis.
    Along(usize),
}

/// Values per chunk of the CPU kernels, in general and for short elements.
pub(super) const FEW: usize = 1024;
pub(super) const SHORT: usize = 64;

/// An operand on the CPU.
struct Source<'a, T> {
    values: &'a [T],
    layout: &'a Layout,
    mode: Mode,
}

impl<T: Pod> Source<'_, T> {
    /// The operand's values for as many values of an element as `room` has, from value `at` on: a slice of the operand,
    /// or spread into `room`. The element begins at value `start` of the result.
    fn chunk<'r>(
        &'r self,
        (element, start): (usize, usize),
        extents: &[u32],
        at: usize,
        room: &'r mut [T],
    ) -> &'r [T] {
        let own = if self.layout.len() == 1 { 0 } else { element };
        let axis = match self.mode {
            Mode::Whole => return &self.values[start + at..start + at + room.len()],
            Mode::Each => {
                room.fill(self.values[own]);
                return room;
            }
            Mode::Along(axis) => axis,
        };
        let vector = &self.values[self.layout.offsets().range(own)];
        let inner: usize = extents[axis + 1..].iter().map(|&e| e as usize).product();
        let (mut filled, mut at) = (0, at);
        while filled < room.len() {
            let left = room.len() - filled;
            let i = at / inner % vector.len();
            let take = match inner {
                1 => {
                    let take = left.min(vector.len() - i);
                    room[filled..filled + take].copy_from_slice(&vector[i..i + take]);
                    take
                }
                _ => {
                    let take = left.min(inner - at % inner);
                    room[filled..filled + take].fill(vector[i]);
                    take
                }
            };
            filled += take;
            at += take;
        }
        room
    }
}

/// Calls `run` for corresponding chunks of the operands and the result.
///
/// The second and third operand have the same type; the third slice is empty if that operand is absent, or has only a
/// layout.
pub(super) fn spread<A: Pod + Send + Sync, T: Pod + Send + Sync, R: Pod + Send + Sync>(
    args: &mut CpuArgs<'_>,
    modes: &[Mode; 3],
    run: impl Fn(&[A], &[T], &[T], &mut [R]) + Sync,
) {
    let third = args.inputs.get(2);
    let three = third.is_some_and(|input| !input.bytes.is_empty());
    let (a, a_layout) = args.input::<A>(0);
    let of = |i: usize| {
        let (values, layout) = args.input::<T>(i);
        Source {
            values,
            layout,
            mode: modes[i],
        }
    };
    let (x, y, z) = (
        Source {
            values: a,
            layout: a_layout,
            mode: modes[0],
        },
        of(1),
        of(if three { 2 } else { 1 }),
    );
    let (c, layout) = args.output::<R>(0);
    par_tiles(layout.offsets(), c, |element, within, out| {
        let place = (element, layout.offsets().range(element).start);
        let shape = layout.shape(element);
        let chunk = Chunk {
            sources: (&x, &y, three.then_some(&z)),
            extents: shape.extents(),
            place,
        };
        // Short elements use short buffers, because a buffer is cleared even where it is unused.
        match out.len() <= SHORT {
            true => chunk.run::<SHORT, R>(within.start, out, &run),
            false => chunk.run::<FEW, R>(within.start, out, &run),
        }
    });
}

/// The operands of one element.
struct Chunk<'a, A, T> {
    sources: (
        &'a Source<'a, A>,
        &'a Source<'a, T>,
        Option<&'a Source<'a, T>>,
    ),
    extents: &'a [u32],
    place: (usize, usize),
}

impl<A: Pod, T: Pod> Chunk<'_, A, T> {
    /// Processes `N` values at a time, starting with value `from` of the element.
    fn run<const N: usize, R>(
        &self,
        from: usize,
        out: &mut [R],
        run: &impl Fn(&[A], &[T], &[T], &mut [R]),
    ) {
        let (mut p, mut q, mut r) = ([A::zeroed(); N], [T::zeroed(); N], [T::zeroed(); N]);
        let (x, y, z) = self.sources;
        for (k, out) in out.chunks_mut(N).enumerate() {
            let (n, at) = (out.len(), from + k * N);
            let x = x.chunk(self.place, self.extents, at, &mut p[..n]);
            let y = y.chunk(self.place, self.extents, at, &mut q[..n]);
            match z {
                Some(z) => run(
                    x,
                    y,
                    z.chunk(self.place, self.extents, at, &mut r[..n]),
                    out,
                ),
                None => run(x, y, &[], out),
            }
        }
    }
}
