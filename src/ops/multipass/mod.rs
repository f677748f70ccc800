//! Transforms of powers of two that are too long for one workgroup: two or three passes of radices 64 to 1,024.
//!
//! A pass reads every value once from one buffer and writes it once to another. The first pass may also gather real
//! signals, multiply by Bluestein's chirp, or multiply spectra on load; the last pass may do the same kind of work on
//! store.

mod text;

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use super::butterfly::{Generator, Kind, Transform};
use crate::plan::{
    Constants, Dispatch, Interface, Kernel, Param, PlanBuffer, Slot, Table, constants, params,
    place_of, shader, slots,
};
use crate::{Result, host};

/// log2 of the longest transform: three passes of 256. The shortest is 2¹³, in passes of 64 and 128.
///
/// Right-angle transforms end at 2²²: they cover twice as many values, but need roots four times as fine.
pub(crate) const LOG_LONGEST: u32 = 24;

/// A pass of one radix.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pass {
    flag: &'static str,
    /// log2 of the radix of each stage within the pass.
    radices: &'static [u32],
    /// log2 of the values that an invocation holds.
    held: u32,
    /// log2 of the columns per workgroup.
    columns: u32,
}

const PASSES: [Pass; 5] = [
    Pass {
        flag: "R64",
        radices: &[4, 2],
        held: 4,
        columns: 6,
    },
    Pass {
        flag: "R128",
        radices: &[4, 3],
        held: 4,
        columns: 5,
    },
    Pass {
        flag: "R256",
        radices: &[4, 4],
        held: 4,
        columns: 4,
    },
    Pass {
        flag: "R512",
        radices: &[4, 1, 4],
        held: 4,
        columns: 3,
    },
    Pass {
        flag: "R1024",
        radices: &[4, 2, 4],
        held: 4,
        columns: 2,
    },
];

impl Pass {
    fn log_radix(&self) -> u32 {
        self.radices.iter().sum()
    }

    /// log2 of the invocations per workgroup.
    fn log_group(&self) -> u32 {
        self.log_radix() + self.columns - self.held
    }
}

slots! {
    struct Slots { x: Read, y: Write, tasks: Read, twiddles: Read, roots: Read }
}

params! {
    struct Params { x_base, load, store }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("multipass/mod", "fft_pass"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[
        MODES,
        constants![
            PLAIN,
            FILTER,
            PRODUCT,
            CHIRP,
            RIGHT_ANGLE,
            BACKWARDS,
            PAIRED
        ],
    ],
    variants: &BUILDS,
};

/// Where a pass is in its transform.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    First,
    Later,
    /// The last one, to the spectrum of real values.
    Halves,
}

/// A build of the kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Build {
    pass: Pass,
    end: End,
}

/// The builds that [`passes`] needs: a pass of radix 64 is either first or splits halves, and one of radix 1024 never
/// splits halves.
static BUILDS: [Build; 13] = [
    built(0, End::First),
    built(0, End::Halves),
    built(1, End::Later),
    built(1, End::First),
    built(1, End::Halves),
    built(2, End::Later),
    built(2, End::First),
    built(2, End::Halves),
    built(3, End::Later),
    built(3, End::First),
    built(3, End::Halves),
    built(4, End::Later),
    built(4, End::First),
];

const fn built(pass: usize, end: End) -> Build {
    Build {
        pass: PASSES[pass],
        end,
    }
}

static TWIDDLES: Table = Table {
    name: "fft_pass",
    make: || {
        let mut generator = Generator::new();
        for pass in &PASSES {
            for first in [false, true] {
                generator.function(&transform(pass, first));
            }
        }
        generator.into_table()
    },
};

/// e^(-2πi e / 2²⁴) for the multiples e of 2¹², then for e below 2¹².
static ROOTS: Table = Table {
    name: "roots",
    make: || {
        let root = |e: u32| {
            let (sin, cos) = (-TAU * f64::from(e) / f64::from(1u32 << 24)).sin_cos();
            [(cos as f32).to_bits(), (sin as f32).to_bits()]
        };
        let coarse = (0..1 << 12).map(|e| root(e << 12));
        coarse.chain((0..1 << 12).map(root)).flatten().collect()
    },
};

fn transform(pass: &Pass, first: bool) -> Transform<'_> {
    Transform {
        name: "transform",
        kind: Kind::Forward,
        radices: pass.radices,
        held: pass.held,
        whole: false,
        product: false,
        twiddled: !first,
        columns: pass.columns,
        regrouped: first,
    }
}

/// log2 of the radix of each pass of a transform of 2^log values with this store mode.
///
/// Fewer passes are better, and with the same number, equal radices. A last pass that splits halves writes runs half as
/// long as it has columns, and not aligned to sectors. It therefore needs many columns, that is, a small radix.
fn passes(log: u32, store: u32) -> &'static [u32] {
    match log {
        14 if halves(store) => &[8, 6],
        15 if halves(store) => &[9, 6],
        16 if halves(store) => &[10, 6],
        17 if halves(store) => &[10, 7],
        18 if halves(store) => &[10, 8],
        19 if halves(store) => &[10, 9],
        20 if halves(store) => &[7, 7, 6],
        21 if halves(store) => &[8, 7, 6],
        22 if halves(store) => &[8, 8, 6],
        23 if halves(store) => &[9, 8, 6],
        ..14 => &[6, 7],
        14 => &[7, 7],
        15 => &[7, 8],
        16 => &[8, 8],
        17 => &[8, 9],
        18 => &[9, 9],
        19 => &[9, 10],
        20 => &[10, 10],
        21 => &[7, 7, 7],
        22 => &[7, 7, 8],
        23 => &[7, 8, 8],
        _ => &[8, 8, 8],
    }
}

/// Whether this store mode splits the result into the spectrum of twice as many real values.
fn halves(store: u32) -> bool {
    store & PAIRED != 0 && store & HALF != 0
}

/// A buffer that passes read or write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// Input i of the launch.
    Operand(usize),
    /// Scratch buffer i.
    Scratch(usize),
    Result,
}

/// The offset of values in a buffer.
pub(crate) type Spot = (Place, u32);

/// The source of the values, and the destination of each of at most three passes. With two passes, the last spot is
/// repeated.
pub(crate) type Route = [Spot; 4];

/// The route of a transform through `aside`; with three passes, through `early` before it.
pub(crate) fn there(passes: usize, from: Spot, early: Spot, aside: Spot, to: Spot) -> Route {
    match passes {
        2 => [from, aside, to, to],
        _ => [from, early, aside, to],
    }
}

/// The route of a transform through `aside`; with three passes, through `late` after it.
pub(crate) fn back(passes: usize, from: Spot, aside: Spot, late: Spot, to: Spot) -> Route {
    match passes {
        2 => [from, aside, to, to],
        _ => [from, aside, late, to],
    }
}

// How values are read or written: `p.load` or `p.store` of the kernel.

/// Real values only.
pub(crate) const REAL: u32 = 1;
/// The first ⌊n / 2⌋ + 1 values of a spectrum, whose other values are their conjugates.
pub(crate) const HALF: u32 = 2;
/// Real and imaginary parts are exchanged.
pub(crate) const EXCHANGED: u32 = 4;
/// Also used by transforms that run in one workgroup: `load` and `store` of `fft_values.wgsl`.
pub(crate) const MODES: Constants = constants![REAL, HALF, EXCHANGED];

/// Plain values, as between passes.
pub(crate) const PLAIN: u32 = 0x100;
/// Bluestein's filter, which is computed instead of read.
pub(crate) const FILTER: u32 = 0x200;
/// The product of two spectra, for an inverse transform.
pub(crate) const PRODUCT: u32 = 0x400;
/// A flag beside other modes: values are multiplied by Bluestein's chirp.
pub(crate) const CHIRP: u32 = 0x800;
/// 2 N real values, the coefficients of a polynomial modulo x^N = -i; and the same, from the last to the first.
pub(crate) const RIGHT_ANGLE: u32 = 0x1000;
pub(crate) const BACKWARDS: u32 = 0x2000;
/// A flag beside `REAL` or `HALF`, for 2 n real values that are transformed as n complex ones: the values are in pairs,
/// or the spectrum is split or merged by `fft_halves.wgsl`.
pub(crate) const PAIRED: u32 = 0x4000;

/// The number of passes of a transform of 2^log values with this store mode.
pub(crate) fn pass_count(log: u32, store: u32) -> usize {
    passes(log, store).len()
}

/// A transform of 2^log values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Long {
    pub log: u32,
    /// Each pass must read and write different buffers.
    pub route: Route,
    /// The load mode of the first pass, and the store mode of the last one.
    pub load: u32,
    pub store: u32,
    /// The number of values; zeros follow. Between passes, all 2^log values are used.
    pub n: u32,
    pub factor: f32,
    /// The offset of the second factor of a [`PRODUCT`], in the buffer of the first factor.
    pub second: u32,
}

/// The properties that the workgroups of one dispatch share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PassGroup {
    pass: usize,
    log_radix: u32,
    from: Place,
    to: Place,
    load: u32,
    store: u32,
}

/// The dispatches of independent transforms; those with the same pass, radix, buffers and modes share a dispatch.
pub(crate) fn dispatches(transforms: &[Long]) -> Result<Vec<Dispatch>> {
    let mut tasks: BTreeMap<PassGroup, Vec<u32>> = BTreeMap::new();
    for transform in transforms {
        let radices = passes(transform.log, transform.store);
        let mut done = 0;
        for (pass, &log_radix) in radices.iter().enumerate() {
            let ((from, x), (to, y)) = (transform.route[pass], transform.route[pass + 1]);
            let mode = |end: bool, mode: u32| if end { mode } else { PLAIN };
            let group = PassGroup {
                pass,
                log_radix,
                from,
                to,
                load: mode(pass == 0, transform.load),
                store: mode(pass + 1 == radices.len(), transform.store),
            };
            let tasks = tasks.entry(group).or_default();
            let columns = 1u32 << (transform.log - log_radix);
            for b in (0..columns).step_by(1 << pass_of(log_radix).columns) {
                host::reserve(tasks, 8)?;
                tasks.extend([x, y, b, transform.log | done << 8]);
                tasks.extend([transform.n, transform.factor.to_bits(), transform.second, 0]);
            }
            done += log_radix;
        }
    }
    let dispatch = |(group, tasks)| dispatch(group, tasks);
    Ok(tasks.into_iter().map(dispatch).collect())
}

/// The pass of radix 2^log_radix, 64 to 1024.
fn pass_of(log_radix: u32) -> Pass {
    PASSES[log_radix as usize - 6]
}

fn dispatch(group: PassGroup, tasks: Vec<u32>) -> Dispatch {
    let slot = |place| match place {
        Place::Operand(i) => Slot::Input(i),
        Place::Scratch(i) => Slot::Scratch(i),
        Place::Result => Slot::Output(0),
    };
    let pass = pass_of(group.log_radix);
    let end = match group.pass {
        0 => End::First,
        _ if halves(group.store) => End::Halves,
        _ => End::Later,
    };
    let groups = (tasks.len() / 8) as u32;
    Dispatch::new(
        (&KERNEL, place_of(&BUILDS, &Build { pass, end })),
        Slots {
            x: slot(group.from),
            y: slot(group.to),
            tasks: Slot::PlanBuffer(PlanBuffer::new(tasks)),
            twiddles: Slot::Table(&TWIDDLES),
            roots: Slot::Table(&ROOTS),
        },
        Params {
            x_base: match group.from {
                Place::Operand(i) => Param::InputBase(i),
                _ => Param::U32(0),
            },
            load: Param::U32(group.load),
            store: Param::U32(group.store),
        },
        groups,
        u64::from(groups) << (pass.log_radix() + pass.columns + 4),
    )
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn every_pass_is_listed() {
        for log in 13..=LOG_LONGEST {
            for store in [PLAIN, PAIRED | HALF] {
                let radices = passes(log, store);
                assert_eq!(radices.iter().sum::<u32>(), log);
                for (i, &radix) in radices.iter().enumerate() {
                    let end = match i {
                        0 => End::First,
                        _ if halves(store) && i + 1 == radices.len() => End::Halves,
                        _ => End::Later,
                    };
                    let pass = pass_of(radix);
                    assert!(
                        BUILDS.contains(&Build { pass, end }),
                        "{log} {pass:?} {end:?}"
                    );
                }
            }
        }
    }
}
