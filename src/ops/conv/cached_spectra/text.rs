//! Writes the WGSL that depends on the build of the kernel: the transforms, and the functions that use them.

use std::fmt::Write;

#[cfg(feature = "gpu")]
use super::Build;
use super::CLASSES;
use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::ops::conv::fused::{Class, text::write_load};

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

/// Writes the WGSL of `#generate "conv_cached"`.
#[cfg(feature = "gpu")]
pub(super) fn generate(build: &Build) -> String {
    let parts = build.parts;
    // Every build generates all classes, so that all builds share one table of twiddles.
    let mut generator = Generator::padded();
    let mut out = String::new();
    for class in CLASSES {
        let text = transforms(&mut generator, class, !parts);
        if *class == build.class {
            let group = super::group(class);
            let words = generator.words(&class.transform(Kind::ForwardRightAngle));
            let _ = writeln!(
                out,
                "const WG = {group}u;\nvar<workgroup> sh_exchange: array<f32, {}>;",
                words * (group >> class.log_lanes())
            );
            out.push_str(&text);
            if parts {
                write_parts(&mut out, class);
            } else {
                write_runs(&mut out, class, words);
            }
        }
    }
    out
}

/// Writes `convolve` for runs of items that share a spectrum.
fn write_runs(out: &mut String, class: &Class, words: u32) {
    let held = 1u32 << class.held;
    let threads = 1u32 << class.log_lanes();
    let _ = writeln!(
        out,
        "fn convolve(group: u32, lid: u32) {{
    let j = lid % {threads}u;
    let slot = lid / {threads}u;
    let first = (group * (WG / {threads}u) + slot) * p.rounds;
    let exchange = slot * {words}u;
    var v: array<vec2<f32>, {held}>;
    var h: array<vec2<f32>, {held}>;
    for (var round = 0u; round < p.rounds; round += 1u) {{
    let item = item_of(first + round);
    let a_at = item.a_at + j;
    let a_left = i32(item.values) - i32(j);"
    );
    write_load(out, class, "a", "v");
    let _ = writeln!(out, "    if p.spectra == 0u && round == 0u {{");
    for s in 0..held {
        let _ = writeln!(
            out,
            "        h[{s}] = spectra[item.spectrum + j + {}u];",
            s * threads
        );
    }
    let _ = writeln!(out, "    }}\n    forward(&v, j, exchange);");
    let _ = writeln!(out, "    if p.spectra != 0u {{");
    write_spectrum(out, class);
    let _ = writeln!(
        out,
        "        continue;\n    }}\n    inverse(&v, &h, j, exchange);"
    );
    write_store(out, class, "v");
    out.push_str("    }\n}\n");
}

/// Writes the code that stores the spectrum of an item, unless the item is padding.
fn write_spectrum(out: &mut String, class: &Class) {
    let threads = 1u32 << class.log_lanes();
    let _ = writeln!(
        out,
        "        if item.write != 0u {{\n        let at = 2u * (item.c_at + j);"
    );
    for s in 0..1u32 << class.held {
        let at = 2 * s * threads;
        let _ = writeln!(
            out,
            "        c[at + {at}u] = v[{s}].x;\n        c[at + {}u] = v[{s}].y;",
            at + 1
        );
    }
    out.push_str("        }\n");
}

/// Writes the code that stores the results: the real parts, then the negated imaginary parts, in which the right-angle
/// transform leaves the second half.
fn write_store(out: &mut String, class: &Class, name: &str) {
    let length = class.length;
    let threads = 1u32 << class.log_lanes();
    let _ = writeln!(out, "    let at = j - item.skip;");
    for (first, wanted, part) in [
        (0, format!("item.skip < {length}u"), "x"),
        (length, format!("item.skip + item.write > {length}u"), "y"),
    ] {
        let sign = if part == "y" { "-" } else { "" };
        let _ = writeln!(out, "    if {wanted} {{");
        for s in 0..1u32 << class.held {
            let _ = writeln!(
                out,
                "        store(item, at + {}u, {sign}{name}[{s}].{part});",
                first + s * threads
            );
        }
        out.push_str("    }\n");
    }
}

/// Writes `convolve` for an item whose kernel has several parts.
fn write_parts(out: &mut String, class: &Class) {
    let length = class.length;
    let held = 1u32 << class.held;
    let threads = 1u32 << class.log_lanes();
    let _ = writeln!(
        out,
        "fn convolve(group: u32, lid: u32) {{
    let j = lid;
    let item = item_of(group);
    var sum: array<vec2<f32>, {held}>;
    for (var part = 0u; part < item.parts; part += 1u) {{
    var v: array<vec2<f32>, {held}>;
    // Windows begin at multiples of the transform's length, the first one of an element a transform's length before it.
    let start = i32(item.start) - i32(part * {length}u);"
    );
    for (first, part, sign) in [(0, "x", ""), (length, "y", "-")] {
        let _ = writeln!(
            out,
            "    if start + {first} >= 0 {{\n        let begin = u32(start + {first}) + j;"
        );
        for s in 0..held {
            let i = s * threads;
            let _ = writeln!(
                out,
                "        if begin + {i}u < item.values {{ v[{s}].{part} = {sign}a[item.a_at + begin + {i}u]; }}"
            );
        }
        out.push_str("    }\n");
    }
    let _ = writeln!(
        out,
        "    forward(&v, j, 0u);\n    let h_at = item.spectrum + part * {length}u + j;"
    );
    for s in 0..held {
        let _ = writeln!(
            out,
            "    sum[{s}] = c_add(sum[{s}], v[{s}], spectra[h_at + {}u]);",
            s * threads
        );
    }
    out.push_str("    }\n    inverse(&sum, j, 0u);\n");
    write_store(out, class, "sum");
    out.push_str("}\n");
}
