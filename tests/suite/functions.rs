//! All table functions of two and three operands against independent references: with ambient shapes, pairings, and
//! operands spread over elements.

mod bounds;
mod elements;
mod reference;
mod shapes;
mod spread;
mod three;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use catalogue::Reference;
use libtest_mimic::Trial;
use vsla::scalar::Factor;
use vsla::{Paired, Ragged, Result, Tensor, batch::Spread, f16};

use crate::support::bench::Bench;
use crate::support::operation::download;

use elements::{alone, assert_same, bits, by_zero, contained, of_empty_batches};
pub use reference::{displaced, drawn, layout, places};
pub use shapes::crossing;
use shapes::{in_every_shape, missing_entries, of_one_layout, pairings};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = vec![bench.host("every_row_is_tested", every_row_is_tested)];
    trials.extend(bench.all_on_each_device(&[
        ("missing_entries", missing_entries),
        ("in_every_shape", in_every_shape),
        ("of_one_layout", of_one_layout),
        ("pairings", pairings),
        ("alone", alone),
        ("nan_stays_within_its_element", contained),
        ("integers_by_zero", by_zero),
        ("of_empty_batches", of_empty_batches),
    ]));
    trials.extend(bounds::tests(bench));
    trials.extend(spread::tests(bench));
    trials.extend(three::tests(bench));
    trials
}

/// An element type, with reference functions that compute in f64.
pub trait Value: Factor {
    /// One of a few small integers.
    fn small(i: i32) -> Self;
    fn wide(self) -> f64;
    /// The result for two values and, for floats, the allowed error.
    fn reference(name: &str, x: Self, y: Self) -> f64;
    fn is_float() -> bool {
        false
    }
    /// Functions of floats only.
    fn floats(_: &str, _: &Tensor<Self>, _: Spread<'_, Self>) -> Option<Result<Tensor<Self>>> {
        None
    }
    fn paired_floats(_: &str, _: &Paired<'_, Self>) -> Option<Result<Tensor<Self>>> {
        None
    }
    fn spread_floats(
        _: &str,
        _: Spread<'_, Self>,
        _: &Tensor<Self>,
    ) -> Option<Result<Tensor<Self>>> {
        None
    }
}

fn compared<T: PartialOrd>(name: &str, x: T, y: T) -> Option<f64> {
    let mask = match name {
        "equal" => x == y,
        "not_equal" => x != y,
        "less" => x < y,
        "less_equal" => x <= y,
        "greater" => x > y,
        "greater_equal" => x >= y,
        _ => return None,
    };
    Some(f64::from(u8::from(mask)))
}

/// The reference function of a method of floats, from its row.
pub fn of_floats(name: &str, x: f64, y: f64) -> f64 {
    type Named = BTreeMap<&'static str, fn(f64, f64) -> f64>;
    static ALL: LazyLock<Named> = LazyLock::new(|| {
        let mut all = Named::new();
        for row in catalogue::operations() {
            if let Reference::Pair(reference) = row.reference {
                let methods = row.methods.iter().filter(|(_, option)| option.is_empty());
                let names = methods.map(|(method, _)| *method).chain([row.name]);
                all.extend(names.map(|name| (name, reference)));
            }
        }
        all
    });
    ALL[name](x, y)
}

/// One function for each treatment of missing entries, and for masks. The others differ only in an expression, and a
/// software GPU takes a second to compile each kernel.
fn telling<T: Value>() -> impl Iterator<Item = &'static str> {
    let some = |name: &&str| T::is_float() || ["sub", "div", "maximum", "equal"].contains(name);
    ["sub", "div", "maximum", "equal", "pow"]
        .into_iter()
        .filter(some)
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Value for $t {
            fn small(i: i32) -> $t {
                i as $t
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn reference(name: &str, x: $t, y: $t) -> f64 {
                if let Some(mask) = compared(name, x, y) {
                    return mask;
                }
                f64::from(match name {
                    "add" => x.wrapping_add(y),
                    "sub" => x.wrapping_sub(y),
                    "hadamard" => x.wrapping_mul(y),
                    "div" | "remainder" if y == 0 => 0,
                    "div" => x.wrapping_div(y),
                    "remainder" => x.wrapping_rem(y),
                    "maximum" => x.max(y),
                    "minimum" => x.min(y),
                    _ => panic!("{name}"),
                })
            }
        }
    )*};
}
integers!(i32 u32);

macro_rules! floats {
    ($($t:ty: $small:expr, $wide:expr;)*) => {$(
        impl Value for $t {
            fn small(i: i32) -> $t {
                $small(i)
            }
            fn wide(self) -> f64 {
                $wide(self)
            }
            fn reference(name: &str, x: $t, y: $t) -> f64 {
                of_floats(name, $wide(x), $wide(y))
            }
            fn is_float() -> bool {
                true
            }
            fn floats(name: &str, x: &Tensor<$t>, y: Spread<'_, $t>) -> Option<Result<Tensor<$t>>> {
                match name {
                    "pow" => Some(x.pow(y)),
                    "atan2" => Some(x.atan2(y)),
                    _ => None,
                }
            }
            fn paired_floats(name: &str, pair: &Paired<'_, $t>) -> Option<Result<Tensor<$t>>> {
                match name {
                    "pow" => Some(pair.pow()),
                    "atan2" => Some(pair.atan2()),
                    _ => None,
                }
            }
            fn spread_floats(name: &str, x: Spread<'_, $t>, y: &Tensor<$t>) -> Option<Result<Tensor<$t>>> {
                match name {
                    "pow" => Some(x.pow(y)),
                    "atan2" => Some(x.atan2(y)),
                    _ => None,
                }
            }
        }
    )*};
}
floats! {
    f32: |i| i as f32, f64::from;
    f16: |i| f16::from_f32(i as f32), f64::from;
}

pub const NAMES: [&str; 15] = [
    "add",
    "sub",
    "hadamard",
    "div",
    "remainder",
    "pow",
    "atan2",
    "maximum",
    "minimum",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
];

/// The functions that a type has.
fn names<T: Value>() -> impl Iterator<Item = &'static str> {
    let has = |name: &&str| T::is_float() || !["pow", "atan2"].contains(name);
    NAMES.into_iter().filter(has)
}

/// Calls the method of that name with these arguments.
macro_rules! all_names {
    ($name:expr, $x:ident $args:tt, $floats:expr) => {
        all_names!(@ $name, $x $args, $floats;
            add sub hadamard div remainder maximum minimum;
            equal not_equal less less_equal greater greater_equal)
    };
    (@ $name:expr, $x:ident $args:tt, $floats:expr; $($of:ident)*; $($mask:ident)*) => {
        match $name {
            $(stringify!($of) => wide(&download(&all_names!(@@ $x $of $args)?)),)*
            $(stringify!($mask) => download(&all_names!(@@ $x $mask $args)?).cast(f64::from).unwrap(),)*
            _ => wide(&download(&$floats.unwrap()?)),
        }
    };
    (@@ $x:ident $of:ident ($($y:ident)?)) => { $x.$of($($y)?) };
}

fn wide<T: Value>(batch: &Ragged<T>) -> Ragged<f64> {
    batch.cast(T::wide).unwrap()
}

/// Applies the function of that name to a tensor and an operand.
pub fn called<T: Value>(name: &str, x: &Tensor<T>, y: Spread<'_, T>) -> Result<Ragged<f64>> {
    Ok(all_names!(name, x(y), T::floats(name, x, y)))
}

/// The same, with the spread operand on the left.
pub fn called_spread<T: Value>(name: &str, x: Spread<'_, T>, y: &Tensor<T>) -> Result<Ragged<f64>> {
    Ok(all_names!(name, x(y), T::spread_floats(name, x, y)))
}

fn called_paired<T: Value>(name: &str, pair: &Paired<'_, T>) -> Result<Ragged<f64>> {
    Ok(all_names!(name, pair(), T::paired_floats(name, pair)))
}

macro_rules! of_every_type {
    ($f:ident($($x:expr),*)) => {{
        $f::<f32>($($x),*);
        $f::<f16>($($x),*);
        $f::<i32>($($x),*);
        $f::<u32>($($x),*);
    }};
}
use of_every_type;

fn every_row_is_tested() {
    let table: BTreeSet<&str> = vsla::scalar::functions().map(|row| row.name).collect();
    let here = NAMES.into_iter().chain(["mul_add", "if_else"]);
    // `complex` tests these.
    let here = here.chain(["complex", "polar"]);
    assert_eq!(table, here.collect());
}
