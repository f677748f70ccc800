//! Operations as data, and their list.

use super::operation::{OnBytes, Operation, PlanRequest};
use super::{
    ambient, append, attention, bsr, bytes, cells, chain, conv, convert, correlate_max,
    cross_entropy, embedding, eval, fft, figures, frames, gather, histogram, imaging, kron, label,
    linear, lines, lookup, maps, matmul, morphology, multipass, occurrences, one_hot, period,
    pooling, random, reduce, regions, rotary, runs, scatter, select, sequence, shape_matmul, sort,
    strided, take, written,
};
use crate::Result;
use crate::plan::{Kernel, Plan, PlanKind};
use crate::ragged::DType;

/// Makes [`Op`] from the list of all operations, and what follows from it. `$d` is `$`, which an inner macro needs.
macro_rules! operations {
    ($d:tt $($variant:ident($payload:ty),)+) => {
        /// An operation with its attributes.
        ///
        /// A plan depends on the operation, the layouts of its operands, their pairs and the device, and on nothing
        /// else. Scalars change from call to call, so the caller passes them separately. The module of each operation
        /// defines its variant's payload, which implements [`Operation`].
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub(crate) enum Op {
            $($variant($payload),)+
        }

        $(
            impl From<$payload> for Op {
                fn from(payload: $payload) -> Op {
                    Op::$variant(payload)
                }
            }
        )+

        /// The kernels of all operations.
        const OF_OPERATIONS: &[&[&Kernel]] = &[$(<$payload>::KERNELS),+];

        /// Evaluates an expression on an operation's payload, for any variant.
        macro_rules! for_payload {
            ($d op:expr, $d payload:ident => $d value:expr) => {
                match $d op {
                    $($crate::ops::Op::$variant($d payload) => $d value,)+
                }
            };
        }
        pub(crate) use for_payload;
    };
}

operations! { $
    Linear(linear::Linear),
    Full(linear::Full),
    Sequence(sequence::Sequence),
    Random(random::Random),
    Dropout(random::Dropout),
    Apply(maps::Apply),
    Complex(maps::Complex),
    Written(written::Apply),
    Cast(convert::cast::Cast),
    Convert(convert::Convert),
    Combine(ambient::Combine),
    Chain(chain::Chain),
    Broadcast(ambient::Broadcast),
    Concat(ambient::Concat),
    Along(lines::Along),
    Cumulate(lines::Cumulate),
    Sort(sort::Sort),
    Quantile(sort::Quantile),
    Reduce(reduce::Reduce),
    ReducePairs(reduce::ReducePairs),
    Histogram(histogram::Histogram),
    Label(label::Label),
    Regions(regions::Regions),
    Conv(conv::Conv),
    Spectra(conv::cached_spectra::Spectra),
    CachedSpectra(conv::cached_spectra::Mode),
    CorrelateMax(correlate_max::CorrelateMax),
    Eval(eval::Eval),
    Kron(kron::Kron),
    Matmul(matmul::Matmul),
    Bsr(bsr::BsrMatmul),
    Sampled(bsr::Sampled),
    Fft(fft::Transform),
    Planes(fft::planes::Planes),
    Frames(frames::Frames),
    Pool(pooling::Pool),
    Morphology(morphology::Morphology),
    OneHot(one_hot::OneHot),
    Embedding(embedding::Embedding),
    EmbeddingSlopes(embedding::slopes::Slopes),
    CrossEntropy(cross_entropy::CrossEntropy),
    Gather(gather::Gather),
    ScatterAdd(scatter::Add),
    ScatterSet(scatter::Set),
    Select(select::Select),
    Reorder(select::Reorder),
    SortByLength(select::SortByLength),
    Join(select::Join),
    ShapeMatmul(shape_matmul::ShapeMatmul),
    ShapeTranspose(shape_matmul::Transpose),
    Strided(strided::Strided),
    View(strided::View),
    Take(take::Take),
    Cells(cells::Cells),
    Lookup(lookup::Lookup),
    Runs(runs::Runs),
    Occurrences(occurrences::Occurrences),
    Figures(figures::Figures),
    Imaging(imaging::Imaging),
    Period(period::Period),
    Attention(attention::Attention),
    Rotary(rotary::Rotary),
    Append(append::Append),
    AttentionStats(attention::Stats),
    AttentionSlopes(attention::slopes::Slopes),
    InWords(InWords),
}

/// The kernels that no single operation has.
const SHARED: &[&Kernel] = &[&multipass::KERNEL];

/// Every kernel of the library. No other kernel is ever compiled, except two of these with expressions of the
/// application (`written`).
pub(crate) fn all_kernels() -> impl Iterator<Item = &'static Kernel> {
    OF_OPERATIONS
        .iter()
        .chain([&SHARED])
        .copied()
        .flatten()
        .copied()
}

/// An operation over bytes, run as one over u32.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct InWords {
    op: Box<Op>,
    /// Bit i: operand i is bytes.
    operands: u32,
    /// The same for the results.
    results: u32,
}

impl Operation for InWords {
    fn name(&self) -> &'static str {
        self.op.name()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let plan = self.op.plan(request)?;
        Ok(match plan.kind {
            PlanKind::Launch(launch) => {
                let masks = [self.operands, self.results];
                Plan::from(bytes::in_words(launch, request.inputs, masks)).with(plan.attached)
            }
            // A view moves no values.
            PlanKind::View { .. } => plan,
        })
    }
}

/// Bit i: the type of operand or result i is u8. Operations on bytes that take more than 32 have kernels for bytes.
fn mask(dtypes: impl Iterator<Item = DType>) -> u32 {
    let bits = dtypes.take(32).zip(0..);
    let bits = bits.map(|(dtype, i)| u32::from(dtype == DType::U8) << i);
    bits.fold(0, |all, bit| all | bit)
}

impl Op {
    /// See [`Operation::is_cached`].
    pub(crate) fn is_cached(&self) -> bool {
        for_payload!(self, of => of.is_cached())
    }

    /// The operation as it runs on operands and results of these types, some of which are bytes: as it is if it has a
    /// kernel for bytes, and otherwise over u32.
    pub(crate) fn on_bytes(
        mut self,
        operands: impl Iterator<Item = DType>,
        results: &[DType],
    ) -> Op {
        let (mut operands, results) = (mask(operands), mask(results.iter().copied()));
        match for_payload!(&mut self, of => of.on_bytes()) {
            OnBytes::Direct => return self,
            OnBytes::Read => operands = 0,
            OnBytes::InWords(Some(dtype)) => *dtype = DType::U32,
            OnBytes::InWords(None) => (),
        }
        if operands == 0 && results == 0 {
            return self;
        }
        let op = Box::new(self);
        Op::from(InWords {
            op,
            operands,
            results,
        })
    }

    /// The function of a chain that computes the same, and the type of its values. The operands of a function of two
    /// must have one layout and be paired element by element.
    pub(crate) fn code(&self) -> Option<(chain::Code, DType)> {
        let (name, dtype) = for_payload!(self, of => of.function())?;
        let is_float = matches!(dtype, DType::F32 | DType::F16);
        chain::Code::of(name)
            .filter(|_| is_float)
            .map(|code| (code, dtype))
    }

    /// See [`Operation::name`].
    pub(crate) fn name(&self) -> &'static str {
        for_payload!(self, of => of.name())
    }

    /// See [`Operation::plan`].
    pub(crate) fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let planned = for_payload!(self, of => of.plan(request));
        let mut plan = planned.map_err(|error| error.or_named(self.name()))?;
        if let PlanKind::Launch(launch) = &mut plan.kind {
            launch.op = self.name();
        }
        Ok(plan)
    }
}
