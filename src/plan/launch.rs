//! The interface between operations and devices: what to run, as plain data.
//!
//! An operation turns its inputs' layouts into a [`Plan`]: a [`Launch`] or a view. A GPU runs a launch's dispatches,
//! the CPU runs its twin, and a recorded program can store it. A plan refers to its inputs by position and
//! receives them when it runs. It never holds their layouts or storage: it is cached as long as the layouts live, and
//! would keep them alive forever.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::dispatch::{Dispatch, PlanBuffer, Slot};
use super::work::check_size;
use crate::error::Named;
use crate::ragged::{DType, Layout, Pairs, Permutation};
use crate::{Error, Result};

/// How to run an operation on one device, for operands with certain layouts.
#[derive(Debug)]
pub(crate) struct Plan {
    pub kind: PlanKind,
    pub attached: Attachment,
    pub prepared: Prepared,
}

#[derive(Debug)]
pub(crate) enum PlanKind {
    Launch(Launch),
    /// The values of input 0 in another layout, after skipping the first `skipped` values.
    View {
        layout: OutputLayout,
        skipped: usize,
    },
}

/// Data that accompanies the results but has no values on the device.
#[derive(Debug)]
pub(crate) enum Attachment {
    Nothing,
    /// A layout in which to view the results, or the extents of the matrices whose entries the results are.
    Layout(OutputLayout),
    /// The permutation that the results are in.
    Permutation(Permutation),
}

/// Data that the device derives from a launch on first use.
#[derive(Default)]
pub(crate) struct Prepared(pub OnceLock<Box<dyn Any + Send + Sync>>);

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepared")
    }
}

impl From<Launch> for Plan {
    fn from(launch: Launch) -> Plan {
        Plan {
            kind: PlanKind::Launch(launch),
            attached: Attachment::Nothing,
            prepared: Prepared::default(),
        }
    }
}

impl Plan {
    pub(crate) fn view(layout: OutputLayout, skipped: usize) -> Plan {
        Plan {
            kind: PlanKind::View { layout, skipped },
            attached: Attachment::Nothing,
            prepared: Prepared::default(),
        }
    }

    /// The operation's name in errors and reports.
    pub(crate) fn name(&self) -> &'static str {
        match &self.kind {
            PlanKind::Launch(launch) => launch.op,
            PlanKind::View { .. } => "view",
        }
    }

    pub(crate) fn with(self, attached: Attachment) -> Plan {
        Plan { attached, ..self }
    }

    /// Replaces layouts whose contents equal an input's by the input's position. A batch that keeps its shapes
    /// throughout a loop then also keeps its layout, and the plan does not keep the layouts in its own cache key alive.
    pub(crate) fn settle(&mut self, inputs: &[&Layout]) {
        let input = |layout: &Layout| inputs.iter().position(|input| *input == layout);
        let settle = |named: &mut OutputLayout| {
            if let OutputLayout::New(layout) = named
                && let Some(i) = input(layout)
            {
                *named = OutputLayout::Input(i);
            }
        };
        if let Attachment::Layout(layout) = &mut self.attached {
            settle(layout);
        }
        match &mut self.kind {
            PlanKind::View { layout, .. } => settle(layout),
            PlanKind::Launch(launch) => {
                for output in &mut launch.outputs {
                    settle(&mut output.layout);
                }
                for slot in launch
                    .dispatches
                    .iter_mut()
                    .flat_map(|dispatch| &mut dispatch.slots)
                {
                    if let Slot::Meta(layout) = slot
                        && let Some(i) = input(layout)
                    {
                        *slot = Slot::InputMeta(i);
                    }
                }
            }
        }
    }

    /// The size of the plan on the host in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let bytes_of = |named: &OutputLayout| match named {
            OutputLayout::Input(_) => 0,
            OutputLayout::New(layout) => layout.bytes(),
        };
        let attached = match &self.attached {
            Attachment::Nothing => 0,
            Attachment::Layout(layout) => bytes_of(layout),
            Attachment::Permutation(order) => 8 * order.len(),
        };
        size_of::<Plan>()
            + attached
            + match &self.kind {
                PlanKind::View { layout, .. } => bytes_of(layout),
                PlanKind::Launch(launch) => launch.bytes(bytes_of),
            }
    }
}

/// The layout of a result.
#[derive(Clone, Debug)]
pub(crate) enum OutputLayout {
    /// The layout of input `i`, shared.
    Input(usize),
    New(Layout),
}

impl OutputLayout {
    pub(crate) fn get<'a>(&'a self, input: impl Fn(usize) -> &'a Layout) -> &'a Layout {
        match self {
            OutputLayout::Input(i) => input(*i),
            OutputLayout::New(layout) => layout,
        }
    }
}

/// A result: its layout, and the type of its values, which determines how many words it takes.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub layout: OutputLayout,
    pub dtype: DType,
    /// The operand in whose memory the result lies, if it is changed in place. Kernels bind the memory as this result
    /// only, and preserve values that they do not write.
    pub over: Option<usize>,
}

impl Output {
    pub(crate) fn new(dtype: DType, layout: OutputLayout) -> Output {
        Output {
            layout,
            dtype,
            over: None,
        }
    }

    /// The result of this layout that changes operand `i` in place.
    pub(crate) fn over(dtype: DType, i: usize) -> Output {
        Output {
            over: Some(i),
            ..Output::new(dtype, OutputLayout::Input(i))
        }
    }

    /// The layout and the number of words of its values.
    pub(crate) fn sized<'a>(&'a self, input: impl Fn(usize) -> &'a Layout) -> (&'a Layout, u64) {
        let layout = self.layout.get(input);
        (layout, self.dtype.words(layout.total()) as u64)
    }
}

/// A planned operation. See the module documentation.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The operation's name, which [`Op::plan`](crate::ops::Op::plan) adds.
    pub op: &'static str,
    pub outputs: Vec<Output>,
    /// The sizes of the scratch buffers in words.
    pub scratch: Vec<u64>,
    pub dispatches: Vec<Dispatch>,
    /// The work that is compared with the device's work limit, in multiply-adds, or in values where they are only moved
    /// or added. On a GPU it is the cost of the dispatches, including multiplications by zeros, unless the operation
    /// counts it differently.
    pub work: u64,
    /// How elements are paired, for operations with two operands.
    pub pairs: Option<Pairs>,
    /// The twin for the whole launch.
    pub twin: Twin,
}

impl From<Layout> for OutputLayout {
    fn from(layout: Layout) -> OutputLayout {
        OutputLayout::New(layout)
    }
}

impl Launch {
    /// A launch of one dispatch with one result, whose work is the cost of the dispatch.
    pub(crate) fn new(
        dtype: DType,
        layout: impl Into<OutputLayout>,
        dispatch: Dispatch,
        twin: Twin,
    ) -> Launch {
        let work = dispatch.cost;
        Launch::of(dtype, layout, (vec![dispatch], Vec::new()), work, twin)
    }

    /// A launch of any dispatches with one result, and with the sizes of their scratch buffers.
    pub(crate) fn of(
        dtype: DType,
        layout: impl Into<OutputLayout>,
        (dispatches, scratch): (Vec<Dispatch>, Vec<u64>),
        work: u64,
        twin: Twin,
    ) -> Launch {
        Launch {
            op: "",
            outputs: vec![Output::new(dtype, layout.into())],
            scratch,
            dispatches,
            work,
            pairs: None,
            twin,
        }
    }

    pub(crate) fn with_pairs(self, pairs: &Pairs) -> Launch {
        Launch {
            pairs: Some(pairs.clone()),
            ..self
        }
    }

    /// Checks that results and scratch buffers fit in bindings of `binding` bytes (`None`: no limit).
    pub(crate) fn check_sizes<'a>(
        &'a self,
        input: impl Fn(usize) -> &'a Layout + Copy,
        binding: Option<u64>,
    ) -> Result<()> {
        for output in &self.outputs {
            let (layout, _) = output.sized(input);
            check_size(layout, output.dtype, binding).named(self.op)?;
        }
        let mut scratch = self.scratch.iter().map(|words| words * 4);
        match binding.and_then(|limit| Some((scratch.find(|bytes| *bytes > limit)?, limit))) {
            None => Ok(()),
            Some((bytes, limit)) => {
                Err(Error::too_large("the workspace", bytes, limit).named(self.op))
            }
        }
    }

    fn bytes(&self, bytes_of: impl Fn(&OutputLayout) -> usize) -> usize {
        let mut counted: Vec<*const PlanBuffer> = Vec::new();
        let mut dispatches = 0;
        for dispatch in &self.dispatches {
            dispatches += size_of::<Dispatch>()
                + size_of_val(&dispatch.slots[..])
                + size_of_val(&dispatch.params[..]);
            for slot in &dispatch.slots {
                dispatches += match slot {
                    Slot::Meta(layout) => layout.bytes(),
                    Slot::PlanBuffer(words) if !counted.contains(&Arc::as_ptr(words)) => {
                        counted.push(Arc::as_ptr(words));
                        size_of_val(words.data())
                    }
                    _ => 0,
                };
            }
        }
        let outputs = self.outputs.iter().map(|output| bytes_of(&output.layout));
        dispatches + outputs.sum::<usize>() + self.twin.bytes
    }
}

/// The CPU version of a launch. A closure, since it may need planned data, such as the method for each pair.
pub(crate) struct Twin {
    run: Box<Run>,
    /// The bytes that it holds in addition to the dispatches.
    bytes: usize,
}

type Run = dyn Fn(&mut CpuArgs<'_>) -> Result<()> + Send + Sync;

impl Twin {
    /// A kernel that can fail when memory runs out, or that makes no allocation that depends on its operands.
    pub(crate) fn new<R: Outcome>(
        twin: impl Fn(&mut CpuArgs<'_>) -> R + Send + Sync + 'static,
    ) -> Twin {
        Twin {
            bytes: size_of_val(&twin),
            run: Box::new(move |args| twin(args).outcome()),
        }
    }

    /// The same kernel, accounting for `bytes` more bytes.
    pub(crate) fn holding(self, bytes: usize) -> Twin {
        Twin {
            bytes: self.bytes + bytes,
            ..self
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn run(&self, args: &mut CpuArgs<'_>) -> Result<()> {
        (self.run)(args)
    }
}

/// The result of a twin, or of a part of one.
pub(crate) trait Outcome: Send {
    fn outcome(self) -> Result<()>;
    /// Combines the results of all parts.
    fn of(all: Result<()>) -> Self;
}

impl Outcome for () {
    fn outcome(self) -> Result<()> {
        Ok(())
    }

    fn of(_: Result<()>) {}
}

impl Outcome for Result<()> {
    fn outcome(self) -> Result<()> {
        self
    }

    fn of(all: Result<()>) -> Result<()> {
        all
    }
}

impl std::fmt::Debug for Twin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Twin")
    }
}

/// An operand of a twin: bytes aligned for the element type, to be read as that type.
pub(crate) struct CpuInput<'a> {
    pub bytes: &'a [u8],
    pub layout: &'a Layout,
}

/// A result of a twin: words to be written as the element type. For `f16`, the last word may be half used.
pub(crate) struct CpuOutput<'a> {
    pub words: &'a mut [u32],
    pub layout: &'a Layout,
}

/// The arguments of a twin.
pub(crate) struct CpuArgs<'a> {
    pub inputs: &'a [CpuInput<'a>],
    pub outputs: &'a mut [CpuOutput<'a>],
    pub scalars: &'a [u32],
    pub pairs: Option<&'a Pairs>,
}

impl<'a> CpuArgs<'a> {
    /// The values of input `i` as `T`.
    pub(crate) fn input<T: bytemuck::Pod>(&self, i: usize) -> (&'a [T], &'a Layout) {
        let input = &self.inputs[i];
        (bytemuck::cast_slice(input.bytes), input.layout)
    }

    /// Result `i`: as many values as its layout has, and the layout.
    pub(crate) fn output<T: bytemuck::Pod>(&mut self, i: usize) -> (&mut [T], &'a Layout) {
        let output = &mut self.outputs[i];
        let values = bytemuck::cast_slice_mut(output.words);
        (&mut values[..output.layout.total()], output.layout)
    }

    /// The pairs of a launch with two operands.
    pub(crate) fn pairs(&self) -> &'a Pairs {
        self.pairs.expect("a launch of two operands has pairs")
    }
}
