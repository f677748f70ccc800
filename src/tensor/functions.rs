//! Value-by-value functions of two and three operands.

use super::run::Call;
use super::{IntoSpread, Paired, Spread, Tensor};
use crate::error::Named;
use crate::ops::ambient::{self, Broadcast, Mode};
use crate::plan::{Boxes, check_work};
use crate::ragged::{Factor, Float, Layout, Number, Ordered, Pairs, Scalar};
use crate::{Error, Result};

/// Applies the function with this name to two operands, at least one of which is whole.
pub(crate) fn of_two<T: Scalar, R: Scalar>(
    name: &'static str,
    left: Spread<'_, T>,
    right: Spread<'_, T>,
) -> Result<Tensor<R>> {
    let (mut made, modes) = ([None, None], [left.mode, right.mode]);
    let (left, right) = both(name, [left, right], &mut made)?;
    if modes == [Mode::Whole; 2] {
        let pair = left.zip(name, right);
        let result = pair.and_then(|pair| pair.combine(name));
        return result.map_err(|error| with_ways(error, left.layout(), right.layout()));
    }
    let operands = [left.operand(), right.operand()];
    Call::new(&left.device, spread_op::<T>(name, modes), &operands).one()
}

/// As [`of_two`], for two spread operands, over elements of these shapes.
pub(crate) fn of_two_over<T: Scalar, R: Scalar>(
    name: &'static str,
    left: Spread<'_, T>,
    right: Spread<'_, T>,
    layout: &Layout,
) -> Result<Tensor<R>> {
    let (mut made, modes) = ([None, None], [left.mode, right.mode]);
    let (left, right) = both(name, [left, right], &mut made)?;
    let operands = [left.operand(), right.operand(), left.shapes(layout)];
    Call::new(&left.device, spread_op::<T>(name, modes), &operands).one()
}

/// The function with this name of two operands in these modes.
fn spread_op<T: Scalar>(name: &'static str, [left, right]: [Mode; 2]) -> Broadcast {
    Broadcast {
        name,
        dtype: T::DTYPE,
        modes: [left, right, Mode::Whole],
    }
}

/// Two operands on the device of one of them.
fn both<'b, T: Scalar>(
    name: &'static str,
    [left, right]: [Spread<'b, T>; 2],
    [x, y]: &'b mut [Option<Tensor<T>>; 2],
) -> Result<(&'b Tensor<T>, &'b Tensor<T>)> {
    let device = left.device().or(right.device());
    let device = device.ok_or_else(|| Error::unsupported("two scalars").named(name))?;
    Ok((left.on(name, device, x)?, right.on(name, device, y)?))
}

/// Adds to an error about ranks, or numbers of elements, the calls that would spread an operand over the elements of
/// the other one.
fn with_ways(mut error: Error, left: &Layout, right: &Layout) -> Error {
    if let Error::BatchSize { spread, .. } = &mut error {
        *spread = match (left.len(), right.len()) {
            (_, 1) => ways(left, right),
            (1, _) => ways(right, left),
            _ => Vec::new(),
        };
    }
    let Error::Rank { op, got, .. } = error else {
        return error;
    };
    let (side, ways) = match left.rank() {
        1 => ("left", ways(right, left)),
        _ => ("right", ways(left, right)),
    };
    if ways.is_empty() {
        return error;
    }
    let expected = left.rank();
    let ways = ways.join(" or ");
    let expected =
        format!("{expected}, as in the left batch, or the {side} operand spread by {ways}");
    Error::rank(expected, got).named(op)
}

/// The calls that would spread values or vectors over the elements of a batch.
fn ways(whole: &Layout, vectors: &Layout) -> Vec<String> {
    if vectors.is_empty() || ![1, whole.len()].contains(&vectors.len()) {
        return Vec::new();
    }
    let length = |element: usize| vectors.length(if vectors.len() == 1 { 0 } else { element });
    let each = (0..whole.len()).all(|element| length(element) == 1);
    let axes = 0..if vectors.rank() == 1 { whole.rank() } else { 0 };
    let along = axes.filter(|&axis| {
        let mut shapes = whole.shapes().enumerate();
        shapes.all(|(element, shape)| length(element) == shape.extents()[axis] as usize)
    });
    let each = each.then(|| match vectors.len() {
        1 => "`each()` (pass a constant as a scalar)".to_owned(),
        _ => "`each()`".to_owned(),
    });
    let each = each.into_iter();
    each.chain(along.map(|axis| format!("`along({axis})`")))
        .collect()
}

/// Applies the function with this name to three operands; whole operands are resized to their ambient shapes.
fn of_three<A: Scalar, T: Scalar>(
    name: &'static str,
    first: &Tensor<A>,
    second: Spread<'_, T>,
    third: Spread<'_, T>,
) -> Result<Tensor<T>> {
    let named = |error: Error| error.named(name);
    let (mut made, modes) = ([None, None], [second.mode, third.mode]);
    let [x, y] = &mut made;
    let others = [
        second.on(name, &first.device, x)?,
        third.on(name, &first.device, y)?,
    ];
    let whole = |i: usize| modes[i] == Mode::Whole;
    let mut layout = first.layout.clone();
    for (i, operand) in others.iter().enumerate() {
        if !whole(i) {
            continue;
        }
        let pairs = Pairs::elementwise(&layout, &operand.layout)
            .named(name)
            .map_err(Error::without_pairing)
            .map_err(|error| with_ways(error, &layout, &operand.layout))?;
        let boxes = Boxes::ambient(&layout, &operand.layout, &pairs)
            .named(name)
            .map_err(|error| with_ways(error, &layout, &operand.layout))?;
        if let Boxes::Nested(nested) = boxes {
            layout = nested.result;
        }
    }
    check_work(None, layout.total() as u64, first.device.allowed()).named(name)?;
    let wide = |i: usize| match whole(i) && others[i].layout != layout {
        true => others[i].resize(&layout).map_err(named),
        false => Ok(others[i].clone()),
    };
    let first = match first.layout == layout {
        true => first.clone(),
        false => first.resize(&layout).map_err(named)?,
    };
    let op = Broadcast {
        name,
        dtype: T::DTYPE,
        modes: [Mode::Whole, modes[0], modes[1]],
    };
    let (second, third) = (wide(0)?, wide(1)?);
    let operands = [first.operand(), second.operand(), third.operand()];
    Call::new(&first.device, op, &operands).one()
}

/// Functions of two operands: name, operand type, result type, error bound in ulp, formula, remarks, the treatment of
/// missing entries, and an example.
macro_rules! documented {
    ($(fn $name:ident($kind:ident) -> $result:ty, $ulps:literal: $formula:literal $more:literal $missing:literal
        $x:literal $y:literal => $r:literal;)*) => {$(
        impl<T: $kind> Tensor<T> {
            #[doc = $formula]
            ///
            #[doc = $more]
            #[doc = $missing]
            /// An extent of 1 is not broadcast; `other` may be a scalar, or spread over the elements of this batch: see
            /// [`Spread`]. `f16` is computed in `f32`. Cost: operands read once, result written once.
            ///
            /// ```
            /// # use vsla::{Device, Ragged};
            /// # let device = Device::cpu();
            #[doc = concat!("let a = device.upload(&Ragged::from_rows([vec!", $x, ", vec![]])?)?;")]
            #[doc = concat!("let b = device.upload(&Ragged::from_rows([vec!", $y, ", vec![]])?)?;")]
            #[doc = concat!("let c = a.", stringify!($name), "(&b)?.download_blocking()?;")]
            #[doc = concat!("assert_eq!(c.to_vecs()?, [vec!", $r, ", vec![]]);")]
            /// # Ok::<(), vsla::Error>(())
            /// ```
            ///
            /// # Errors
            /// Those of [`add`](Tensor::add).
            pub fn $name<'a>(&self, other: impl IntoSpread<'a, T>) -> Result<Tensor<$result>> {
                of_two(stringify!($name), self.into(), other.into())
            }
        }

        impl<T: $kind> Paired<'_, T> {
            #[doc = concat!("[`Tensor::", stringify!($name), "`] of every pair.")]
            ///
            /// # Errors
            /// Those of [`Tensor::add`].
            pub fn $name(&self) -> Result<Tensor<$result>> {
                self.combine(stringify!($name))
            }
        }

        impl<T: $kind> Spread<'_, T> {
            #[doc = concat!("[`Tensor::", stringify!($name), "`] with this operand on the left.")]
            ///
            /// # Errors
            /// Those of [`Tensor::add`].
            pub fn $name(&self, other: &Tensor<T>) -> Result<Tensor<$result>> {
                of_two(stringify!($name), *self, other.into())
            }
        }

        // The documented bound is the table's.
        const _: () = assert!(ambient::is_bound(stringify!($name), $ulps));
    )*};
}

documented! {
    fn div(Number) -> T, 2: "Computes `a / b` value by value; results have the ambient shapes."
        "Integer division truncates, −7 / 2 = −3; it gives 0 where b is 0, and the least i32 divided by −1 wraps to \
         itself. For floats, x / 0 is infinite, 0 / 0 and ∞ / ∞ are NaN, and the error for `f32` is at most 2 units \
         in the last place plus 2⁻¹²⁶, because a GPU may flush operands and results below that to zero. For \
         complex numbers, see [there](#complex-numbers)."
        "Gives 0 where either entry is missing, whatever the other entry is. So it respects equivalence for integers, \
         but not for floats, since 0 / 0 is NaN."
        "[6.0f32, 1.0, 5.0]" "[4.0f32, 0.0]" => "[1.5, f32::INFINITY, 0.0]";
    fn remainder(Factor) -> T, 0: "Computes the remainder of `a / b` value by value, with the sign of a, like `%` in \
        Rust and `fmod` in C; results have the ambient shapes."
        "Exact. For integers, 0 where b is 0; for floats, NaN for b = 0, a = ±∞ and NaN, and a where b is infinite. \
         Takes one more division for every eight bits by which a float is larger than b."
        "Gives 0 where either entry is missing. So it respects equivalence for integers, but not for floats."
        "[7.5f32, -7.5, 1.0]" "[2.0f32, 2.0]" => "[1.5, -1.5, 0.0]";
    fn pow(Float) -> T, 8: "Computes `aᵇ` value by value; results have the ambient shapes."
        "Follows IEEE 754: x⁰ and 1ʸ are 1, even for NaN; a negative a gives NaN unless b is an integer. Error for \
         `f32`: at most 8 units in the last place plus 2⁻¹²⁶, because a GPU may flush operands and results below \
         that to zero."
        "Gives 0 where either entry is missing. Does not respect equivalence: 0⁰ is 1."
        "[0.0f32, 1.0, 5.0]" "[0.0f32, 9.0]" => "[1.0, 1.0, 0.0]";
    fn atan2(Float) -> T, 4: "Computes the angle of the point (b, a), from −π to π, value by value: the arc tangent of \
        a / b where b is above 0; results have the ambient shapes."
        "Follows IEEE 754, including signed zeros and infinities; NaN where either operand is. Error for `f32`: at \
         most 4 units in the last place plus 2⁻¹²⁶, because a GPU may flush operands and results below that to zero."
        "Gives 0 where either entry is missing. Does not respect equivalence: the angle of (−1, 0) is π."
        "[0.0f32, 0.0, 1.0]" "[1.0f32, -1.0]" => "[0.0, std::f32::consts::PI, 0.0]";
    fn maximum(Ordered) -> T, 0: "Takes the larger value, value by value; results have the ambient shapes."
        "NaN where either operand is; −0 is below +0. Exact."
        "A missing entry is ignored: the result is the other value, and 0 where both are missing. Does not respect \
         equivalence, since a trailing zero is not ignored."
        "[1.0f32, -5.0, -7.0]" "[2.0f32, -6.0]" => "[2.0, -5.0, -7.0]";
    fn minimum(Ordered) -> T, 0: "Takes the smaller value, value by value; results have the ambient shapes."
        "NaN where either operand is; −0 is below +0. Exact."
        "A missing entry is ignored: the result is the other value, and 0 where both are missing. Does not respect \
         equivalence, since a trailing zero is not ignored."
        "[1.0f32, -5.0, 7.0]" "[2.0f32, -6.0]" => "[1.0, -6.0, 7.0]";
    fn equal(Ordered) -> u32, 0: "Gives 1 where the values are equal and 0 elsewhere; results have the ambient shapes."
        "−0 equals +0, and NaN equals nothing. Exact, even for subnormal numbers."
        "A missing entry is 0. Does not respect equivalence: two zeros are equal and give 1."
        "[1.0f32, 2.0, 0.0]" "[1.0f32, 3.0]" => "[1, 0, 1]";
    fn not_equal(Ordered) -> u32, 0: "Gives 1 where the values differ and 0 elsewhere; results have the ambient shapes."
        "−0 equals +0, and NaN differs from everything, itself included. Exact, even for subnormal numbers."
        "A missing entry is 0. Respects equivalence."
        "[1.0f32, 2.0, 0.0]" "[1.0f32, 3.0]" => "[0, 1, 0]";
    fn less(Ordered) -> u32, 0: "Gives 1 where a is below b and 0 elsewhere; results have the ambient shapes."
        "Gives 0 where either operand is NaN; −0 equals +0. Exact, even for subnormal numbers."
        "A missing entry is 0. Respects equivalence."
        "[1.0f32, 4.0, -1.0]" "[2.0f32, 3.0]" => "[1, 0, 1]";
    fn less_equal(Ordered) -> u32, 0: "Gives 1 where a is at most b and 0 elsewhere; results have the ambient shapes."
        "Gives 0 where either operand is NaN; −0 equals +0. Exact, even for subnormal numbers."
        "A missing entry is 0. Does not respect equivalence: two zeros give 1."
        "[1.0f32, 4.0, 0.0]" "[2.0f32, 3.0]" => "[1, 0, 1]";
    fn greater(Ordered) -> u32, 0: "Gives 1 where a is above b and 0 elsewhere; results have the ambient shapes."
        "Gives 0 where either operand is NaN; −0 equals +0. Exact, even for subnormal numbers."
        "A missing entry is 0. Respects equivalence."
        "[1.0f32, 4.0, 1.0]" "[2.0f32, 3.0]" => "[0, 1, 1]";
    fn greater_equal(Ordered) -> u32, 0: "Gives 1 where a is at least b and 0 elsewhere; results have the ambient \
        shapes."
        "Gives 0 where either operand is NaN; −0 equals +0. Exact, even for subnormal numbers."
        "A missing entry is 0. Does not respect equivalence: two zeros give 1."
        "[1.0f32, 4.0, 0.0]" "[2.0f32, 3.0]" => "[0, 1, 1]";
}

macro_rules! on_the_left {
    ($($name:ident)*) => {
        impl<T: Number> Spread<'_, T> {$(
            #[doc = concat!("[`Tensor::", stringify!($name), "`] with this operand on the left.")]
            ///
            /// # Errors
            /// Those of [`Tensor::add`].
            pub fn $name(&self, other: &Tensor<T>) -> Result<Tensor<T>> {
                of_two(stringify!($name), *self, other.into())
            }
        )*}
    };
}
on_the_left!(add sub hadamard);

impl<T: Factor> Tensor<T> {
    /// Computes `x · factor + addend` value by value; results have the ambient shapes of the three operands.
    ///
    /// The product is rounded, and then the sum; integers wrap; `f16` is computed in `f32` and rounded at the end. A
    /// missing entry is zero, so it respects equivalence for finite values; a NaN or an infinity with a missing factor
    /// gives NaN. Factor and addend may be scalars, or spread over the elements of the ambient shapes: see [`Spread`].
    /// Cost: operands read once, result written once, in one dispatch; whole operands of other shapes are first copied
    /// to the ambient shapes.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0], 2, [Shape::new(&[2, 2])?])?)?;
    /// let weight = device.upload(&Ragged::from_rows([[10.0f32, 100.0]])?)?;
    /// let bias = device.upload(&Ragged::from_rows([[0.5f32, 0.25]])?)?;
    /// let y = x.mul_add(weight.along(1), bias.along(1))?;
    /// assert_eq!(y.download_blocking()?.row(0), [10.5, 200.25, 30.5, 400.25]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Tensor::add).
    pub fn mul_add<'a>(
        &self,
        factor: impl IntoSpread<'a, T>,
        addend: impl IntoSpread<'a, T>,
    ) -> Result<Tensor<T>> {
        of_three("mul_add", self, factor.into(), addend.into())
    }
}

impl Tensor<u32> {
    /// Takes `a` where this mask is not 0, and `b` elsewhere; results have the ambient shapes of the three operands.
    ///
    /// Comparisons such as [`less`](Tensor::less) return masks. Bits are preserved, including those of a NaN, and the
    /// value that is not chosen has no effect. A missing entry is zero, also in the mask, so it respects equivalence.
    /// `a` and `b` may be scalars, or spread over the elements of the ambient shapes: see [`Spread`]. Cost: operands
    /// read once, result written once, in one dispatch; whole operands of other shapes are first copied to the ambient
    /// shapes.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// # let device = Device::cpu();
    /// let x = device.upload(&Ragged::from_rows([vec![1.0f32, f32::NAN, 3.0], vec![]])?)?;
    /// let cleaned = x.equal(&x)?.if_else(&x, 0.0)?;
    /// assert_eq!(cleaned.download_blocking()?.to_vecs()?, [vec![1.0, 0.0, 3.0], vec![]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add`](Tensor::add).
    #[doc(alias("where", "mask", "where_cond", "mask_where"))]
    pub fn if_else<'a, T: Ordered>(
        &self,
        a: impl IntoSpread<'a, T>,
        b: impl IntoSpread<'a, T>,
    ) -> Result<Tensor<T>> {
        of_three("if_else", self, a.into(), b.into())
    }
}
