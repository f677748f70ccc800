//! Transforms of powers of two that are longer than a workgroup holds: two or three passes of radices 64 to 1,024.
//!
//! A pass reads and writes every value once, from one buffer to another. What the first one reads and the last one writes may be more than
//! values: parts of real signals, Bluestein's chirps, products of spectra.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
#[cfg(feature = "gpu")]
use std::fmt::Write;

use super::butterfly::{Generator, Kind, Transform};
use super::fft::HALF;
use crate::plan::{Access, Kernel, Slot, Stage, Table, Variant, Word, Words};
use crate::ragged::DType;

/// log2 of the longest transform: three passes of 256. The shortest is 2¹³, in passes of 64 and 128.
///
/// Right-angle transforms hold twice as many values, and need a quarter of the roots for them: they end at 2²².
pub(crate) const LOG_LONGEST: u32 = 24;

/// A build of the kernel, for one radix.
struct Build {
    /// Those of a later pass, of the first one, and of the last one of real values.
    flags: [&'static [&'static str]; 3],
    /// log2 of the radix of each stage inside the pass.
    radices: &'static [u32],
    /// log2 of the values that an invocation holds.
    held: u32,
    /// log2 of the columns of a workgroup.
    columns: u32,
    /// Whether values are exchanged whole.
    whole: bool,
}

const BUILDS: &[Build] = &[
    Build {
        flags: [&["R64"], &["R64", "FIRST"], &["R64", "HALVES"]],
        radices: &[4, 2],
        held: 4,
        whole: false,
        columns: 6,
    },
    Build {
        flags: [&["R128"], &["R128", "FIRST"], &["R128", "HALVES"]],
        radices: &[4, 3],
        held: 4,
        whole: false,
        columns: 5,
    },
    Build {
        flags: [&["R256"], &["R256", "FIRST"], &["R256", "HALVES"]],
        radices: &[4, 4],
        held: 4,
        whole: false,
        columns: 4,
    },
    Build {
        flags: [&["R512"], &["R512", "FIRST"], &["R512", "HALVES"]],
        radices: &[4, 1, 4],
        held: 4,
        whole: false,
        columns: 3,
    },
    Build {
        flags: [&["R1024"], &["R1024", "FIRST"], &["R1024", "HALVES"]],
        radices: &[4, 2, 4],
        held: 4,
        whole: false,
        columns: 2,
    },
];

impl Build {
    fn log_radix(&self) -> u32 {
        self.radices.iter().sum()
    }

    /// log2 of the invocations of a workgroup.
    fn log_group(&self) -> u32 {
        self.log_radix() + self.columns - self.held
    }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "fft_pass",
    source: include_str!("../../shaders/fft_pass.wgsl"),
    access: &[
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
        Access::Read,
    ],
    variants: &variants(),
};

/// All but those of later passes of 64, which there are none of.
const fn variants() -> [Variant; 3 * BUILDS.len() - 2] {
    let mut all = [Variant {
        dtype: DType::C32,
        flags: BUILDS[0].flags[FIRST],
    }; 3 * BUILDS.len() - 2];
    let mut i = 1;
    while i < all.len() {
        let at = i + 2;
        all[i].flags = BUILDS[at / 3].flags[at % 3];
        i += 1;
    }
    all
}

/// Places in [`Build::flags`].
const LATER: usize = 0;
const FIRST: usize = 1;
const HALVES: usize = 2;

static TWIDDLES: Table = Table {
    name: "fft_pass",
    make: || {
        let mut generator = Generator::new();
        for build in BUILDS {
            for first in [false, true] {
                generator.function(&transform(build, first));
            }
        }
        generator.into_table()
    },
};

/// e^(-2πi e / 2²⁴) for multiples of 2¹², and then for those below.
static ROOTS: Table = Table {
    name: "roots",
    make: || {
        let root = |e: u32| {
            let (sin, cos) = (-TAU * f64::from(e) / f64::from(1u32 << 24)).sin_cos();
            [(cos as f32).to_bits(), (sin as f32).to_bits()]
        };
        let coarse = (0..1 << 12).map(|e| root(e << 12));
        coarse.chain((0..1 << 12).map(root)).flatten().collect()
    },
};

fn transform(build: &Build, first: bool) -> Transform<'_> {
    Transform {
        name: "transform",
        kind: Kind::Forward,
        radices: build.radices,
        held: build.held,
        whole: build.whole,
        product: false,
        turned: !first,
        columns: build.columns,
    }
}

/// The part of the kernel that depends on its build.
#[cfg(feature = "gpu")]
pub(crate) fn generate(flags: &[&str]) -> String {
    let wanted = |build: &&Build| flags.contains(&build.flags[0][0]);
    let build = BUILDS.iter().find(wanted).unwrap_or(&BUILDS[0]);
    let first = flags.contains(&"FIRST");
    let (log_r, log_group, held) = (build.log_radix(), build.log_group(), build.held);
    let mut out = format!(
        "const LOG_R = {log_r}u;\nconst LOG_T = {}u;\nconst C = {}u;\nconst WG = {}u;\nconst HELD = {}u;\n\
         var<workgroup> sh_exchange: array<{}, {}>;\n",
        log_r - held,
        1 << build.columns,
        1 << log_group,
        1 << held,
        if build.whole { "vec2<f32>" } else { "f32" },
        1 << (log_r + build.columns),
    );
    // All builds share one table.
    let mut generator = Generator::new();
    for other in BUILDS {
        for other_first in [false, true] {
            let text = generator.function(&transform(other, other_first));
            if other_first == first && other.log_radix() == log_r {
                out.push_str(&text);
            }
        }
    }
    write_transfers(&mut out, build, flags);
    if first {
        write_turn(&mut out, build);
    } else {
        if flags.contains(&"HALVES") {
            write_mirror(&mut out, build);
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

/// What an invocation reads and writes: all its values, at equal distances, by one way of making them.
///
/// Where the distance is N / E, the turns of right-angle transforms, and of halves, are the first one's and constants.
#[cfg(feature = "gpu")]
fn write_transfers(out: &mut String, build: &Build, flags: &[&str]) {
    let held = 1u32 << build.held;
    let array = format!("v: ptr<function, array<vec2<f32>, {held}>>");
    let both = format!("{array}, m: ptr<function, array<vec2<f32>, {held}>>");
    let item = "item: vec4<u32>";
    // The part of a turn that there is from the first value to one after the last.
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
    if flags.contains(&"FIRST") {
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
    if flags.contains(&"HALVES") {
        write(
            "chirp_values",
            &format!("{array}, {item}"),
            0.0,
            &[(
                "",
                "(*v)[$] = c_mul((*v)[$].yx, chirp(min(start + $u * step, item.z - 1u), item.z));",
            )],
        );
        // The first value mirrors itself, and there is one more, which is made of it alone.
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

/// The values of column `of`, `rows` less each of an invocation's: what they are taken apart with.
#[cfg(feature = "gpu")]
fn write_mirror(out: &mut String, build: &Build) {
    let (held, columns) = (1u32 << build.held, build.columns);
    let threads = 1u32 << (build.log_radix() - build.held);
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
            let (k, mask) = (s * threads, (1u32 << build.log_radix()) - 1);
            let _ = writeln!(
                out,
                "    (*m)[{s}].{part} = sh_exchange[(((last - {k}u) & {mask}u) << {columns}u) + column];"
            );
        }
    }
    let _ = writeln!(out, "}}");
}

/// From invocation (j, c) holding values j + T s of column c to invocation l holding values l + WG s of all columns, one
/// column after the other.
///
/// Value k of column c is at k C + (c ^ bits of k), so that neither writing nor reading meets in a bank.
#[cfg(feature = "gpu")]
fn write_turn(out: &mut String, build: &Build) {
    let (log_r, columns, group) = (build.log_radix(), build.columns, 1u32 << build.log_group());
    let threads = 1u32 << (log_r - build.held);
    let (shift, mask) = (5u32.saturating_sub(columns), (1u32 << columns.min(5)) - 1);
    let _ = writeln!(
        out,
        "fn place(k: u32, c: u32) -> u32 {{\n    return (k << {columns}u) + (c ^ ((k >> {shift}u) & {mask}u));\n}}\n\
         fn turn_columns(v: ptr<function, array<vec2<f32>, {}>>, lid: u32, j: u32, c: u32) {{",
        1 << build.held
    );
    let parts: &[&str] = if build.whole { &[""] } else { &[".x", ".y"] };
    for part in parts {
        let _ = writeln!(out, "    workgroupBarrier();");
        for s in 0..1u32 << build.held {
            let k = s * threads;
            let _ = writeln!(
                out,
                "    sh_exchange[place(j + {k}u, c)] = (*v)[{s}]{part};"
            );
        }
        let _ = writeln!(out, "    workgroupBarrier();");
        for s in 0..1u32 << build.held {
            let i = format!("(lid + {}u)", s * group);
            let r = (1u32 << log_r) - 1;
            let _ = writeln!(
                out,
                "    (*v)[{s}]{part} = sh_exchange[place({i} & {r}u, {i} >> {log_r}u)];"
            );
        }
    }
    let _ = writeln!(out, "}}");
}

/// log2 of the radix of each pass. Fewer passes are better, and then equal ones.
fn passes(log: u32) -> &'static [u32] {
    match log {
        ..14 => &[6, 7],
        14 => &[7, 7],
        15 => &[7, 8],
        16 => &[8, 8],
        17 => &[8, 9],
        18 => &[9, 9],
        19 => &[9, 10],
        20 => &[10, 10],
        21 => &[7, 7, 7],
        22 => &[7, 7, 8],
        23 => &[7, 8, 8],
        _ => &[8, 8, 8],
    }
}

/// A buffer that passes read or write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// Input i of the launch.
    Operand(usize),
    /// Scratch i.
    Scratch(usize),
    Result,
}

/// Where values begin.
pub(crate) type Spot = (Place, u32);

/// The route of a transform by way of `aside`, and of `early` before it where there are three passes.
pub(crate) fn there(log: u32, from: Spot, early: Spot, aside: Spot, to: Spot) -> Vec<Spot> {
    match passes(log).len() {
        2 => vec![from, aside, to],
        _ => vec![from, early, aside, to],
    }
}

/// The route by way of `aside`, and of `late` after it where there are three passes.
pub(crate) fn back(log: u32, from: Spot, aside: Spot, late: Spot, to: Spot) -> Vec<Spot> {
    match passes(log).len() {
        2 => vec![from, aside, to],
        _ => vec![from, aside, late, to],
    }
}

/// What values are made of: `p.load` or `p.store` of the kernel.
pub(crate) const FILTER: u32 = 0x200;
pub(crate) const PRODUCT: u32 = 0x400;
pub(crate) const CHIRP: u32 = 0x800;
/// 2 N real values, and the same from the last to the first.
pub(crate) const RIGHT_ANGLE: u32 = 0x1000;
pub(crate) const BACKWARDS: u32 = 0x2000;
pub(crate) const PLAIN: u32 = 0x100;
/// 2 n real values, as n complex ones.
pub(crate) const PAIRED: u32 = 0x4000;

/// Passes of a transform of 2^log values.
pub(crate) fn pass_count(log: u32) -> usize {
    passes(log).len()
}

/// A transform of 2^log values.
#[derive(Clone, Debug)]
pub(crate) struct Long {
    pub log: u32,
    /// Where the values begin, and where each pass puts them. A pass reads and writes different buffers.
    pub route: Vec<Spot>,
    /// What the first pass reads and the last one writes.
    pub load: u32,
    pub store: u32,
    /// How many values there are; zeros follow. All, between the passes.
    pub n: u32,
    pub factor: f32,
    /// Where the second factor of a [`PRODUCT`] begins, in the buffer of the first.
    pub second: u32,
}

/// What the workgroups of one stage have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Alike {
    pass: usize,
    log_radix: u32,
    from: Place,
    to: Place,
    load: u32,
    store: u32,
}

/// The stages of transforms that do not wait for each other: those of one pass and radix together.
pub(crate) fn stages(transforms: &[Long]) -> Vec<Stage> {
    let mut tasks: BTreeMap<Alike, Vec<u32>> = BTreeMap::new();
    for transform in transforms {
        let radices = passes(transform.log);
        let mut done = 0;
        for (pass, &log_radix) in radices.iter().enumerate() {
            let ((from, x), (to, y)) = (transform.route[pass], transform.route[pass + 1]);
            let mode = |end: bool, mode: u32| if end { mode } else { PLAIN };
            let alike = Alike {
                pass,
                log_radix,
                from,
                to,
                load: mode(pass == 0, transform.load),
                store: mode(pass + 1 == radices.len(), transform.store),
            };
            let tasks = tasks.entry(alike).or_default();
            let columns = 1u32 << (transform.log - log_radix);
            for b in (0..columns).step_by(1 << build(log_radix).columns) {
                tasks.extend([x, y, b, transform.log | done << 8]);
                tasks.extend([transform.n, transform.factor.to_bits(), transform.second, 0]);
            }
            done += log_radix;
        }
    }
    let stage = |(alike, tasks)| stage(alike, tasks);
    tasks.into_iter().map(stage).collect()
}

fn build(log_radix: u32) -> &'static Build {
    let wanted = |build: &&Build| build.log_radix() == log_radix;
    BUILDS.iter().find(wanted).unwrap_or(&BUILDS[0])
}

fn stage(alike: Alike, tasks: Vec<u32>) -> Stage {
    let slot = |place| match place {
        Place::Operand(i) => Slot::Input(i),
        Place::Scratch(i) => Slot::Temp(i),
        Place::Result => Slot::Output(0),
    };
    let build = build(alike.log_radix);
    let end = match alike.pass {
        0 => FIRST,
        _ if alike.store & PAIRED != 0 && alike.store & HALF != 0 => HALVES,
        _ => LATER,
    };
    let groups = (tasks.len() / 8) as u32;
    Stage {
        kernel: &KERNEL,
        variant: KERNEL.variant(DType::C32, build.flags[end]),
        slots: vec![
            slot(alike.from),
            slot(alike.to),
            Slot::Words(Words::new(tasks)),
            Slot::Table(&TWIDDLES),
            Slot::Table(&ROOTS),
        ],
        params: vec![
            match alike.from {
                Place::Operand(i) => Word::InputBase(i),
                _ => Word::U32(0),
            },
            Word::U32(alike.load),
            Word::U32(alike.store),
        ],
        groups,
        cost: u64::from(groups) << (build.log_radix() + build.columns + 4),
    }
}
