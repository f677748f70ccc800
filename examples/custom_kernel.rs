//! An application's own kernel between operations of the library: the median of each value and its two neighbours,
//! within its row. The first and the last value of a row stay as they are.
//!
//! The kernel reads two buffers of the library, the values of a tensor and the offsets of its rows, and writes a third
//! one that the library then reads as a tensor. Nothing comes back to the host in between.

use vsla::device::{GpuOptions, wgpu};
use vsla::{Device, Layout, Ragged, Result, Tensor};

/// One invocation for each value, which finds its row by a search in the offsets.
const WGSL: &str = "
struct Params {
    rows: u32,
    // Where the values and the offsets begin in their buffers, in words.
    values_at: u32,
    shapes_at: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> shapes: array<u32>;
@group(0) @binding(3) var<storage, read_write> results: array<f32>;

fn offset(row: u32) -> u32 {
    return shapes[p.shapes_at + row];
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.x + id.y * groups.x * 256u;
    if i < offset(p.rows) {
        // The last row that begins at or before i. Empty rows before it begin there, too.
        var row = 0u;
        var above = p.rows;
        while above - row > 1u {
            let middle = (row + above) / 2u;
            if offset(middle) <= i {
                row = middle;
            } else {
                above = middle;
            }
        }
        var y = values[p.values_at + i];
        if i > offset(row) && i + 1u < offset(row + 1u) {
            let left = values[p.values_at + i - 1u];
            let right = values[p.values_at + i + 1u];
            y = max(min(left, right), min(max(left, right), y));
        }
        results[i] = y;
    }
}
";

/// The kernel, compiled for one device.
struct Median {
    pipeline: wgpu::ComputePipeline,
}

impl Median {
    fn new(device: &Device) -> Option<Median> {
        let (gpu, _) = device.wgpu()?;
        // Without an error scope, a device that the library opened only logs errors.
        let wrong = gpu.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = gpu.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("median of three"),
            source: wgpu::ShaderSource::Wgsl(WGSL.into()),
        });
        let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("median of three"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        if let Some(error) = pollster::block_on(wrong.pop()) {
            panic!("{error}");
        }
        Some(Median { pipeline })
    }

    /// Runs the kernel over a tensor of the GPU that it was compiled for. `layout` is that tensor's layout, as
    /// `upload_layout` copies it: make it once, for all tensors of that layout.
    fn run(&self, x: &Tensor<f32>, layout: &Tensor<u32>) -> Result<Tensor<f32>> {
        use wgpu::BufferUsages as Use;
        let device = x.device();
        // `export` submits the work that computes `x`.
        let (Some((gpu, queue)), Some((values, values_at)), Some((offsets, layout_at))) =
            (device.wgpu(), x.export(), layout.export())
        else {
            // This program opens only GPUs.
            return Ok(x.clone());
        };
        let total = x.layout().total() as u64;
        let results = gpu.create_buffer(&wgpu::BufferDescriptor {
            label: Some("medians"),
            // A multiple of 16 bytes, as `import` asks for.
            size: (4 * total).next_multiple_of(16).max(16),
            usage: Use::STORAGE | Use::COPY_SRC,
            mapped_at_creation: false,
        });
        let params = gpu.create_buffer(&wgpu::BufferDescriptor {
            label: Some("parameters"),
            size: 16,
            usage: Use::UNIFORM | Use::COPY_DST,
            mapped_at_creation: false,
        });
        let words = [x.len() as u64, values_at / 4, layout_at / 4, 0];
        let words = words.map(|word| (word as u32).to_ne_bytes());
        queue.write_buffer(&params, 0, words.as_flattened());
        let buffers = [&params, values, offsets, &results];
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let bindings = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("medians"),
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = gpu.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &bindings, &[]);
            let groups = total.div_ceil(256) as u32;
            let wide = groups.clamp(1, 65_535);
            pass.dispatch_workgroups(wide, groups.div_ceil(wide), 1);
        }
        // What the library records about the results is submitted later than this.
        queue.submit([encoder.finish()]);
        device.import(&results, 0, x.layout())
    }
}

/// Twice the medians of twice the values, and their sums: one operation of the library before the kernel, and two
/// after it.
fn doubled(device: &Device, batch: &Ragged<f32>) -> Result<Option<(Ragged<f32>, Ragged<f32>)>> {
    let Some(median) = Median::new(device) else {
        return Ok(None);
    };
    let x = device.upload(batch)?.scale(2.0)?;
    let layout = device.upload_layout(x.layout())?;
    let y = median.run(&x, &layout)?.scale(2.0)?;
    Ok(Some((
        y.download_blocking()?,
        y.sum()?.download_blocking()?,
    )))
}

fn main() -> Result<()> {
    let device = match Device::gpu_blocking(GpuOptions::default()) {
        Ok(device) => device,
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    };
    println!("{}", device.info());
    // A spike in each of two rows, and an empty row.
    let rows = [
        vec![1.0f32, 9.0, 2.0, 3.0],
        vec![],
        vec![5.0, 4.0, -7.0, 3.0, 2.0],
    ];
    let batch = Ragged::from_rows(rows)?;
    if let Some((medians, sums)) = doubled(&device, &batch)? {
        println!("four times the medians: {medians}");
        println!("their sums: {sums}");
    }
    // Rows of one layout share one copy of it.
    let layout = Layout::from_lengths([1000; 100])?;
    let noise = device.upload(&Ragged::<f32>::random(&layout, 1)?)?;
    let shapes = device.upload_layout(&layout)?;
    if let Some(median) = Median::new(&device) {
        let mut smooth = noise;
        for _ in 0..10 {
            smooth = median.run(&smooth, &shapes)?;
        }
        println!("smoothed ten times: {smooth}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_those_of_the_definition() {
        let Ok(device) = Device::gpu_blocking(GpuOptions::default()) else {
            return;
        };
        let layout = Layout::from_lengths([0, 1, 2, 3, 0, 0, 1000, 5, 0]).unwrap();
        let value = |element: usize, i: usize| ((i * 7919 + 31 * element) % 101) as f32;
        let batch = Ragged::from_fn(&layout, value).unwrap();
        let (medians, sums) = doubled(&device, &batch).unwrap().unwrap();
        for element in 0..batch.len() {
            let row = batch.row(element);
            let mut expected = row.to_vec();
            for i in 1..row.len().saturating_sub(1) {
                let mut three = [row[i - 1], row[i], row[i + 1]];
                three.sort_by(f32::total_cmp);
                expected[i] = three[1];
            }
            expected.iter_mut().for_each(|value| *value *= 4.0);
            assert_eq!(medians.row(element), expected, "{element}");
            assert_eq!(sums.row(element), [expected.iter().sum::<f32>()]);
        }
        // A view begins within its buffer, and so does a part of a layout.
        let x = device.upload(&batch).unwrap().elements(3..7).unwrap();
        let shapes = device.upload_layout(x.layout()).unwrap();
        let median = Median::new(&device).unwrap();
        let got = median.run(&x, &shapes).unwrap().scale(4.0).unwrap();
        assert_eq!(
            got.download_blocking().unwrap().values(),
            &medians.values()[3..1006]
        );
    }
}
