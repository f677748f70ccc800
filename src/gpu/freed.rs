//! Waits for resources to become free.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// An event counter that threads and futures can wait on.
#[derive(Default)]
pub(crate) struct Freed {
    state: Mutex<(u64, Vec<Waker>)>,
    changed: Condvar,
}

impl Freed {
    fn lock(&self) -> MutexGuard<'_, (u64, Vec<Waker>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current count. Read it before looking for a free resource: any later event ends the wait.
    pub(crate) fn count(&self) -> u64 {
        self.lock().0
    }

    pub(crate) fn notify(&self) {
        let waiting = {
            let mut state = self.lock();
            state.0 += 1;
            std::mem::take(&mut state.1)
        };
        self.changed.notify_all();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits for an event after `count`. False on timeout.
    pub(crate) fn wait(&self, count: u64, at_most: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), at_most, |state| state.0 == count);
        waited.unwrap_or_else(PoisonError::into_inner).0.0 != count
    }

    /// The same for a future, without a timeout.
    pub(crate) fn after(&self, count: u64) -> impl Future<Output = ()> {
        std::future::poll_fn(move |context| {
            let mut state = self.lock();
            if state.0 != count {
                return Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            Poll::Pending
        })
    }
}

/// Waking it is an event.
impl Wake for Freed {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn an_event_ends_every_wait() {
        let freed = Freed::default();
        let count = freed.count();
        assert!(!freed.wait(count, Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let threads = [0; 3].map(|_| {
                scope.spawn(|| {
                    pollster::block_on(freed.after(count));
                    freed.wait(count, Duration::from_secs(60))
                })
            });
            freed.notify();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        });
        assert!(
            freed.wait(count, Duration::ZERO),
            "an event from before the wait"
        );
    }
}
