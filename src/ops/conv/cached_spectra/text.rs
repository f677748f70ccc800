//! Writes the WGSL that depends on the build of the kernel: the transforms.

use super::Build;
use super::CLASSES;
use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::ops::conv::fused::Class;

/// The twiddles of all builds.
pub(super) fn table() -> Vec<u32> {
    let mut generator = Generator::padded();
    for class in CLASSES {
        transforms(&mut generator, class, true);
    }
    generator.into_table()
}

/// The two transforms of a class. With `product`, the inverse takes a second array and transforms the product.
fn transforms(generator: &mut Generator, class: &Class, product: bool) -> String {
    let mut transform = |name, kind, product| {
        generator.function(&Transform {
            name,
            product,
            ..class.transform(kind)
        })
    };
    transform("forward", Kind::ForwardRightAngle, false)
        + &transform("inverse", Kind::InverseRightAngle, product)
}

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
