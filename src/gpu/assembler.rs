//! Assembles a kernel's WGSL source.
//!
//! The header names the kernel, and has the constants that it shares with its planner.
//!
//! Flags are the variant's own, plus its element type (`F32`, `I32`, `U32`, `C32`, `F16`). The header defines `E`, the
//! element type: for f16 the word that holds two. Before it stand the extensions that the flag `MATRIX` asks for.
//!
//! `#for s COUNT` .. `#endfor` writes lines once for each s below COUNT, and `$(s * STEP + 1)` in a line is a number:
//! names are the variable and the numbers of the variant.

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
    let numbers = v.numbers();
    for (name, value) in kernel.constants.iter().copied().flatten().chain(&numbers) {
        let _ = writeln!(out, "const {name} = {value}u;");
    }
    let mut expansion = Expansion {
        flags: &flags,
        variant: v,
        numbers,
        included: Vec::new(),
        out,
    };
    let lines: Vec<&str> = kernel.source.lines().collect();
    expansion
        .expand(&lines)
        .map_err(|e| format!("{}.wgsl: {e}", kernel.stem))?;
    #[cfg(vsla_mutant)]
    mutant::mutate(kernel.stem, &flags, &mut expansion.out);
    Ok(expansion.out)
}

struct Expansion<'a> {
    flags: &'a [&'a str],
    variant: &'a dyn Listed,
    /// Of the variant, and of the loops around a line.
    numbers: Vec<(&'a str, u32)>,
    included: Vec<String>,
    out: String,
}

impl<'a> Expansion<'a> {
    fn expand(&mut self, lines: &[&'a str]) -> Result<(), String> {
        // One entry per open #if: whether the current branch is emitted.
        let mut open: Vec<bool> = Vec::new();
        let mut next = 0;
        while let Some(&line) = lines.get(next) {
            next += 1;
            let at = |what: &str| format!("line {next}: {what}");
            let mut words = line.split_whitespace();
            let directive = words.next();
            let mut name = || {
                let name = words.next().map(|word| word.trim_matches('"'));
                name.ok_or_else(|| at("a directive without a name"))
            };
            match directive {
                Some("#if") => {
                    let name = name()?;
                    open.push(match name.strip_prefix('!') {
                        Some(name) => !self.flags.contains(&name),
                        None => self.flags.contains(&name),
                    });
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
                    let name = name()?;
                    if self.included.iter().any(|i| i == name) {
                        continue;
                    }
                    let (_, text) = LIBRARY
                        .iter()
                        .find(|(n, _)| *n == name)
                        .ok_or_else(|| at(&format!("no shaders/lib/{name}.wgsl")))?;
                    self.included.push(name.to_owned());
                    self.expand(&text.lines().collect::<Vec<_>>())?;
                }
                Some("#generate") => {
                    let name = name()?;
                    let text = self
                        .variant
                        .generate(name)
                        .ok_or_else(|| at(&format!("nothing generates {name}")))?;
                    let mut inner = Expansion {
                        numbers: Vec::new(),
                        included: std::mem::take(&mut self.included),
                        out: std::mem::take(&mut self.out),
                        ..*self
                    };
                    let text = indented(&text, line.len() - line.trim_start().len());
                    inner.expand(&text.lines().collect::<Vec<_>>())?;
                    (self.included, self.out) = (inner.included, inner.out);
                }
                Some("#for") => {
                    let (name, count) = (name()?, words.collect::<String>());
                    let count = self
                        .value(&count)
                        .ok_or_else(|| at(&format!("{count} is no number")))?;
                    let body = &lines[next..];
                    let length = end_of_for(body).ok_or_else(|| at("#for without #endfor"))?;
                    for value in 0..count {
                        self.numbers.push((name, value));
                        self.expand(&body[..length])?;
                        self.numbers.pop();
                    }
                    next += length + 1;
                }
                Some(word) if word.starts_with('#') => {
                    return Err(at(&format!("unknown directive {word}")));
                }
                _ => self.emit(line).map_err(|what| at(&what))?,
            }
        }
        if open.is_empty() {
            Ok(())
        } else {
            Err("#if without #endif".to_owned())
        }
    }

    /// Writes a line, with its numbers `$(..)`.
    fn emit(&mut self, line: &str) -> Result<(), String> {
        let mut parts = line.split("$(");
        self.out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (number, rest) = part.split_once(')').unwrap_or((part, ""));
            let value = self
                .value(number)
                .ok_or_else(|| format!("{number} is no number"))?;
            let _ = write!(self.out, "{value}{rest}");
        }
        self.out.push('\n');
        Ok(())
    }

    /// The value of a sum of products of numbers and names of numbers. A factor may be a quotient.
    fn value(&self, sum: &str) -> Option<u32> {
        let number = |text: &str| {
            let text = text.trim();
            let known = self.numbers.iter().find(|(name, _)| *name == text);
            known.map_or_else(|| text.parse().ok(), |&(_, value)| Some(value))
        };
        let factor = |text: &str| match text.split_once('/') {
            Some((value, by)) => number(value)?.checked_div(number(by)?),
            None => number(text),
        };
        let product = |text: &str| {
            let mut factors = text.split('*').map(factor);
            factors.try_fold(1u32, |all, factor| all.checked_mul(factor?))
        };
        let mut products = sum.split('+').map(product);
        products.try_fold(0u32, |all, product| all.checked_add(product?))
    }
}

/// Generated lines, indented by the brackets around them, and more.
fn indented(text: &str, more: usize) -> String {
    let mut out = String::new();
    let mut depth = 0usize;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let leading = line.chars().take_while(|c| matches!(c, '}' | ')')).count();
        let count = |brackets: [char; 2]| line.matches(brackets).count();
        let _ = writeln!(
            out,
            "{:1$}{line}",
            "",
            more + 4 * depth.saturating_sub(leading)
        );
        depth = (depth + count(['{', '('])).saturating_sub(count(['}', ')']));
    }
    out
}

/// The number of lines before the `#endfor` of a `#for` whose body begins here.
fn end_of_for(lines: &[&str]) -> Option<usize> {
    let mut depth = 0;
    lines.iter().position(|line| {
        match line.split_whitespace().next() {
            Some("#for") => depth += 1,
            Some("#endfor") => depth -= 1,
            _ => {}
        }
        depth < 0
    })
}

#[cfg(vsla_mutant)]
pub(super) mod mutant;

#[cfg(test)]
mod tests;
