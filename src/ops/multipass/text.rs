//! Writes the WGSL of `#generate "fft_pass"`.

use std::f64::consts::TAU;
use std::fmt::Write;

use super::{Build, End, PASSES, Pass, transform};
use crate::ops::butterfly::Generator;

/// Writes the part of the kernel that depends on its build.
pub(super) fn generate(build: &Build) -> String {
    let &Build { ref pass, end } = build;
    let first = end == End::First;
    let (log_r, log_group, held) = (pass.log_radix(), pass.log_group(), pass.held);
    let mut out = format!(
        "const LOG_R = {log_r}u;\nconst LOG_T = {}u;\nconst C = {}u;\nconst WG = {}u;\nconst HELD = {}u;\n\
         var<workgroup> sh_exchange: array<f32, {}>;\n",
        log_r - held,
        1 << pass.columns,
        1 << log_group,
        1 << held,
        1 << (log_r + pass.columns),
    );
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
        if end == End::Halves {
            write_mirror(&mut out, pass);
        }
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

/// Writes the functions that load and store all values of an invocation, at equal distances, one function per mode.
///
/// Where the distance is N / E, the twiddles of right-angle transforms and of halves are the first value's twiddle
/// times constants.
fn write_transfers(out: &mut String, pass: &Pass, end: End) {
    let held = 1u32 << pass.held;
    let array = format!("v: ptr<function, array<vec2<f32>, {held}>>");
    let both = format!("{array}, m: ptr<function, array<vec2<f32>, {held}>>");
    let item = "item: vec4<u32>";
    // `part` is the angle from the first value to one past the last, in turns.
    let mut write = |name: &str, arguments: &str, part: f64, lines: &[(&str, &str)]| {
        let _ = writeln!(out, "fn {name}({arguments}, start: u32, step: u32) {{");
        for (before, line) in lines {
            let _ = writeln!(out, "    {before}");
            let each = if line.is_empty() { 0 } else { held };
            for s in 0..each {
                let (sin, cos) = (-TAU * f64::from(s) * part / f64::from(held)).sin_cos();
                let root = format!("vec2({:?}, {:?})", cos as f32, sin as f32);
                let line = line.replace("ROOT", &root).replace('$', &s.to_string());
                let _ = writeln!(out, "    {line}");
            }
        }
        let _ = writeln!(out, "}}");
    };
    let in_order = [("", "(*v)[$] = x[start + $u * step];")];
    if end == End::First {
        write("load", &array, 0.0, &in_order);
        write(
            "load_product",
            &format!("{array}, first: u32, second: u32"),
            0.0,
            &[(
                "",
                "(*v)[$] = c_mul(x[first + start + $u * step], x[second + start + $u * step]).yx;",
            )],
        );
        write(
            "load_right_angle",
            &format!("{array}, {item}, log_n: u32"),
            0.25,
            &[
                (
                    "let half = 1u << log_n;",
                    "(*v)[$] = vec2(real_in(item, start + $u * step), 0.0);",
                ),
                (
                    "if item.z > half {",
                    "(*v)[$].y = -real_in(item, half + start + $u * step);",
                ),
                (
                    "}\n    let turn = root(start << (22u - log_n));",
                    "(*v)[$] = c_mul((*v)[$], c_mul(turn, ROOT));",
                ),
            ],
        );
        write(
            "load_pairs",
            &format!("{array}, {item}"),
            0.0,
            &[
                (
                    "let at = p.x_base + item.x + 2u * start;\n    if (at & 1u) == 0u {",
                    "(*v)[$] = x[(at >> 1u) + $u * step];",
                ),
                ("} else {", "(*v)[$] = pair_in(at + $u * 2u * step);"),
                ("}", ""),
            ],
        );
        write(
            "load_folded",
            &format!("{array}, {item}, log_n: u32"),
            0.5,
            &[(
                "let turn = root(start << (23u - log_n));",
                "(*v)[$] = folded_in(item, start + $u * step, c_mul(turn, ROOT));",
            )],
        );
        write(
            "load_first",
            &format!("{array}, {item}, log_n: u32"),
            0.0,
            &[("", "(*v)[$] = first_value(item, log_n, start + $u * step);")],
        );
        write(
            "store",
            &array,
            0.0,
            &[("", "y[start + $u * step] = (*v)[$];")],
        );
        return;
    }
    write("load", &array, 0.0, &in_order);
    if end == End::Halves {
        write(
            "chirp_values",
            &format!("{array}, {item}"),
            0.0,
            &[(
                "",
                "(*v)[$] = c_mul((*v)[$].yx, chirp(min(start + $u * step, item.z - 1u), item.z));",
            )],
        );
        // Value 0 is its own mirror, and the one extra result is computed from it alone.
        let ends = "if start == 0u { (*m)[0] = (*v)[0]; \
                    y[item.y + item.z] = vec2((*v)[0].x - (*v)[0].y, 0.0); }";
        write(
            "store_halves",
            &format!("{both}, {item}, log_n: u32"),
            0.5,
            &[
                (ends, ""),
                (
                    "let to = item.y + start;\n    let turn = root(start << (23u - log_n));",
                    "y[to + $u * step] = unfolded(c_mul(turn, ROOT), (*v)[$], (*m)[$]);",
                ),
            ],
        );
        write(
            "store_some_halves",
            &format!("{both}, {item}"),
            0.0,
            &[
                (ends, ""),
                (
                    "let to = item.y + start;",
                    "if start + $u * step < item.z { y[to + $u * step] = unfolded(half_turn(\
                     start + $u * step, item.z), (*v)[$], (*m)[$]); }",
                ),
            ],
        );
        return;
    }
    write(
        "store",
        &array,
        0.0,
        &[("", "y[start + $u * step] = (*v)[$];")],
    );
    write(
        "store_right_angle",
        &format!("{array}, {item}, log_n: u32"),
        0.25,
        &[(
            "let turn = root(start << (22u - log_n)) * bitcast<f32>(item.w);",
            "store_both(item, log_n, start + $u * step, (*v)[$], c_mul(turn, ROOT));",
        )],
    );
    write(
        "store_pairs",
        &format!("{array}, {item}"),
        0.0,
        &[(
            "let factor = bitcast<f32>(item.w);",
            "pair_out(item.y + 2u * (start + $u * step), (*v)[$].yx * factor);",
        )],
    );
    write(
        "store_last",
        &format!("{array}, {item}"),
        0.0,
        &[("", "last_value(item, start + $u * step, (*v)[$]);")],
    );
}

/// Writes `mirror`, which fetches the mirror of each value of an invocation: the value of column `column` in row `rows`
/// minus the value's own row.
fn write_mirror(out: &mut String, pass: &Pass) {
    let (held, columns) = (1u32 << pass.held, pass.columns);
    let threads = 1u32 << (pass.log_radix() - pass.held);
    let array = format!("ptr<function, array<vec2<f32>, {held}>>");
    let _ = writeln!(
        out,
        "fn mirror(v: {array}, m: {array}, j: u32, c: u32, column: u32, rows: u32) {{\n    \
         let put = (j << {columns}u) + c;\n    let last = rows - j;"
    );
    for part in ["x", "y"] {
        let _ = writeln!(out, "    workgroupBarrier();");
        for s in 0..held {
            let to = (s * threads) << columns;
            let _ = writeln!(out, "    sh_exchange[put + {to}u] = (*v)[{s}].{part};");
        }
        let _ = writeln!(out, "    workgroupBarrier();");
        for s in 0..held {
            let (k, mask) = (s * threads, (1u32 << pass.log_radix()) - 1);
            let _ = writeln!(
                out,
                "    (*m)[{s}].{part} = sh_exchange[(((last - {k}u) & {mask}u) << {columns}u) + column];"
            );
        }
    }
    let _ = writeln!(out, "}}");
}
