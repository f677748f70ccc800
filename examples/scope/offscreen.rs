//! A texture to draw to, and pictures of it.

use vsla::device::wgpu;

use crate::Failure;
use crate::shared::Shared;

pub struct Offscreen {
    texture: wgpu::Texture,
}

impl Offscreen {
    /// Colours are in sRGB already.
    pub const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

    pub fn new(shared: &Shared, [width, height]: [u32; 2]) -> Offscreen {
        let texture = shared.gpu.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: Offscreen::FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        Offscreen { texture }
    }

    pub fn view(&self) -> wgpu::TextureView {
        self.texture
            .create_view(&wgpu::TextureViewDescriptor::default())
    }

    /// Red, green, blue and opacity of each pixel, row by row.
    pub fn pixels(&self, shared: &Shared) -> Result<Vec<u8>, Failure> {
        let size = self.texture.size();
        let row = 4 * size.width;
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let back = shared.gpu.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pixels"),
            size: u64::from(padded) * u64::from(size.height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let descriptor = wgpu::CommandEncoderDescriptor::default();
        let mut encoder = shared.gpu.create_command_encoder(&descriptor);
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(padded),
            rows_per_image: None,
        };
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &back,
                layout,
            },
            size,
        );
        shared.queue.submit([encoder.finish()]);
        // A failure shows in the range.
        back.map_async(wgpu::MapMode::Read, .., |_| ());
        shared.wait()?;
        let bytes = back.get_mapped_range(..);
        let bytes = bytes.map_err(|error| Failure::Gpu(error.to_string()))?;
        let rows = bytes.chunks_exact(padded as usize);
        Ok(rows
            .flat_map(|bytes| &bytes[..row as usize])
            .copied()
            .collect())
    }
}

/// A PNG file of these pixels, without their opacity.
pub fn png([width, height]: [u32; 2], pixels: &[u8]) -> Result<Vec<u8>, Failure> {
    let failed = |error: png::EncodingError| Failure::Png(error.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    let colours: Vec<u8> = pixels
        .chunks_exact(4)
        .flat_map(|p| &p[..3])
        .copied()
        .collect();
    writer.write_image_data(&colours).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}
