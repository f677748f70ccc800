//! The rate of multiply-adds, measured by a kernel that does nothing else. The kernel is not part of the library; it
//! runs on the same wgpu device.

use std::time::Duration;

use vsla::{Layout, device::wgpu};

use crate::harness::{Bench, Check, Outcome, Spec, Summary, Times};

const WORKGROUP: u32 = 256;
/// Independent chains of vec4 operations; and, below, links of each chain in one iteration of the loop.
const CHAINS: u64 = 8;
const LINKS: u64 = 16;

/// x = x / 2 + 1 converges to exactly 2, from any start.
fn source(rounds: u32) -> String {
    let chains = |line: fn(u64) -> String| (0..CHAINS).map(line).collect::<String>();
    let begin = chains(|i| format!("    var x{i} = vec4f(f32(id.x % 97u) + {i}.0);\n"));
    let link = chains(|i| format!("        x{i} = fma(x{i}, vec4f(0.5), vec4f(1.0));\n"));
    let links = link.repeat(LINKS as usize);
    let sum = chains(|i| format!(" + x{i}"));
    format!(
        "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size({WORKGROUP})
fn main(@builtin(global_invocation_id) id: vec3u) {{
{begin}    for (var k = 0u; k < {rounds}u; k += 1u) {{
{links}    }}
    let x = vec4f(){sum};
    y[id.x] = x.x + x.y + x.z + x.w;
}}
"
    )
}

pub fn multiply_add(bench: &mut Bench) -> Outcome<()> {
    let (groups, rounds) = match bench.size.quick {
        true => (64, 8),
        false => (8192, 128),
    };
    let invocations = u64::from(groups * WORKGROUP);
    // Memory from the library, as an application would use it in its own kernel.
    let layout = Layout::from_lengths([invocations as usize])?;
    let result = bench.device.full(&layout, 0.0f32)?;
    bench.sync()?;
    let device = bench.device.clone();
    let Some((gpu, queue)) = device.wgpu() else {
        return Ok(());
    };
    let Some((buffer, _)) = result.export() else {
        return Ok(());
    };
    let module = gpu.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("multiply-add peak"),
        source: wgpu::ShaderSource::Wgsl(source(rounds).into()),
    });
    let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("multiply-add peak"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let group = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: buffer.as_entire_binding(),
        }],
    });
    let stamps = Stamps::new(gpu);
    let run = || -> Outcome<(Option<Duration>, Duration)> {
        let began = std::time::Instant::now();
        let mut encoder = gpu.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: stamps.as_ref().map(Stamps::writes),
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
        drop(pass);
        if let Some(stamps) = &stamps {
            stamps.resolve(&mut encoder);
        }
        queue.submit([encoder.finish()]);
        gpu.poll(wgpu::PollType::wait_indefinitely())?;
        let wall = began.elapsed();
        let device = match &stamps {
            Some(stamps) => Some(stamps.read(gpu, queue)?),
            None => None,
        };
        Ok((device, wall))
    };
    let first = run()?.1;
    let check = settled(result.download_blocking()?.values());
    let (times, reference) = bench.beside(|bench| {
        let (mut devices, mut walls) = (Vec::new(), Vec::new());
        for _ in 0..3 * bench.size.runs.0 {
            let (device, wall) = run()?;
            devices.extend(device);
            walls.push(wall);
        }
        Ok(Times {
            device: (!devices.is_empty()).then(|| Summary::of(devices)),
            ..Times::of_wall(Summary::of(walls))
        })
    })?;
    let multiply_adds = invocations * u64::from(rounds) * CHAINS * 4 * LINKS;
    bench.multiply_adds = Some(multiply_adds as f64 / times.best_known().as_secs_f64());
    let spec = Spec {
        name: "peaks/multiply-add",
        data: format!("{invocations} invocations of {CHAINS} independent chains of four"),
        bytes: 0,
        multiply_adds,
        first,
        check,
    };
    let row = bench.row(spec, times, reference);
    bench.push(row);
    Ok(())
}

fn settled(sums: &[f32]) -> Check {
    let expected = 2.0 * 4.0 * CHAINS as f32;
    match sums.iter().find(|sum| **sum != expected) {
        None => Ok(format!("all {} sums", sums.len())),
        Some(sum) => Err(format!("a sum of {sum} instead of {expected}")),
    }
}

/// Two timestamps, and their readback to the host.
struct Stamps {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    host: wgpu::Buffer,
}

impl Stamps {
    fn new(gpu: &wgpu::Device) -> Option<Stamps> {
        if !gpu.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let buffer = |usage| {
            gpu.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 16,
                usage,
                mapped_at_creation: false,
            })
        };
        use wgpu::BufferUsages as Use;
        Some(Stamps {
            set: gpu.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer(Use::QUERY_RESOLVE | Use::COPY_SRC),
            host: buffer(Use::COPY_DST | Use::MAP_READ),
        })
    }

    fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.set, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.host, 0, 16);
    }

    fn read(&self, gpu: &wgpu::Device, queue: &wgpu::Queue) -> Outcome<Duration> {
        self.host.map_async(wgpu::MapMode::Read, .., |_| {});
        gpu.poll(wgpu::PollType::wait_indefinitely())?;
        let view = self.host.get_mapped_range(..)?;
        let ticks: Vec<u64> = bytemuck::cast_slice(&view).to_vec();
        drop(view);
        self.host.unmap();
        let nanos =
            ticks[1].saturating_sub(ticks[0]) as f64 * f64::from(queue.get_timestamp_period());
        Ok(Duration::from_nanos(nanos as u64))
    }
}
