//! Table-driven elementwise maps: functions of one value.
//!
//! Cost: the values read once and written once, in one dispatch. Layouts are shared, never read.

mod activations;
mod cheap;
mod complex;
mod functions;
mod list;
mod table;
mod wide;

use std::borrow::Cow;

use bytemuck::{cast, cast_slice_mut};
use half::f16;
use half::slice::HalfFloatSliceExt;

pub(crate) use self::cheap::{Both, Cheap, Neg, Scale, both_of};
pub(crate) use self::complex::{Complex, is_bound as is_complex_bound};
pub use self::list::maps;
pub(crate) use self::table::{Bound, Run};
use self::table::{MAPS, Map};
use crate::ops::kit::{STREAM, par_pieces, stream_groups};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    Chosen, CpuArgs, Dispatch, Interface, Kernel, Launch, Listed, OutputLayout, Param, Plan, Slot,
    Twin, params, shader, slots,
};
use crate::ragged::{DType, Layout, Scalar};
use crate::{Error, Result};

pub(crate) use activations::gelu;
pub(crate) use functions::{MULTIPLIED, any_cos, any_sin, atan2, exp, nan_or, pow};
pub(crate) use wide::in_place;

/// A row of the table with one of the types that it has kernels for.
#[derive(Clone, Copy, Debug)]
struct Build {
    map: &'static Map,
    dtype: DType,
}

/// No other variant is ever compiled.
static BUILDS: [Build; count()] = builds();

impl Listed for Build {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        self.map.flags.into()
    }

    fn texts(&self) -> Vec<(String, String)> {
        texts(self.map.uses, &self.map.value())
    }
}

/// The texts of a variant of [`KERNEL`]: the files that its expression needs, and the expression.
pub(crate) fn texts(files: &[&str], value: &str) -> Vec<(String, String)> {
    vec![
        ("FILES".to_owned(), files.join(", ")),
        ("VALUE".to_owned(), value.to_owned()),
    ]
}

slots! {
    struct Slots { y: Write, x: Read }
}

params! {
    struct Params { values, x_base, s, t, ones }
}

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("maps/table", "map_table"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: &BUILDS,
};

impl Map {
    /// The result as a WGSL expression that keeps NaN.
    fn value(&self) -> String {
        match self.twin {
            table::Function::Float(_) if self.keeps_nan => {
                format!("select({}, x, is_nan(x))", self.wgsl)
            }
            _ => self.wgsl.to_owned(),
        }
    }

    /// The types it has kernels for.
    const fn types(&self) -> &'static [DType] {
        match self.twin {
            table::Function::Float(_) => &[DType::F32, DType::F16],
            table::Function::I32(_) => &[DType::I32],
            table::Function::U32(_) => &[DType::U32],
        }
    }
}

const fn count() -> usize {
    let (mut group, mut n) = (0, 0);
    while group < MAPS.len() {
        let mut row = 0;
        while row < MAPS[group].len() {
            n += MAPS[group][row].types().len();
            row += 1;
        }
        group += 1;
    }
    n
}

const fn builds() -> [Build; count()] {
    let mut all = [Build {
        map: &MAPS[0][0],
        dtype: DType::F32,
    }; count()];
    let (mut group, mut n) = (0, 0);
    while group < MAPS.len() {
        let mut row = 0;
        while row < MAPS[group].len() {
            let map = &MAPS[group][row];
            let mut at = 0;
            while at < map.types().len() {
                all[n] = Build {
                    map,
                    dtype: map.types()[at],
                };
                n += 1;
                at += 1;
            }
            row += 1;
        }
        group += 1;
    }
    all
}

/// The row of a map for a value type, and the variant of its kernel. If there is no i32 row, i32 uses the u32 row.
fn row(name: &str, dtype: DType) -> Option<(&'static Map, usize)> {
    let listed = |dtype: DType| {
        let is = |build: &Build| build.dtype == dtype && build.map.name == name;
        let found = BUILDS.iter().position(is);
        found.map(|variant| (BUILDS[variant].map, variant))
    };
    match dtype {
        DType::I32 => listed(DType::I32).or_else(|| listed(DType::U32)),
        _ => listed(dtype),
    }
}

/// A function of floats as a part of a kernel that computes several.
pub(crate) struct Part<R> {
    /// Files of `shaders/lib` that the expression needs.
    pub uses: &'static [&'static str],
    /// The result as a WGSL expression of x (and y, for two operands), and of the scalars s and t.
    pub wgsl: String,
    pub run: R,
}

/// The map of floats of this name as a part of another kernel.
pub(crate) fn part(name: &str) -> Option<Part<Run<f32>>> {
    let (map, _) = row(name, DType::F32)?;
    match map.twin {
        table::Function::Float(run) => Some(Part {
            uses: map.uses,
            wgsl: map.value(),
            run,
        }),
        _ => None,
    }
}

/// Whether the bound of a float map is `ulps` units, with or without an absolute part. Checks the documentation.
pub(crate) const fn is_bound(name: &str, ulps: u32, and_more: bool) -> bool {
    let mut group = 0;
    while group < MAPS.len() {
        let mut row = 0;
        while row < MAPS[group].len() {
            let map = &MAPS[group][row];
            if same(map.name.as_bytes(), name.as_bytes()) {
                return map.bound.ulps == ulps as f32
                    && map.bound.absolute == if and_more { 6.0e-8 } else { 0.0 };
            }
            row += 1;
        }
        group += 1;
    }
    false
}

/// The bound of a float map.
#[cfg(feature = "testing")]
pub(crate) fn bound(name: &str) -> Bound {
    row(name, DType::F32).expect("a float map").0.bound
}

pub(crate) const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The map of this name, over values of one type. The call always has two scalars, used or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Apply {
    pub name: &'static str,
    pub dtype: DType,
}

impl Operation for Apply {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        self.name
    }

    fn function(&self) -> Option<(&'static str, DType)> {
        Some((self.name, self.dtype))
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let Apply { name: op, dtype } = *self;
        let (map, variant) =
            row(op, dtype).ok_or_else(|| Error::unsupported(format!("values of {dtype}")))?;
        let words = dtype.words(x.total());
        let twin = Twin::new(move |args| match map.twin {
            table::Function::Float(run) if dtype == DType::F16 => halves(args, run),
            table::Function::Float(run) => each(args, run),
            table::Function::I32(run) => each(args, run),
            table::Function::U32(run) => each(args, run),
        });
        let dispatch = dispatch((&KERNEL, variant), x, Param::InputBase(0), words);
        let launch = Launch::new(dtype, OutputLayout::Input(0), dispatch, twin);
        Ok(Launch {
            work: x.total() as u64,
            ..launch
        }
        .into())
    }
}

/// The dispatch over all values of input 0, whose results take `words` words.
pub(crate) fn dispatch(
    variant: (&'static Kernel, impl Into<Chosen>),
    x: &Layout,
    x_base: Param,
    words: usize,
) -> Dispatch {
    Dispatch::new(
        variant,
        Slots {
            y: Slot::Output(0),
            x: Slot::Input(0),
        },
        Params {
            values: Param::U32(x.total() as u32),
            x_base,
            s: Param::Scalar(0),
            t: Param::Scalar(1),
            // Bits that no compiler can know: see `ends.wgsl`.
            ones: Param::U32(u32::MAX),
        },
        stream_groups(words),
        words as u64,
    )
}

fn each<T: Scalar>(args: &mut CpuArgs<'_>, run: Run<T>) {
    let (x, _) = args.input::<T>(0);
    let scalars = [cast(args.scalars[0]), cast(args.scalars[1])];
    let y = cast_slice_mut(args.outputs[0].words);
    par_pieces(x, y, |x, y| run(x, y, scalars));
}

/// The same for f16, through f32 blocks that fit a core's cache.
fn halves(args: &mut CpuArgs<'_>, run: Run<f32>) {
    const FEW: usize = 1024;
    let (x, _) = args.input::<f16>(0);
    let scalars = [cast(args.scalars[0]), cast(args.scalars[1])];
    let y = cast_slice_mut(args.outputs[0].words);
    par_pieces(x, y, |x: &[f16], y: &mut [f16]| {
        let (mut from, mut to) = ([0.0; FEW], [0.0; FEW]);
        for (y, x) in y.chunks_mut(FEW).zip(x.chunks(FEW)) {
            let (from, to) = (&mut from[..x.len()], &mut to[..x.len()]);
            x.convert_to_f32_slice(from);
            run(from, to, scalars);
            y.convert_from_f32_slice(to);
        }
    });
}

/// A map with its guaranteed error bound: see [`maps`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct MapInfo {
    /// The method of [`Tensor`](crate::Tensor).
    pub name: &'static str,
    /// The type of its values.
    pub dtype: DType,
    /// How far a result may be from the exact one, in units in the last place of an `f32`.
    pub ulps: f32,
    /// The absolute error allowed on top, whatever the size of the result.
    pub absolute: f32,
}

impl MapInfo {
    fn new(name: &'static str, dtype: DType, bound: Bound) -> MapInfo {
        MapInfo {
            name,
            dtype,
            ulps: bound.ulps,
            absolute: bound.absolute,
        }
    }
}
