//! Writes the WGSL of `#generate "fft_pass"`.

use std::f64::consts::TAU;
use std::fmt::Write;

use super::{Build, End, PASSES, Pass, transform};
use crate::ops::butterfly::Generator;

/// Writes the transform of a pass, and what multiplies by twiddles that are constants.
///
/// Uses: `x`, `y`, `real_in` and `folded_in`, `store_both`, or `store_ends`; `root`, `c_mul`, `unfolded`, and what
/// [`Generator::function`] says. Defines: `transform`; of first passes `load_right_angle` and `load_folded`; of later
/// ones `weights`, and `store_right_angle` or `store_halves`.
pub(super) fn generate(build: &Build) -> String {
    let &Build { ref pass, end } = build;
    let first = end == End::First;
    let (log_r, held) = (pass.log_radix(), pass.held);
    let mut out = String::new();
    // All builds share one table.
    let mut generator = Generator::new();
    for other in &PASSES {
        for other_first in [false, true] {
            let text = generator.function(&transform(other, other_first));
            if other_first == first && other.log_radix() == log_r {
                out.push_str(&text);
            }
        }
    }
    write_transfers(&mut out, pass, end);
    if !first {
        let powers = (0..held).map(|i| format!(", root(unit << {}u)", log_r - held + i));
        let _ = writeln!(
            out,
            "fn weights(unit: u32, j: u32) -> array<vec2<f32>, {}> {{\n    return array(root(unit * j){});\n}}",
            held + 1,
            powers.collect::<String>()
        );
    }
    out
}

/// Writes the functions that load or store all values of an invocation, at equal distances, times twiddles. Where the
/// distance is N / E, the twiddles of right-angle transforms and of halves are the first value's times constants.
fn write_transfers(out: &mut String, pass: &Pass, end: End) {
    let held = 1u32 << pass.held;
    let array = format!("ptr<function, array<vec2<f32>, {held}>>");
    // `part` is the angle from the first value to one past the last, in turns.
    let mut write = |name: &str, arguments: &str, part: f64, lines: &[(&str, &str)]| {
        let _ = writeln!(
            out,
            "fn {name}(v: {array}, {arguments}item: vec4<u32>, log_n: u32, start: u32, step: u32) {{"
        );
        for (before, line) in lines {
            let _ = writeln!(out, "    {before}");
            for s in 0..held {
                let (sin, cos) = (-TAU * f64::from(s) * part / f64::from(held)).sin_cos();
                let root = format!("vec2({:?}, {:?})", cos as f32, sin as f32);
                let line = line.replace("ROOT", &root).replace('$', &s.to_string());
                let _ = writeln!(out, "    {line}");
            }
        }
        let _ = writeln!(out, "}}");
    };
    match end {
        End::First => {
            write(
                "load_right_angle",
                "",
                0.25,
                &[
                    (
                        "let half = 1u << log_n;",
                        "(*v)[$] = vec2(real_in(item, start + $u * step), 0.0);",
                    ),
                    (
                        "if item.z > half {",
                        "    (*v)[$].y = -real_in(item, half + start + $u * step);",
                    ),
                    (
                        "}\n    let turn = root(start << (22u - log_n));",
                        "(*v)[$] = c_mul((*v)[$], c_mul(turn, ROOT));",
                    ),
                ],
            );
            write(
                "load_folded",
                "",
                0.5,
                &[(
                    "let turn = root(start << (23u - log_n));",
                    "(*v)[$] = folded_in(item, start + $u * step, c_mul(turn, ROOT));",
                )],
            );
        }
        End::Later => write(
            "store_right_angle",
            "",
            0.25,
            &[(
                "let turn = root(start << (22u - log_n)) * bitcast<f32>(item.w);",
                "store_both(item, log_n, start + $u * step, (*v)[$], c_mul(turn, ROOT));",
            )],
        ),
        End::Halves => write(
            "store_halves",
            &format!("m: {array}, "),
            0.5,
            &[(
                "store_ends(v, m, item, start);\n    let to = item.y + start;\n    \
                 let turn = root(start << (23u - log_n));",
                "y[to + $u * step] = unfolded(c_mul(turn, ROOT), (*v)[$], (*m)[$]);",
            )],
        ),
    }
}
