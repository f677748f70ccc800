//! Transforms of products of 2, 3, 5 and 7: stages of mixed radix, which one kernel takes from the work list.
//!
//! Stockham's algorithm, decimation in time. A stage of radix r has n / r butterflies an element; those of all elements of a
//! workgroup are dealt to its invocations in turn, ⌊16 / r⌋ to each. The code of each radix is written by Rust, and which
//! one comes next is read from the task.

use std::collections::BTreeMap;
#[cfg(feature = "gpu")]
use std::fmt::Write;
use std::sync::OnceLock;

use super::plan::Item;
use crate::plan::{Access, Kernel, Table, Variant};
use crate::ragged::DType;

/// Invocations of a workgroup, and the values that each holds.
const GROUP: u32 = 256;
const HELD: u32 = 16;
const LONGEST: u32 = 4096;
/// The radices there are, of 4 bits less one.
const RADICES: [u32; 9] = [16, 10, 9, 8, 7, 5, 4, 3, 2];

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "fft_smooth",
    source: include_str!("../../../shaders/fft_smooth.wgsl"),
    access: &[Access::Read, Access::Write, Access::Read, Access::Read],
    variants: &[Variant {
        dtype: DType::C32,
        flags: &[],
    }],
};

/// How a length is transformed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// First to last.
    radices: Vec<u32>,
    /// Elements of a workgroup.
    per_group: usize,
    /// Where its twiddles begin in the table.
    twiddles: u32,
}

/// The plan of a length, if it has one.
pub(super) fn plan(n: usize) -> Option<&'static Plan> {
    plans().get(&u32::try_from(n).ok()?)
}

/// The plans of all lengths that have one and no other kernel.
fn plans() -> &'static BTreeMap<u32, Plan> {
    static PLANS: OnceLock<BTreeMap<u32, Plan>> = OnceLock::new();
    PLANS.get_or_init(|| {
        let mut twiddles = 0;
        let others = (super::kernels::TINY as u32 + 1..=LONGEST).filter(|n| !n.is_power_of_two());
        let planned = others.filter_map(|n| {
            let mut radices = Vec::new();
            let mut best = None;
            factor(n, n, &mut radices, &mut best);
            let (_, per_group, mut radices) = best?;
            // Odd ones first: writes a whole odd number of words apart meet in no bank.
            radices.sort_by_key(|r| (r.trailing_zeros(), *r));
            let plan = Plan {
                twiddles,
                per_group: per_group as usize,
                radices,
            };
            twiddles += n - plan.radices[0];
            Some((n, plan))
        });
        planned.collect()
    })
}

/// Finds the fewest stages, and of these the one with the most elements a workgroup.
fn factor(n: u32, left: u32, radices: &mut Vec<u32>, best: &mut Option<(usize, u32, Vec<u32>)>) {
    if left == 1 {
        let capacity = radices.iter().map(|&r| GROUP * r * (HELD / r) / n).min();
        let per_group = capacity.unwrap_or(0);
        let better = best.as_ref().is_none_or(|(stages, elements, _)| {
            (radices.len(), u32::MAX - per_group) < (*stages, u32::MAX - elements)
        });
        if per_group > 0 && better {
            *best = Some((radices.len(), per_group, radices.clone()));
        }
        return;
    }
    let most = radices.last().copied().unwrap_or(HELD);
    for radix in RADICES {
        if radix <= most && left.is_multiple_of(radix) {
            radices.push(radix);
            factor(n, left / radix, radices, best);
            radices.pop();
        }
    }
}

/// The twiddles of every length: of each stage but the first, w^(k p) for k from 1 on and p below what is done.
pub(super) static TWIDDLES: Table = Table {
    name: "fft_smooth",
    make: || {
        let mut words = Vec::new();
        for plan in plans().values() {
            let mut done = plan.radices[0];
            for &radix in &plan.radices[1..] {
                let size = f64::from(done * radix);
                for k in 1..radix {
                    words.extend((0..done).flat_map(|p| {
                        let angle = std::f64::consts::TAU * f64::from(k * p) / size;
                        [angle.cos() as f32, -angle.sin() as f32].map(f32::to_bits)
                    }));
                }
                done *= radix;
            }
        }
        words
    },
};

/// Entries of the work list that a task takes.
pub(super) const TASK: usize = 2;

/// The tasks of these items, which begin at `first` in the work list: one for each workgroup. Sorts the items.
pub(super) fn tasks(items: &mut [Item], first: usize) -> Vec<[u32; 4]> {
    items.sort_by_key(|item| std::cmp::Reverse(item[2]));
    let mut tasks = Vec::new();
    let mut at = first as u32;
    for alike in items.chunk_by(|a, b| a[2] == b[2]) {
        let n = alike[0][2];
        let Some(plan) = plan(n as usize) else {
            continue;
        };
        let radices = plan
            .radices
            .iter()
            .rev()
            .fold(0, |all, r| all << 4 | (r - 1));
        for items in alike.chunks(plan.per_group) {
            let count = items.len() as u32;
            tasks.extend([[at, count, n, radices], [plan.twiddles, 0, 0, 0]]);
            at += count;
        }
    }
    tasks
}

/// The part of `fft_smooth.wgsl` that depends on the radix.
#[cfg(feature = "gpu")]
pub(crate) fn generate(_: &[&str]) -> String {
    let mut out = String::new();
    for radix in RADICES {
        Writer {
            out: &mut out,
            radix,
            names: 0,
        }
        .functions();
    }
    let calls = [
        ("load_values", "t: Task, m: u32", "t, m"),
        ("store_values", "t: Task, m: u32", "t, m"),
        (
            "butterflies",
            "t: Task, m: u32, done: u32, at: u32",
            "t, m, done, at",
        ),
        ("write_x", "t: Task, m: u32, done: u32", "t, m, done"),
        ("write_y", "t: Task, m: u32, done: u32", "t, m, done"),
        ("read_x", "t: Task, m: u32", "t, m"),
        ("read_y", "t: Task, m: u32", "t, m"),
    ];
    for (name, parameters, arguments) in calls {
        let _ = writeln!(
            out,
            "fn {name}(v: ptr<function, array<vec2<f32>, {HELD}>>, r: u32, lid: u32, {parameters}) {{\n    switch r {{"
        );
        for radix in RADICES {
            let _ = writeln!(
                out,
                "        case {radix}u: {{ {name}_{radix}(v, lid, {arguments}); }}"
            );
        }
        let _ = writeln!(out, "        default: {{}}\n    }}\n}}");
    }
    out
}

/// Writes the functions of one radix.
#[cfg(feature = "gpu")]
struct Writer<'a> {
    out: &'a mut String,
    radix: u32,
    names: u32,
}

#[cfg(feature = "gpu")]
impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    /// A function with a block for each butterfly of an invocation: `f` is its element, `b` its number in there.
    fn function(&mut self, name: &str, parameters: &str, body: impl Fn(&mut Self, u32)) {
        let radix = self.radix;
        let _ = writeln!(
            self.out,
            "fn {name}_{radix}(v: ptr<function, array<vec2<f32>, {HELD}>>, lid: u32, t: Task, m: u32{parameters}) {{"
        );
        self.line("let part = 1.0 / f32(m);");
        for q in 0..HELD / radix {
            self.line("{");
            self.line(&format!("let i = lid + {}u;", q * GROUP));
            self.line("let f = quotient(i, part);");
            self.line("let b = i - f * m;");
            body(self, q * radix);
            self.line("}");
        }
        self.line("}");
    }

    fn functions(&mut self) {
        let radix = self.radix;
        self.function("load_values", "", |w, at| {
            w.line("if i < t.count * m {");
            w.line("let item = items[t.first + f];");
            w.line("if (p.load & 3u) == 0u {");
            w.line("let begin = (p.x_base >> 1u) + item.x + b;");
            for k in 0..radix {
                w.line(&format!("(*v)[{}] = x[begin + {k}u * m];", at + k));
            }
            w.line("if (p.load & EXCHANGED) != 0u {");
            for k in 0..radix {
                w.line(&format!("(*v)[{0}] = (*v)[{0}].yx;", at + k));
            }
            w.line("}");
            w.line("} else {");
            for k in 0..radix {
                w.line(&format!("(*v)[{}] = value_in(item, b + {k}u * m);", at + k));
            }
            w.line("}\n}");
        });
        self.function("store_values", "", |w, at| {
            w.line("if i < t.count * m {");
            w.line("let item = items[t.first + f];");
            w.line("if p.store == 0u {");
            w.line("let to = item.y + b;");
            for k in 0..radix {
                w.line(&format!("y[to + {k}u * m] = (*v)[{}];", at + k));
            }
            w.line("} else {");
            for k in 0..radix {
                w.line(&format!("value_out(item, b + {k}u * m, (*v)[{}]);", at + k));
            }
            w.line("}\n}");
        });
        self.function("butterflies", ", done: u32, at: u32", |w, at| {
            w.names = 0;
            for k in 0..radix {
                w.line(&format!("var x{k} = (*v)[{}];", at + k));
            }
            w.line("if done > 1u {");
            w.line("let w = at + b - quotient(b, 1.0 / f32(done)) * done;");
            for k in 1..radix {
                w.line(&format!(
                    "x{k} = c_mul(x{k}, twiddles[w + {}u * done]);",
                    k - 1
                ));
            }
            w.line("}");
            let values: Vec<String> = (0..radix).map(|k| format!("x{k}")).collect();
            for (k, result) in w.transform(&values).into_iter().enumerate() {
                w.line(&format!("(*v)[{}] = {result};", at as usize + k));
            }
        });
        for part in ["x", "y"] {
            self.function(&format!("write_{part}"), ", done: u32", |w, at| {
                w.line("if i < t.count * m {");
                w.line("let block = quotient(b, 1.0 / f32(done));");
                w.line(&format!(
                    "let to = f * t.n + b + block * done * {}u;",
                    radix - 1
                ));
                for k in 0..radix {
                    w.line(&format!(
                        "sh_exchange[to + {k}u * done] = (*v)[{}].{part};",
                        at + k
                    ));
                }
                w.line("}");
            });
            self.function(&format!("read_{part}"), "", |w, at| {
                w.line("if i < t.count * m {");
                w.line("let begin = f * t.n + b;");
                for k in 0..radix {
                    w.line(&format!(
                        "(*v)[{}].{part} = sh_exchange[begin + {k}u * m];",
                        at + k
                    ));
                }
                w.line("}");
            });
        }
    }

    fn name(&mut self, value: &str) -> String {
        let name = format!("n{}", self.names);
        self.names += 1;
        self.line(&format!("let {name} = {value};"));
        name
    }

    /// The transform of these values.
    fn transform(&mut self, x: &[String]) -> Vec<String> {
        let n = x.len();
        match n {
            1 => x.to_vec(),
            2 => ["+", "-"]
                .map(|sign| self.name(&format!("{} {sign} {}", x[0], x[1])))
                .to_vec(),
            3 | 5 | 7 => self.prime(x),
            _ => {
                let first = if n == 16 {
                    4
                } else if n == 9 {
                    3
                } else {
                    2
                };
                let inner: Vec<Vec<String>> = (0..first)
                    .map(|j| {
                        let part: Vec<String> = x[j..].iter().step_by(first).cloned().collect();
                        self.transform(&part)
                    })
                    .collect();
                let rest = n / first;
                let mut results = vec![String::new(); n];
                for k in 0..rest {
                    let turned: Vec<String> = (0..first)
                        .map(|j| self.turned(&inner[j][k], j * k, n))
                        .collect();
                    for (i, result) in self.transform(&turned).into_iter().enumerate() {
                        results[k + rest * i] = result;
                    }
                }
                results
            }
        }
    }

    /// value e^(-2πi m / n)
    fn turned(&mut self, value: &str, m: usize, n: usize) -> String {
        if m == 0 {
            return value.to_owned();
        }
        if 4 * m == n {
            return self.name(&format!("vec2({value}.y, -{value}.x)"));
        }
        let angle = std::f64::consts::TAU * m as f64 / n as f64;
        let (re, im) = (angle.cos() as f32, -angle.sin() as f32);
        self.name(&format!("c_mul({value}, vec2({re:?}, {im:?}))"))
    }

    /// Sums and differences of values that mirror each other, by cosines and sines.
    fn prime(&mut self, x: &[String]) -> Vec<String> {
        let n = x.len();
        let half = n / 2;
        let pairs: Vec<(String, String)> = (1..=half)
            .map(|k| {
                let sum = self.name(&format!("{} + {}", x[k], x[n - k]));
                let difference = self.name(&format!("{} - {}", x[k], x[n - k]));
                (sum, difference)
            })
            .collect();
        let sums: Vec<&str> = pairs.iter().map(|(sum, _)| sum.as_str()).collect();
        let first = self.name(&format!("{} + ({})", x[0], sums.join(" + ")));
        let mut results = vec![first; n];
        for j in 1..=half {
            let (mut even, mut odd) = (x[0].clone(), String::new());
            for (k, (sum, difference)) in pairs.iter().enumerate() {
                let angle = std::f64::consts::TAU * ((j * (k + 1)) % n) as f64 / n as f64;
                let (cos, sin) = (angle.cos() as f32, angle.sin() as f32);
                even = self.name(&format!("fma(vec2({cos:?}), {sum}, {even})"));
                odd = match odd.as_str() {
                    "" => self.name(&format!("{sin:?} * {difference}")),
                    _ => self.name(&format!("fma(vec2({sin:?}), {difference}, {odd})")),
                };
            }
            results[j] = self.name(&format!("vec2({even}.x + {odd}.y, {even}.y - {odd}.x)"));
            results[n - j] = self.name(&format!("vec2({even}.x - {odd}.y, {even}.y + {odd}.x)"));
        }
        results
    }
}
