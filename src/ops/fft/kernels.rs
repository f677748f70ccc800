//! The kernels of short transforms, and the WGSL that Rust writes for them.

use std::borrow::Cow;
#[cfg(feature = "gpu")]
use std::fmt::Write;

use super::items::{
    BluesteinParams, BluesteinSlots, FILTERED, FilterParams, FilterSlots, MODES, Params, RealSlots,
    Slots, TinyParams, TinySlots,
};
use crate::ops::butterfly::{Generator, Kind, Transform};
use crate::plan::{Interface, Kernel, Listed, Table, Variant, constants, place_of};
use crate::ragged::DType;

/// log2 of the shortest and of the longest power of two with a kernel.
pub(super) const LOG_SHORTEST: u32 = 5;
pub(super) const LOG_LONGEST: u32 = 13;
/// The longest transform that is computed by the definition.
pub(super) const TINY: usize = 64;

pub(super) const LOG_GROUP: u32 = 8;
const WG: u32 = 1 << LOG_GROUP;

/// Transforms of 2^log values: a build of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Length(u32);

const fn lengths<const N: usize>(shortest: u32) -> [Length; N] {
    let mut all = [Length(shortest); N];
    let mut i = 0;
    while i < N {
        all[i].0 += i as u32;
        i += 1;
    }
    all
}

static LENGTHS: [Length; 9] = lengths(LOG_SHORTEST);
/// The lengths of Bluestein's convolutions.
static CONVOLUTIONS: [Length; 6] = lengths(8);

/// The variant of [`KERNEL`] and of [`REAL`] for transforms of 2^log values.
pub(super) fn variant(log: u32) -> usize {
    place_of(&LENGTHS, &Length(log))
}

/// The variant of [`BLUESTEIN`] and of [`FILTER`] for convolutions of 2^log values.
pub(super) fn convolution(log: u32) -> usize {
    place_of(&CONVOLUTIONS, &Length(log))
}

impl Listed for Length {
    fn dtype(&self) -> DType {
        DType::C32
    }

    fn flags(&self) -> Cow<'static, [&'static str]> {
        const FLAGS: [&str; 9] = [
            "N32", "N64", "N128", "N256", "N512", "N1024", "N2048", "N4096", "N8192",
        ];
        vec![FLAGS[(self.0 - LOG_SHORTEST) as usize]].into()
    }

    #[cfg(feature = "gpu")]
    fn generate(&self, part: &str) -> Option<String> {
        match part {
            "fft" => Some(generate(self.0)),
            "fft_real" => Some(generate_real(self.0)),
            "fft_filter" => Some(generate_filter(self.0)),
            "fft_bluestein" => Some(generate_bluestein(self.0)),
            _ => None,
        }
    }
}

pub(crate) static KERNEL: Kernel = Kernel {
    stem: "fft",
    source: include_str!("../../../shaders/fft.wgsl"),
    interface: Interface::of::<Slots, Params>(),
    constants: &[MODES],
    variants: &LENGTHS,
};

pub(crate) static TINY_KERNEL: Kernel = Kernel {
    stem: "fft_tiny",
    source: include_str!("../../../shaders/fft_tiny.wgsl"),
    interface: Interface::of::<TinySlots, TinyParams>(),
    constants: &[MODES, constants![WG]],
    variants: &[Variant {
        dtype: DType::C32,
        flags: &[],
    }],
};

pub(crate) static FILTER: Kernel = Kernel {
    stem: "fft_filter",
    source: include_str!("../../../shaders/fft_filter.wgsl"),
    interface: Interface::of::<FilterSlots, FilterParams>(),
    constants: &[FILTERED],
    variants: &CONVOLUTIONS,
};

pub(crate) static BLUESTEIN: Kernel = Kernel {
    stem: "fft_bluestein",
    source: include_str!("../../../shaders/fft_bluestein.wgsl"),
    interface: Interface::of::<BluesteinSlots, BluesteinParams>(),
    constants: &[MODES, FILTERED],
    variants: &CONVOLUTIONS,
};

pub(crate) static REAL: Kernel = Kernel {
    stem: "fft_real",
    source: include_str!("../../../shaders/fft_real.wgsl"),
    interface: Interface::of::<RealSlots, Params>(),
    constants: &[MODES],
    variants: &LENGTHS,
};

/// log2 of the values that an invocation holds.
const fn held(log: u32) -> u32 {
    match log {
        ..10 => 3,
        10..13 => 4,
        _ => 5,
    }
}

/// log2 of the radix of each stage.
fn radices(log: u32) -> &'static [u32] {
    match log {
        5 => &[2, 3],
        6 => &[3, 3],
        7 => &[1, 3, 3],
        8 => &[2, 3, 3],
        9 => &[3, 3, 3],
        10 => &[2, 4, 4],
        11 => &[3, 4, 4],
        12 => &[4, 4, 4],
        _ => &[4, 4, 5],
    }
}

/// Bytes of workgroup memory that transforms of 2^log values take.
pub(super) const fn memory(log: u32) -> u32 {
    4 << (LOG_GROUP + held(log))
}

/// Transforms of 2^log values per workgroup.
pub(super) fn per_group(log: u32) -> usize {
    1 << (LOG_GROUP + held(log) - log)
}

fn transform(name: &'static str, log: u32, kind: Kind) -> Transform<'static> {
    Transform {
        name,
        kind,
        radices: radices(log),
        held: held(log),
        whole: false,
        columns: 0,
        regrouped: false,
        turned: false,
        product: kind == Kind::Inverse,
    }
}

/// The twiddles of all transforms, shortest first.
pub(super) static TWIDDLES: Table = Table {
    name: "fft",
    make: || {
        let mut generator = Generator::new();
        for log in LOG_SHORTEST..=LOG_LONGEST {
            functions(&mut generator, log);
        }
        generator.into_table()
    },
};

/// Writes the functions of the forward and of the inverse transform.
fn functions(generator: &mut Generator, log: u32) -> [String; 2] {
    [("forward", Kind::Forward), ("backward", Kind::Inverse)]
        .map(|(name, kind)| generator.function(&transform(name, log, kind)))
}

/// The 1024th roots of unity, clockwise. Quarter turns are exact.
pub(super) static TURNS: Table = Table {
    name: "turns",
    make: || {
        let point = |i: u32| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(i % 256) / 1024.0).sin_cos();
            let [re, im] = match i / 256 {
                0 => [cos, -sin],
                1 => [-sin, -cos],
                2 => [-cos, sin],
                _ => [sin, cos],
            };
            // Adding 0.0 turns -0.0 into 0.0, for comparisons of results bit by bit.
            [re as f32 + 0.0, im as f32 + 0.0].map(f32::to_bits)
        };
        (0..1024).flat_map(point).collect()
    },
};

/// e^(-πi k / N) at N + k for k < N, for each length N of `fft_real.wgsl`.
pub(super) static HALVES: Table = Table {
    name: "halves",
    make: || {
        let point = |i: u32| {
            let n = 1 << i.max(1).ilog2();
            let angle = std::f64::consts::PI * f64::from(i - n.min(i)) / f64::from(n);
            [angle.cos() as f32, -angle.sin() as f32].map(f32::to_bits)
        };
        (0..2 << LOG_LONGEST).flat_map(point).collect()
    },
};

/// A kernel's constants and workgroup memory as WGSL, and the functions of its transforms.
#[cfg(feature = "gpu")]
fn written(log: u32) -> (String, [String; 2]) {
    let constants = format!(
        "const WG = {}u;\nconst LENGTH = {}u;\nconst HELD = {}u;\nconst THREADS = LENGTH / HELD;\n\
         var<workgroup> sh_exchange: array<f32, WG * HELD>;\n",
        1 << LOG_GROUP,
        1 << log,
        1 << held(log),
    );
    // Generate the shorter transforms too, so that all kernels share one table.
    let mut generator = Generator::new();
    for shorter in LOG_SHORTEST..log {
        functions(&mut generator, shorter);
    }
    (constants, functions(&mut generator, log))
}

/// Writes functions that loop over the values that an invocation holds, unrolled.
#[cfg(feature = "gpu")]
struct Held<'a> {
    out: &'a mut String,
    held: u32,
    threads: u32,
}

#[cfg(feature = "gpu")]
impl Held<'_> {
    fn new(out: &mut String, log: u32) -> Held<'_> {
        let held = 1 << held(log);
        let threads = (1 << log) / held;
        Held { out, held, threads }
    }

    fn begin(&mut self, name: &str, parameters: &str) {
        let _ = writeln!(
            self.out,
            "fn {name}(v: ptr<function, array<vec2<f32>, {}>>, item: vec4<u32>, j: u32{parameters}) {{",
            self.held
        );
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    /// Writes a line for each of the first `values` values. `text` gets the value's number s and its index in the
    /// transform, less j.
    fn each(&mut self, values: u32, text: impl Fn(u32, u32) -> String) {
        for s in 0..values {
            self.line(&text(s, s * self.threads));
        }
    }

    /// Writes `load_values` and `store_values` for the first `values` values. Complex values are not tested one by one,
    /// so that all loads are in flight at once.
    fn input_and_output(&mut self, values: u32, whole: bool) {
        let guarded = |i: u32, text: String| match whole {
            true => text,
            false => format!("if j + {i}u < item.z {{ {text} }}"),
        };
        self.begin("load_values", "");
        self.line("if (p.load & (REAL | HALF)) == 0u {");
        self.line("let begin = (p.x_base >> 1u) + item.x + j;");
        self.line("if item.z > 0u {");
        self.each(values, |s, i| {
            guarded(i, format!("(*v)[{s}] = x[begin + {i}u];"))
        });
        self.line("}");
        self.line("if (p.load & EXCHANGED) != 0u {");
        self.each(values, |s, _| format!("(*v)[{s}] = (*v)[{s}].yx;"));
        self.line("}");
        self.line("} else {");
        self.each(values, |s, i| {
            format!("(*v)[{s}] = value_in(item, j + {i}u);")
        });
        self.line("}\n}");
        self.begin("store_values", "");
        self.line("if (p.store & (REAL | HALF)) == 0u {");
        self.line("let factor = bitcast<f32>(item.w);");
        self.line("let to = item.y + j;");
        self.line("if (p.store & EXCHANGED) != 0u {");
        self.each(values, |s, _| format!("(*v)[{s}] = (*v)[{s}].yx * factor;"));
        self.line("}");
        self.line("if item.z > 0u {");
        self.each(values, |s, i| {
            guarded(i, format!("y[to + {i}u] = (*v)[{s}];"))
        });
        self.line("}");
        self.line("} else {");
        self.each(values, |s, i| {
            format!("value_out(item, j + {i}u, (*v)[{s}]);")
        });
        self.line("}\n}");
    }
}

/// Writes the part of `fft.wgsl` that depends on the length.
#[cfg(feature = "gpu")]
fn generate(log: u32) -> String {
    let (mut out, [forward, _]) = written(log);
    out.push_str(&forward);
    Held::new(&mut out, log).input_and_output(1 << held(log), true);
    out
}

/// Writes the part of `fft_filter.wgsl` that depends on the length.
#[cfg(feature = "gpu")]
fn generate_filter(log: u32) -> String {
    let (mut out, [forward, _]) = written(log);
    out.push_str(&forward);
    let all = 1 << held(log);
    let mut held = Held::new(&mut out, log);
    held.begin("load_filter", "");
    held.each(all, |s, i| {
        format!("(*v)[{s}] = filter_value(item.z, j + {i}u);")
    });
    held.line("}");
    held.begin("store_chirp", "");
    held.each(all / 2, |s, i| {
        format!("chirp_out(item, j + {i}u, (*v)[{s}]);")
    });
    held.line("}");
    held.begin("store_spectrum", "");
    held.each(all, |s, i| {
        format!("spectrum_out(item, j + {i}u, (*v)[{s}]);")
    });
    held.line("}");
    held.begin("store_halves", "");
    held.each(all / 2, |_, i| format!("halves_out(item, j + {i}u);"));
    held.line("}");
    out
}

/// Writes the part of `fft_bluestein.wgsl` that depends on the length. Values and results occupy the first half.
#[cfg(feature = "gpu")]
fn generate_bluestein(log: u32) -> String {
    let (mut out, functions) = written(log);
    functions.iter().for_each(|function| out.push_str(function));
    let all = 1 << held(log);
    let mut held = Held::new(&mut out, log);
    held.input_and_output(all / 2, false);
    held.begin("turn_values", ", filter_at: u32");
    held.line("let begin = filter_at + j;");
    held.each(all / 2, |s, i| {
        format!("if j + {i}u < item.z {{ (*v)[{s}] = c_mul((*v)[{s}], filters[begin + {i}u]); }}")
    });
    held.line("}");
    held.begin("load_spectrum", ", filter_at: u32");
    held.line("let begin = filter_at + LENGTH / 2u + j;");
    held.line("if item.z > 0u {");
    held.each(all, |s, i| format!("(*v)[{s}] = filters[begin + {i}u];"));
    held.line("}\n}");
    let inside = |i: u32, text: String| format!("if j + {i}u < item.z {{ {text} }}");
    held.begin("load_halved", ", halves_at: u32");
    held.line("if (p.load & (REAL | HALF)) == REAL {");
    held.line("let begin = p.x_base + item.x + 2u * j;");
    held.each(all / 2, |s, i| {
        inside(i, format!("(*v)[{s}] = pair_in(begin + {}u);", 2 * i))
    });
    held.line("} else {");
    held.line("let begin = (p.x_base >> 1u) + item.x;");
    held.each(all / 2, |s, i| {
        inside(
            i,
            format!(
                "(*v)[{s}] = folded(j + {i}u, filters[halves_at + j + {i}u], x[begin + j + {i}u], \
                 x[begin + item.z - j - {i}u]);"
            ),
        )
    });
    held.line("}\n}");
    let array = format!("ptr<function, array<vec2<f32>, {all}>>");
    held.line(&format!(
        "fn mirror(v: {array}, m: {array}, n: u32, j: u32, at: u32) {{"
    ));
    for part in ["x", "y"] {
        held.line("workgroupBarrier();");
        held.each(all / 2, |s, i| {
            format!("sh_exchange[at + j + {i}u] = (*v)[{s}].{part};")
        });
        held.line("workgroupBarrier();");
        held.each(all / 2, |s, i| {
            format!("(*m)[{s}].{part} = sh_exchange[at + mirrored(j + {i}u, n)];")
        });
    }
    held.line("}");
    held.line(&format!(
        "fn store_halved(v: {array}, m: {array}, item: vec4<u32>, j: u32, halves_at: u32) {{"
    ));
    held.line("if (p.store & (REAL | HALF)) == REAL {");
    held.line("let factor = bitcast<f32>(item.w);");
    held.each(all / 2, |s, i| {
        inside(
            i,
            format!("pair_out(item.y + 2u * (j + {i}u), (*v)[{s}].yx * factor);"),
        )
    });
    held.line("} else {");
    held.each(all / 2, |s, i| {
        inside(
            i,
            format!(
                "y[item.y + j + {i}u] = unfolded(filters[halves_at + j + {i}u], (*v)[{s}], (*m)[{s}]);"
            ),
        )
    });
    held.line(
        "if j == 0u && item.z > 0u { y[item.y + item.z] = vec2((*v)[0].x - (*v)[0].y, 0.0); }",
    );
    held.line("}\n}");
    out
}

/// Writes the part of `fft_real.wgsl` that depends on the length. Real values may begin at an odd word.
#[cfg(feature = "gpu")]
fn generate_real(log: u32) -> String {
    let (mut out, [forward, _]) = written(log);
    out.push_str(&forward);
    let all = 1 << held(log);
    let array = format!("ptr<function, array<vec2<f32>, {all}>>");
    let mut held = Held::new(&mut out, log);
    held.begin("load_spectrum", "");
    held.line("let begin = (p.x_base >> 1u) + item.x;");
    held.line("let up = begin + j;");
    held.line("let down = begin + LENGTH - j;");
    held.line(&format!("var last: array<vec2<f32>, {all}>;"));
    held.each(all, |s, i| {
        format!("(*v)[{s}] = x[up + {i}u]; last[{s}] = x[down - {i}u];")
    });
    held.each(all, |s, i| {
        format!("(*v)[{s}] = folded(j + {i}u, halves[LENGTH + j + {i}u], (*v)[{s}], last[{s}]);")
    });
    held.line("}");
    held.begin("store_pairs", "");
    held.line("let factor = bitcast<f32>(item.w);");
    held.line("let to = (item.y >> 1u) + j;");
    held.line("if (item.y & 1u) == 0u {");
    held.each(all, |s, i| format!("y[to + {i}u] = (*v)[{s}].yx * factor;"));
    held.line("} else {");
    held.each(all, |s, i| {
        format!(
            "y[to + {i}u].y = (*v)[{s}].y * factor; y[to + {i}u + 1u].x = (*v)[{s}].x * factor;"
        )
    });
    held.line("}\n}");
    held.begin("load_pairs", "");
    held.line("let begin = p.x_base + item.x;");
    held.line("let at = (begin >> 1u) + j;");
    held.line("if (begin & 1u) == 0u {");
    held.each(all, |s, i| format!("(*v)[{s}] = x[at + {i}u];"));
    held.line("} else {");
    held.each(all, |s, i| {
        format!("(*v)[{s}] = vec2(x[at + {i}u].y, x[at + {i}u + 1u].x);")
    });
    held.line("}\n}");
    held.line(&format!(
        "fn mirror(v: {array}, m: {array}, j: u32, at: u32) {{"
    ));
    held.line("let to = at + j;");
    for part in ["x", "y"] {
        held.line("workgroupBarrier();");
        held.each(all, |s, i| {
            format!("sh_exchange[to + {i}u] = (*v)[{s}].{part};")
        });
        held.line("workgroupBarrier();");
        held.each(all, |s, i| match i {
            // Value 0 is its own mirror.
            0 => format!("(*m)[{s}].{part} = sh_exchange[at + ((LENGTH - j) & (LENGTH - 1u))];"),
            _ => format!("(*m)[{s}].{part} = sh_exchange[at + LENGTH - {i}u - j];"),
        });
    }
    held.line("}");
    held.line(&format!(
        "fn store_spectrum(v: {array}, m: {array}, item: vec4<u32>, j: u32) {{"
    ));
    held.line("let to = item.y + j;");
    held.each(all, |s, i| {
        format!("y[to + {i}u] = unfolded(halves[LENGTH + j + {i}u], (*v)[{s}], (*m)[{s}]);")
    });
    held.line("if j == 0u { y[to + LENGTH] = vec2((*v)[0].x - (*v)[0].y, 0.0); }");
    held.line("}");
    out
}
