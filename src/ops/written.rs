//! Functions of one and two values that an application writes: a WGSL expression, and the same in Rust.
//!
//! They run as variants that the kernels of maps and of functions of two operands do not list. The text is one
//! expression of the operands and WGSL's own functions: it is first compiled alone, where nothing else is in scope. Its
//! kernel has all of wgpu's runtime checks.
//!
//! Cost: the operands read once, the result written once, in one dispatch.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::{ambient, maps};
use crate::Result;
use crate::ops::operation::{Operation, PlanRequest};
use crate::plan::{Chosen, CpuArgs, Launch, Listed, OutputLayout, Param, Plan, Twin};
use crate::ragged::{DType, Layout, Real};

/// The longest text in bytes.
#[cfg(feature = "gpu")]
const LONGEST: usize = 4096;
/// The largest number of operators, brackets and components. naga recurses into left operands and into brackets; its
/// own limit only counts brackets. This one keeps a thread's stack from overflowing, even without optimization.
#[cfg(feature = "gpu")]
const DEEPEST: usize = 200;

/// The function in Rust, over operands and results of its type as words.
type Function = dyn Fn(&[&[u32]], &mut [u32]) + Send + Sync;

/// A function that an application has written.
#[derive(Clone)]
pub(crate) struct Written {
    /// An expression of `x`, or of `a` and `b`.
    text: Arc<str>,
    operands: usize,
    /// The type in which it is computed.
    computed: DType,
    twin: Arc<Function>,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {}", self.text, self.computed)
    }
}

/// Whether a value is NaN.
fn is_nan<T: Real>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}

impl Written {
    /// A function of one value, `x`.
    pub(crate) fn one<T: Real>(text: &str, f: impl Fn(T) -> T + Send + Sync + 'static) -> Written {
        Written::new::<T>(text, 1, move |operands, y| {
            let x: &[T] = cast_slice(operands[0]);
            for (y, &x) in cast_slice_mut(y).iter_mut().zip(x) {
                *y = if is_nan(x) { x } else { f(x) };
            }
        })
    }

    /// A function of two values, `a` and `b`.
    pub(crate) fn two<T: Real>(
        text: &str,
        f: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Written {
        Written::new::<T>(text, 2, move |operands, y| {
            let a: &[T] = cast_slice(operands[0]);
            let b: &[T] = cast_slice(operands[1]);
            for ((y, &a), &b) in cast_slice_mut(y).iter_mut().zip(a).zip(b) {
                *y = match (is_nan(a), is_nan(b)) {
                    (true, _) => a,
                    (_, true) => b,
                    _ => f(a, b),
                };
            }
        })
    }

    fn new<T: Real>(
        text: &str,
        operands: usize,
        twin: impl Fn(&[&[u32]], &mut [u32]) + Send + Sync + 'static,
    ) -> Written {
        Written {
            text: text.into(),
            operands,
            computed: T::DTYPE,
            twin: Arc::new(twin),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn names(&self) -> &'static [&'static str] {
        match self.operands {
            1 => &["x"],
            _ => &["a", "b"],
        }
    }

    /// The function over values of a type, as an operation. Only operations for the CPU hold the Rust function; others
    /// are equal if their texts are.
    pub(crate) fn over(&self, dtype: DType, on_cpu: bool) -> Apply {
        Apply {
            text: self.text.clone(),
            names: self.names(),
            dtype,
            twin: on_cpu.then(|| self.twin.clone()),
        }
    }
}

/// What a GPU needs of a function.
#[cfg(feature = "gpu")]
impl Written {
    /// The name of the public method that made it.
    pub(crate) fn op(&self) -> &'static str {
        match self.operands {
            1 => "map1",
            _ => "map2",
        }
    }

    /// Compiles the text by itself. An error has the line, and naga's message.
    pub(crate) fn check(&self) -> Result<()> {
        check::check(&self.text, self.names(), self.computed.name())
    }

    /// The kernel that the function is a variant of, and the variant for values of a type.
    pub(crate) fn variant(&self, dtype: DType) -> (&'static crate::plan::Kernel, Variant) {
        let (text, operands) = (self.text.clone(), self.names());
        let variant = Variant {
            text,
            names: operands,
            dtype,
        };
        let kernel = match operands.len() {
            1 => &maps::KERNEL,
            _ => &ambient::FLAT,
        };
        (kernel, variant)
    }
}

/// A function over values of one type.
#[derive(Clone)]
pub(crate) struct Apply {
    text: Arc<str>,
    names: &'static [&'static str],
    dtype: DType,
    twin: Option<Arc<Function>>,
}

impl Apply {
    /// On the CPU, functions with the same text may differ.
    fn key(&self) -> (&str, usize, DType, Option<*const ()>) {
        let twin = self.twin.as_ref().map(|twin| Arc::as_ptr(twin).cast());
        (&self.text, self.names.len(), self.dtype, twin)
    }
}

impl PartialEq for Apply {
    fn eq(&self, other: &Apply) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Apply {}

impl Hash for Apply {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl std::fmt::Debug for Apply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {}", self.text, self.dtype)
    }
}

impl Operation for Apply {
    fn name(&self) -> &'static str {
        match self.names {
            [_] => "map1",
            _ => "map2",
        }
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let inputs = request.inputs;
        if let [a, b] = inputs {
            check_alike(a, b)?;
        }
        let (x, dtype) = (inputs[0], self.dtype);
        let variant = Chosen::Written(Arc::new(Variant {
            text: self.text.clone(),
            names: self.names,
            dtype,
        }));
        let dispatch = match inputs.len() {
            1 => {
                let words = dtype.words(x.total());
                maps::dispatch((&maps::KERNEL, variant), x, Param::InputBase(0), words)
            }
            _ => ambient::flat(x, dtype, variant),
        };
        let twin = self.twin.clone();
        let twin = Twin::new(move |args| {
            // Plans for a GPU have no twin, and need none.
            if let Some(twin) = &twin {
                match dtype {
                    DType::F16 => halves(args, &**twin),
                    _ => words(args, &**twin),
                }
            }
        });
        let launch = Launch::new(dtype, OutputLayout::Input(0), dispatch, twin);
        Ok(Launch {
            work: x.total() as u64,
            ..launch
        }
        .into())
    }
}

fn check_alike(a: &Layout, b: &Layout) -> Result<()> {
    if a == b {
        return Ok(());
    }
    b.check_rank_of(a, "the left batch")?;
    a.check_len(b.len())?;
    b.check_shapes(a)
}

/// Values in one parallel task on the CPU.
const PIECE: usize = 1 << 14;

fn words(args: &mut CpuArgs<'_>, twin: &Function) {
    let inputs = args.inputs;
    let operand = |i: usize| -> &[u32] { cast_slice(inputs[i.min(inputs.len() - 1)].bytes) };
    let operands = [operand(0), operand(1)];
    let y = &mut *args.outputs[0].words;
    y.par_chunks_mut(PIECE).enumerate().for_each(|(k, y)| {
        let range_of = |operand: &'_ [u32]| k * PIECE..(k * PIECE + y.len()).min(operand.len());
        twin(&operands.map(|operand| &operand[range_of(operand)]), y);
    });
}

/// The same for f16, through f32 blocks that fit a core's cache.
fn halves(args: &mut CpuArgs<'_>, twin: &Function) {
    const FEW: usize = 1024;
    let inputs = args.inputs;
    let operand = |i: usize| -> &[f16] { cast_slice(inputs[i.min(inputs.len() - 1)].bytes) };
    let operands = [operand(0), operand(1)];
    let y: &mut [f16] = cast_slice_mut(args.outputs[0].words);
    // The last word may hold one extra half.
    let y = &mut y[..operands[0].len()];
    y.par_chunks_mut(FEW).enumerate().for_each(|(k, y)| {
        let (mut from, mut to) = ([[0.0f32; FEW]; 2], [0.0f32; FEW]);
        for (wide, operand) in from.iter_mut().zip(operands) {
            operand[k * FEW..][..y.len()].convert_to_f32_slice(&mut wide[..y.len()]);
        }
        let wide = from.each_ref().map(|wide| cast_slice(&wide[..y.len()]));
        let to = &mut to[..y.len()];
        twin(&wide, cast_slice_mut(to));
        y.convert_from_f32_slice(to);
    });
}

/// A variant that its kernel does not list.
#[derive(Debug)]
pub(crate) struct Variant {
    text: Arc<str>,
    names: &'static [&'static str],
    dtype: DType,
}

impl Listed for Variant {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        (&["OWN"]).into()
    }

    fn texts(&self) -> Vec<(String, String)> {
        let float = matches!(self.dtype, DType::F32 | DType::F16);
        let value = match (self.names.len(), float) {
            (1, false) => "own(x)",
            (1, true) => "select(own(x), x, is_nan(x))",
            (_, false) => "own(x, y)",
            (_, true) => "select(select(own(x, y), y, is_nan(y)), x, is_nan(x))",
        };
        match self.names.len() {
            1 => maps::texts(&[], value),
            _ => ambient::own_texts(self.dtype, value),
        }
    }

    fn generate(&self, part: &str) -> Option<String> {
        (part == "own").then(|| function(&self.text, self.names, "V"))
    }
}

/// A function that returns the text's value. The text begins in its third line.
fn function(text: &str, names: &[&str], computed: &str) -> String {
    let parameters: Vec<String> = names
        .iter()
        .map(|name| format!("{name}: {computed}"))
        .collect();
    let parameters = parameters.join(", ");
    format!("fn own({parameters}) -> {computed} {{\nreturn\n{text}\n;\n}}\n")
}

#[cfg(feature = "gpu")]
mod check {
    //! Compiles an application's text by itself, before it becomes part of a kernel.

    use std::error::Error as _;

    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::{DEEPEST, LONGEST, function};
    use crate::{Error, Result};

    /// Lines of `function` before the text.
    const BEFORE: usize = 2;
    /// Characters that end an expression, or that have a meaning to the assembler of kernels. No expression has any of
    /// them.
    const FOREIGN: [char; 7] = [';', '{', '}', '@', '#', '$', '`'];

    pub(super) fn check(text: &str, names: &[&str], computed: &str) -> Result<()> {
        if text.len() > LONGEST {
            let expected = format!("an expression of at most {LONGEST} bytes");
            return Err(Error::argument(expected, text.len()));
        }
        let next = text.bytes().skip(1).chain([0]);
        let is_part = |(of, next): &(u8, u8)| match of {
            // The dot of a component, not of a number.
            b'.' => next.is_ascii_alphabetic(),
            of => b"+-*/%&|^<>=!~([".contains(of),
        };
        let parts = text.bytes().zip(next).filter(is_part).count();
        if parts > DEEPEST {
            let expected = format!("an expression of at most {DEEPEST} operators and brackets");
            return Err(Error::argument(expected, parts));
        }
        let wrong = |line: usize, column: usize, what: String| {
            let lines = text.lines().count().max(1);
            let line = line.clamp(1, lines);
            let of_line = text.lines().nth(line - 1).unwrap_or_default();
            let message = match of_line.trim().is_empty() {
                true => what,
                false => format!("{what}\n  {of_line}\n  {:>column$}", "^"),
            };
            Err(Error::Wgsl {
                op: "",
                line,
                message,
            })
        };
        for (line, of_line) in text.lines().enumerate() {
            if let Some((at, (_, c))) = of_line
                .char_indices()
                .enumerate()
                .find(|(_, (_, c))| FOREIGN.contains(c))
            {
                return wrong(
                    line + 1,
                    at + 1,
                    format!("expected one expression, got '{c}'"),
                );
            }
        }
        let arguments = vec![format!("{computed}()"); names.len()].join(", ");
        let source = format!(
            "{}@compute @workgroup_size(1)\nfn main() {{\n_ = own({arguments});\n}}\n",
            function(text, names, computed)
        );
        let place = |span: Option<&naga::Span>| {
            let location = span
                .filter(|span| span.is_defined())
                .map(|span| span.location(&source));
            location.map_or((1, 1), |at| {
                let line = (at.line_number as usize).saturating_sub(BEFORE);
                (line, at.line_position as usize)
            })
        };
        let module = match naga::front::wgsl::parse_str(&source) {
            Ok(module) => module,
            Err(error) => {
                let (line, column) = place(error.labels().next().map(|(span, _)| span).as_ref());
                let notes = error.labels().map(|(_, label)| label).chain(error.notes());
                let notes: Vec<&str> = notes.filter(|note| !note.is_empty()).collect();
                let what = match notes.is_empty() {
                    true => error.message().to_owned(),
                    false => format!("{} ({})", error.message(), notes.join("; ")),
                };
                return wrong(line, column, what);
            }
        };
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
        if let Err(error) = validator.validate(&module) {
            let (line, column) = place(error.spans().next().map(|(span, _)| span));
            let mut what = error.as_inner().to_string();
            let mut cause = error.as_inner().source();
            while let Some(inner) = cause {
                what = format!("{what}: {inner}");
                cause = inner.source();
            }
            return wrong(line, column, what);
        }
        Ok(())
    }
}
