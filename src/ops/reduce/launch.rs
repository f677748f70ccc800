//! The launches of reductions.

use super::plan::Classes;
use super::{
    FINISH, KERNEL, PAIR, PAIR_TILES, PairReduction, Params, Recipe, Reduce, ReducePairs,
    Reduction, TILES, along, classes, dispatches, twin, unsigned, words_each,
};
use crate::Result;
use crate::ops::bytes;
use crate::ops::kit::pair_params;
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{Kernel, Launch, MergedPair, Output, OutputLayout, Param, Plan, Slot, Twin};
use crate::ragged::{DType, Layout};

impl Operation for Reduce {
    const KERNELS: &[&Kernel] = &[&KERNEL, &TILES, &FINISH, &along::LINES, &along::LINE_PARTS];

    fn name(&self) -> &'static str {
        self.op()
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        match self.axis {
            None if self.reduction.is_of_bytes() => OnBytes::Read,
            _ => OnBytes::InWords(Some(&mut self.dtype)),
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let binding = request.device.binding;
        let Reduce {
            reduction,
            dtype,
            axis,
        } = *self;
        if axis.is_some() || !reduction.is_of_elements(dtype) {
            return Ok(along::launch(*self, x, binding)?.into());
        }
        if reduction == Reduction::Bounds {
            x.check_rank(2)?;
        }
        let classes = match x.max_length() {
            longest if longest <= super::plan::SHORT => Classes::all_short(x.len(), 0),
            _ => Classes::new(x.offsets().lengths().map(|length| length as u64))?,
        };
        let words = match reduction {
            Reduction::Box => x.rank(),
            Reduction::Bounds => 4,
            _ => 1,
        };
        let result = words_each(x.len(), words)?;
        let zero = Param::U32(0);
        let (dispatches, scratch) = dispatches(
            &classes,
            &Recipe {
                flags: reduction.flags(),
                shape: self.shape(),
                dtype: self.kernel_type(),
                part_words: reduction.part_words(dtype),
                a: [Slot::Input(0), Slot::InputMeta(0)],
                right: None,
                params: Params {
                    count: zero,
                    listed: zero,
                    a_base: Param::InputBase(0),
                    b_base: zero,
                    rank: Param::U32(x.rank() as u32),
                    pair_kind: zero,
                    a_elements: Param::U32(x.len() as u32),
                    pair_right: zero,
                    background: match reduction {
                        Reduction::Bounds => Param::Scalar(0),
                        _ => zero,
                    },
                },
            },
        );
        Ok(Launch {
            op: "",
            outputs: vec![Output::new(self.result(), OutputLayout::New(result))],
            scratch,
            work: x.total() as u64,
            dispatches,
            pairs: None,
            twin: match dtype {
                DType::U8 => bytes::widened(Twin::new(twin::of(reduction, DType::U32)), 1),
                _ => Twin::new(twin::of(reduction, dtype)),
            },
        }
        .into())
    }
}

impl Operation for ReducePairs {
    const KERNELS: &[&Kernel] = &[&PAIR, &PAIR_TILES];

    fn name(&self) -> &'static str {
        match self.reduction {
            PairReduction::Dot => "dot",
            PairReduction::Equivalent => "equivalent",
        }
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::InWords(Some(&mut self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, b) = request.both();
        let pairs = request.pairs();
        let ReducePairs { reduction, dtype } = *self;
        let flags: &[_] = match reduction {
            PairReduction::Dot => &["SUM"],
            PairReduction::Equivalent => &["EQUAL"],
        };
        b.check_rank_of(a, "the left batch")?;
        let merged = MergedPair::new(a, b, pairs)?;
        let classes = classes(reduction, a, b, pairs, &merged)?;
        let result = words_each(pairs.len(), 1)?;
        let meta =
            |merged: &Option<Layout>, i| merged.clone().map_or(Slot::InputMeta(i), Slot::Meta);
        let a_meta = meta(&merged.a, 0);
        let ([pair_kind, pair_right], list) = pair_params(pairs, b.len(), &a_meta)?;
        let (dispatches, scratch) = dispatches(
            &classes,
            &Recipe {
                flags,
                shape: match merged.rank {
                    1 => &["PAIRS", "RANK1"],
                    _ => &["PAIRS"],
                },
                dtype: unsigned(dtype),
                part_words: 1,
                a: [Slot::Input(0), a_meta],
                right: Some([Slot::Input(1), meta(&merged.b, 1), list]),
                params: Params {
                    count: Param::U32(0),
                    listed: Param::U32(0),
                    a_base: Param::InputBase(0),
                    b_base: Param::InputBase(1),
                    rank: Param::U32(merged.rank as u32),
                    pair_kind,
                    a_elements: Param::U32(a.len() as u32),
                    pair_right,
                    background: Param::U32(0),
                },
            },
        );
        Ok(Launch {
            op: "",
            outputs: vec![Output::new(
                match reduction {
                    PairReduction::Dot => dtype,
                    PairReduction::Equivalent => DType::U32,
                },
                OutputLayout::New(result),
            )],
            scratch,
            work: classes.values,
            dispatches,
            pairs: Some(pairs.clone()),
            twin: Twin::new(twin::of_pairs(reduction, dtype)),
        }
        .into())
    }
}
