//! Draws the spectrogram: its fragment shader reads the library's buffer.

use vsla::Tensor;
use vsla::device::wgpu;

use crate::analysis::{COLUMNS, ROWS, Rows};
use crate::colour;
use crate::shared::Shared;
use crate::text::{self, Side, Stroke};

/// The levels of the first and the last colour, in dB.
pub const LEVELS: [f32; 2] = [-90.0, -15.0];

/// The size at which each value of the picture is one pixel, at a scale of 1.
pub const WIDTH: u32 = 1280;
pub const HEIGHT: u32 = 720;

/// Margins around the picture, and the width of the spectrum beside it.
const LEFT: f32 = 76.0;
const TOP: f32 = 52.0;
const RIGHT: f32 = 32.0;
const BOTTOM: f32 = 68.0;
const GAP: f32 = 20.0;
const SPECTRUM: f32 = WIDTH as f32 - LEFT - RIGHT - GAP - COLUMNS as f32;

/// A rectangle in pixels: its upper left corner and its extents.
type Area = [f32; 4];

/// A target of a size in pixels, with labels of a scale.
#[derive(Clone, Copy, PartialEq)]
pub struct Frame {
    pub size: [u32; 2],
    pub scale: f32,
}

impl Frame {
    /// Where the picture and the spectrum are.
    pub fn areas(&self) -> [Area; 2] {
        let [width, height] = self.size.map(|n| n as f32);
        let s = self.scale;
        let picture = [
            s * LEFT,
            s * TOP,
            (width - s * (LEFT + GAP + SPECTRUM + RIGHT)).max(1.0),
            (height - s * (TOP + BOTTOM)).max(1.0),
        ];
        let x = picture[0] + picture[2] + s * GAP;
        [picture, [x, picture[1], s * SPECTRUM, picture[3]]]
    }
}

pub struct View {
    paint: wgpu::RenderPipeline,
    ink: wgpu::RenderPipeline,
    group: wgpu::BindGroupLayout,
    parameters: wgpu::Buffer,
    colours: wgpu::Buffer,
    /// The strokes of the labels, with what they were made for.
    labels: Option<(Frame, String, wgpu::Buffer)>,
}

impl View {
    pub fn new(shared: &Shared, format: wgpu::TextureFormat) -> View {
        use wgpu::BufferUsages as Use;
        let gpu = &shared.gpu;
        let source = format!(
            "const COLOURS = {}u;\n{}",
            colour::STEPS,
            include_str!("view.wgsl")
        );
        let module = gpu.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("scope"),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let uniform = wgpu::BufferBindingType::Uniform;
        let storage = wgpu::BufferBindingType::Storage { read_only: true };
        let both = wgpu::ShaderStages::VERTEX_FRAGMENT;
        let fragment = wgpu::ShaderStages::FRAGMENT;
        let bindings = [(both, uniform), (fragment, uniform), (fragment, storage)];
        let entries: Vec<_> = (0..)
            .zip(bindings)
            .map(|(binding, (visibility, ty))| wgpu::BindGroupLayoutEntry {
                binding,
                visibility,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let group = gpu.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("scope"),
            entries: &entries,
        });
        let layout = gpu.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("scope"),
            bind_group_layouts: &[Some(&group)],
            immediate_size: 0,
        });
        let pipeline = |vertex, fragment, buffers: &[_], blend| {
            gpu.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(fragment),
                layout: Some(&layout),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some(vertex),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers,
                },
                primitive: wgpu::PrimitiveState::default(),
                depth_stencil: None,
                multisample: wgpu::MultisampleState::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(fragment),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    targets: &[Some(wgpu::ColorTargetState {
                        format,
                        blend,
                        write_mask: wgpu::ColorWrites::ALL,
                    })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let stroke = wgpu::VertexBufferLayout {
            array_stride: size_of::<Stroke>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &wgpu::vertex_attr_array![0 => Float32x4, 1 => Float32x2],
        };
        let buffer = |label, size: usize| {
            gpu.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: size as u64,
                usage: Use::UNIFORM | Use::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let table = colour::table();
        let colours = buffer("colours", size_of_val(&table[..]));
        shared
            .queue
            .write_buffer(&colours, 0, bytemuck::cast_slice(&table));
        View {
            paint: pipeline("cover", "paint", &[], None),
            ink: pipeline(
                "outline",
                "ink",
                &[Some(stroke)],
                Some(wgpu::BlendState::ALPHA_BLENDING),
            ),
            group,
            parameters: buffer("parameters", 64),
            colours,
            labels: None,
        }
    }

    /// Draws the picture of these rows, with a note above it. Nothing is copied: the shader reads the tensor's buffer.
    pub fn draw(
        &mut self,
        shared: &Shared,
        target: &wgpu::TextureView,
        frame: Frame,
        rows: &Rows,
        picture: &Tensor<f32>,
        note: &str,
    ) {
        let Some((levels, begin)) = picture.export() else {
            return; // A tensor of the CPU, which this program has none of.
        };
        self.write(shared, frame, begin);
        self.label(shared, frame, rows, note);
        let buffers = [&self.parameters, &self.colours, levels];
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = shared.gpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("scope"),
            layout: &self.group,
            entries: &entries,
        });
        let descriptor = wgpu::CommandEncoderDescriptor::default();
        let mut encoder = shared.gpu.create_command_encoder(&descriptor);
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("scope"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: target,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations::default(),
                })],
                ..wgpu::RenderPassDescriptor::default()
            });
            pass.set_bind_group(0, &group, &[]);
            pass.set_pipeline(&self.paint);
            pass.draw(0..3, 0..1);
            if let Some((_, _, strokes)) = &self.labels {
                pass.set_pipeline(&self.ink);
                pass.set_vertex_buffer(0, strokes.slice(..));
                pass.draw(
                    0..6,
                    0..(strokes.size() / size_of::<Stroke>() as u64) as u32,
                );
            }
        }
        shared.queue.submit([encoder.finish()]);
    }

    /// Writes `View` of the shader; the levels begin at this byte of their buffer.
    fn write(&self, shared: &Shared, frame: Frame, begin: u64) {
        let [picture, spectrum] = frame.areas();
        let [width, height] = frame.size.map(|n| n as f32);
        let floats = [[width, height, LEVELS[0], LEVELS[1]], picture, spectrum];
        let mut words = floats
            .concat()
            .iter()
            .map(|x| x.to_bits())
            .collect::<Vec<u32>>();
        words.extend([COLUMNS as u32, ROWS as u32, (begin / 4) as u32, 0]);
        shared
            .queue
            .write_buffer(&self.parameters, 0, bytemuck::cast_slice(&words));
    }

    /// Makes the strokes of the labels, unless they are there.
    fn label(&mut self, shared: &Shared, frame: Frame, rows: &Rows, note: &str) {
        if let Some((of, text, _)) = &self.labels
            && (*of, text.as_str()) == (frame, note)
        {
            return;
        }
        let strokes = strokes(frame, rows, note);
        let buffer = shared.gpu.create_buffer(&wgpu::BufferDescriptor {
            label: Some("strokes"),
            size: size_of_val(&strokes[..]) as u64,
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        shared
            .queue
            .write_buffer(&buffer, 0, bytemuck::cast_slice(&strokes));
        self.labels = Some((frame, note.to_owned(), buffer));
    }
}

/// The axes with their labels, and the note.
fn strokes(frame: Frame, rows: &Rows, note: &str) -> Vec<Stroke> {
    let s = frame.scale;
    let (height, tick, faint) = (11.0 * s, 5.0 * s, [s, 0.35]);
    let [[x, y, w, h], [beside, _, broad, _]] = frame.areas();
    let (right, bottom) = (x + w, y + h);
    let mut all = Vec::new();

    let [low, high] = rows.range();
    for decade in [10.0, 100.0, 1_000.0, 10_000.0, 100_000.0] {
        for hz in [1.0, 2.0, 5.0].map(|digit| digit * decade) {
            if (low..=high).contains(&hz) {
                let at = bottom - h * ((hz / low).ln() / (high / low).ln()) as f32;
                all.push([x - 2.0 * s - tick, at, x - 2.0 * s, at, faint[0], faint[1]]);
                let name = match hz < 1_000.0 {
                    true => format!("{hz} Hz"),
                    false => format!("{} kHz", hz / 1_000.0),
                };
                let place = [x - 12.0 * s, at + 0.5 * height];
                text::write(&mut all, &name, place, height, Side::Right);
            }
        }
    }
    let below = |all: &mut Vec<Stroke>, at: f32, name: &str| {
        let from = bottom + 2.0 * s;
        all.push([at, from, at, from + tick, faint[0], faint[1]]);
        let place = [at, bottom + 14.0 * s + height];
        text::write(all, name, place, height, Side::Centre);
    };
    for second in 0..=rows.seconds() as u32 {
        let at = right - w * (f64::from(second) / rows.seconds()) as f32;
        let name = match second {
            0 => "0 s".to_owned(),
            _ => format!("−{second} s"),
        };
        below(&mut all, at, &name);
    }
    let [floor, top] = LEVELS;
    for level in (1..5).map(|i| -20.0 * i as f32) {
        if (floor..=top).contains(&level) {
            let at = beside + broad * (level - floor) / (top - floor);
            let unit = if level + 20.0 > top { " dB" } else { "" };
            below(&mut all, at, &format!("−{}{unit}", -level));
        }
    }
    text::write(
        &mut all,
        note,
        [beside + broad, y - 14.0 * s],
        height,
        Side::Right,
    );
    all
}
