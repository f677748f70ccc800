//! Compilers for GPUs that this machine does not have.
//!
//! Mesa's driver for AMD, RADV, compiles for a GPU that is only named (`RADV_FORCE_FAMILY`). Such a device can make
//! pipelines and nothing else: it has no memory and no fences, so wgpu cannot open it, and these trials call Vulkan
//! themselves. Every kernel without cooperative matrices must compile, and none may keep registers in memory.
//! `docs/compilers.md` has what the driver says of the kernels that matter most; `VSLA_BLESS=1` writes it.
//!
//! Microsoft's compiler is in `dxc`.
//!
//! `VSLA_RADV` names the driver's JSON file; the libraries that the driver needs may lie beside it. Mesa 23 to 25.0 can
//! do this: earlier versions know too little of RDNA 3, later ones need the kernel's part of the driver.

pub mod dxc;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ash::vk;
use libtest_mimic::Trial;
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use vsla::device::kernels;

use crate::host::TASK;
use crate::support::bench::Bench;

/// The path of the driver's JSON file.
const DRIVER: &str = "VSLA_RADV";
/// A GPU with RDNA 2 and one with RDNA 3, and the columns of the recorded table that are theirs.
const CHIPS: [&str; 2] = ["navi21", "navi31"];
/// The task of the process that compiles.
pub const COMPILE: &str = "compile";
const TABLE: &str = "docs/compilers.md";
/// The kernels in the table: those of products, attention, convolution and transforms in which most time is spent, and
/// one of each kind that moves data.
const RECORDED: [&str; 12] = [
    "matmul.f32.t128",
    "bsr_matmul.f32.h64",
    "attention.f32.tall.c2",
    "attention_few.f32.r4",
    "attention_slopes.f32.key.c4",
    "conv_direct.f32",
    "conv_fused.f32.medium",
    "fft.c32.n4096",
    "fft_pass.c32.r256.first",
    "lines.f32.exp.mapped.held",
    "scatter_add.f32",
    "sort.f32.tiled",
];
/// Names of the driver for the registers of an invocation, the workgroup memory in bytes, and the bytes of scratch.
const REGISTERS: &str = "VGPRs";
const MEMORY: &str = "LDS size";
const SCRATCH: &str = "Scratch size";

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.on_request("radv", DRIVER, every_kernel),
        bench.on_request("dxc", dxc::LIBRARY, dxc::every_kernel),
    ]
}

type Statistics = BTreeMap<String, u64>;

fn every_kernel(driver: &str) {
    // The driver reads the name of the chip from the environment, when it is loaded.
    let started = CHIPS.map(|chip| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(TASK, COMPILE);
        command.envs(["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, driver)));
        command.env("RADV_FORCE_FAMILY", chip);
        command.env("LD_LIBRARY_PATH", Path::new(driver).parent().unwrap());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    let mut compiled = Vec::new();
    for (chip, process) in CHIPS.iter().zip(started) {
        let output = process.wait_with_output().unwrap();
        let [said, complained] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{chip}: {said}{complained}");
        compiled.push(parsed(&said));
    }
    let kernels = kernels();
    let expected = kernels.iter().filter(|(_, source)| is_portable(source));
    let expected: Vec<&str> = expected.map(|(name, _)| name.as_str()).collect();
    for (chip, (_, kernels)) in CHIPS.iter().zip(&compiled) {
        for name in &expected {
            let statistics = kernels.get(*name);
            let statistics = statistics.unwrap_or_else(|| panic!("{chip}: {name} is missing"));
            assert!(statistics[REGISTERS] > 0, "{chip}, {name}: {statistics:?}");
            assert_eq!(statistics[SCRATCH], 0, "{chip}, {name} spills registers");
        }
        assert_eq!(kernels.len(), expected.len(), "{chip}");
    }
    record(&compiled);
}

fn is_portable(source: &str) -> bool {
    !source.contains("enable wgpu_cooperative_matrix")
}

/// The names of the device and the driver, and the statistics of each kernel, as printed by [`compile`].
fn parsed(said: &str) -> (String, BTreeMap<String, Statistics>) {
    let mut lines = said.lines();
    let device = lines.next().unwrap().to_owned();
    let kernel = |line: &str| {
        let mut fields = line.split('\t');
        let name = fields.next().unwrap().to_owned();
        let statistic = |field: &str| {
            let (name, value) = field.split_once('=').unwrap();
            (name.to_owned(), value.parse().unwrap())
        };
        (name, fields.map(statistic).collect())
    };
    (device, lines.map(kernel).collect())
}

/// Compares the table with what was compiled, if it is from this version of the driver.
fn record(compiled: &[(String, BTreeMap<String, Statistics>)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let recorded = std::fs::read_to_string(&path).unwrap();
    let start = recorded.find("| kernel").unwrap();
    let mut devices: Vec<&str> = compiled.iter().map(|(device, _)| device.as_str()).collect();
    devices.dedup();
    let mut table = "| kernel |".to_owned();
    for device in &devices {
        write!(table, " {device}: registers | workgroup memory, bytes |").unwrap();
    }
    table.push_str("\n| --- |");
    table.push_str(&" ---: | ---: |".repeat(devices.len()));
    for name in RECORDED {
        write!(table, "\n| `{name}` |").unwrap();
        for (_, kernels) in compiled {
            let statistics = &kernels[name];
            let (registers, memory) = (statistics[REGISTERS], statistics[MEMORY]);
            write!(table, " {registers} | {memory} |").unwrap();
        }
    }
    table.push('\n');
    if std::env::var_os("VSLA_BLESS").is_some() {
        std::fs::write(&path, format!("{}{table}", &recorded[..start])).unwrap();
    } else if devices.iter().all(|device| recorded.contains(device)) {
        assert_eq!(&recorded[start..], table, "VSLA_BLESS=1 writes {TABLE}");
    }
}

/// Compiles every kernel with the driver that the environment names, and prints what it says of each.
pub fn compile() {
    let device = Null::open();
    for (name, source) in kernels() {
        if !is_portable(&source) {
            continue;
        }
        let mut line = name.clone();
        for (name, value) in device.compile(&name, &source) {
            write!(line, "\t{name}={value}").unwrap();
        }
        println!("{line}");
    }
}

/// A device that can only compile.
struct Null {
    device: ash::Device,
    executables: ash::khr::pipeline_executable_properties::Device,
    // Unloads the loader when it is dropped, so it comes last.
    _instance: (ash::Instance, ash::Entry),
}

#[allow(unsafe_code, reason = "Vulkan is called directly")]
impl Null {
    fn open() -> Null {
        // SAFETY: the structures that Vulkan is given live until the calls return, and name features and extensions
        // that every version of RADV has.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let create = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&create, None).unwrap();
            let all = instance.enumerate_physical_devices().unwrap();
            let [physical] = all[..] else {
                panic!("{} devices of the driver", all.len());
            };
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut about = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
            instance.get_physical_device_properties2(physical, &mut about);
            let name = about.properties.device_name_as_c_str().unwrap().to_owned();
            let version = driver.driver_info_as_c_str().unwrap().to_owned();
            let name = name.to_str().unwrap().trim_start_matches("Null hardware (");
            let name = name.trim_end_matches(')');
            println!("{name}, {}", version.to_str().unwrap());

            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let extensions = [ash::khr::pipeline_executable_properties::NAME.as_ptr()];
            let mut executables =
                vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
                    .pipeline_executable_info(true);
            let mut features = vk::PhysicalDeviceVulkan12Features::default()
                .shader_float16(true)
                .vulkan_memory_model(true);
            let create = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&extensions)
                .push_next(&mut executables)
                .push_next(&mut features);
            let device = instance.create_device(physical, &create, None).unwrap();
            Null {
                executables: ash::khr::pipeline_executable_properties::Device::new(
                    &instance, &device,
                ),
                device,
                _instance: (instance, entry),
            }
        }
    }

    fn compile(&self, name: &str, source: &str) -> Statistics {
        let (words, bindings) = translated(name, source);
        // SAFETY: the pipeline's layout is made of the shader's own bindings, and no object is used after it was
        // destroyed.
        unsafe {
            let layout = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let layout = self
                .device
                .create_descriptor_set_layout(&layout, None)
                .unwrap();
            let layouts = [layout];
            let pipeline_layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
            let pipeline_layout = self
                .device
                .create_pipeline_layout(&pipeline_layout, None)
                .unwrap();
            let module = vk::ShaderModuleCreateInfo::default().code(&words);
            let module = self.device.create_shader_module(&module, None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let create = vk::ComputePipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
                .stage(stage)
                .layout(pipeline_layout);
            let made =
                self.device
                    .create_compute_pipelines(vk::PipelineCache::null(), &[create], None);
            let [pipeline] = made.unwrap_or_else(|(_, error)| panic!("{name}: {error}"))[..] else {
                panic!("{name}: not one pipeline");
            };
            let of = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let statistics = self
                .executables
                .get_pipeline_executable_statistics(&of)
                .unwrap();
            let statistics = statistics.iter().map(|one| {
                let name = one.name_as_c_str().unwrap().to_str().unwrap();
                (name.to_owned(), one.value.u64)
            });
            let statistics = statistics.collect();
            self.device.destroy_pipeline(pipeline, None);
            self.device.destroy_shader_module(module, None);
            self.device.destroy_pipeline_layout(pipeline_layout, None);
            self.device.destroy_descriptor_set_layout(layout, None);
            statistics
        }
    }
}

/// SPIR-V as wgpu writes it for Vulkan 1.3, without runtime checks; and the bindings.
fn translated(
    name: &str,
    source: &str,
) -> (Vec<u32>, Vec<vk::DescriptorSetLayoutBinding<'static>>) {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
    let capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SHADER_FLOAT16;
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let options = spv::Options {
        lang_version: (1, 6),
        force_loop_bounding: false,
        emit_int_div_checks: false,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    let entry = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: "main".to_owned(),
    };
    let words = spv::write_vec(&module, &info, &options, Some(&entry))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let bindings = module.global_variables.iter().filter_map(|(_, variable)| {
        let binding = variable.binding?.binding;
        let kind = match variable.space {
            naga::AddressSpace::Uniform => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
            _ => vk::DescriptorType::STORAGE_BUFFER,
        };
        Some(
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE),
        )
    });
    (words, bindings.collect())
}
