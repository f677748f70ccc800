//! Operations as data, and their plans.

use super::traits::Traits;
use super::{
    ambient, append, attention, bsr, bytes, cast, cells, chain, conv, convert, correlate_max,
    cross_entropy, embedding, eval, fft, figures, frames, gather, histogram, imaging, kron, label,
    lines, lookup, map, maps, matmul, morphology, occurrences, one_hot, period, pooling, random,
    reduce, regions, rotary, runs, scatter, select, sequence, shape_matmul, sort, strided, take,
    written,
};
use crate::Result;
use crate::plan::{Plan, What};
use crate::ragged::{DType, Layout, Pairs};

/// An operation with its attributes.
///
/// A plan depends on the operation, the layouts of its operands, their pairs and the device, and on nothing else.
/// Scalars change from call to call, so the caller passes them separately. The module of each operation defines its
/// variant's payload.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Map(map::Map),
    Full(map::Full),
    Sequence(sequence::Sequence),
    Random(random::Random),
    Dropout(random::Dropout),
    Apply(maps::Apply),
    Complex(maps::Complex),
    Written(written::Apply),
    Cast(cast::Cast),
    InWords(InWords),
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
    Extremes(morphology::Extremes),
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

impl InWords {
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let plan = self.op.plan(request)?;
        Ok(match plan.what {
            What::Launch(launch) => {
                let masks = [self.operands, self.results];
                Plan::from(bytes::in_words(launch, request.inputs, masks)).with(plan.attached)
            }
            // A view moves no values.
            What::View { .. } => plan,
        })
    }
}

/// Bit i: the type of operand or result i is u8. Operations on bytes that take more than 32 have kernels for bytes.
fn mask(dtypes: impl Iterator<Item = DType>) -> u32 {
    let bits = dtypes.take(32).zip(0..);
    let bits = bits.map(|(dtype, i)| u32::from(dtype == DType::U8) << i);
    bits.fold(0, |all, bit| all | bit)
}

/// The inputs of planning besides the operation.
pub(crate) struct PlanRequest<'a> {
    pub inputs: &'a [&'a Layout],
    pub pairs: Option<&'a Pairs>,
    pub device: Traits<'a>,
}

impl<'a> PlanRequest<'a> {
    /// The left and right operand of an operation on pairs.
    fn both(&self) -> (&'a Layout, &'a Layout) {
        (self.inputs[0], self.inputs[1])
    }

    /// The pairs of an operation on two operands.
    fn pairs(&self) -> &'a Pairs {
        self.pairs.expect("an operation of two operands has pairs")
    }
}

impl Op {
    /// Whether a device caches the plan. It does not if the attributes rarely recur and take as much memory as the
    /// plan.
    pub(crate) fn is_cached(&self) -> bool {
        match self {
            Op::Full(_) | Op::Sequence(_) | Op::Random(_) | Op::Select(_) | Op::Spectra(_) => false,
            Op::Imaging(_) => false,
            Op::Cells(cells) => cells.is_cached(),
            _ => true,
        }
    }

    /// The operation as it runs on operands and results of these types, some of which are bytes: as it is if it has a
    /// kernel for bytes, and otherwise over u32.
    pub(crate) fn on_bytes(
        mut self,
        operands: impl Iterator<Item = DType>,
        results: &[DType],
    ) -> Op {
        if self.is_of_bytes() {
            return self;
        }
        let (mut operands, results) = (mask(operands), mask(results.iter().copied()));
        if self.reads_bytes() {
            operands = 0;
        } else if let Some(dtype) = self.dtype_mut() {
            *dtype = DType::U32;
        } else if let Op::Lookup(lookup) = &mut self {
            lookup.index = DType::U32;
        }
        if operands == 0 && results == 0 {
            return self;
        }
        Op::InWords(InWords {
            op: Box::new(self),
            operands,
            results,
        })
    }

    /// Whether kernels read and write bytes, or nothing is read or written.
    fn is_of_bytes(&self) -> bool {
        match self {
            Op::View(_) | Op::Full(_) | Op::Cast(_) | Op::Strided(_) | Op::Cells(_) => true,
            Op::Gather(_) | Op::ScatterSet(_) | Op::Select(_) | Op::Reorder(_) => true,
            Op::SortByLength(_) | Op::Join(_) | Op::Extremes(_) | Op::Concat(_) => true,
            Op::Combine(_) | Op::Broadcast(_) => true,
            Op::Map(map) => map.kind == map::Kind::Copy,
            // There is no kernel for indices of bytes in tables of the other types.
            Op::Lookup(lookup) => !matches!(lookup.dtype, DType::F16 | DType::C32),
            _ => false,
        }
    }

    /// Whether a kernel reads bytes, although it writes words.
    fn reads_bytes(&self) -> bool {
        match self {
            Op::Histogram(_) => true,
            Op::Reduce(reduce) => reduce.axis.is_none() && reduce.reduction.is_of_bytes(),
            _ => false,
        }
    }

    /// The type of the values, of the operations that exist for bytes and whose plan depends on it.
    fn dtype_mut(&mut self) -> Option<&mut DType> {
        Some(match self {
            Op::Reduce(of) => &mut of.dtype,
            Op::ReducePairs(of) => &mut of.dtype,
            Op::Sort(of) => &mut of.dtype,
            Op::Histogram(of) => &mut of.dtype,
            Op::Regions(of) => &mut of.dtype,
            Op::Take(of) => &mut of.dtype,
            Op::Figures(figures::Figures::Boxes { dtype } | figures::Figures::Lines { dtype }) => {
                dtype
            }
            _ => return None,
        })
    }

    /// The function of a chain that computes the same, and the type of its values. The operands of a function of two
    /// must have one layout and be paired element by element.
    pub(crate) fn code(&self) -> Option<(chain::Code, DType)> {
        let (code, dtype) = match *self {
            Op::Map(map) => (chain::Code::of_kind(map.kind), map.dtype),
            Op::Apply(apply) => (chain::Code::of(apply.name), apply.dtype),
            Op::Combine(combine) => (chain::Code::of(combine.name), combine.dtype),
            _ => return None,
        };
        let is_float = matches!(dtype, DType::F32 | DType::F16);
        code.filter(|_| is_float).map(|code| (code, dtype))
    }

    /// Plans the operation: checks the shapes, and computes the layouts of the results and the dispatches.
    pub(crate) fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let PlanRequest { inputs, device, .. } = *request;
        Ok(match self {
            Op::Map(map) => map.launch(inputs[0]).into(),
            Op::Full(full) => full.launch().into(),
            Op::Sequence(sequence) => sequence.launch()?.into(),
            Op::Random(random) => random.launch().into(),
            Op::Dropout(dropout) => dropout.launch(inputs[0]).into(),
            Op::Apply(apply) => apply.launch(inputs[0])?.into(),
            Op::Complex(complex) => complex.launch(inputs[0]).into(),
            Op::Written(apply) => apply.launch(inputs)?.into(),
            Op::Cast(cast) => cast.launch(inputs[0]).into(),
            Op::InWords(of) => of.plan(request)?,
            Op::Convert(convert) => convert.launch(inputs[0]).into(),
            Op::Combine(combine) => combine.launch(request.both(), request.pairs())?.into(),
            Op::Chain(chain) => chain.launch(inputs)?.into(),
            Op::Broadcast(broadcast) => broadcast.launch(inputs)?.into(),
            Op::Concat(concat_axes) => concat_axes.launch(request.both(), request.pairs())?.into(),
            Op::Reduce(reduce) => reduce.launch(inputs[0], device.binding)?.into(),
            Op::ReducePairs(reduce) => reduce.launch(request.both(), request.pairs())?.into(),
            Op::Histogram(histogram) => histogram.launch(inputs[0], device)?.into(),
            Op::Label(label) => label.launch(inputs[0], device)?.into(),
            Op::Regions(regions) => regions.launch(inputs, device)?.into(),
            Op::Conv(conv) => conv.launch(request.both(), request.pairs(), device)?.into(),
            Op::Spectra(_) => {
                conv::cached_spectra::spectra(inputs[1], inputs[0], device.costs)?.into()
            }
            Op::CachedSpectra(mode) => {
                let (signals, kernels) = (inputs[0], inputs[2]);
                conv::cached_spectra::launch(
                    *mode,
                    device.costs,
                    signals,
                    kernels,
                    request.pairs(),
                )?
                .into()
            }
            Op::CorrelateMax(search) => search
                .launch(request.both(), request.pairs(), device)?
                .into(),
            Op::Eval(eval) => eval.launch(request.both(), request.pairs())?.into(),
            Op::Kron(kron) => kron.launch(request.both(), request.pairs())?.into(),
            Op::Matmul(matmul) => matmul.launch(inputs, request.pairs(), device)?.into(),
            Op::Bsr(bsr) => bsr.launch(inputs, device)?.into(),
            Op::Sampled(sampled) => sampled
                .launch(request.both(), request.pairs(), device)?
                .into(),
            Op::Fft(transform) => transform.launch(inputs, device.room)?.into(),
            Op::Planes(planes) => planes.view(inputs)?,
            Op::Frames(frames) => frames.launch(inputs)?.into(),
            Op::OneHot(one_hot) => one_hot.launch(inputs[0])?.into(),
            Op::Embedding(embedding) => embedding.launch(inputs[0], inputs[1])?.into(),
            Op::EmbeddingSlopes(slopes) => slopes.launch(inputs)?.into(),
            Op::CrossEntropy(entropy) => entropy.launch(inputs).into(),
            Op::Pool(pool) => pool.launch(inputs[0])?.into(),
            Op::Extremes(extremes) => extremes.launch(inputs[0])?.into(),
            Op::Gather(gather) => gather.launch(inputs[0], request.pairs())?.into(),
            Op::ScatterAdd(add) => add.launch(inputs[0], inputs[1], request.pairs())?.into(),
            Op::ScatterSet(set) => set.launch(inputs[0], inputs[1])?.into(),
            Op::Select(select) => select.launch(inputs[0])?.into(),
            Op::Reorder(reorder) => reorder.launch(inputs[0])?.into(),
            Op::SortByLength(sort) => sort.plan(inputs[0])?,
            Op::Cumulate(cumulate) => cumulate.launch(inputs[0], device.binding)?.into(),
            Op::Sort(sort) => sort.launch(inputs[0], device.binding)?.into(),
            Op::Quantile(quantile) => quantile.launch(inputs[0], device.binding)?.into(),
            Op::Along(along) => along.launch(inputs[0], device.binding)?.into(),
            Op::Join(join) => join.launch(inputs)?.into(),
            Op::ShapeMatmul(matmul) => matmul.plan(inputs, device)?,
            Op::ShapeTranspose(transpose) => transpose.plan(inputs)?,
            Op::Strided(strided) => strided.plan(inputs, device.allowed)?,
            Op::View(view) => view.plan(inputs)?,
            Op::Take(take) => take.launch(inputs)?.into(),
            Op::Cells(cells) => cells.launch(inputs)?.into(),
            Op::Lookup(lookup) => lookup.launch(inputs[0], inputs[1])?.into(),
            Op::Runs(runs) => runs.launch(inputs[0])?.into(),
            Op::Period(period) => period.launch(inputs[0])?.into(),
            Op::Occurrences(found) => found.launch(inputs[0], inputs[1])?.into(),
            Op::Figures(figures) => figures.launch(inputs)?.into(),
            Op::Imaging(imaging) => imaging.launch()?.into(),
            Op::Attention(attention) => attention.launch(inputs, device.binding)?.into(),
            Op::Rotary(rotary) => rotary.launch(inputs)?.into(),
            Op::Append(append) => append.launch(inputs)?.into(),
            Op::AttentionStats(stats) => stats.launch(inputs)?.into(),
            Op::AttentionSlopes(slopes) => slopes.launch(inputs)?.into(),
        })
    }
}
