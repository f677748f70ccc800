//! Spread operands on the CPU: materializes them chunk by chunk.

use bytemuck::Pod;

use crate::ops::kit::par_chunks;
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

/// Values per chunk of the twins, in general and for short elements.
pub(super) const FEW: usize = 1024;
pub(super) const SHORT: usize = 64;
/// Chunks in a parallel task.
const TOGETHER: usize = 16;

/// An operand on the CPU.
struct Source<'a, T> {
    values: &'a [T],
    layout: &'a Layout,
    mode: Mode,
}

impl<T: Pod> Source<'_, T> {
    /// The operand's values for as many values of the result as `room` has, from value `at` on: a slice of the operand,
    /// or spread into `room`. A chunk may hold many elements.
    fn chunk<'r>(&'r self, result: &Layout, at: usize, room: &'r mut [T]) -> &'r [T] {
        let one = self.layout.len() == 1;
        match self.mode {
            Mode::Whole => return &self.values[at..at + room.len()],
            Mode::Each if one => {
                room.fill(self.values[0]);
                return room;
            }
            _ => {}
        }
        let offsets = result.offsets();
        // The last element that starts at or before `at`.
        let mut element = offsets
            .as_slice()
            .partition_point(|&start| start as usize <= at)
            - 1;
        let mut filled = 0;
        while filled < room.len() {
            let range = offsets.range(element);
            let within = at + filled - range.start;
            let take = (range.len() - within).min(room.len() - filled);
            let part = &mut room[filled..filled + take];
            match self.mode {
                Mode::Along(axis) if take > 0 => {
                    let shape = result.shape(element);
                    let inner = shape.extents()[axis + 1..].iter().map(|&e| e as usize);
                    let own = if one { 0 } else { element };
                    let vector = &self.values[self.layout.offsets().range(own)];
                    lay(vector, inner.product(), within, part);
                }
                Mode::Along(_) => {}
                Mode::Each | Mode::Whole => part.fill(self.values[element]),
            }
            filled += take;
            element += 1;
        }
        room
    }
}

/// The values of a vector along an axis, which are repeated `inner` times each, from value `at` of an element on.
fn lay<T: Copy>(vector: &[T], inner: usize, mut at: usize, room: &mut [T]) {
    let mut filled = 0;
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
}

/// Calls `run` for corresponding chunks of the operands and the result, in parallel.
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
    let operand = |i: usize| {
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
        operand(1),
        operand(if three { 2 } else { 1 }),
    );
    let (c, layout) = args.output::<R>(0);
    // The body never fails.
    let _ = par_chunks(c, FEW, TOGETHER, &|at, out| {
        let (mut p, mut q, mut r) = ([A::zeroed(); FEW], [T::zeroed(); FEW], [T::zeroed(); FEW]);
        let n = out.len();
        let z = match three {
            true => z.chunk(layout, at, &mut r[..n]),
            false => &[],
        };
        let (x, y) = (
            x.chunk(layout, at, &mut p[..n]),
            y.chunk(layout, at, &mut q[..n]),
        );
        run(x, y, z, out);
        Ok(())
    });
}
