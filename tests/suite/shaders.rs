//! All kernels, checked without a GPU: validated with only the features of WebGPU, translated for every backend, and
//! compared with resource limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use naga::back::{glsl, hlsl, msl, pipeline_constants, spv};
use naga::proc::{BoundsCheckPolicies, Layouter};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage};

use crate::support::bench::Bench;

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials: Vec<Trial> = vsla::device::kernels()
        .into_iter()
        .map(|(name, source)| {
            bench.host(&format!("kernel::{name}"), move || {
                one_kernel(&name, &source)
            })
        })
        .collect();
    trials.push(bench.host("names_are_unique_and_the_list_is_small", the_list));
    trials.push(bench.host("kernels_are_files", kernels_are_files));
    trials.push(bench.host(
        "every_line_of_every_file_is_in_a_kernel",
        every_line_is_used,
    ));
    trials.push(bench.host("a_shader_above_the_limits_is_seen", the_checks_can_fail));
    trials
}

/// The limits of any WebGPU device.
const WORKGROUP_MEMORY: u32 = 16_384;
/// Kernels that need more, which most devices have: the flag that marks these kernels, and the bytes that they need.
const WIDE: (&str, u32) = (".n8192", 32_768);
const INVOCATIONS: u32 = 256;
/// The kernels of the native tier, and the flag that marks them.
const NATIVE: (&str, u32, u32) = (".native.", 32_768, 1024);
const STORAGE_BUFFERS: usize = 8;
/// The maximum size of a kernel's parameter block.
const PARAMETERS: u32 = 128;
/// The maximum number of variants, so that all can be compiled and reviewed. Many of them are tiles of cooperative
/// matrices.
const KERNELS: usize = 1_800;
/// Of these, the variants of transforms and of convolutions by transforms, and their parts.
const ENGINE: usize = 86;

fn one_kernel(name: &str, source: &str) {
    for line in source.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if first == "enable" && on_matrices(name) {
            continue;
        }
        assert!(!["enable", "requires"].contains(&first), "{name}: {line}");
        if on_matrices(name) {
            continue;
        }
        for word in ["subgroup", "f16", "f64", "immediate", "coop"] {
            let code = line.split("//").next().unwrap_or_default();
            assert!(!code.contains(word), "{name}: {line}");
        }
        assert!(
            !line.trim_start().starts_with('#'),
            "{name}: unprocessed directive: {line}"
        );
    }
    let (module, info) = validated(name, source);
    check_needs(name, &module).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    translate(name, &module, &info);
}

/// Kernels for devices with cooperative matrices need cooperative matrices, f16 and subgroups.
fn on_matrices(name: &str) -> bool {
    [
        "attention_matrix.",
        "attention_matrix_slopes.",
        "attention_short.",
        "matmul_matrix.",
        "bsr_matrix.",
        "bsr_matrix_sampled.",
    ]
    .iter()
    .any(|stem| name.starts_with(stem))
}

const MATRICES: Capabilities = Capabilities::COOPERATIVE_MATRIX
    .union(Capabilities::SHADER_FLOAT16)
    .union(Capabilities::SUBGROUP);

/// The limits of devices with cooperative matrices. Kernels of four subgroups take half of the memory, so that two
/// workgroups run at the same time.
const MATRICES_MEMORY: u32 = 49_152;
/// Kernels for 8 x 8 matrices stay within the limits of every device.
const EIGHT: &str = ".eight.";
const EIGHT_SUBGROUPS: &[&str] = &[".t256", ".wide64"];

/// Parses and validates a kernel, without capabilities that a browser might not have.
fn validated(name: &str, source: &str) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(source, name)));
    // Every browser can unpack f16, whether or not it can compute with it.
    let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    if on_matrices(name) {
        capabilities |= MATRICES;
    }
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(source, name)));
    (module, info)
}

/// Computes the kernel's device requirements, and checks its bindings.
fn check_needs(name: &str, module: &Module) -> Result<(), String> {
    let mut layouter = Layouter::default();
    layouter
        .update(module.to_ctx())
        .map_err(|error| error.to_string())?;
    let (mut memory, mut storage) = (0, 0);
    let mut bindings = BTreeSet::new();
    for (_, variable) in module.global_variables.iter() {
        let size = layouter[variable.ty].size;
        match variable.space {
            AddressSpace::WorkGroup => memory += size.next_multiple_of(16),
            AddressSpace::Storage { .. } => storage += 1,
            AddressSpace::Uniform if size > PARAMETERS => {
                return Err(format!("parameters of {size} bytes"));
            }
            AddressSpace::Uniform => {}
            AddressSpace::Private => return Err("a private global variable".to_string()),
            other => return Err(format!("a variable in {other:?}")),
        }
        let Some(binding) = variable.binding else {
            continue;
        };
        if binding.group != 0 || !bindings.insert(binding.binding) {
            return Err(format!(
                "binding {binding:?} is outside group 0 or twice there"
            ));
        }
        let uniform = variable.space == AddressSpace::Uniform;
        if uniform != (binding.binding == 0) {
            return Err(format!(
                "binding {} in {:?}",
                binding.binding, variable.space
            ));
        }
    }
    if !bindings.iter().copied().eq(0..bindings.len() as u32) || bindings.is_empty() {
        return Err(format!("bindings {bindings:?} have gaps"));
    }
    let allowed = match name {
        name if name.ends_with(WIDE.0) => WIDE.1,
        name if name.contains(NATIVE.0) => NATIVE.1,
        name if on_matrices(name) && EIGHT_SUBGROUPS.iter().any(|flag| name.contains(flag)) => {
            MATRICES_MEMORY
        }
        // Wide heads leave room for one workgroup of a multiprocessor.
        name if name.starts_with("attention_matrix")
            && [".r64.d96", ".d128"].iter().any(|wide| name.contains(wide)) =>
        {
            MATRICES_MEMORY
        }
        name if on_matrices(name) && !name.contains(EIGHT) => MATRICES_MEMORY / 2,
        _ => WORKGROUP_MEMORY,
    };
    if memory > allowed {
        return Err(format!("{memory} bytes of workgroup memory"));
    }
    if storage > STORAGE_BUFFERS {
        return Err(format!("{storage} storage buffers"));
    }
    let [entry] = module.entry_points.as_slice() else {
        return Err(format!("{} entry points", module.entry_points.len()));
    };
    if entry.name != "main" || entry.stage != ShaderStage::Compute {
        return Err(format!(
            "{name}: entry point {} of {:?}",
            entry.name, entry.stage
        ));
    }
    let invocations: u32 = entry.workgroup_size.iter().product();
    let allowed = match name {
        name if name.contains(NATIVE.0) => NATIVE.2,
        _ => INVOCATIONS,
    };
    if invocations > allowed || invocations == 0 {
        return Err(format!("{invocations} invocations"));
    }
    Ok(())
}

/// Translates a kernel to SPIR-V, Metal, HLSL and GLSL.
fn translate(name: &str, module: &Module, info: &ModuleInfo) {
    let entry = (ShaderStage::Compute, "main".to_string());
    let (module, info) = pipeline_constants::process_overrides(
        module,
        info,
        Some((entry.0, &entry.1)),
        &Default::default(),
    )
    .unwrap_or_else(|error| panic!("{name}: {error}"));

    let options = spv::Options {
        force_loop_bounding: false,
        emit_int_div_checks: false,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: entry.0,
        entry_point: entry.1.clone(),
    };
    let words = spv::write_vec(&module, &info, &options, Some(&pipeline))
        .unwrap_or_else(|error| panic!("{name}, SPIR-V: {error}"));
    assert!(words.len() > 5, "{name}: SPIR-V without instructions");

    if on_matrices(name) && !name.contains(EIGHT) {
        // Only SPIR-V has matrices of 16 x 16.
        return;
    }
    let options = msl::Options {
        lang_version: if on_matrices(name) { (2, 3) } else { (2, 0) },
        fake_missing_bindings: true,
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions {
        entry_point: Some(entry.clone()),
        ..Default::default()
    };
    let (text, _) = msl::write_string(&module, &info, &options, &pipeline)
        .unwrap_or_else(|error| panic!("{name}, Metal: {error}"));
    assert!(
        text.contains("kernel void"),
        "{name}: Metal without a kernel"
    );
    if on_matrices(name) {
        // naga accepts any size of matrix, and loads from vectors. Metal has only these sizes and types.
        for matrix in ["simdgroup_half8x8", "simdgroup_float8x8"] {
            assert!(text.contains(matrix), "{name}: Metal without {matrix}");
        }
        for none in ["16x16", "half4*", "float4*"] {
            assert!(!text.contains(none), "{name}: Metal has no {none}");
        }
        return;
    }

    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V5_1,
        fake_missing_bindings: true,
        ..Default::default()
    };
    let pipeline = hlsl::PipelineOptions {
        entry_point: Some(entry.clone()),
    };
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(&module, &info, None)
        .unwrap_or_else(|error| panic!("{name}, HLSL: {error}"));
    assert!(text.contains("numthreads"), "{name}: HLSL without a kernel");

    let options = glsl::Options {
        version: glsl::Version::Desktop(460),
        ..Default::default()
    };
    let pipeline = glsl::PipelineOptions {
        shader_stage: entry.0,
        entry_point: entry.1,
        multiview: None,
    };
    let mut text = String::new();
    glsl::Writer::new(
        &mut text,
        &module,
        &info,
        &options,
        &pipeline,
        BoundsCheckPolicies::default(),
    )
    .and_then(|mut writer| writer.write())
    .unwrap_or_else(|error| panic!("{name}, GLSL: {error}"));
    assert!(
        text.contains("local_size_x"),
        "{name}: GLSL without a kernel"
    );
}

fn the_list() {
    let kernels = vsla::device::kernels();
    assert!(
        (10..=KERNELS).contains(&kernels.len()),
        "{} kernels",
        kernels.len()
    );
    let of_engine =
        |(name, _): &&(String, String)| name.starts_with("fft") || name.starts_with("conv_");
    let engine = kernels.iter().filter(of_engine).count();
    assert!(engine <= ENGINE, "{engine} kernels of transforms");
    let mut by_text = BTreeMap::new();
    let names: BTreeSet<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names.len(),
        kernels.len(),
        "a name occurs twice in {names:?}"
    );
    for (name, source) in &kernels {
        assert!(
            source.starts_with(&format!("// {name}\n")),
            "{name} begins {:?}",
            source.lines().next()
        );
        let mut parts = name.split('.').skip(1);
        assert!(
            ["f32", "i32", "u32", "c32", "f16", "u8"].contains(&parts.next().unwrap_or_default()),
            "{name}"
        );
        // The first line is the name: a variant whose flags change nothing would compile one kernel twice.
        let text = source.split_once('\n').map_or("", |(_, text)| text);
        if let Some(other) = by_text.insert(text, name) {
            panic!("{name} and {other} are the same kernel");
        }
    }
}

/// The files of `shaders` by path, without the generated ones.
fn files() -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("expanded")).then_some(path));
                continue;
            }
            assert_eq!(path.extension().unwrap(), "wgsl", "{}", path.display());
            files.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    files
}

/// Every file begins with its purpose, which no other file has, and is that of a kernel or a part of others.
fn kernels_are_files() {
    let files = files();
    let is_part = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("lib"));
    let mut unused = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_part(path)) {
        let purpose = text.lines().next().unwrap_or_default();
        assert!(purpose.starts_with("// "), "{}: no purpose", path.display());
        if let Some(other) = unused.insert(purpose, path) {
            panic!(
                "{} and {} have one purpose",
                path.display(),
                other.display()
            );
        }
    }
    let purposes: BTreeSet<&str> = unused.keys().copied().collect();
    for (name, source) in vsla::device::kernels() {
        // The header after the kernel's name: required features, element type and constants.
        let header = |line: &&str| {
            ["enable ", "alias ", "const "]
                .iter()
                .any(|word| line.starts_with(word))
        };
        let first = source.lines().skip(1).find(|line| !header(line));
        let first = first.unwrap_or_default();
        assert!(
            purposes.contains(first),
            "{name} is built from no file: {first}"
        );
        unused.remove(first);
    }
    assert!(unused.is_empty(), "files without a kernel: {unused:?}");
}

/// What remains of a line without its numbers, `$(..)`.
fn constant_parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line.trim();
    while let Some((before, number)) = rest.split_once("$(") {
        parts.push(before);
        let mut open = 1;
        let end = number.find(|c| {
            open += i32::from(c == '(') - i32::from(c == ')');
            open == 0
        });
        rest = &number[end.map_or(number.len(), |end| end + 1)..];
    }
    parts.push(rest);
    parts
}

fn are_in_order(line: &str, parts: &[&str]) -> bool {
    let mut rest = line;
    parts.iter().all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// A line that occurs in no kernel is dead: no variant sets its flag, or no kernel includes its file.
fn every_line_is_used() {
    let kernels = vsla::device::kernels();
    let alive: BTreeSet<&str> = kernels
        .iter()
        .flat_map(|(_, source)| source.lines().map(str::trim))
        .collect();
    for (path, text) in files() {
        for (number, line) in text.lines().enumerate() {
            // The assembler indents blocks as it uses them.
            let line = line.trim();
            let directive = line.starts_with('#');
            // It replaces the counters of `#for`.
            let repeated = || {
                let parts = constant_parts(line);
                line.contains("$(") && alive.iter().any(|line| are_in_order(line, &parts))
            };
            assert!(
                directive || alive.contains(line) || repeated(),
                "{}, line {}, is not part of any kernel: {line}",
                path.display(),
                number + 1
            );
        }
    }
}

/// Tests that the checks above detect errors.
fn the_checks_can_fail() {
    let kernel = |declarations: &str, size: u32| {
        format!("{declarations}\n@compute @workgroup_size({size}) fn main() {{}}")
    };
    let refused = |declarations: &str, size: u32, why: &str| {
        let (module, _) = validated(why, &kernel(declarations, size));
        let wrong = check_needs(why, &module).expect_err(why);
        assert!(wrong.contains(why), "{wrong}");
    };
    let uniform = "@group(0) @binding(0) var<uniform> p: vec4<u32>;";
    let (module, _) = validated("a plain one", &kernel(uniform, 256));
    assert_eq!(check_needs("a plain one", &module), Ok(()));
    refused("", 1, "gaps");
    refused(uniform, 257, "257 invocations");
    let native = kernel(
        &format!("{uniform} var<workgroup> s: array<u32, 8192>;"),
        1024,
    );
    let (module, _) = validated("a.native.one", &native);
    assert_eq!(check_needs("a.native.one", &module), Ok(()));
    let native = kernel(
        &format!("{uniform} var<workgroup> s: array<u32, 8193>;"),
        1025,
    );
    let (module, _) = validated("a.native.one", &native);
    assert!(check_needs("a.native.one", &module).is_err());
    refused(
        "@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 9>;",
        1,
        "144 bytes",
    );
    refused(
        &format!("{uniform} var<workgroup> s: array<u32, 4097>;"),
        1,
        "16400 bytes of workgroup memory",
    );
    refused(
        &format!("{uniform} @group(0) @binding(2) var<storage> s: array<u32>;"),
        1,
        "gaps",
    );
    refused(
        &format!("{uniform} @group(1) @binding(1) var<storage> s: array<u32>;"),
        1,
        "outside group 0",
    );
    let nine: String = (1..=9)
        .map(|i| format!("@group(0) @binding({i}) var<storage> s{i}: array<u32>;"))
        .collect();
    refused(&format!("{uniform} {nine}"), 1, "9 storage buffers");
    let half = "enable f16; alias H = f16;";
    assert!(
        naga::front::wgsl::parse_str(half).map_or(true, |module| {
            Validator::new(ValidationFlags::all(), Capabilities::empty())
                .validate(&module)
                .is_err()
        }),
        "f16 is no baseline capability"
    );
}
