//! Writes the WGSL that depends on the build of the kernel: the transforms.

use std::borrow::Cow;

use super::{Build, CLASSES, group, transforms};
use crate::ops::butterfly::{Generator, Kind};
use crate::plan::{Listed, named};
use crate::ragged::DType;

/// Writes the transforms of a build.
///
/// Uses: what [`Generator::function`] says. Defines: `forward(v, j, at)`, and `inverse`, of the product of two arrays
/// unless kernels have several parts.
pub(super) fn generate(build: &Build) -> String {
    // Every build generates all classes, so that all builds share one table of twiddles.
    let mut generator = Generator::padded();
    let mut out = String::new();
    for class in CLASSES {
        let text = transforms(&mut generator, class, !build.parts);
        if *class == build.class {
            out = text;
        }
    }
    out
}

impl Listed for Build {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        const NAMES: [&str; CLASSES.len()] = ["N256", "N512", "N1024", "N2048", "N4096"];
        let class = NAMES[self.class.length.ilog2() as usize - 8];
        named(&[(!self.parts, class), (self.parts, "PARTS")])
    }

    /// `THREADS` invocations share a transform of `LENGTH` values, `HELD` values each, which they exchange through
    /// `WORDS` words of workgroup memory.
    fn numbers(&self) -> Vec<(&'static str, u32)> {
        let class = &self.class;
        let transform = class.transform(Kind::ForwardRightAngle);
        vec![
            ("WG", group(class)),
            ("LENGTH", class.length),
            ("HELD", 1 << class.held),
            ("THREADS", 1 << class.log_lanes()),
            ("WORDS", Generator::padded().words(&transform)),
        ]
    }

    fn generate(&self, part: &str) -> Option<String> {
        (part == "conv_cached").then(|| generate(self))
    }
}
