//! The seam between operations and the machines: what to run, as plain data.
//!
//! An operation turns its inputs' layouts into a [`Launch`]. A GPU runs the stages, the CPU runs the twin, and a
//! recorded program can store it. A launch never holds its inputs' layouts or storage (it is cached inside those
//! layouts, and would keep them alive); they are named by position and supplied when it runs.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use super::kernel::Kernel;
use crate::Result;
use crate::ragged::{DType, Layout, Pairs};

/// The layout of a result.
#[derive(Clone, Debug)]
pub(crate) enum OutputLayout {
    /// The layout of input `i`, shared.
    Input(usize),
    New(Layout),
}

impl OutputLayout {
    /// An input's layout where the result's has the same contents: a batch that keeps its shapes through a loop keeps
    /// its layout too, and with it what is cached there. New ones would keep each other alive, each in the cache of
    /// the one before.
    pub(crate) fn of(result: Layout, inputs: &[&Layout]) -> OutputLayout {
        match inputs.iter().position(|input| **input == result) {
            Some(i) => OutputLayout::Input(i),
            None => OutputLayout::New(result),
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
        let layout = match &self.layout {
            OutputLayout::Input(i) => input(*i),
            OutputLayout::New(layout) => layout,
        };
        (layout, self.dtype.words(layout.total()) as u64)
    }
}

/// What a stage binds.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// Values of input `i`.
    Input(usize),
    /// Values of output `i`.
    Output(usize),
    /// Scratch `i` of the launch.
    Temp(usize),
    /// Offsets, then extents, of input `i`'s layout.
    InputMeta(usize),
    /// Offsets, then extents, of a layout that the plan derived.
    Meta(Layout),
    /// Words that the plan made: work lists, pair lists.
    Words(Arc<Words>),
    /// Words that are the same for every plan.
    Table(&'static Table),
}

/// Words that kernels need whatever the lengths, such as twiddles. Each device keeps one copy, made on first use.
#[derive(Debug)]
pub(crate) struct Table {
    /// Unique among tables.
    pub name: &'static str,
    pub make: fn() -> Vec<u32>,
}

/// One word of a stage's parameter block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    U32(u32),
    /// Where input `i`'s values begin in its buffer, in 32-bit words (even for complex values), or in halves of them for f16.
    InputBase(usize),
    /// The `i`-th constant of the call.
    Scalar(usize),
}

/// One dispatch: a kernel variant over `groups` workgroups.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub kernel: &'static Kernel,
    pub variant: usize,
    pub slots: Vec<Slot>,
    /// The parameter block after its two common words (first workgroup, workgroups in all).
    pub params: Vec<Word>,
    pub groups: u32,
    /// Multiply-adds (or values touched) of the whole stage: long stages are split into submissions by it.
    pub cost: u64,
}

/// What stages cost together; saturates.
pub(crate) fn cost_of(stages: &[Stage]) -> u64 {
    stages
        .iter()
        .map(|stage| stage.cost)
        .fold(0, u64::saturating_add)
}

/// A planned operation. See the module documentation.
#[derive(Debug)]
pub(crate) struct Launch {
    pub op: &'static str,
    pub outputs: Vec<Output>,
    /// Sizes in words of the scratch buffers.
    pub temps: Vec<u64>,
    pub stages: Vec<Stage>,
    /// What is asked of a device, in multiply-adds, or in values where they are only moved or added: what a work limit is compared
    /// with. Of a GPU those of the stages, with what is multiplied by zeros, unless its stages are counted otherwise.
    pub work: u64,
    /// Which element meets which, for operations of two operands.
    pub pairs: Option<Pairs>,
    /// The CPU's version of the whole launch.
    pub twin: Twin,
}

/// The CPU's version of a launch. A closure, because a twin may need what was planned: such as the method of each pair.
pub(crate) struct Twin(Box<Run>);

type Run = dyn Fn(&mut TwinArgs<'_>) -> Result<()> + Send + Sync;

impl Twin {
    /// A twin that may fail when memory runs out, or one that allocates nothing that depends on its operands.
    pub(crate) fn new<R: Outcome>(
        twin: impl Fn(&mut TwinArgs<'_>) -> R + Send + Sync + 'static,
    ) -> Twin {
        Twin(Box::new(move |args| twin(args).outcome()))
    }

    pub(crate) fn run(&self, args: &mut TwinArgs<'_>) -> Result<()> {
        (self.0)(args)
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

impl std::fmt::Debug for Twin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Twin")
    }
}

/// One operand of a CPU twin: bytes to be read as the element type, aligned for it.
pub(crate) struct TwinInput<'a> {
    pub bytes: &'a [u8],
    pub layout: &'a Layout,
}

/// One result: words to be written as the element type, the last of f16 perhaps in part.
pub(crate) struct TwinOutput<'a> {
    pub words: &'a mut [u32],
    pub layout: &'a Layout,
}

/// What a CPU twin is given.
pub(crate) struct TwinArgs<'a> {
    pub inputs: &'a [TwinInput<'a>],
    pub outputs: &'a mut [TwinOutput<'a>],
    pub scalars: &'a [u32],
    pub pairs: Option<&'a Pairs>,
}

impl<'a> TwinArgs<'a> {
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

/// Words made by a plan, with the copies that devices keep of them.
pub(crate) struct Words {
    data: Vec<u32>,
    copies: Mutex<Vec<(u64, Arc<dyn Any + Send + Sync>)>>,
}

impl Words {
    pub(crate) fn new(data: Vec<u32>) -> Arc<Words> {
        Arc::new(Words {
            data,
            copies: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn data(&self) -> &[u32] {
        &self.data
    }

    /// Where device `device` keeps its copy, made by `make` the first time.
    #[cfg_attr(
        not(feature = "gpu"),
        allow(dead_code, reason = "only GPU devices keep copies")
    )]
    pub(crate) fn copy_on<V: Any + Send + Sync>(
        &self,
        device: u64,
        make: impl FnOnce() -> Arc<V>,
    ) -> Arc<V> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let found = copies.iter().find(|(id, _)| *id == device);
        if let Some(hit) = found.and_then(|(_, any)| any.clone().downcast::<V>().ok()) {
            return hit;
        }
        let made = make();
        copies.push((device, made.clone()));
        made
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Words({})", self.data.len())
    }
}
