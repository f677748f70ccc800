//! Waits for the GPU: a background thread polls, so that our futures make progress under any executor.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

/// A value that a callback delivers once.
pub(crate) struct Delivery<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T> Delivery<T> {
    /// The receiving half, and the function that delivers.
    pub(crate) fn new() -> (Delivery<T>, impl FnOnce(T)) {
        let slot = Arc::new(Mutex::new(Slot {
            value: None,
            waker: None,
        }));
        let sender = slot.clone();
        let deliver = move |value| {
            let waker = {
                let mut slot = sender.lock().unwrap_or_else(PoisonError::into_inner);
                slot.value = Some(value);
                slot.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        (Delivery(slot), deliver)
    }
}

impl<T> Future for Delivery<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The thread that polls for futures. It starts with the first future and ends with the device.
#[derive(Default)]
pub(crate) struct Poller {
    requests: OnceLock<Option<Mutex<Sender<wgpu::SubmissionIndex>>>>,
}

impl Poller {
    /// Ensures that the callbacks of this submission run. False if no thread could be started.
    pub(crate) fn watch(&self, device: &wgpu::Device, submission: wgpu::SubmissionIndex) -> bool {
        // A browser runs them by itself.
        if cfg!(target_family = "wasm") {
            return true;
        }
        let requests = self.requests.get_or_init(|| {
            let (sender, receiver) = channel::<wgpu::SubmissionIndex>();
            let device = device.clone();
            std::thread::Builder::new()
                .name("vsla-poll".to_owned())
                .spawn(move || {
                    while let Ok(submission) = receiver.recv() {
                        // A failure here reaches the future through its map callback.
                        let _ = device.poll(wait_for(submission));
                    }
                })
                .ok()
                .map(|_| Mutex::new(sender))
        });
        match requests {
            Some(sender) => sender
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .send(submission)
                .is_ok(),
            None => false,
        }
    }
}

pub(crate) fn wait_for(submission: wgpu::SubmissionIndex) -> wgpu::PollType {
    wgpu::PollType::Wait {
        submission_index: Some(submission),
        timeout: None,
    }
}
