//! Convolutions whose transforms fit one workgroup: both transforms, the product and the inverse in one kernel, for a
//! whole batch in one dispatch.
//!
//! A pair is convolved by right-angle transforms of N values ([`butterfly`](crate::ops::butterfly)), N the smallest power of two
//! with m + n − 1 ≤ 2 N, or directly by a few lanes where it is short. Operands are read once and results written once. How
//! an item is computed depends on it alone: the work list only says which workgroup does it, longest transforms first.
//! NaN and infinity spread over the whole result of their item, and no further.

use std::fmt::Write;

use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::plan::{Access, Kernel, Slot, Stage, Table, Variant, Word, Words};
use crate::ragged::DType;

/// Results of an item without a transform at most.
pub(crate) const DIRECT_RESULTS: u32 = 64;
/// The results that 16 lanes make; more are made by 32.
const FEW_RESULTS: u32 = 32;

/// log2 of the shortest and the longest transform.
const LOG_SHORTEST: u32 = 6;
const LOG_LONGEST: u32 = 12;

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "conv_fused",
    source: include_str!("../../../shaders/conv_fused.wgsl"),
    access: &[
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Read,
        Access::Read,
    ],
    variants: &[
        Variant {
            dtype: DType::F32,
            flags: SMALL.flags,
        },
        Variant {
            dtype: DType::F32,
            flags: MEDIUM.flags,
        },
        Variant {
            dtype: DType::F32,
            flags: LARGE.flags,
        },
    ],
};

/// A build of the kernel: longer transforms take more registers and memory, which short ones then have to carry.
struct Build {
    flags: &'static [&'static str],
    /// log2 of the invocations of a workgroup.
    log_group: u32,
    /// Classes that it knows.
    classes: std::ops::Range<usize>,
}

const SMALL: Build = Build {
    flags: &["SMALL"],
    log_group: 7,
    classes: 0..7,
};
const MEDIUM: Build = Build {
    flags: &["MEDIUM"],
    log_group: 7,
    classes: 0..8,
};
const LARGE: Build = Build {
    flags: &["LARGE"],
    log_group: 8,
    classes: 8..9,
};
const BUILDS: [Build; 3] = [SMALL, MEDIUM, LARGE];

/// Classes of items: sums by 16 lanes, by 32, and one for each length of transform.
const CLASSES: usize = 2 + (LOG_LONGEST - LOG_SHORTEST + 1) as usize;

fn class_of(item: &Item) -> usize {
    match item.length {
        0 if item.write <= FEW_RESULTS => 0,
        0 => 1,
        length => (2 + length.ilog2() - LOG_SHORTEST) as usize,
    }
}

/// log2 of the invocations of an item.
fn log_lanes(class: usize) -> u32 {
    match class {
        0 => 4,
        1 => 5,
        _ => radices(class).iter().sum::<u32>() - held(class),
    }
}

/// log2 of the values that an invocation holds.
fn held(class: usize) -> u32 {
    if class < 7 { 3 } else { 4 }
}

/// log2 of the radix of each stage. The first stage's twiddles are constants, so the odd one is best there.
fn radices(class: usize) -> &'static [u32] {
    match class {
        2 => &[3, 3],
        3 => &[1, 3, 3],
        4 => &[2, 3, 3],
        5 => &[3, 3, 3],
        6 => &[1, 3, 3, 3],
        7 => &[3, 4, 4],
        _ => &[4, 4, 4],
    }
}

const NAMES: [[&str; 2]; CLASSES] = [
    ["", ""],
    ["", ""],
    ["forward_64", "inverse_64"],
    ["forward_128", "inverse_128"],
    ["forward_256", "inverse_256"],
    ["forward_512", "inverse_512"],
    ["forward_1024", "inverse_1024"],
    ["forward_2048", "inverse_2048"],
    ["forward_4096", "inverse_4096"],
];

static TWIDDLES: Table = Table {
    name: "conv_fused",
    make: || {
        let mut generator = Generator::new();
        for class in 2..CLASSES {
            transforms(&mut generator, class);
        }
        generator.into_table()
    },
};

fn transforms(generator: &mut Generator, class: usize) -> String {
    let [forward, inverse] = NAMES[class];
    let mut transform = Transform {
        name: forward,
        kind: Kind::ForwardRightAngle,
        radices: radices(class),
        held: held(class),
        whole: false,
        columns: 0,
        product: false,
    };
    let mut text = generator.function(&transform);
    transform.name = inverse;
    transform.kind = Kind::InverseRightAngle;
    transform.product = true;
    text.push_str(&generator.function(&transform));
    text
}

/// The part of the kernel that depends on its build: the transforms, and a function for each class.
#[cfg(feature = "gpu")]
pub(crate) fn generate(flags: &[&str]) -> String {
    let build = BUILDS
        .iter()
        .find(|build| flags.contains(&build.flags[0]))
        .unwrap_or(&LARGE);
    let words = build.classes.clone().map(|class| {
        if class < 2 {
            0
        } else {
            1 << (build.log_group + held(class))
        }
    });
    let mut out = format!(
        "const WG = {}u;\nvar<workgroup> sh_exchange: array<f32, {}>;\n",
        1 << build.log_group,
        words.max().unwrap_or(0)
    );
    // Every build counts through all classes, so that one table serves them all.
    let mut generator = Generator::new();
    for class in 2..CLASSES {
        let text = transforms(&mut generator, class);
        if build.classes.contains(&class) {
            out.push_str(&text);
            write_class(&mut out, class);
        }
    }
    out.push_str("fn convolve(task: vec4<u32>, lid: u32) {\n    switch task.x {\n");
    for class in build.classes.clone() {
        let lanes = 1u32 << log_lanes(class);
        let _ = match class {
            0 | 1 => writeln!(
                out,
                "        case {class}u: {{ convolve_directly(item_of(task, lid / {lanes}u), lid % {lanes}u, {lanes}u); }}"
            ),
            _ => writeln!(
                out,
                "        case {class}u: {{ convolve_{}(task, lid); }}",
                1 << radices(class).iter().sum::<u32>()
            ),
        };
    }
    out.push_str("        default: {}\n    }\n}\n");
    out
}

/// The function of one class: two loads and transforms one after the other, so that they share the workgroup's memory,
/// the product with the inverse, and the store.
#[cfg(feature = "gpu")]
fn write_class(out: &mut String, class: usize) {
    let [forward, inverse] = NAMES[class];
    let held = 1u32 << held(class);
    let threads = 1u32 << log_lanes(class);
    let length = held * threads;
    let _ = writeln!(
        out,
        "fn convolve_{length}(task: vec4<u32>, lid: u32) {{
    let j = lid % {threads}u;
    let slot = lid / {threads}u;
    let at = slot * {length}u;
    let item = item_of(task, slot);
    var v: array<vec2<f32>, {held}>;
    var h: array<vec2<f32>, {held}>;
    for (var side = 0u; side < 2u; side += 1u) {{
        h = v;
        if side == 0u {{"
    );
    let load = |out: &mut String, first: &str, count: &str, value: &dyn Fn(u32) -> String| {
        for s in 0..held {
            let i = s * threads;
            let _ = writeln!(
                out,
                "            v[{s}] = vec2(0.0);\n            if j + {i}u < {count} {{ v[{s}].x = {first}{}; }}",
                value(i)
            );
        }
        let _ = writeln!(out, "            if {count} > {length}u {{");
        for s in 0..held {
            let i = s * threads + length;
            let _ = writeln!(
                out,
                "                if j + {i}u < {count} {{ v[{s}].y = -{first}{}; }}",
                value(i)
            );
        }
        let _ = writeln!(out, "            }}");
    };
    let _ = writeln!(out, "            let start = item.a_at + j;");
    load(out, "a", "item.m", &|i| format!("[start + {i}u]"));
    let _ = writeln!(out, "        }} else {{");
    let _ = writeln!(out, "            let start = item.b_at + j * item.b_step;");
    load(out, "b", "item.n", &|i| {
        format!("[start + {i}u * item.b_step]")
    });
    let _ = writeln!(
        out,
        "        }}
        {forward}(&v, j, at);
    }}
    {inverse}(&v, &h, j, at);"
    );
    for s in 0..held {
        let i = s * threads;
        let _ = writeln!(out, "    store(item, j + {i}u, v[{s}].x);");
    }
    let _ = writeln!(out, "    if item.skip + item.write > {length}u {{");
    for s in 0..held {
        let i = s * threads + length;
        let _ = writeln!(out, "        store(item, j + {i}u, -v[{s}].y);");
    }
    let _ = writeln!(out, "    }}\n}}");
}

/// One convolution, or a stretch of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// N, from [`transform_length`], or 0 for sums of products, where at most [`DIRECT_RESULTS`] are written.
    pub length: u32,
    /// Where the values of a begin, from the operand's base on, and how many they are: from 1 to 2 N.
    pub a: u32,
    pub m: u32,
    /// The same for b.
    pub b: u32,
    pub n: u32,
    /// Whether b is read backwards.
    pub reversed: bool,
    /// Where the results go that are written.
    pub c: u32,
    /// Which results are written: of m + n − 1, `write` from `skip` on. Where m + n − 1 > 2 N, those before
    /// m + n − 1 − 2 N are not right (overlap-save does not write them).
    pub skip: u32,
    pub write: u32,
}

/// The transform that convolves m and n values, or `None` if none is long enough. Neither is 0.
#[cfg(test)]
pub(crate) fn transform_length(m: usize, n: usize) -> Option<u32> {
    let half = (m + n - 1).div_ceil(2).next_power_of_two();
    (half <= 1 << LOG_LONGEST).then(|| (half as u32).max(1 << LOG_SHORTEST))
}

const REVERSED: u32 = 1 << 28;
const WINDOWED: u32 = 1 << 29;

/// An operand: its values, and where they begin.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub values: Slot,
    pub base: Word,
}

/// The stages that do every item, none if there is none.
pub(crate) fn stages(
    items: impl Iterator<Item = Item>,
    a: &Operand,
    b: &Operand,
    c: &Slot,
) -> Vec<Stage> {
    let mut of_class: [Vec<[u32; 4]>; CLASSES] = Default::default();
    let mut windows = Vec::new();
    for item in items {
        let mut lengths = item.m | item.n << 14;
        if item.reversed {
            lengths |= REVERSED;
        }
        let mut c = item.c;
        if item.skip != 0 || item.write != item.m + item.n - 1 {
            lengths |= WINDOWED;
            c = windows.len() as u32;
            windows.push([item.c, item.skip, item.write, 0]);
        }
        of_class[class_of(&item)].push([item.a, item.b, c, lengths]);
    }
    let build = if of_class[7].is_empty() {
        &SMALL
    } else {
        &MEDIUM
    };
    let stages = [&LARGE, build].into_iter().filter_map(|build| {
        let classes = build
            .classes
            .clone()
            .map(|class| (class, &of_class[class][..]));
        stage(build, classes.rev(), &windows, a, b, c)
    });
    stages.collect()
}

fn stage<'a>(
    build: &Build,
    classes: impl Iterator<Item = (usize, &'a [[u32; 4]])> + Clone,
    windows: &[[u32; 4]],
    a: &Operand,
    b: &Operand,
    c: &Slot,
) -> Option<Stage> {
    let per_task = |class| 1usize << (build.log_group - log_lanes(class));
    let tasks = |(class, items): (usize, &[[u32; 4]])| items.len().div_ceil(per_task(class));
    let groups: usize = classes.clone().map(tasks).sum();
    if groups == 0 {
        return None;
    }
    let count: usize = classes.clone().map(|(_, items)| items.len()).sum();
    let mut work: Vec<u32> = Vec::with_capacity(4 * (groups + count + windows.len()));
    let mut cost = 0;
    let mut at = groups;
    for (class, items) in classes.clone() {
        for chunk in items.chunks(per_task(class)) {
            work.extend([class as u32, at as u32, chunk.len() as u32, 0]);
            at += chunk.len();
        }
        // Butterflies, twelve operations for each value and bit; or products.
        cost += items.len() as u64
            * match class {
                0 | 1 => u64::from(DIRECT_RESULTS * DIRECT_RESULTS / 4),
                _ => u64::from(12 * (class as u32 + 4)) << (class as u32 + 4),
            };
    }
    for (_, items) in classes {
        work.extend(items.iter().flat_map(|&[a, b, c, lengths]| {
            let c = if lengths & WINDOWED == 0 {
                c
            } else {
                c + at as u32
            };
            [a, b, c, lengths]
        }));
    }
    work.extend(windows.as_flattened());
    Some(Stage {
        kernel: &KERNEL,
        variant: KERNEL.variant(DType::F32, build.flags),
        slots: vec![
            a.values.clone(),
            b.values.clone(),
            c.clone(),
            Slot::Words(Words::new(work)),
            Slot::Table(&TWIDDLES),
        ],
        params: vec![a.base, b.base],
        groups: groups as u32,
        cost,
    })
}
