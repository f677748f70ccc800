//! The launch of convolutions of boxes.

use super::twin::{directly, mixed};
use super::{OPERANDS, TURN, TURN_SOFTWARE, Turn, WHOLE, direct, place, results};
use crate::ops::choice::{Choice, Choices, ConvMode, Engine, Flat};
use crate::ops::conv::{ConvRequest, gpu};
use crate::ops::kit::twin_of;
use crate::plan::{Dispatch, Launch, Offset, Param, Slot, Twin, check_size, cost_of};
use crate::ragged::{DType, Layout, PairList, Pairing, Pairs};
use crate::{Result, host};

/// The launch for boxes, or for a part of the results. The layouts must have been checked.
pub(in crate::ops::conv) fn launch(
    request: ConvRequest<'_>,
    correlate: bool,
    a: &Layout,
    b: &Layout,
    pairs: &Pairs,
) -> Result<Launch> {
    let ConvRequest { dtype, window, .. } = request;
    request.check_plan(pairs)?;
    let result = results(&request, a, b, pairs)?;
    check_size(&result, dtype, request.binding)?;
    let choices = request.choices_of_boxes(a, b, pairs)?;
    let work = request.work_of_boxes(a, b, pairs, &choices)?;
    // The CPU needs no dispatches: it runs the twin.
    let gpu = if request.costs.is_cpu() {
        (Vec::new(), Vec::new())
    } else {
        dispatches(&request, correlate, (a, b), pairs, &choices, &result)?
    };
    let work = work.max(cost_of(&gpu.0));
    let twin = if choices.all_direct() {
        let twin = twin_of!(dtype, directly);
        Twin::new(move |args| twin(args, &window, correlate))
    } else {
        let bytes = choices.bytes();
        Twin::new(move |args| mixed(args, &window, &choices, correlate)).holding(bytes)
    };
    Ok(Launch::of(dtype, result, gpu, work, twin).with_pairs(pairs))
}

/// The dispatches that convolve every pair by its chosen method, and the words of their scratch buffers.
fn dispatches(
    request: &ConvRequest<'_>,
    correlate: bool,
    (a, b): (&Layout, &Layout),
    pairs: &Pairs,
    choices: &Choices,
    result: &Layout,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let rank = a.rank();
    let mut by_transforms = Vec::new();
    let mut dispatches = if rank == 1 && request.window.stride(0) == 1 {
        // For vectors and a stride of 1, kernels compute only the kept results, except transforms in several passes.
        let kept = (request.window.mode, result);
        let far = &mut by_transforms;
        gpu::dispatches(request, correlate, (a, b), pairs, choices, kept, far)?.0
    } else {
        let mut directly = Vec::new();
        for pair in (0..pairs.len()).filter(|&pair| result.length(pair) > 0) {
            let alike = match choices.get(pair) {
                Choice::Direct => &mut directly,
                Choice::Fft { .. } | Choice::OverlapSave { .. } => &mut by_transforms,
            };
            host::push(alike, pair)?;
        }
        direct::dispatches(request, correlate, (a, b), pairs, &directly, result)?
    };
    let own = if rank == 1 { OPERANDS } else { OPERANDS + 2 };
    let most = match request.costs.engine() {
        Engine::Gpu => TURN,
        Engine::Cpu | Engine::Software => TURN_SOFTWARE,
    };
    let mut scratch = Vec::new();
    let mut rest = &by_transforms[..];
    while !rest.is_empty() {
        let mut values = 0;
        let fit = rest.iter().position(|&pair| {
            let flat = request.window.meeting(a, b, pairs.get(pair)).flat();
            values += flat.m + flat.n;
            values > most
        });
        let (turn, later) = rest.split_at(fit.unwrap_or(rest.len()).max(1));
        let turn = Turn::new(request, (a, b), pairs, turn)?;
        let words = turn.dispatches(request, correlate, choices, result, own, &mut dispatches)?;
        scratch.resize(scratch.len().max(words.len()), 0);
        scratch
            .iter_mut()
            .zip(words)
            .for_each(|(most, words)| *most = words.max(*most));
        rest = later;
    }
    Ok((dispatches, scratch))
}

impl<'a> Turn<'a> {
    fn new(
        request: &ConvRequest<'_>,
        (a, b): (&'a Layout, &'a Layout),
        all: &Pairs,
        pairs: &'a [usize],
    ) -> Result<Turn<'a>> {
        let elements = pairs.iter().map(|&pair| all.get(pair));
        let boxes = elements
            .clone()
            .map(|both| request.window.meeting(a, b, both));
        let boxes = host::exact(boxes)?;
        let lengths = |length: fn(Flat) -> u64| {
            let mut offsets = Offset::new(boxes.len())?;
            for meeting in &boxes {
                offsets.push(length(meeting.flat()))?;
            }
            Ok(Layout::from_offsets(offsets.finish()))
        };
        Ok(Turn {
            a: lengths(|flat| flat.m)?,
            b: lengths(|flat| flat.n)?,
            whole: lengths(|flat| flat.m + flat.n - 1)?,
            elements: host::exact(elements.map(|(i, j)| (i as u32, j as u32)))?,
            pairs,
            operands: (a, b),
            boxes,
        })
    }

    /// Adds its dispatches, and returns the words of their scratch buffers. The scratch buffers of the convolution of
    /// vectors begin at `own`.
    fn dispatches(
        &self,
        request: &ConvRequest<'_>,
        correlate: bool,
        choices: &Choices,
        result: &Layout,
        own: usize,
        dispatches: &mut Vec<Dispatch>,
    ) -> Result<Vec<u64>> {
        let choices = choices.only(self.pairs)?;
        let mut words = vec![self.whole.total() as u64];
        let vectors = own > OPERANDS;
        let (mut made, scratch) = if vectors {
            for (side, layout) in [&self.a, &self.b].into_iter().enumerate() {
                words.push(layout.total() as u64);
                dispatches.push(self.lay_out(side, layout)?);
            }
            let pairs = Pairs::elementwise(&self.a, &self.b)?;
            gpu::dispatches(
                request,
                correlate,
                (&self.a, &self.b),
                &pairs,
                &choices,
                (ConvMode::Full, &self.whole),
                &mut Vec::new(),
            )?
        } else {
            let (a, b) = self.operands;
            let list = PairList::new(self.elements.iter().copied())?;
            let pairs = Pairs::new(a, b, Pairing::List(&list))?;
            let all = (ConvMode::Full, &self.whole);
            gpu::dispatches(
                request,
                correlate,
                (a, b),
                &pairs,
                &choices,
                all,
                &mut Vec::new(),
            )?
        };
        for dispatch in &mut made {
            dispatch.slots.iter_mut().for_each(|slot| match *slot {
                Slot::Input(side) if vectors => *slot = Slot::Scratch(OPERANDS + side),
                Slot::Output(_) => *slot = Slot::Scratch(WHOLE),
                Slot::Scratch(i) => *slot = Slot::Scratch(own + i),
                _ => {}
            });
            for word in &mut dispatch.params {
                if let (Param::InputBase(_), true) = (*word, vectors) {
                    *word = Param::U32(0);
                }
            }
        }
        dispatches.extend(made);
        dispatches.push(self.keep(request, result)?);
        words.extend(scratch);
        Ok(words)
    }

    /// The dispatch that lays out the boxes of one operand as vectors.
    fn lay_out(&self, side: usize, layout: &Layout) -> Result<Dispatch> {
        let source = [self.operands.0, self.operands.1][side];
        let starts = source.offsets().as_slice();
        let placed = self.boxes.iter().enumerate().map(|(number, meeting)| {
            let flat = meeting.flat();
            let extents = meeting
                .axes
                .map(|axis| if side == 0 { axis.m } else { axis.n });
            let element = [self.elements[number].0, self.elements[number].1][side];
            place::Box {
                to: (layout.offsets().as_slice()[number], [flat.plane, flat.row]),
                values: layout.length(number),
                from: (
                    starts[element as usize],
                    [
                        u64::from(extents[1]) * u64::from(extents[2]),
                        extents[2].into(),
                    ],
                ),
                first: [0; 3],
                extents,
            }
        });
        let from = (Slot::Input(side), Param::InputBase(side));
        place::dispatch(placed, [1; 3], from, Slot::Scratch(OPERANDS + side))
    }

    /// The dispatch that copies the kept results.
    fn keep(&self, request: &ConvRequest<'_>, result: &Layout) -> Result<Dispatch> {
        let placed = self.boxes.iter().enumerate().map(|(number, meeting)| {
            let flat = meeting.flat();
            let pair = self.pairs[number];
            let [_, rows, columns] = meeting.axes.map(|axis| axis.kept);
            place::Box {
                to: (result.offsets().as_slice()[pair], [rows * columns, columns]),
                values: result.length(pair),
                from: (
                    self.whole.offsets().as_slice()[number],
                    [flat.plane, flat.row],
                ),
                first: meeting.axes.map(|axis| axis.first),
                extents: [u32::MAX; 3],
            }
        });
        let strides = request.window.strides(self.operands.0.rank());
        let from = (Slot::Scratch(WHOLE), Param::U32(0));
        place::dispatch(placed, strides, from, Slot::Output(0))
    }
}
