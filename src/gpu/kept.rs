//! Compiled kernels, kept in a file from one process to the next.
//!
//! The file has a section for each kind of adapter, behind eight bytes and in front of a CRC-32 of everything before
//! it. A section is a name, and the driver's data, each behind its length. wgpu's own header in the data names the
//! adapter and the driver's version, and wgpu ignores data of another one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::errors::Health;
use crate::{Error, Result};

const OP: &str = "device";
const MAGIC: &[u8; 8] = b"VSLAkrn2";

/// The names and data of a file.
type Sections = Vec<(String, Vec<u8>)>;

/// The file named in the options, and the device's cache, which begins with the file's contents.
pub(crate) struct Kept {
    path: PathBuf,
    /// The name of the adapter's section.
    name: String,
    pub cache: wgpu::PipelineCache,
    /// The checksum of the section that the cache contains: the one that was read, or written since.
    known: AtomicU32,
}

impl Kept {
    /// A missing file is an empty one, and so is one that is damaged or belongs to another adapter or driver.
    pub(super) fn open(
        health: &Health,
        info: &wgpu::AdapterInfo,
        path: &Path,
    ) -> Result<Option<Kept>> {
        let sections = read(path)?;
        let device = &health.device;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return Ok(None);
        }
        let name = format!(
            "{} {:x} {:x} {}",
            info.backend, info.vendor, info.device, info.name
        );
        let data = section(&sections, &name);
        let cache = health.caught(OP, || created(device, data))?;
        Ok(Some(Kept {
            path: path.to_owned(),
            name,
            cache,
            known: AtomicU32::new(checksum(data)),
        }))
    }

    /// The file, with all kernels that have been compiled so far, and all that others have saved; `None` if the driver
    /// gives no data. If others have saved kernels of this kind of adapter, `compile` adds the device's own to them.
    pub(super) fn file(
        &self,
        health: &Health,
        compile: impl FnOnce(&wgpu::PipelineCache) -> Result<()>,
    ) -> Result<Option<(&Path, Vec<u8>)>> {
        let mut sections = read(&self.path)?;
        let others = section(&sections, &self.name)
            .filter(|data| checksum(Some(data)) != self.known.load(Ordering::Relaxed));
        let data = match others {
            None => self.cache.get_data(),
            Some(others) => {
                let both = health.caught(OP, || created(&health.device, Some(others)))?;
                compile(&both)?;
                both.get_data()
            }
        };
        let Some(data) = data else { return Ok(None) };
        if others.is_none() {
            self.known.store(checksum(Some(&data)), Ordering::Relaxed);
        }
        sections.retain(|(name, _)| *name != self.name);
        sections.push((self.name.clone(), data));
        Ok(Some((&self.path, written(&sections))))
    }
}

/// The sections of a file. There are none in a missing or damaged one.
fn read(path: &Path) -> Result<Sections> {
    let name = path.display().to_string();
    let file = match fs::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(OP, &name, &error)),
    };
    Ok(sections(&file).unwrap_or_else(|| {
        if !file.is_empty() {
            log::warn!("{name} holds no compiled kernels, or is damaged: it is ignored");
        }
        Vec::new()
    }))
}

fn section<'a>(sections: &'a Sections, name: &str) -> Option<&'a [u8]> {
    let found = sections.iter().find(|(other, _)| other == name);
    found.map(|(_, data)| &**data)
}

/// That of no data is 0, as of empty data.
fn checksum(data: Option<&[u8]>) -> u32 {
    crc32fast::hash(data.unwrap_or_default())
}

fn created(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor {
        label: Some("vsla"),
        data,
        fallback: true,
    };
    // SAFETY: the data must come from `PipelineCache::get_data`. It has the checksum that `written` computed of such
    // data, so it is neither damaged nor another file. Whoever can write a file with a matching checksum to this path
    // can also replace the application's other files; the documentation of the option says so.
    #[allow(unsafe_code, reason = "the data is that of a file")]
    unsafe {
        device.create_pipeline_cache(&descriptor)
    }
}

fn written(sections: &Sections) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    for part in sections
        .iter()
        .flat_map(|(name, data)| [name.as_bytes(), data])
    {
        file.extend((part.len() as u64).to_le_bytes());
        file.extend(part);
    }
    let sum = crc32fast::hash(&file);
    file.extend(sum.to_le_bytes());
    file
}

fn sections(file: &[u8]) -> Option<Sections> {
    let (checked, sum) = file.split_last_chunk::<4>()?;
    let mut rest = checked.strip_prefix(MAGIC)?;
    if crc32fast::hash(checked) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut part = || {
        let (length, after) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, after) = after.split_at_checked(length)?;
        rest = after;
        Some(part.to_vec())
    };
    let mut sections = Sections::new();
    while let Some(name) = part() {
        sections.push((String::from_utf8(name).ok()?, part()?));
    }
    Some(sections)
}

#[cfg(feature = "testing")]
mod tests {
    use super::{sections, written};

    #[apply(unit_test)]
    fn damaged_files_are_not_used() {
        let two = vec![
            ("one".to_owned(), vec![1, 2, 3]),
            ("another".to_owned(), vec![]),
        ];
        let file = written(&two);
        assert_eq!(sections(&file), Some(two));
        assert_eq!(sections(&written(&vec![])), Some(vec![]));
        for length in 0..file.len() {
            assert_eq!(sections(&file[..length]), None, "the first {length} bytes");
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            assert_eq!(sections(&damaged), None, "byte {at}");
        }
    }
}
