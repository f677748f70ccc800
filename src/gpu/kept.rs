//! Compiled kernels, kept in a file from one process to the next.
//!
//! The file is the driver's data behind eight bytes, followed by a CRC-32 of everything before it. wgpu's own header in
//! that data names the adapter and the driver's version, and wgpu ignores data of another one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::errors::Health;
use crate::{Error, Result};

const OP: &str = "device";
const MAGIC: &[u8; 8] = b"VSLAkern";

/// The file named in the options, and the device's cache, which begins with the file's contents.
pub(crate) struct Kept {
    path: PathBuf,
    pub cache: wgpu::PipelineCache,
}

impl Kept {
    /// A missing file is an empty one, and so is one that is damaged or belongs to another adapter or driver.
    pub(super) fn open(health: &Health, path: &Path) -> Result<Option<Kept>> {
        let name = path.display().to_string();
        let file = match fs::read(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(OP, &name, &error)),
        };
        let device = &health.device;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return Ok(None);
        }
        let data = unwrapped(&file);
        if data.is_none() && !file.is_empty() {
            log::warn!("{name} holds no compiled kernels, or is damaged: it is ignored");
        }
        let cache = health.caught(OP, || created(device, data))?;
        let path = path.to_owned();
        Ok(Some(Kept { path, cache }))
    }

    /// The file, with all kernels that have been compiled so far; `None` if the driver gives no data.
    pub(crate) fn file(&self) -> Option<(&Path, Vec<u8>)> {
        let data = self.cache.get_data()?;
        Some((&self.path, wrapped(&data)))
    }
}

fn created(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor {
        label: Some("vsla"),
        data,
        fallback: true,
    };
    // SAFETY: the data must come from `PipelineCache::get_data`. It has the checksum that `wrapped` computed of such
    // data, so it is neither damaged nor another file. Whoever can write a file with a matching checksum to this path
    // can also replace the application's other files; the documentation of the option says so.
    #[allow(unsafe_code, reason = "the data is that of a file")]
    unsafe {
        device.create_pipeline_cache(&descriptor)
    }
}

fn wrapped(data: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(MAGIC.len() + data.len() + 4);
    file.extend(MAGIC);
    file.extend(data);
    let sum = crc32fast::hash(&file);
    file.extend(sum.to_le_bytes());
    file
}

fn unwrapped(file: &[u8]) -> Option<&[u8]> {
    let (checked, sum) = file.split_last_chunk::<4>()?;
    let data = checked.strip_prefix(MAGIC)?;
    (crc32fast::hash(checked) == u32::from_le_bytes(*sum)).then_some(data)
}

#[cfg(feature = "testing")]
mod tests {
    use super::{unwrapped, wrapped};

    #[apply(unit_test)]
    fn damaged_files_are_not_used() {
        let file = wrapped(&[1, 2, 3]);
        assert_eq!(unwrapped(&file), Some(&[1, 2, 3][..]));
        assert_eq!(unwrapped(&wrapped(&[])), Some(&[][..]));
        for length in 0..file.len() {
            assert_eq!(unwrapped(&file[..length]), None, "the first {length} bytes");
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            assert_eq!(unwrapped(&damaged), None, "byte {at}");
        }
    }
}
