//! Maps that take less time than storing their results. A chain computes two of them in one pass.

use super::functions::between;

/// A function of a value and two scalars.
pub(crate) trait Cheap {
    fn of(x: f32, s: f32, t: f32) -> f32;
}

/// Computes a map, and then another map of its results, with the scalars of each.
pub(crate) type Both = fn(&[f32], &mut [f32], [[f32; 2]; 2]);

/// Defines the maps and the table of all pairs.
macro_rules! cheap {
    ($($name:literal $map:ident |$x:ident, $s:pat_param, $t:pat_param| $value:expr;)*) => {
        $(
            pub(crate) struct $map;

            impl Cheap for $map {
                #[inline(always)]
                fn of($x: f32, $s: f32, $t: f32) -> f32 {
                    $value
                }
            }
        )*

        const NAMES: &[&str] = &[$($name),*];

        /// The pairs that begin with this map.
        const fn with<A: Cheap>() -> [Both; NAMES.len()] {
            [$(both::<A, $map>),*]
        }

        static PAIRS: [[Both; NAMES.len()]; NAMES.len()] = [$(with::<$map>()),*];
    };
}

cheap! {
    // Flips the sign of NaN, too.
    "neg" Neg |x, _, _| f32::from_bits(x.to_bits() ^ 1 << 31);
    "scale" Scale |x, s, _| s * x;
    "abs" Abs |x, _, _| x.abs();
    "square" Square |x, _, _| x * x;
    "add_scalar" AddScalar |x, s, _| x + s;
    "sub_from" SubFrom |x, s, _| s - x;
    "relu" Relu |x, _, _| if x <= 0.0 { 0.0 } else { x };
    "leaky_relu" LeakyRelu |x, s, _| if x > 0.0 { x } else { s * x };
    "clamp" Clamp |x, s, t| between(x, s, t);
}

fn both<A: Cheap, B: Cheap>(x: &[f32], y: &mut [f32], [[a, b], [c, d]]: [[f32; 2]; 2]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = B::of(A::of(x, a, b), c, d);
    }
}

/// Both maps of these names in one pass, if both are cheap.
pub(crate) fn both_of(first: &str, second: &str) -> Option<Both> {
    let place = |name: &str| NAMES.iter().position(|known| *known == name);
    Some(PAIRS[place(first)?][place(second)?])
}
