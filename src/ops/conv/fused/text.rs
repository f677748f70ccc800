//! Writes the WGSL that depends on the build of the kernel: the transforms, and a function for each class.

use std::fmt::Write;

#[cfg(feature = "gpu")]
use super::{Build, Results};
use super::{CLASSES, Class};
use crate::ops::butterfly::{Generator, Kind, Transform};

/// The twiddles of all builds.
pub(super) fn table() -> Vec<u32> {
    let mut generator = Generator::padded();
    for class in CLASSES.iter().filter(|class| class.length > 0) {
        transforms(&mut generator, class);
    }
    generator.into_table()
}

/// The two transforms of a class.
fn transforms(generator: &mut Generator, class: &Class) -> String {
    let mut transform = |way, kind, product| {
        generator.function(&Transform {
            name: &format!("{way}_{}", class.length),
            product,
            ..class.transform(kind)
        })
    };
    transform("forward", Kind::ForwardRightAngle, false)
        + &transform("inverse", Kind::InverseRightAngle, true)
}

/// Writes the WGSL of `#generate "conv_fused"`.
///
/// Uses: `p.ends`, `a`, `b`, `item_of`, `convolve_directly`, `store`; or `Best`, `NOWHERE`, `seen`, `keep`; and what
/// [`Generator::function`] says. Defines: `WG`, `LANES`, `sh_exchange`, `convolve(group, lid)`.
#[cfg(feature = "gpu")]
pub(super) fn generate(build: &Build) -> String {
    let mut generator = Generator::padded();
    let words = |class: &Class| generator.words(&class.transform(Kind::ForwardRightAngle));
    let transforms_of = build.classes.iter().filter(|class| class.length > 0);
    let memory = transforms_of.map(|class| words(class) << (build.log_group - class.log_lanes()));
    let mut out = format!(
        "const WG = {}u;\nconst LANES = {}u;\nvar<workgroup> sh_exchange: array<f32, {}>;\n",
        1 << build.log_group,
        1 << CLASSES[0].log_lanes(),
        memory.max().unwrap_or(0)
    );
    // Every build generates all classes, so that all builds share one table of twiddles.
    for class in CLASSES.iter().filter(|class| class.length > 0) {
        let text = transforms(&mut generator, class);
        if build.classes.contains(class) {
            out.push_str(&text);
            let words = generator.words(&class.transform(Kind::ForwardRightAngle));
            write_class(&mut out, class, words, build.results == Results::Largest);
        }
    }
    write_choice(&mut out, build.classes);
    out
}

/// Writes `convolve`, which finds the class of a workgroup.
fn write_choice(out: &mut String, classes: &[Class]) {
    out.push_str("fn convolve(group: u32, lid: u32) {\n    ");
    let mut start = ["0u".to_owned(), "0u".to_owned()];
    for (i, class) in classes.iter().rev().enumerate() {
        let parts = [["x", "y"], ["z", "w"]][i % 2];
        let end = parts.map(|part| format!("p.ends[{}].{part}", i / 2));
        let name = match class.length {
            0 => "directly".to_owned(),
            length => length.to_string(),
        };
        let _ = write!(
            out,
            "if group < {} {{\n        convolve_{name}(group - {}, {}, {}, lid);\n    }} else ",
            end[0], start[0], start[1], end[1]
        );
        start = end;
    }
    out.push_str("{}\n}\n");
}

/// Writes the function of a class of transforms. It transforms one operand after the other, so that they share the
/// workgroup's memory.
fn write_class(out: &mut String, class: &Class, words: u32, seek: bool) {
    let length = class.length;
    let held = 1u32 << class.held;
    let threads = 1u32 << class.log_lanes();
    let _ = writeln!(
        out,
        "fn convolve_{length}(group: u32, first: u32, end: u32, lid: u32) {{
    let j = lid % {threads}u;
    let slot = lid / {threads}u;
    let item = item_of(first + group * (WG / {threads}u) + slot, end);
    let a_at = item.a_at + j;
    let a_left = i32(item.m) - i32(j);
    let b_at = item.b_at + j * item.b_step;
    let b_left = i32(item.n) - i32(j);
    let exchange = slot * {words}u;
    var v: array<vec2<f32>, {held}>;
    var h: array<vec2<f32>, {held}>;"
    );
    if length == 4096 {
        // With two workgroups per core, nothing else hides the memory latency: load both operands first.
        write_load(out, class, "a", "h");
        write_load(out, class, "b", "v");
        let _ = writeln!(out, "    forward_{length}(&h, j, exchange);");
        let _ = writeln!(out, "    forward_{length}(&v, j, exchange);");
    } else {
        // The code of a transform is long; a loop needs it only once.
        out.push_str(
            "    for (var side = 0u; side < 2u; side += 1u) {\n    h = v;\n    if side == 0u {\n",
        );
        write_load(out, class, "a", "v");
        out.push_str("    } else {\n");
        write_load(out, class, "b", "v");
        let _ = writeln!(
            out,
            "    }}\n    forward_{length}(&v, j, exchange);\n    }}"
        );
    }
    let _ = writeln!(
        out,
        "    inverse_{length}(&v, &h, j, exchange);\n    let at = j - item.skip;"
    );
    if seek {
        out.push_str("    var best = Best(0.0, NOWHERE);\n");
    }
    for (first, part) in [(0, "v[S].x"), (length, "-v[S].y")] {
        for s in 0..held {
            let value = part.replace('S', &s.to_string());
            let at = first + s * threads;
            let _ = match seek {
                true => writeln!(out, "    best = seen(item, best, at + {at}u, {value});"),
                false => writeln!(out, "    store(item, at + {at}u, {value});"),
            };
        }
    }
    if seek {
        let _ = writeln!(out, "    keep(item, best, j, exchange, {threads}u);");
    }
    out.push_str("}\n");
}

/// Writes the code that loads an operand mod z^N + i: value n + N is added to place n, times -i.
fn write_load(out: &mut String, class: &Class, side: &str, name: &str) {
    let threads = 1u32 << class.log_lanes();
    let held = 1u32 << class.held;
    let step = if side == "b" { " * item.b_step" } else { "" };
    for s in 0..held {
        let _ = writeln!(out, "    {name}[{s}] = vec2(0.0);");
    }
    for (first, part, sign) in [(0, "x", ""), (class.length, "y", "-")] {
        // Most operands end before the second half; one branch then skips all of it.
        let _ = writeln!(out, "    if {side}_left > {first} {{");
        for s in 0..held {
            let i = first + s * threads;
            let _ = writeln!(
                out,
                "        if {side}_left > {i} {{ {name}[{s}].{part} = {sign}{side}[{side}_at + {i}u{step}]; }}"
            );
        }
        out.push_str("    }\n");
    }
}
