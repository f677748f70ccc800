//! Table-driven maps of complex values, to complex or real ones.
//!
//! Cost: the values read once and written once, in one dispatch. Layouts are shared, never read.

use std::borrow::Cow;

use bytemuck::{Pod, cast, cast_slice_mut};
use num_complex::Complex32;

use super::functions::atan2;
use super::{Bound, MapInfo, Params, Slots, dispatch, same};
use crate::Result;
use crate::ops::kit::{STREAM, par_pieces};
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{
    CpuArgs, Interface, Kernel, Launch, Listed, OutputLayout, Param, Plan, Twin, place_of, shader,
};
use crate::ragged::DType;

static KERNEL: Kernel = Kernel {
    shader: shader!("maps/complex", "complex"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[STREAM],
    variants: &TABLE,
};

/// Computes values from values and a complex scalar.
type Run<R> = fn(&[Complex32], &mut [R], Complex32);

#[derive(Clone, Copy, Debug)]
enum Function {
    Complex(Run<Complex32>),
    Real(Run<f32>),
}

/// A map of complex values.
#[derive(Debug)]
pub(crate) struct Row {
    /// The public operation.
    name: &'static str,
    /// The flag of its kernel.
    flags: &'static [&'static str],
    /// Files of `shaders/lib` that the expression needs.
    uses: &'static [&'static str],
    /// The result as a WGSL expression of x and the scalar s.
    wgsl: &'static str,
    function: Function,
    bound: Bound,
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.name == other.name
    }
}

impl Listed for Row {
    fn dtype(&self) -> DType {
        DType::C32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        self.flags.into()
    }

    fn texts(&self) -> Vec<(String, String)> {
        let result = match self.function {
            Function::Complex(_) => "E",
            Function::Real(_) => "f32",
        };
        let texts = [
            ("FILES", self.uses.join(", ")),
            ("RESULT", result.to_owned()),
            ("VALUE", self.wgsl.to_owned()),
        ];
        texts.map(|(name, text)| (name.to_owned(), text)).into()
    }
}

macro_rules! rows {
    ($($kind:ident $name:literal $flag:literal [$($uses:literal),*] $wgsl:literal,
        |$x:pat_param, $s:pat_param| $twin:expr, $ulps:literal;)*) => {
        [$(Row {
            name: $name,
            flags: &[$flag],
            uses: &[$($uses),*],
            wgsl: $wgsl,
            function: Function::$kind(|x, y, $s| {
                for (y, &$x) in y.iter_mut().zip(x) {
                    *y = $twin;
                }
            }),
            bound: Bound { ulps: $ulps, absolute: 0.0 },
        }),*]
    };
}

static TABLE: [Row; 7] = rows! {
    Complex "conj" "CONJ" [] "vec2(x.x, bitcast<f32>(bitcast<u32>(x.y) ^ 0x80000000u))", |x, _| x.conj(), 0.0;
    Complex "scale_complex" "SCALE" ["complex"] "c_mul(s, x)", |x, s| s * x, 3.0;
    Real "real" "REAL" [] "x.x", |x, _| x.re, 0.0;
    Real "imag" "IMAG" [] "x.y", |x, _| x.im, 0.0;
    Real "abs" "ABS" ["roots", "complex_size"] "c_abs(x)", |x, _| size(x), 3.0;
    Real "abs_squared" "ABS_SQUARED" [] "fma(x.x, x.x, x.y * x.y)", |x, _| x.re * x.re + x.im * x.im, 2.0;
    Real "arg" "ARG" ["exp", "quotient", "atan2"] "atan2_of(x.y, x.x)", |x, _| atan2(x.im, x.re), 4.0;
};

/// The absolute value, in f64, in which no square overflows or underflows.
#[inline(always)]
fn size(z: Complex32) -> f32 {
    let (re, im) = (f64::from(z.re), f64::from(z.im));
    let size = (re * re + im * im).sqrt() as f32;
    if z.re.is_infinite() || z.im.is_infinite() {
        f32::INFINITY
    } else {
        size
    }
}

/// Whether this is the error bound of a map, in ulp. Checks the numbers in the documentation.
pub(crate) const fn is_bound(name: &str, ulps: u32) -> bool {
    let mut row = 0;
    while row < TABLE.len() {
        if same(TABLE[row].name.as_bytes(), name.as_bytes()) {
            return TABLE[row].bound.ulps == ulps as f32;
        }
        row += 1;
    }
    false
}

/// All maps of complex values, with their error bounds.
pub(super) fn maps() -> impl Iterator<Item = MapInfo> {
    TABLE
        .iter()
        .map(|row| MapInfo::new(row.name, DType::C32, row.bound))
}

/// The map of this name. The call always has two scalars, used or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Complex {
    pub name: &'static str,
}

impl Operation for Complex {
    const KERNELS: &[&Kernel] = &[&KERNEL];

    fn name(&self) -> &'static str {
        self.name
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let x = request.inputs[0];
        let found = TABLE.iter().find(|row| row.name == self.name);
        let row = found.expect("methods name rows of the table");
        let result = match row.function {
            Function::Complex(_) => DType::C32,
            Function::Real(_) => DType::F32,
        };
        let (variant, base) = ((&KERNEL, place_of(&TABLE, row)), Param::InputPairBase(0));
        let dispatch = dispatch(variant, x, base, x.total());
        let twin = Twin::new(move |args| match row.function {
            Function::Complex(run) => each(args, run),
            Function::Real(run) => each(args, run),
        });
        Ok(Launch::new(result, OutputLayout::Input(0), dispatch, twin).into())
    }
}

fn each<R: Pod + Send>(args: &mut CpuArgs<'_>, run: Run<R>) {
    let (x, _) = args.input::<Complex32>(0);
    let s = Complex32::new(cast(args.scalars[0]), cast(args.scalars[1]));
    par_pieces(x, cast_slice_mut(args.outputs[0].words), |x, y| {
        run(x, y, s)
    });
}
