//! Transforms of powers of two that are longer than a workgroup holds: two or three passes of radices 64 to 1,024.
//!
//! A pass reads and writes every value once, from one buffer to another. What the first one reads and the last one writes may be more than
//! values: parts of real signals, Bluestein's chirps, products of spectra.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
#[cfg(feature = "gpu")]
use std::fmt::Write;

use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::plan::{Access, Kernel, Slot, Stage, Table, Variant, Word, Words};
use crate::ragged::DType;

/// log2 of the longest transform: three passes of 256. The shortest is 2¹³, in passes of 64 and 128.
///
/// Right-angle transforms hold twice as many values, and need a quarter of the roots for them: they end at 2²².
pub(crate) const LOG_LONGEST: u32 = 24;

/// A build of the kernel, for one radix.
struct Build {
    /// Its flag, and those of a later and the first pass.
    flags: [&'static [&'static str]; 2],
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
        flags: [&["R64"], &["R64", "FIRST"]],
        radices: &[4, 2],
        held: 4,
        whole: false,
        columns: 6,
    },
    Build {
        flags: [&["R128"], &["R128", "FIRST"]],
        radices: &[4, 3],
        held: 4,
        whole: false,
        columns: 5,
    },
    Build {
        flags: [&["R256"], &["R256", "FIRST"]],
        radices: &[4, 4],
        held: 4,
        whole: false,
        columns: 4,
    },
    Build {
        flags: [&["R512"], &["R512", "FIRST"]],
        radices: &[4, 1, 4],
        held: 4,
        whole: false,
        columns: 3,
    },
    Build {
        flags: [&["R1024"], &["R1024", "FIRST"]],
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

const fn variants() -> [Variant; 2 * BUILDS.len()] {
    let mut all = [Variant {
        dtype: DType::C32,
        flags: &[],
    }; 2 * BUILDS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i].flags = BUILDS[i / 2].flags[i % 2];
        i += 1;
    }
    all
}

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
            if other_first == first && other.flags == build.flags {
                out.push_str(&text);
            }
        }
    }
    write_transfers(&mut out, build);
    if first {
        write_turn(&mut out, build);
    } else {
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
/// Where the distance is N / E, the turns of right-angle transforms are the first one's and constants.
#[cfg(feature = "gpu")]
fn write_transfers(out: &mut String, build: &Build) {
    let held = 1u32 << build.held;
    let (item, both) = ("item: vec4<u32>", "item: vec4<u32>, log_n: u32");
    let array = format!("v: ptr<function, array<vec2<f32>, {held}>>");
    let _ = writeln!(
        out,
        "fn load_halves({array}, item: vec4<u32>, half: u32, start: u32, step: u32) {{"
    );
    for s in 0..held {
        let _ = writeln!(
            out,
            "    (*v)[{s}] = vec2(real_in(item, start + {s}u * step), 0.0);"
        );
    }
    let _ = writeln!(out, "    if item.z > half {{");
    for s in 0..held {
        let _ = writeln!(
            out,
            "        (*v)[{s}].y = -real_in(item, half + start + {s}u * step);"
        );
    }
    let _ = writeln!(out, "    }}\n}}");
    for (name, arguments, before, line) in [
        ("load", "start: u32", "", "(*v)[S] = x[start + Su * step];"),
        (
            "load_product",
            "start: u32, second: u32",
            "",
            "(*v)[S] = c_mul(x[start + Su * step], x[second + Su * step]).yx;",
        ),
        (
            "load_right_angle",
            &format!("{both}, start: u32"),
            "load_halves(v, item, 1u << log_n, start, step);\n    let turn = root(start << (22u - log_n));",
            "(*v)[S] = c_mul((*v)[S], c_mul(turn, ROOT));",
        ),
        (
            "load_first",
            &format!("{both}, start: u32"),
            "",
            "(*v)[S] = first_value(item, log_n, start + Su * step);",
        ),
        ("store", "start: u32", "", "y[start + Su * step] = (*v)[S];"),
        (
            "store_right_angle",
            &format!("{both}, start: u32"),
            "let turn = root(start << (22u - log_n)) * bitcast<f32>(item.w);",
            "store_both(item, log_n, start + Su * step, (*v)[S], c_mul(turn, ROOT));",
        ),
        (
            "store_last",
            &format!("{item}, start: u32"),
            "",
            "last_value(item, start + Su * step, (*v)[S]);",
        ),
    ] {
        let _ = writeln!(
            out,
            "fn {name}({array}, {arguments}, step: u32) {{\n    {before}"
        );
        for s in 0..held {
            let (sin, cos) = (-TAU * f64::from(s) / f64::from(4 * held)).sin_cos();
            let root = format!("vec2({:?}, {:?})", cos as f32, sin as f32);
            let line = line.replace("ROOT", &root).replace('S', &s.to_string());
            let _ = writeln!(out, "    {line}");
        }
        let _ = writeln!(out, "}}");
    }
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
    let groups = (tasks.len() / 8) as u32;
    Stage {
        kernel: &KERNEL,
        variant: KERNEL.variant(DType::C32, build.flags[usize::from(alike.pass == 0)]),
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
