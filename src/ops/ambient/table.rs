//! The table of functions of two and three values: each row defines the function's GPU kernels, its twin, and the
//! error bound that its tests check.
//!
//! The group that contains a row determines its types, and what a missing entry means. The row defines the kernels for
//! one layout, for vectors, for matrices and boxes, and for operands that are spread (`broadcast`), whose loads and
//! stores `shaders/lib/loads.wgsl` has for each type. The text of an expression should not return early: Mesa's
//! software GPU miscompiles functions that return inside a loop.
//!
//! Complex values take two words, so that functions with complex results (flag `WIDE`) make one value at a time instead
//! of four; an operand's base then counts pairs of words (`Param::InputPairBase`). A negated, copied or scaled complex
//! value is two words of `map`.
//!
//! A spread operand is a vector. Along an axis whose later extents multiply to `inner`, value i of an element is paired
//! with value (i / inner) mod extent of the vector; one division serves four values. The twin lays out chunks of
//! up to 1,024 values, which may hold many short elements, and so does not work element by element.

use num_complex::Complex32;

use super::functions as f;
use crate::ops::maps::{Bound, atan2, pow};
use crate::ragged::DType;

const EXACT: Bound = within(0.0);
/// The bound of one correctly rounded operation.
const ROUNDED: Bound = within(0.5);

const fn within(ulps: f32) -> Bound {
    Bound {
        ulps,
        absolute: 0.0,
    }
}

/// How a function treats an entry of the ambient shape that one of its two operands lacks. Where both operands lack it,
/// the result is that of two zeros for `Zero`, and 0 otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    /// It counts as zero.
    Zero,
    /// The result is 0, whatever the other operand's value.
    Overlap,
    /// As `Overlap`. The function of two zeros is also 0, so kernels compute it instead of selecting.
    Product,
    /// The result is the other operand's value.
    Alone,
}

impl Missing {
    /// Whether the result is 0 unless both operands have the entry.
    pub(super) const fn is_overlap(self) -> bool {
        matches!(self, Missing::Overlap | Missing::Product)
    }
}

/// Computes results value by value.
pub(crate) type Run<T, R> = fn(&[T], &[T], &mut [R]);
pub(super) type RunThree<T> = fn(&[T], &[T], &[T], &mut [T]);

/// A function's CPU implementation, which also determines its types. Masks are u32.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    /// For f32, and for f16 computed in f32.
    Float(Run<f32, f32>),
    I32(Run<i32, i32>),
    U32(Run<u32, u32>),
    /// For u32, and for bytes, whose order is the same.
    U32Order(Run<u32, u32>),
    FloatMask(Run<f32, u32>),
    I32Mask(Run<i32, u32>),
    /// For the same types.
    U32Mask(Run<u32, u32>),
    Complex(Run<Complex32, Complex32>),
    /// From two f32 to a complex number.
    FloatComplex(Run<f32, Complex32>),
    FloatThree(RunThree<f32>),
    U32Three(RunThree<u32>),
    /// Selects by a mask between two operands of any type; copies bits.
    Choice,
}

/// One function over one type of values.
#[derive(Debug)]
pub(super) struct Row {
    /// The public operation.
    pub name: &'static str,
    /// The flags of its kernels.
    pub flags: &'static [&'static str],
    /// Files of `shaders/lib` that the expression needs.
    pub uses: &'static [&'static str],
    /// The result as a WGSL expression in x, y, and, for three operands, z.
    pub wgsl: &'static str,
    pub missing: Missing,
    pub function: Function,
    pub bound: Bound,
}

impl Row {
    /// The types of its kernels. Functions without an i32 row use the u32 row for i32.
    pub(super) const fn types(&self) -> &'static [DType] {
        match self.function {
            Function::Float(_) | Function::FloatMask(_) | Function::FloatThree(_) => {
                &[DType::F32, DType::F16]
            }
            Function::I32(_) | Function::I32Mask(_) => &[DType::I32],
            Function::Complex(_) => &[DType::C32],
            Function::FloatComplex(_) => &[DType::F32],
            Function::U32(_) | Function::U32Three(_) => &[DType::U32],
            Function::U32Order(_) | Function::U32Mask(_) => &[DType::U32, DType::U8],
            Function::Choice => &[DType::U32, DType::F16, DType::U8],
        }
    }

    pub(super) const fn is_choice(&self) -> bool {
        matches!(self.function, Function::Choice)
    }

    /// Whether it has three operands.
    pub(super) const fn is_of_three(&self) -> bool {
        matches!(
            self.function,
            Function::FloatThree(_) | Function::U32Three(_) | Function::Choice
        )
    }

    /// The type of its results for operands of this type.
    pub(super) const fn result(&self, operand: DType) -> DType {
        match self.function {
            Function::FloatMask(_) | Function::I32Mask(_) | Function::U32Mask(_) => DType::U32,
            Function::FloatComplex(_) => DType::C32,
            _ => operand,
        }
    }

    pub(super) const fn is_mask(&self) -> bool {
        matches!(
            self.function,
            Function::FloatMask(_) | Function::I32Mask(_) | Function::U32Mask(_)
        )
    }
}

macro_rules! rows {
    ($kind:ident $missing:ident:
        $($name:literal $($flag:literal)+ [$($uses:literal),*] $wgsl:literal,
            |$x:ident, $y:ident| $twin:expr, $bound:expr;)*) => {
        &[$(Row {
            name: $name,
            flags: &[$($flag),+],
            uses: &[$($uses),*],
            wgsl: $wgsl,
            missing: Missing::$missing,
            function: Function::$kind(|x, y, r| {
                for ((r, &$x), &$y) in r.iter_mut().zip(x).zip(y) {
                    *r = $twin;
                }
            }),
            bound: $bound,
        }),*]
    };
}

/// The functions of two operands.
pub(super) const TWO: &[&[Row]] = &[
    rows! { Float Zero:
        "add" "ADD" [] "x + y", |x, y| x + y, ROUNDED;
        "sub" "SUB" [] "x - y", |x, y| x - y, ROUNDED;
    },
    rows! { Float Product:
        "hadamard" "HADAMARD" [] "x * y", |x, y| x * y, ROUNDED;
    },
    rows! { Float Overlap:
        "div" "DIV" ["exp", "quotient"] "divided(x, y)", |x, y| x / y, within(2.0);
        "remainder" "REMAINDER" ["remainder"] "remainder_of(x, y)", |x, y| x % y, EXACT;
        "pow" "POW" ["exp", "log", "power"] "pow_of(x, y)", |x, y| pow(x, y), within(8.0);
        "atan2" "ATAN2" ["exp", "quotient", "atan2"] "atan2_of(x, y)", |x, y| atan2(x, y), within(4.0);
    },
    rows! { Float Alone:
        "maximum" "MAXIMUM" ["compare"] "larger(x, y)", |x, y| f::larger(x, y), EXACT;
        "minimum" "MINIMUM" ["compare"] "smaller(x, y)", |x, y| f::smaller(x, y), EXACT;
    },
    rows! { FloatMask Zero:
        "equal" "EQUAL" "MASK" ["compare"] "u32(is_equal(x, y))", |x, y| u32::from(x == y), EXACT;
        "not_equal" "NOT_EQUAL" "MASK" ["compare"] "u32(!is_equal(x, y))", |x, y| u32::from(x != y), EXACT;
        "less" "LESS" "MASK" ["compare"] "u32(is_less(x, y))", |x, y| u32::from(x < y), EXACT;
        "less_equal" "LESS_EQUAL" "MASK" ["compare"] "u32(is_less(x, y) || is_equal(x, y))",
            |x, y| u32::from(x <= y), EXACT;
        "greater" "GREATER" "MASK" ["compare"] "u32(is_less(y, x))", |x, y| u32::from(x > y), EXACT;
        "greater_equal" "GREATER_EQUAL" "MASK" ["compare"] "u32(is_less(y, x) || is_equal(x, y))",
            |x, y| u32::from(x >= y), EXACT;
    },
    rows! { I32 Overlap:
        // The least number divided by -1 overflows; some processors trap on that, or on division by 0.
        "div" "DIV" [] "select(select(x / select(y, 1, y == 0 || y == -1), -x, y == -1), 0, y == 0)",
            |x, y| if y == 0 { 0 } else { x.wrapping_div(y) }, EXACT;
        "remainder" "REMAINDER" [] "select(x % select(y, 1, y == 0 || y == -1), 0, y == 0 || y == -1)",
            |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) }, EXACT;
    },
    rows! { I32 Alone:
        "maximum" "MAXIMUM" [] "max(x, y)", |x, y| x.max(y), EXACT;
        "minimum" "MINIMUM" [] "min(x, y)", |x, y| x.min(y), EXACT;
    },
    rows! { I32Mask Zero:
        "less" "LESS" "MASK" [] "u32(x < y)", |x, y| u32::from(x < y), EXACT;
        "less_equal" "LESS_EQUAL" "MASK" [] "u32(x <= y)", |x, y| u32::from(x <= y), EXACT;
        "greater" "GREATER" "MASK" [] "u32(x > y)", |x, y| u32::from(x > y), EXACT;
        "greater_equal" "GREATER_EQUAL" "MASK" [] "u32(x >= y)", |x, y| u32::from(x >= y), EXACT;
    },
    rows! { U32 Zero:
        "add" "ADD" [] "x + y", |x, y| x.wrapping_add(y), EXACT;
        "sub" "SUB" [] "x - y", |x, y| x.wrapping_sub(y), EXACT;
    },
    rows! { U32 Product:
        "hadamard" "HADAMARD" [] "x * y", |x, y| x.wrapping_mul(y), EXACT;
    },
    rows! { U32 Overlap:
        "div" "DIV" [] "select(x / max(y, 1u), 0u, y == 0u)", |x, y| x.checked_div(y).unwrap_or(0), EXACT;
        "remainder" "REMAINDER" [] "select(x % max(y, 1u), 0u, y == 0u)", |x, y| x.checked_rem(y).unwrap_or(0), EXACT;
    },
    rows! { U32Order Alone:
        "maximum" "MAXIMUM" [] "max(x, y)", |x, y| x.max(y), EXACT;
        "minimum" "MINIMUM" [] "min(x, y)", |x, y| x.min(y), EXACT;
    },
    rows! { U32Mask Zero:
        "equal" "EQUAL" "MASK" [] "u32(x == y)", |x, y| u32::from(x == y), EXACT;
        "not_equal" "NOT_EQUAL" "MASK" [] "u32(x != y)", |x, y| u32::from(x != y), EXACT;
        "less" "LESS" "MASK" [] "u32(x < y)", |x, y| u32::from(x < y), EXACT;
        "less_equal" "LESS_EQUAL" "MASK" [] "u32(x <= y)", |x, y| u32::from(x <= y), EXACT;
        "greater" "GREATER" "MASK" [] "u32(x > y)", |x, y| u32::from(x > y), EXACT;
        "greater_equal" "GREATER_EQUAL" "MASK" [] "u32(x >= y)", |x, y| u32::from(x >= y), EXACT;
    },
    rows! { Complex Zero:
        "add" "ADD" "WIDE" [] "x + y", |x, y| x + y, ROUNDED;
        "sub" "SUB" "WIDE" [] "x - y", |x, y| x - y, ROUNDED;
    },
    rows! { Complex Product:
        "hadamard" "HADAMARD" "WIDE" ["complex"] "c_mul(x, y)", |x, y| x * y, within(3.0);
    },
    rows! { Complex Overlap:
        "div" "DIV" "WIDE" ["exp", "quotient", "complex_quotient"] "c_divided(x, y)", |x, y| f::complex_quotient(x, y),
            within(10.0);
    },
    rows! { FloatComplex Zero:
        "complex" "COMPLEX" "WIDE" [] "vec2(x, y)", |x, y| Complex32::new(x, y), EXACT;
        "polar" "POLAR" "WIDE" ["trig"] "select(vec2(x * cos_of(y), x * sin_of(y)), vec2(no_number(y)), is_nan(y))",
            |x, y| f::polar(x, y), within(6.0);
    },
];

/// The functions of three operands, which are first resized to one shape.
pub(super) const THREE: &[&[Row]] = &[&[
    Row {
        name: "mul_add",
        flags: &["MUL_ADD", "THREE"],
        uses: &[],
        // `opaque` prevents a fused multiply-add, so that every device rounds twice.
        wgsl: "opaque(x * y) + z",
        missing: Missing::Zero,
        function: Function::FloatThree(|x, y, z, r| {
            for (((r, &x), &y), &z) in r.iter_mut().zip(x).zip(y).zip(z) {
                *r = x * y + z;
            }
        }),
        // In addition to half an ulp of the product.
        bound: ROUNDED,
    },
    Row {
        name: "mul_add",
        flags: &["MUL_ADD", "THREE"],
        uses: &[],
        wgsl: "x * y + z",
        missing: Missing::Zero,
        function: Function::U32Three(|x, y, z, r| {
            for (((r, &x), &y), &z) in r.iter_mut().zip(x).zip(y).zip(z) {
                *r = x.wrapping_mul(y).wrapping_add(z);
            }
        }),
        bound: EXACT,
    },
    Row {
        name: "if_else",
        flags: &["IF_ELSE", "THREE"],
        uses: &[],
        wgsl: "select(z, y, x != 0u)",
        missing: Missing::Zero,
        function: Function::Choice,
        bound: EXACT,
    },
]];

/// The row of a function for values of a type, and the type of its kernel.
pub(super) fn row(
    table: &'static [&'static [Row]],
    name: &str,
    dtype: DType,
) -> Option<(&'static Row, DType)> {
    let listed = |dtype: DType| {
        let mut rows = table.iter().copied().flatten();
        let row = rows.find(|row| row.name == name && row.types().contains(&dtype));
        row.map(|row| (row, dtype))
    };
    match dtype {
        DType::F16 | DType::U32 | DType::C32 | DType::U8 => listed(dtype),
        // Functions without a row for these types work on bits, so the u32 row applies.
        _ => listed(dtype).or_else(|| listed(DType::U32)),
    }
}
