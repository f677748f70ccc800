//! Measures device time by timestamps around every dispatch.

use std::sync::Arc;

use super::account::{Leaving, Use};
use super::errors::Health;
use super::pool::Pool;
use crate::Result;

/// Timestamps per query set (WebGPU's limit).
const SET: u32 = 4096;

/// The timestamps of the dispatches recorded so far.
#[derive(Default)]
pub(crate) struct Profiler {
    pub sets: Vec<QuerySet>,
    /// Operation and kernel of each dispatch, in order; dispatch `i` has timestamps `2i` and `2i + 1`.
    pub entries: Vec<(&'static str, String)>,
}

/// A query set, with its memory accounted for.
pub(crate) struct QuerySet {
    pub raw: wgpu::QuerySet,
    pool: Arc<Pool>,
}

/// Bytes per timestamp.
pub(crate) const TIMESTAMP: u64 = 8;

impl QuerySet {
    fn new(health: &Health, pool: &Arc<Pool>, op: &'static str) -> Result<QuerySet> {
        let bytes = u64::from(SET) * TIMESTAMP;
        pool.reserve(op, Use::Own, bytes)?;
        let made = health.caught(op, || {
            health.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("vsla profile"),
                ty: wgpu::QueryType::Timestamp,
                count: SET,
            })
        });
        match made {
            Ok(raw) => Ok(QuerySet {
                raw,
                pool: pool.clone(),
            }),
            Err(error) => {
                pool.release(Use::Own, bytes);
                Err(error)
            }
        }
    }
}

impl Drop for QuerySet {
    fn drop(&mut self) {
        // Recorded work may still write to it.
        self.pool.leave(Leaving {
            what: Use::Own,
            bytes: u64::from(SET) * TIMESTAMP,
            after: self.pool.recorded(),
            raw: None,
        });
    }
}

impl Profiler {
    /// The query set and first index for the next dispatch.
    pub(crate) fn next(
        &mut self,
        (health, pool): (&Health, &Arc<Pool>),
        op: &'static str,
        kernel: &str,
    ) -> Result<(wgpu::QuerySet, u32)> {
        let index = self.entries.len() as u32 * 2;
        if (index / SET) as usize == self.sets.len() {
            self.sets.push(QuerySet::new(health, pool, op)?);
        }
        self.entries.push((op, kernel.to_owned()));
        Ok((self.sets[(index / SET) as usize].raw.clone(), index % SET))
    }

    /// Number of timestamps written in `set`.
    pub(crate) fn used(&self, set: usize) -> u32 {
        (self.entries.len() as u32 * 2 - set as u32 * SET).min(SET)
    }
}
