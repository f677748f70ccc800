//! The seam between operations and the machines: what to run, as plain data.
//!
//! An operation turns its inputs' layouts into a [`Plan`]: a [`Launch`], or a view. A GPU runs a launch's stages, the
//! CPU runs the twin, and a
//! recorded program can store it. A plan never holds its inputs' layouts or storage (it is kept for as long as
//! these live, and would keep them alive); they are named by position and supplied when it runs.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::dispatch::{Dispatch, PlanBuffer, Slot};
use crate::Result;
use crate::ragged::{DType, Layout, Pairs, Permutation};

/// What is to be done for an operation, for operands of these layouts on one device.
#[derive(Debug)]
pub(crate) struct Plan {
    pub what: What,
    pub attached: Attachment,
    pub prepared: Prepared,
}

#[derive(Debug)]
pub(crate) enum What {
    Launch(Launch),
    /// The values of input 0 from so many values on, in another layout.
    View {
        layout: OutputLayout,
        skipped: usize,
    },
}

/// What comes with the results and has no values on the device.
#[derive(Debug)]
pub(crate) enum Attachment {
    Nothing,
    /// In which the results are to be seen, or the extents of matrices of them.
    Layout(OutputLayout),
    /// In which the results are.
    Permutation(Permutation),
}

/// What the device has made of a launch: its own, and made on first use.
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
            what: What::Launch(launch),
            attached: Attachment::Nothing,
            prepared: Prepared::default(),
        }
    }
}

impl Plan {
    pub(crate) fn view(layout: OutputLayout, skipped: usize) -> Plan {
        Plan {
            what: What::View { layout, skipped },
            attached: Attachment::Nothing,
            prepared: Prepared::default(),
        }
    }

    pub(crate) fn with(self, attached: Attachment) -> Plan {
        Plan { attached, ..self }
    }

    /// Names layouts with the contents of an input by its position: a batch that keeps its shapes through a loop keeps
    /// its layout, and
    /// a plan holds none that it was asked for.
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
        match &mut self.what {
            What::View { layout, .. } => settle(layout),
            What::Launch(launch) => {
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

    /// What it takes on the host.
    pub(crate) fn bytes(&self) -> usize {
        let of = |named: &OutputLayout| match named {
            OutputLayout::Input(_) => 0,
            OutputLayout::New(layout) => layout.bytes(),
        };
        let attached = match &self.attached {
            Attachment::Nothing => 0,
            Attachment::Layout(layout) => of(layout),
            Attachment::Permutation(order) => 8 * order.len(),
        };
        size_of::<Plan>()
            + attached
            + match &self.what {
                What::View { layout, .. } => of(layout),
                What::Launch(launch) => launch.bytes(of),
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

/// A result: its layout, and the type of its values, which says how many words it takes.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub layout: OutputLayout,
    pub dtype: DType,
}

impl Output {
    pub(crate) fn new(dtype: DType, layout: OutputLayout) -> Output {
        Output { layout, dtype }
    }

    /// The layout, and the words that its values take.
    pub(crate) fn sized<'a>(&'a self, input: impl Fn(usize) -> &'a Layout) -> (&'a Layout, u64) {
        let layout = self.layout.get(input);
        (layout, self.dtype.words(layout.total()) as u64)
    }
}

/// A planned operation. See the module documentation.
#[derive(Debug)]
pub(crate) struct Launch {
    pub op: &'static str,
    pub outputs: Vec<Output>,
    /// Sizes in words of the scratch buffers.
    pub scratch: Vec<u64>,
    pub dispatches: Vec<Dispatch>,
    /// What is asked of a device, in multiply-adds, or in values where they are only moved or added: what a work limit
    /// is compared
    /// with. Of a GPU those of the stages, with what is multiplied by zeros, unless its stages are counted otherwise.
    pub work: u64,
    /// Which element meets which, for operations of two operands.
    pub pairs: Option<Pairs>,
    /// The CPU's version of the whole launch.
    pub twin: CpuKernel,
}

impl Launch {
    fn bytes(&self, of: impl Fn(&OutputLayout) -> usize) -> usize {
        let mut met: Vec<*const PlanBuffer> = Vec::new();
        let mut dispatches = 0;
        for dispatch in &self.dispatches {
            dispatches += size_of::<Dispatch>()
                + size_of_val(&dispatch.slots[..])
                + size_of_val(&dispatch.params[..]);
            for slot in &dispatch.slots {
                dispatches += match slot {
                    Slot::Meta(layout) => layout.bytes(),
                    Slot::PlanBuffer(words) if !met.contains(&Arc::as_ptr(words)) => {
                        met.push(Arc::as_ptr(words));
                        size_of_val(words.data())
                    }
                    _ => 0,
                };
            }
        }
        let outputs = self.outputs.iter().map(|output| of(&output.layout));
        dispatches + outputs.sum::<usize>() + self.twin.bytes
    }
}

/// The CPU's version of a launch. A closure, because a twin may need what was planned: such as the method of each pair.
pub(crate) struct CpuKernel {
    run: Box<Run>,
    /// What it holds beside the stages.
    bytes: usize,
}

type Run = dyn Fn(&mut CpuArgs<'_>) -> Result<()> + Send + Sync;

impl CpuKernel {
    /// A twin that may fail when memory runs out, or one that allocates nothing that depends on its operands.
    pub(crate) fn new<R: Outcome>(
        twin: impl Fn(&mut CpuArgs<'_>) -> R + Send + Sync + 'static,
    ) -> CpuKernel {
        CpuKernel {
            bytes: size_of_val(&twin),
            run: Box::new(move |args| twin(args).outcome()),
        }
    }

    /// The same twin, which holds so many bytes more.
    pub(crate) fn holding(self, bytes: usize) -> CpuKernel {
        CpuKernel {
            bytes: self.bytes + bytes,
            ..self
        }
    }

    pub(crate) fn run(&self, args: &mut CpuArgs<'_>) -> Result<()> {
        (self.run)(args)
    }
}

/// What a twin, or a piece of one, comes to.
pub(crate) trait Outcome: Send {
    fn outcome(self) -> Result<()>;
    /// Of all pieces, from that of each.
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

impl std::fmt::Debug for CpuKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Twin")
    }
}

/// One operand of a CPU twin: bytes to be read as the element type, aligned for it.
pub(crate) struct CpuInput<'a> {
    pub bytes: &'a [u8],
    pub layout: &'a Layout,
}

/// One result: words to be written as the element type, the last of f16 perhaps in part.
pub(crate) struct CpuOutput<'a> {
    pub words: &'a mut [u32],
    pub layout: &'a Layout,
}

/// What a CPU twin is given.
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

    /// The pairing of a launch of two operands.
    pub(crate) fn pairs(&self) -> &'a Pairs {
        self.pairs
            .expect("a launch of two operands is planned with its pairs")
    }
}
