//! Device time by timestamps around every dispatch.

use crate::Result;

use super::errors::caught;

/// Timestamps a query set holds (WebGPU's limit).
const SET: u32 = 4096;

/// Where the timestamps of the dispatches recorded so far are.
#[derive(Default)]
pub(crate) struct Profiler {
    pub sets: Vec<wgpu::QuerySet>,
    /// Operation and kernel of each dispatch, in order; dispatch `i` has timestamps `2i` and `2i + 1`.
    pub entries: Vec<(&'static str, String)>,
}

impl Profiler {
    /// The query set and first index for the next dispatch.
    pub(crate) fn next(
        &mut self,
        device: &wgpu::Device,
        op: &'static str,
        kernel: &str,
    ) -> Result<(wgpu::QuerySet, u32)> {
        let index = self.entries.len() as u32 * 2;
        if (index / SET) as usize == self.sets.len() {
            self.sets.push(caught(device, op, || {
                device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("vsla profile"),
                    ty: wgpu::QueryType::Timestamp,
                    count: SET,
                })
            })?);
        }
        self.entries.push((op, kernel.to_owned()));
        Ok((self.sets[(index / SET) as usize].clone(), index % SET))
    }

    /// Timestamps of set `i` that were written.
    pub(crate) fn used(&self, set: usize) -> u32 {
        (self.entries.len() as u32 * 2 - set as u32 * SET).min(SET)
    }
}
