//! Assembles a kernel's WGSL source.
//!
//! The header names the kernel, and has the constants that it shares with its planner.
//!
//! Flags are the variant's own, plus its element type (`F32`, `I32`, `U32`, `C32`, `F16`). The header defines `E`, the
//! element type: for f16 the word that holds two. Before it stand the extensions that the flag `MATRIX` asks for.

use std::fmt::Write as _;

use crate::plan::{Kernel, Listed};
use crate::ragged::DType;

/// The files of `shaders/lib`, by the name used in `#include "name"`.
const LIBRARY: &[(&str, &str)] = &[
    ("best", include_str!("../../shaders/lib/best.wgsl")),
    ("atan2", include_str!("../../shaders/lib/atan2.wgsl")),
    ("compare", include_str!("../../shaders/lib/compare.wgsl")),
    ("entries", include_str!("../../shaders/lib/entries.wgsl")),
    (
        "converted",
        include_str!("../../shaders/lib/converted.wgsl"),
    ),
    ("complex", include_str!("../../shaders/lib/complex.wgsl")),
    ("factors", include_str!("../../shaders/lib/factors.wgsl")),
    (
        "fft_halves",
        include_str!("../../shaders/lib/fft_halves.wgsl"),
    ),
    (
        "fft_items",
        include_str!("../../shaders/lib/fft_items.wgsl"),
    ),
    (
        "fft_params",
        include_str!("../../shaders/lib/fft_params.wgsl"),
    ),
    (
        "fft_values",
        include_str!("../../shaders/lib/fft_values.wgsl"),
    ),
    ("ends", include_str!("../../shaders/lib/ends.wgsl")),
    ("erf", include_str!("../../shaders/lib/erf.wgsl")),
    ("exp", include_str!("../../shaders/lib/exp.wgsl")),
    (
        "half_bits",
        include_str!("../../shaders/lib/half_bits.wgsl"),
    ),
    ("lines", include_str!("../../shaders/lib/lines.wgsl")),
    ("log", include_str!("../../shaders/lib/log.wgsl")),
    ("power", include_str!("../../shaders/lib/power.wgsl")),
    ("powi", include_str!("../../shaders/lib/powi.wgsl")),
    ("quotient", include_str!("../../shaders/lib/quotient.wgsl")),
    (
        "remainder",
        include_str!("../../shaders/lib/remainder.wgsl"),
    ),
    ("roots", include_str!("../../shaders/lib/roots.wgsl")),
    ("sigmoid", include_str!("../../shaders/lib/sigmoid.wgsl")),
    ("softplus", include_str!("../../shaders/lib/softplus.wgsl")),
    ("trig", include_str!("../../shaders/lib/trig.wgsl")),
    ("gelu", include_str!("../../shaders/lib/gelu.wgsl")),
    ("grid", include_str!("../../shaders/lib/grid.wgsl")),
    ("half_of", include_str!("../../shaders/lib/half_of.wgsl")),
    ("product", include_str!("../../shaders/lib/product.wgsl")),
    ("modes", include_str!("../../shaders/lib/modes.wgsl")),
    ("nan", include_str!("../../shaders/lib/nan.wgsl")),
    ("order", include_str!("../../shaders/lib/order.wgsl")),
    ("pairs", include_str!("../../shaders/lib/pairs.wgsl")),
    ("reduce", include_str!("../../shaders/lib/reduce.wgsl")),
    ("rounded", include_str!("../../shaders/lib/rounded.wgsl")),
    ("rows", include_str!("../../shaders/lib/rows.wgsl")),
    ("search", include_str!("../../shaders/lib/search.wgsl")),
    ("selected", include_str!("../../shaders/lib/selected.wgsl")),
    ("taps", include_str!("../../shaders/lib/taps.wgsl")),
    ("shifted", include_str!("../../shaders/lib/shifted.wgsl")),
    ("turn", include_str!("../../shaders/lib/turn.wgsl")),
    ("tables", include_str!("../../shaders/lib/tables.wgsl")),
    ("units", include_str!("../../shaders/lib/units.wgsl")),
];

/// The complete WGSL of a variant; the error says which directive is wrong.
pub(crate) fn assemble(kernel: &Kernel, variant: usize) -> Result<String, String> {
    let v = kernel
        .variants
        .get(variant)
        .ok_or_else(|| format!("kernel {} has no such variant", kernel.stem))?;
    let dtype_flag = v.dtype().name().to_uppercase();
    let mut flags: Vec<&str> = v.flags().into_owned();
    flags.push(&dtype_flag);
    let enabled = match flags.contains(&"MATRIX") {
        true => "enable f16;\nenable wgpu_cooperative_matrix;\n",
        false => "",
    };
    let mut out = format!(
        "// {}\n{enabled}alias E = {};\n",
        kernel.name(variant),
        match v.dtype() {
            DType::C32 => "vec2<f32>",
            DType::F16 => "u32",
            other => other.name(),
        }
    );
    for (name, value) in kernel.constants.iter().copied().flatten() {
        let _ = writeln!(out, "const {name} = {value}u;");
    }
    let mut included = Vec::new();
    expand(kernel.source, (&flags, v), &mut included, &mut out)
        .map_err(|e| format!("{}.wgsl: {e}", kernel.stem))?;
    Ok(out)
}

fn expand(
    text: &str,
    (flags, variant): (&[&str], &dyn Listed),
    included: &mut Vec<String>,
    out: &mut String,
) -> Result<(), String> {
    // One entry per open #if: whether the current branch is emitted.
    let mut open: Vec<bool> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = |what: &str| format!("line {}: {what}", number + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("#if") => {
                let name = words.next().ok_or_else(|| at("#if without a flag"))?;
                let on = match name.strip_prefix('!') {
                    Some(name) => !flags.contains(&name),
                    None => flags.contains(&name),
                };
                open.push(on);
            }
            Some("#else") => {
                let top = open.last_mut().ok_or_else(|| at("#else without #if"))?;
                *top = !*top;
            }
            Some("#endif") => {
                open.pop().ok_or_else(|| at("#endif without #if"))?;
            }
            _ if open.contains(&false) => {}
            Some("#include") => {
                let name = words
                    .next()
                    .map(|w| w.trim_matches('"'))
                    .ok_or_else(|| at("#include without a name"))?;
                if included.iter().any(|i| i == name) {
                    continue;
                }
                let (_, text) = LIBRARY
                    .iter()
                    .find(|(n, _)| *n == name)
                    .ok_or_else(|| at(&format!("no shaders/lib/{name}.wgsl")))?;
                included.push(name.to_owned());
                expand(text, (flags, variant), included, out)?;
            }
            Some("#generate") => {
                let name = words
                    .next()
                    .map(|w| w.trim_matches('"'))
                    .ok_or_else(|| at("#generate without a name"))?;
                let text = variant
                    .generate(name)
                    .ok_or_else(|| at(&format!("nothing generates {name}")))?;
                expand(&text, (flags, variant), included, out)?;
            }
            Some(word) if word.starts_with('#') => {
                return Err(at(&format!("unknown directive {word}")));
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("#if without #endif".to_owned())
    }
}

#[cfg(test)]
mod tests;
