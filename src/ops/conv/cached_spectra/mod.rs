//! Convolutions with kernels whose spectra are cached.
//!
//! A kernel of n values is transformed once, by a transform of L real values. L depends on n alone: L ≥ 2 n − 1, and no
//! less than [`LEAST`]. A signal is convolved with the kernel in blocks of L − (n − 1) results (overlap-save), each by
//! a transform of L values of the signal, a product and an inverse.
//!
//! On a GPU one workgroup runs a transform, as a right-angle transform of L / 2 values, and L is at most 8192. A longer
//! kernel is cut into parts: the products of all parts with their windows of the signal are summed as spectra, so that
//! a block is transformed back once. The computation of a block depends only on the two lengths.
//!
//! With k parts and a signal of k blocks, that is k (k + 1) / 2 + k transforms, all on chip. At k = 4, they cost less
//! than the memory traffic of transforms in passes.

mod text;

use super::fused::Class;
use super::result_length;
use super::spectral::OverlapSave;
use crate::cpu::Workspace;
use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::ops::choice::{CostTable, transform_work};
use crate::ops::kit::par_runs;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Dispatch, Interface, Kernel, Launch, Offset, Param, Plan, PlanBuffer, Slot, Table,
    Twin, cost_of, params, shader, slots,
};
use crate::ragged::{DType, Layout, Offsets, Pairs};
use crate::{Result, host};

/// The shortest transform.
const LEAST: usize = 512;

/// All classes, by length.
const CLASSES: &[Class] = &[
    Class::transforms("N256", 256, 3, &[2, 3, 3]),
    Class::transforms("N512", 512, 3, &[3, 3, 3]),
    Class::transforms("N1024", 1024, 4, &[2, 4, 4]),
    Class::transforms("N2048", 2048, 4, &[3, 4, 4]),
    Class::transforms("N4096", 4096, 4, &[4, 4, 4]),
];
/// Taps per part of a kernel with more taps than this.
const PART: usize = 4096;

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    class: Class,
    /// Whether kernels have several parts.
    parts: bool,
}

/// A build for each class, and one for kernels with several parts, indexed by [`Cut::build`].
static BUILDS: [Build; CLASSES.len() + 1] = {
    let mut all = [Build {
        class: CLASSES[CLASSES.len() - 1],
        parts: true,
    }; CLASSES.len() + 1];
    let mut i = 0;
    while i < CLASSES.len() {
        all[i].class = CLASSES[i];
        all[i].parts = false;
        i += 1;
    }
    all
};

/// Invocations per workgroup.
fn group(class: &Class) -> u32 {
    (1 << class.log_lanes()).max(64)
}

/// The largest number of items that a workgroup runs one after the other with the same spectrum in registers.
const ROUNDS: usize = 4;

slots! {
    struct Slots { a: Read, spectra: Read, c: Write, items: Read, twiddles: Read }
}

params! {
    struct Params { a_base, items, rounds, spectra }
}

static KERNEL: Kernel = Kernel {
    shader: shader!("conv/cached"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[],
    variants: &BUILDS,
};

static TWIDDLES: Table = Table {
    name: "conv_cached",
    make: table,
};

/// The twiddles of all builds.
fn table() -> Vec<u32> {
    let mut generator = Generator::padded();
    for class in CLASSES {
        transforms(&mut generator, class, true);
    }
    generator.into_table()
}

/// The two transforms of a class. With `product`, the inverse takes a second array and transforms the product.
fn transforms(generator: &mut Generator, class: &Class, product: bool) -> String {
    let mut transform = |name, kind, product| {
        generator.function(&Transform {
            name,
            product,
            ..class.transform(kind)
        })
    };
    transform("forward", Kind::ForwardRightAngle, false)
        + &transform("inverse", Kind::InverseRightAngle, product)
}

/// How a kernel is cut into parts and cached.
struct Cut {
    /// Values of the signal per transform.
    length: usize,
    /// Taps per part; the last part may have fewer.
    part: usize,
    parts: usize,
    /// Complex values in the spectrum of a part.
    spectrum: usize,
}

impl Cut {
    fn new(n: usize, costs: &CostTable) -> Cut {
        let need = (2 * n).max(LEAST);
        if costs.is_cpu() {
            let listed = costs.transform(need as u64);
            let length = listed.map_or(need.next_power_of_two(), |(length, _)| length as usize);
            return Cut {
                length,
                part: n,
                parts: usize::from(n > 0),
                spectrum: length / 2 + 1,
            };
        }
        let length = need.next_power_of_two().min(2 * PART);
        Cut {
            length,
            part: n.min(PART),
            parts: n.div_ceil(PART),
            spectrum: length / 2,
        }
    }

    /// Results per block.
    fn step(&self) -> usize {
        self.length - (self.part.max(1) - 1)
    }

    /// The index of its build.
    fn build(&self) -> usize {
        match self.parts {
            0 | 1 => CLASSES.partition_point(|class| (class.length as usize) < self.spectrum),
            _ => CLASSES.len(),
        }
    }
}

/// The layout of the cached spectra.
pub(crate) fn spectra_layout(kernels: &Layout, costs: &CostTable) -> Result<Layout> {
    let mut offsets = Offset::new(kernels.len())?;
    for n in kernels.lengths() {
        let cut = Cut::new(n, costs);
        offsets.push((cut.parts * cut.spectrum) as u64)?;
    }
    Ok(Layout::from_offsets(offsets.finish()))
}

/// Computes the spectra of kernels, operand 0. Of the signals, operand 1, only the rank is checked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Spectra;

impl Operation for Spectra {
    const NAME: &str = "conv_plan";

    fn is_cached(&self) -> bool {
        false
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (kernels, signals) = request.both();
        let costs = request.device.costs;
        signals.check_rank(1)?;
        kernels.check_rank(1)?;
        let result = spectra_layout(kernels, costs)?;
        let mut items: Vec<Vec<[u32; 8]>> = vec![Vec::new(); CLASSES.len()];
        if !costs.is_cpu() {
            for (k, n) in kernels.lengths().enumerate() {
                let cut = Cut::new(n, costs);
                for part in 0..cut.parts {
                    let (at, from) = (part * cut.spectrum, part * PART);
                    let item = [
                        kernels.offsets().as_slice()[k] + from as u32,
                        (n - from).min(PART) as u32,
                        0,
                        1,
                        result.offsets().as_slice()[k] + at as u32,
                        0,
                        1,
                        0,
                    ];
                    host::push(&mut items[cut.build().min(CLASSES.len() - 1)], item)?;
                }
            }
        }
        let mut dispatches = Vec::new();
        for (class, items) in items.iter().enumerate() {
            let unused = Slot::Table(&TWIDDLES);
            dispatches.extend(dispatch(class, items, 1, (Slot::Input(0), unused, true))?);
        }
        let transforms = kernels.lengths().map(|n| match n {
            0 => 0,
            n => transform_work(Cut::new(n, costs).length as u64),
        });
        let work = transforms.fold(0, u64::saturating_add);
        let cpu = costs.clone();
        let work = work.max(cost_of(&dispatches));
        let twin = Twin::new(move |args| transform(args, &cpu));
        let gpu = (dispatches, Vec::new());
        Ok(Launch::of(DType::C32, result.clone(), gpu, work, twin).into())
    }
}

/// The dispatch for the items of a class, or for the items of kernels with several parts.
fn dispatch(
    build: usize,
    items: &[[u32; 8]],
    rounds: usize,
    (a, spectra, transform): (Slot, Slot, bool),
) -> Result<Option<Dispatch>> {
    let count = items.len();
    if count == 0 {
        return Ok(None);
    }
    let known = &BUILDS[build].class;
    let slots = group(known) >> known.log_lanes();
    let length = u64::from(known.length);
    let transforms: u64 = items.iter().map(|item| 1 + u64::from(item[3])).sum();
    let words = host::copied(items.as_flattened())?;
    Ok(Some(Dispatch::new(
        (&KERNEL, build),
        Slots {
            a,
            spectra,
            c: Slot::Output(0),
            items: Slot::PlanBuffer(PlanBuffer::new(words)),
            twiddles: Slot::Table(&TWIDDLES),
        },
        Params {
            a_base: Param::InputBase(0),
            items: Param::U32(count as u32),
            rounds: Param::U32(rounds as u32),
            spectra: Param::U32(transform.into()),
        },
        count.div_ceil(rounds).div_ceil(slots as usize) as u32,
        transforms * 5 * length * u64::from(known.length.ilog2()),
    )))
}

/// Convolves signals, operand 0, with kernels, operand 2, whose cached spectra are operand 1: which results to compute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Mode {
    /// All m + n − 1.
    Full,
    /// The first m.
    Causal,
}

impl Mode {
    pub(crate) fn op(self) -> &'static str {
        match self {
            Mode::Full => "ConvPlan::conv",
            Mode::Causal => "ConvPlan::causal",
        }
    }

    fn results(self, m: usize, n: usize) -> usize {
        match self {
            _ if n == 0 => 0,
            Mode::Full => result_length(m, n),
            Mode::Causal => m,
        }
    }
}

impl Operation for Mode {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        self.op()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let (a, kernels) = (request.inputs[0], request.inputs[2]);
        let (costs, pairs) = (request.device.costs, request.pairs());
        a.check_rank(1)?;
        kernels.check_rank(1)?;
        let mut offsets = Offset::new(pairs.len())?;
        for (i, k) in pairs.iter() {
            offsets.push(self.results(a.length(i), kernels.length(k)) as u64)?;
        }
        let result = Layout::from_offsets(offsets.finish());
        let dispatches = match costs.is_cpu() {
            true => Vec::new(),
            false => dispatches(costs, a, kernels, pairs, &result)?,
        };
        let work = match costs.is_cpu() {
            // A block takes a forward transform, a product and an inverse.
            true => pairs
                .iter()
                .enumerate()
                .fold(0, |work: u64, (pair, (_, k))| {
                    let cut = Cut::new(kernels.length(k), costs);
                    let blocks = result.length(pair).div_ceil(cut.step()) as u64;
                    let block = 2 * transform_work(cut.length as u64);
                    work.saturating_add(blocks.saturating_mul(block))
                }),
            false => cost_of(&dispatches),
        };
        let (kernels, costs) = (kernels.offsets().clone(), costs.clone());
        let twin = Twin::new(move |args| convolve(args, &kernels, &costs));
        let gpu = (dispatches, Vec::new());
        Ok(Launch::of(DType::F32, result, gpu, work, twin)
            .with_pairs(pairs)
            .into())
    }
}

fn dispatches(
    costs: &CostTable,
    a: &Layout,
    kernels: &Layout,
    pairs: &Pairs,
    result: &Layout,
) -> Result<Vec<Dispatch>> {
    let spectra = spectra_layout(kernels, costs)?;
    // Order pairs by kernel, so that its spectrum stays in a cache or in registers.
    let mut order = host::room(pairs.len())?;
    order.extend(0..pairs.len() as u32);
    order.sort_unstable_by_key(|&pair| (pairs.get(pair as usize).1, pair));
    let mut of_class = vec![Vec::<Vec<[u32; 8]>>::new(); CLASSES.len() + 1];
    let mut before = None;
    for pair in order.into_iter().map(|pair| pair as usize) {
        let (i, k) = pairs.get(pair);
        let (m, results) = (a.length(i), result.length(pair));
        if results == 0 {
            continue;
        }
        let cut = Cut::new(kernels.length(k), costs);
        let runs = &mut of_class[cut.build()];
        if before != Some(k) {
            host::push(runs, Vec::new())?;
            before = Some(k);
        }
        let Some(run) = runs.last_mut() else { continue };
        let element = a.offsets().as_slice()[i];
        let spectrum = spectra.offsets().as_slice()[k];
        let c = result.offsets().as_slice()[pair];
        let step = match cut.parts {
            1 => cut.step(),
            _ => PART,
        };
        for at in (0..results).step_by(step) {
            let write = step.min(results - at);
            let item = if cut.parts == 1 {
                // The block's first results also need up to n − 1 values of the signal before its own.
                let from = at.saturating_sub(cut.part - 1);
                let values = m.min(at + write) - from;
                [
                    element as usize + from,
                    values,
                    0,
                    1,
                    at,
                    at - from,
                    write,
                    0,
                ]
            } else {
                // Only the parts whose windows overlap the signal.
                let block = at / PART;
                let first = block.saturating_sub(m.div_ceil(PART));
                let parts = cut.parts.min(block + 1) - first;
                let from = (block as isize - 1 - first as isize) * PART as isize;
                let skipped = first * cut.spectrum;
                [
                    element as usize,
                    m,
                    skipped,
                    parts,
                    at,
                    PART,
                    write,
                    from as u32 as usize,
                ]
            };
            let mut item = item.map(|word| word as u32);
            item[2] += spectrum;
            item[4] += c;
            host::push(run, item)?;
        }
    }
    let mut dispatches = Vec::new();
    for (class, runs) in of_class.into_iter().enumerate().rev() {
        let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
        let rounds = match class {
            // If most kernels have one item, more rounds would mostly run padding.
            _ if class < CLASSES.len() => {
                let items: usize = runs.iter().map(Vec::len).sum();
                (items / runs.len().max(1)).clamp(1, ROUNDS.min(longest.max(1)))
            }
            _ => 1,
        };
        let mut items = Vec::new();
        for run in runs {
            let padded = (items.len() + run.len()).next_multiple_of(rounds);
            let more = padded - items.len();
            host::reserve(&mut items, more)?;
            items.extend_from_slice(&run);
            items.resize(padded, [0; 8]);
        }
        let slots = (Slot::Input(0), Slot::Input(1), false);
        dispatches.extend(dispatch(class, &items, rounds, slots)?);
    }
    Ok(dispatches)
}

/// The twin that transforms the kernels.
fn transform(args: &mut CpuArgs<'_>, costs: &CostTable) -> Result<()> {
    let (kernels, layout) = args.input::<f32>(0);
    let (spectra, to) = args.output(0);
    let offsets = to.offsets();
    par_runs(offsets, spectra, &|run, values| {
        Workspace::with(move |workspace| {
            let mut values = values;
            for k in run {
                let (out, rest) = values.split_at_mut(offsets.length(k));
                values = rest;
                let kernel = &kernels[layout.offsets().range(k)];
                if !kernel.is_empty() {
                    let cut = Cut::new(kernel.len(), costs);
                    OverlapSave::new(cut.length).spectrum(kernel, workspace, out)?;
                }
            }
            Ok(())
        })
    })
}

/// The twin that convolves in blocks.
fn convolve(args: &mut CpuArgs<'_>, kernels: &Offsets, costs: &CostTable) -> Result<()> {
    let (a, a_layout) = args.input::<f32>(0);
    let (spectra, spectra_layout) = args.input(1);
    let pairs = args.pairs();
    let (c, layout) = args.output(0);
    let offsets = layout.offsets();
    par_runs(offsets, c, &|run, mut values| {
        for pair in run {
            let (out, rest) = values.split_at_mut(offsets.length(pair));
            values = rest;
            let (i, k) = pairs.get(pair);
            if out.is_empty() {
                continue;
            }
            let cut = Cut::new(kernels.length(k), costs);
            let spectrum = &spectra[spectra_layout.offsets().range(k)];
            let a = &a[a_layout.offsets().range(i)];
            OverlapSave::new(cut.length).blocks(a, spectrum, cut.part - 1, out)?;
        }
        Ok(())
    })
}
