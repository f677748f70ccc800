//! The WGSL of a pass that depends on its radix: its transform, and twiddles that are constants.

use std::borrow::Cow;
use std::f64::consts::TAU;

use super::{Build, End, PASSES, transform};
use crate::ops::butterfly::Generator;
use crate::plan::{Listed, named};
use crate::ragged::DType;

/// Writes the transform of a pass.
///
/// Uses: what [`Generator::function`] says. Defines: `transform(v, j, at, k, to)` of first passes, and of later ones
/// `transform(v, w, j, at)`.
pub(super) fn generate(build: &Build) -> String {
    let mut out = String::new();
    // All builds share one table.
    let mut generator = Generator::new();
    for other in &PASSES {
        for first in [false, true] {
            let text = generator.function(&transform(other, first));
            if first == (build.end == End::First) && other.log_radix() == build.pass.log_radix() {
                out.push_str(&text);
            }
        }
    }
    out
}

/// The twiddle of each value of an invocation relative to the first, where the angle from the first value to one past
/// the last is a quarter turn, or half a turn.
pub(super) fn roots(build: &Build) -> Vec<(String, String)> {
    let held = 1u32 << build.pass.held;
    let roots = |part: f64| {
        let root = |s: u32| {
            let (sin, cos) = (-TAU * f64::from(s) * part / f64::from(held)).sin_cos();
            format!("{s} vec2({:?}, {:?})", cos as f32, sin as f32)
        };
        let roots: Vec<String> = (0..held).map(root).collect();
        roots.join(", ")
    };
    [("QUARTER_ROOTS", 0.25), ("HALF_ROOTS", 0.5)]
        .map(|(name, part)| (name.to_owned(), roots(part)))
        .into()
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::C32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        named(&[
            (true, self.pass.flag),
            (self.end == End::First, "FIRST"),
            (self.end == End::Halves, "HALVES"),
        ])
    }

    /// A workgroup has `C` columns. An invocation holds `HELD` values of one column, which are 2^LOG_T apart.
    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let pass = &self.pass;
        let log_t = pass.log_radix() - pass.held;
        vec![
            ("LOG_R", pass.log_radix()),
            ("LOG_T", log_t),
            ("C", 1 << pass.columns),
            ("WG", 1 << pass.log_group()),
            ("HELD", 1 << pass.held),
            ("THREADS", 1 << log_t),
        ]
    }

    fn texts(&self) -> Vec<(String, String)> {
        roots(self)
    }

    fn generate(&self, part: &str) -> Option<String> {
        (part == "transform").then(|| generate(self))
    }
}
