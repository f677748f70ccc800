//! Transforms whose length is a product of 2, 3, 5 and 7, by mixed-radix stages in one kernel.
//!
//! The algorithm is Stockham's, decimation in time. A stage of radix r has n / r butterflies per element, and the
//! invocations of a workgroup share the butterflies of all its elements. Rust writes the code of each radix; the kernel
//! reads the sequence of radices from the task, or from the parameters if all items have the same length.
//!
//! An even number n of real values is transformed as n / 2 complex ones, as in `fft/real.wgsl`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};
use std::fmt::Write;
use std::sync::OnceLock;

use super::items::{Item, Slots, SmoothParams};
use crate::ops::multipass::MODES;
use crate::plan::{Interface, Kernel, Listed, Table, shader};
use crate::ragged::DType;
use crate::{Result, host};

/// The radices, each stored less one in 4 bits, and the butterflies of each that an invocation computes at once.
const RADICES: [(u32, u32); 9] = [
    (16, 1),
    (10, 1),
    (9, 1),
    (8, 1),
    (7, 2),
    (5, 2),
    (4, 2),
    (3, 3),
    (2, 4),
];
/// Values per invocation.
const HELD: u32 = 8;
/// log2 of the values per workgroup.
pub(super) const LOG_LONGEST: u32 = 11;
const LONGEST: u32 = 1 << LOG_LONGEST;
const GROUP: u32 = LONGEST / HELD;
/// The shortest length: half of the shortest even real transform that is too long for the definition.
const SHORTEST: u32 = super::kernels::TINY as u32 / 2 + 1;

pub(super) static KERNEL: Kernel = Kernel {
    shader: shader!("fft/smooth"),
    interface: Interface::of::<Slots, SmoothParams>(),
    constants: &[MODES],
    variants: &[Only],
};

/// The only build.
#[derive(Debug)]
struct Only;

impl Listed for Only {
    fn dtype(&self) -> DType {
        DType::C32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        Cow::Borrowed(&[])
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        vec![("WG", GROUP), ("HELD", HELD)]
    }

    fn texts(&self) -> Vec<(String, String)> {
        let list = |parts: Vec<String>| parts.join(", ");
        let radices = RADICES.map(|(radix, count)| format!("{radix} {count}"));
        let mut texts = vec![("RADICES".to_owned(), list(radices.into()))];
        texts.extend(butterflies().iter().map(|butterfly| {
            let results = butterfly.results.iter().enumerate();
            let results = results.map(|(k, value)| format!("{k} {value}")).collect();
            (format!("RESULTS_{}", butterfly.name), list(results))
        }));
        texts
    }

    fn generate(&self, part: &str) -> Option<String> {
        let name = part.strip_prefix("butterfly_")?;
        let butterfly = butterflies().iter().find(|known| known.name == name)?;
        Some(butterfly.text.clone())
    }
}

/// How a given number of complex values is transformed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// The radices of the stages, first to last.
    radices: Vec<u32>,
    /// Elements per workgroup.
    per_group: u32,
    /// The offsets in the table of its twiddles, and of its roots on the half circle.
    twiddles: u32,
    halves: u32,
}

/// The plan of n values, and whether they are transformed as pairs of real values.
pub(super) fn plan(n: usize, real: bool) -> Option<(&'static Plan, bool)> {
    let halved = real && n.is_multiple_of(2);
    let values = if halved { n / 2 } else { n };
    let plan = plans().get(&u32::try_from(values).ok()?)?;
    Some((plan, halved))
}

/// The plans of all supported lengths except powers of two.
fn plans() -> &'static BTreeMap<u32, Plan> {
    static PLANS: OnceLock<BTreeMap<u32, Plan>> = OnceLock::new();
    PLANS.get_or_init(|| {
        let mut begin = 0;
        let others = (SHORTEST..=LONGEST).filter(|n| !n.is_power_of_two());
        let planned = others.filter_map(|n| {
            let mut best = None;
            factor(n, n, &mut Vec::new(), &mut best);
            let (_, per_group, mut radices) = best?;
            // Odd radices first: writes at an odd stride have no bank conflicts.
            radices.sort_by_key(|r| (r.trailing_zeros(), *r));
            let twiddles = begin;
            let halves = twiddles + n - radices[0];
            begin = halves + n;
            let plan = Plan {
                radices,
                per_group,
                twiddles,
                halves,
            };
            Some((n, plan))
        });
        planned.collect()
    })
}

/// Finds the factorization with the fewest stages and, among those, with the most elements per workgroup.
fn factor(n: u32, left: u32, radices: &mut Vec<u32>, best: &mut Option<(usize, u32, Vec<u32>)>) {
    if left == 1 {
        let held = RADICES.iter().filter(|(r, _)| radices.contains(r));
        let capacity = held.map(|(r, q)| LONGEST.min(GROUP * r * q)).min();
        let per_group = capacity.unwrap_or(0) / n;
        let better = best.as_ref().is_none_or(|(stages, elements, _)| {
            (radices.len(), u32::MAX - per_group) < (*stages, u32::MAX - elements)
        });
        if per_group > 0 && better {
            *best = Some((radices.len(), per_group, radices.clone()));
        }
        return;
    }
    let most = radices.last().copied().unwrap_or(RADICES[0].0);
    for (radix, _) in RADICES {
        if radix <= most && left.is_multiple_of(radix) {
            radices.push(radix);
            factor(n, left / radix, radices, best);
            radices.pop();
        }
    }
}

/// For every length, the twiddles of each stage but the first: w^(k p) for k from 1 on and p below the product of the
/// preceding radices. Then e^(-πi k / n) for k < n.
pub(super) static TWIDDLES: Table = Table {
    name: "fft_smooth",
    make: || {
        let point = |angle: f64| [angle.cos() as f32, -angle.sin() as f32].map(f32::to_bits);
        let mut words = Vec::new();
        for (&n, plan) in plans() {
            let mut done = plan.radices[0];
            for &radix in &plan.radices[1..] {
                let size = f64::from(done * radix);
                let powers = (1..radix).flat_map(|k| (0..done).map(move |p| k * p));
                words.extend(powers.flat_map(|e| point(TAU * f64::from(e) / size)));
                done *= radix;
            }
            words.extend((0..n).flat_map(|k| point(PI * f64::from(k) / f64::from(n))));
        }
        words
    },
};

/// Entries of the work list per task.
pub(super) const TASK: usize = 2;

/// Sorts the items, which begin at `first` in the work list, and returns the tasks, one per workgroup.
///
/// The last four words are the common parameters of the tasks, which hold if all items have the same length.
pub(super) fn tasks(
    items: &mut [Item],
    first: usize,
    real: bool,
) -> Result<(Vec<[u32; 4]>, [u32; 4])> {
    // The offsets make the order unique, so an unstable sort suffices; a stable one would allocate memory.
    items.sort_unstable_by_key(|item| (std::cmp::Reverse(item[2]), item[0], item[1]));
    let mut tasks = Vec::new();
    let mut common = [0; 4];
    let mut at = first as u32;
    for alike in items.chunk_by(|a, b| a[2] == b[2]) {
        let Some((plan, halved)) = plan(alike[0][2] as usize, real) else {
            continue;
        };
        let fold = |all, r| all << 4 | (r - 1);
        let radices = plan.radices.iter().rev().fold(0, fold);
        let halves = if halved { plan.halves } else { 0 };
        let n = alike[0][2] >> u32::from(halved);
        for items in alike.chunks(plan.per_group as usize) {
            let count = items.len() as u32;
            let task = [[at, count, n, radices], [plan.twiddles, halves, 0, 0]];
            host::extend(&mut tasks, task)?;
            at += count;
        }
        common = [plan.per_group, radices, plan.twiddles, halves];
    }
    Ok((tasks, common))
}

/// The transform of the values that an invocation holds for one of its butterflies.
struct Butterfly {
    /// The radix, and the butterfly's number q.
    name: String,
    /// Uses `x{q}_0`, `x{q}_1`, .., and `c_mul`. Defines `results`.
    text: String,
    results: Vec<String>,
}

fn butterflies() -> &'static [Butterfly] {
    static BUTTERFLIES: OnceLock<Vec<Butterfly>> = OnceLock::new();
    BUTTERFLIES.get_or_init(|| {
        let mut all = Vec::new();
        for (radix, count) in RADICES {
            let mut writer = Writer::default();
            for q in 0..count {
                let values: Vec<String> = (0..radix).map(|k| format!("x{q}_{k}")).collect();
                all.push(Butterfly {
                    name: format!("{radix}_{q}"),
                    results: writer.transform(&values),
                    text: std::mem::take(&mut writer.out),
                });
            }
        }
        all
    })
}

/// Writes straight-line code.
#[derive(Default)]
struct Writer {
    out: String,
    names: u32,
}

impl Writer {
    fn name(&mut self, value: &str) -> String {
        let name = format!("n{}", self.names);
        self.names += 1;
        let _ = writeln!(self.out, "let {name} = {value};");
        name
    }

    /// Writes the transform of these values, and returns the names of the results.
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
                    let twiddled: Vec<String> = (0..first)
                        .map(|j| self.twiddled(&inner[j][k], j * k, n))
                        .collect();
                    for (i, result) in self.transform(&twiddled).into_iter().enumerate() {
                        results[k + rest * i] = result;
                    }
                }
                results
            }
        }
    }

    /// Writes value · e^(-2πi m / n), and returns its name.
    fn twiddled(&mut self, value: &str, m: usize, n: usize) -> String {
        if m == 0 {
            return value.to_owned();
        }
        if 4 * m == n {
            return self.name(&format!("vec2({value}.y, -{value}.x)"));
        }
        let angle = TAU * m as f64 / n as f64;
        let (re, im) = (angle.cos() as f32, -angle.sin() as f32);
        self.name(&format!("c_mul({value}, vec2({re:?}, {im:?}))"))
    }

    /// Writes a transform of prime length: sums and differences of mirrored values, times cosines and sines.
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
                let angle = TAU * ((j * (k + 1)) % n) as f64 / n as f64;
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
