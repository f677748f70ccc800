//! Threads, one for each device.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::devices::Fleet;
use crate::tensor::Trace;
use crate::{Error, Result};

/// How long a thread of a rayon pool sleeps when there is no job to run.
const NAP: Duration = Duration::from_micros(100);

/// Starts a thread for a device.
pub(super) fn spawned<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    op: &'static str,
    name: String,
    run: impl FnOnce() -> R + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, R>> {
    let thread = thread::Builder::new()
        .name(name.clone())
        .spawn_scoped(scope, run);
    thread.map_err(|error| Error::io(op, &format!("the thread {name}"), &error))
}

/// What threads return. A panic of one of them goes on here.
pub(super) fn joined<R>(threads: Vec<ScopedJoinHandle<'_, R>>) -> Vec<R> {
    while rayon::current_thread_index().is_some()
        && !threads.iter().all(ScopedJoinHandle::is_finished)
    {
        // Devices may need threads of the pool that this thread belongs to.
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            thread::sleep(NAP);
        }
    }
    let joined = threads.into_iter().map(ScopedJoinHandle::join);
    joined
        .map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic)))
        .collect()
}

impl Fleet {
    /// Calls a function for each device, with that device's elements and item. Every device has a thread, but a single
    /// one has this thread. All run to their end; the error is that of the first device that failed.
    pub(super) fn on_each<I: Send, R: Send>(
        &self,
        op: &'static str,
        items: impl IntoIterator<Item = (Range<usize>, I)>,
        run: impl Fn(usize, &Range<usize>, I) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let run = |device, (elements, item)| {
            let outcome = run(device, &elements, item);
            outcome.map_err(|error| self.failed(op, device, elements, error))
        };
        let items = items.into_iter().enumerate();
        if self.devices().len() == 1 {
            let _paused = Trace::pause();
            return items.map(|(device, item)| run(device, item)).collect();
        }
        thread::scope(|scope| {
            let run = &run;
            let started = items.map(|(device, item)| {
                let name = format!("vsla-fleet-{device}");
                spawned(scope, op, name, move || run(device, item))
            });
            let threads = started.collect::<Result<Vec<_>>>()?;
            joined(threads).into_iter().collect()
        })
    }
}
