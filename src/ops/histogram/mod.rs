//! Histograms: how many values of each element lie in each bin.
//!
//! Cost: the values read once, the counts written once, in one dispatch. If elements are cut, or if there are more bins
//! than workgroup memory holds, another dispatch writes zeros first. Counts are integers, so that the order of atomic
//! additions does not matter.

mod edges;
mod plan;
mod twin;

pub(crate) use self::edges::Bins;
use self::edges::Edges;
use super::{bytes, linear, strided};
use crate::Result;
use crate::ops::operation::{OnBytes, Operation, PlanRequest};
use crate::plan::{
    Dispatch, Interface, Kernel, Launch, Param, Plan, Slot, Twin, check_size, check_work, params,
    shader, slots, variants,
};
use crate::ragged::DType;

slots! {
    struct Slots { counts: Write, items: Read, edges: Read, x: Read, x_meta: Read }
}

params! {
    struct Params { x_base, bins, lowest, span, first_edge, per_unit, margin, ones }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("histogram/mod"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[plan::CUTS],
    variants: variants![F32, I32, U32, F16, U32 "BYTES"],
};

/// Counts of values of this type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Histogram {
    pub dtype: DType,
    pub bins: Bins,
}

impl Operation for Histogram {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        self.bins.op()
    }

    fn on_bytes(&mut self) -> OnBytes<'_> {
        OnBytes::Read
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let device = request.device;
        let bins = self.bins.number();
        let counts = strided::layout(x.len(), 1, |_, _| bins as u64)?;
        check_size(&counts, DType::U32, device.binding)?;
        // There are as many edges to compute as an element has counts.
        let work = (x.total() + counts.total()) as u64;
        check_work(None, work, device.allowed)?;
        // Without values, nothing is compared, so an empty batch may have any number of bins.
        let (dtype, flags): (_, &[&str]) = match self.dtype {
            DType::U8 => (DType::U32, &["BYTES"]),
            other => (other, &[]),
        };
        let edges = match x.total() {
            0 => Edges::none(),
            _ => Edges::new(dtype, &self.bins)?,
        };
        let items = plan::items(x, bins)?;
        let mut dispatches = Vec::new();
        if items.need_zeros {
            dispatches.push(linear::zeros(counts.total(), Slot::Output(0)));
        }
        let number = Param::U32;
        dispatches.push(Dispatch::new(
            KERNEL.variant(dtype, flags),
            Slots {
                counts: Slot::Output(0),
                items: Slot::PlanBuffer(items.words),
                edges: Slot::PlanBuffer(edges.keys.clone()),
                x: Slot::Input(0),
                x_meta: Slot::InputMeta(0),
            },
            Params {
                x_base: Param::InputBase(0),
                bins: number(bins as u32),
                lowest: number(edges.lowest),
                span: number(edges.span),
                first_edge: number(edges.first.to_bits()),
                per_unit: number(edges.per_unit.to_bits()),
                margin: number(edges.margin.to_bits()),
                // Bits that no compiler can know: see `ends.wgsl`.
                ones: number(u32::MAX),
            },
            items.groups,
            work,
        ));
        let twin = Twin::new(move |args| twin::run(dtype, &edges, args));
        let twin = match self.dtype {
            DType::U8 => bytes::widened(twin, 1),
            _ => twin,
        };
        // The plan's key also holds the edges.
        let twin = twin.holding(self.bins.bytes());
        let gpu = (dispatches, Vec::new());
        Ok(Launch::of(DType::U32, counts, gpu, work, twin).into())
    }
}
