//! Converts wgpu's errors to this crate's.
//!
//! A browser reports a call's errors when its promises are resolved, which needs the thread to be idle. On `wasm32`,
//! `Health::caught` therefore keeps the results of its error scopes with the number of the submission that is being
//! recorded. When an error arrives, that submission and all later ones so far have failed, because they may use what
//! the call should have made. Every read first awaits all outstanding results, and then checks the submission that
//! wrote the values; a blocking read is refused (`Wait::check`). `MAPPED`, `LATE` and `BROWSER` are constants, so that
//! every target type-checks both ways. `examples/web` tests them.

use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::freed::Freed;
use crate::{Error, Result};

/// Whether wgpu reports an error long after the call that caused it, as a browser does.
const LATE: bool = cfg!(target_family = "wasm");

fn from_wgpu(device: &wgpu::Device, op: &'static str, error: wgpu::Error) -> Error {
    match error {
        // wgpu invalidates the device when a submission or a pipeline runs out of memory, but not when a buffer does.
        wgpu::Error::OutOfMemory { .. } if is_lost(device) => {
            Error::device_lost(op, "out of memory")
        }
        wgpu::Error::OutOfMemory { .. } => Error::out_of_memory(0, None).named(op),
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            if is_lost(device) {
                Error::device_lost(op, description)
            } else {
                Error::gpu(op, description)
            }
        }
    }
}

/// Whether the device is lost.
///
/// wgpu reports a loss only to the device's callback, which may be the application's. Objects created on a lost device
/// are invalid, but only using them is an error. So this function creates a buffer and uses it. If creation fails for
/// another reason, such as lack of memory, an error scope catches that error.
///
/// A browser tells it the callback, and rejects what is awaited.
pub(crate) fn is_lost(device: &wgpu::Device) -> bool {
    if LATE {
        return false;
    }
    let scopes = [
        wgpu::ErrorFilter::OutOfMemory,
        wgpu::ErrorFilter::Internal,
        wgpu::ErrorFilter::Validation,
    ]
    .map(|filter| device.push_error_scope(filter));
    let probe = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("vsla probe"),
        size: 16,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    });
    let unusable = probe.get_mapped_range_mut(..).is_err();
    let errors = scopes
        .into_iter()
        .rev()
        .map(|scope| pollster::block_on(scope.pop()));
    // Pops all scopes, innermost first.
    let explained = errors.flatten().count() > 0;
    unusable && !explained
}

/// The innermost cause of a wgpu error description, which lists causes from the outermost in.
pub(crate) fn cause(description: &str) -> String {
    let mut lines = description.lines().map(str::trim);
    let innermost = lines.rfind(|line| !line.is_empty());
    innermost.unwrap_or(description).to_owned()
}

/// Errors that a call may have caused, as far as they are known: none yet, or the first one.
type Report = Pin<Box<dyn Future<Output = Option<wgpu::Error>> + Send>>;

/// A call whose errors are not known yet.
struct Late {
    op: &'static str,
    /// The submission that was being recorded, or the last one.
    submission: u64,
    report: Report,
}

/// Whether the device still works, and which submissions failed. After a loss every later call fails.
pub(crate) struct Health {
    pub device: wgpu::Device,
    /// The latest submission that work was recorded for.
    recorded: AtomicU64,
    lost: OnceLock<String>,
    /// Submissions that failed although the device works, and the reasons.
    failed: Mutex<Vec<(RangeInclusive<u64>, String)>>,
    any_failed: AtomicBool,
    late: Mutex<Vec<Late>>,
    /// Notified when the errors of a late call become known.
    arrived: Arc<Freed>,
    /// The count of `arrived` when the late calls were last asked.
    asked: AtomicU64,
}

impl Health {
    pub(crate) fn new(device: wgpu::Device) -> Arc<Health> {
        Arc::new(Health {
            device,
            recorded: AtomicU64::new(0),
            lost: OnceLock::new(),
            failed: Mutex::default(),
            any_failed: AtomicBool::new(false),
            late: Mutex::default(),
            arrived: Arc::default(),
            asked: AtomicU64::new(0),
        })
    }

    /// Starts recording the next submission; returns its number.
    pub(super) fn begin_submission(&self) -> u64 {
        self.recorded.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The latest submission that work was recorded for.
    pub(super) fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Acquire)
    }

    /// Runs `body` and captures wgpu's errors instead of sending them to the device's error callback.
    ///
    /// In a browser, the errors arrive after the call has returned. They are then errors of the submission that was
    /// being recorded and of everything recorded since, because later work may use what the call should have made.
    pub(crate) fn caught<R>(&self, op: &'static str, body: impl FnOnce() -> R) -> Result<R> {
        let device = &self.device;
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let result = body();
        let (validation, internal, memory) = (validation.pop(), internal.pop(), memory.pop());
        let report = async move {
            match (validation.await, internal.await, memory.await) {
                (Some(error), ..) | (_, Some(error), _) | (.., Some(error)) => Some(error),
                (None, None, None) => None,
            }
        };
        if LATE {
            self.reported_late(op, Box::pin(report));
            return Ok(result);
        }
        match pollster::block_on(report) {
            None => Ok(result),
            Some(error) => Err(from_wgpu(device, op, error)),
        }
    }

    /// Takes note of a call whose errors arrive later.
    pub(super) fn reported_late(&self, op: &'static str, mut report: Report) {
        // Asked once, so that it notifies `arrived`. The others need not be asked again for each call.
        let waker = Waker::from(self.arrived.clone());
        let asked = report.as_mut().poll(&mut Context::from_waker(&waker));
        let report: Report = match asked {
            Poll::Ready(None) => return,
            Poll::Ready(error) => Box::pin(std::future::ready(error)),
            Poll::Pending => report,
        };
        let late = Late {
            op,
            submission: self.recorded(),
            report,
        };
        self.late
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(late);
        if self.arrived.count() != self.asked.load(Ordering::Relaxed) {
            self.note_arrived();
        }
    }

    /// Takes note of the errors that have arrived. Returns whether those of all calls are known.
    fn note_arrived(&self) -> bool {
        self.asked.store(self.arrived.count(), Ordering::Relaxed);
        let waker = Waker::from(self.arrived.clone());
        let mut context = Context::from_waker(&waker);
        let mut errors = Vec::new();
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.retain_mut(|call| match call.report.as_mut().poll(&mut context) {
            Poll::Pending => true,
            Poll::Ready(error) => {
                errors.extend(error.map(|error| (call.op, call.submission, error)));
                false
            }
        });
        let all = late.is_empty();
        drop(late);
        for (op, submission, error) in errors {
            let error = from_wgpu(&self.device, op, error);
            self.fail(submission..=self.recorded(), error.to_string());
        }
        all
    }

    /// Waits until the errors of all calls are known.
    pub(crate) async fn settled(&self) {
        loop {
            let count = self.arrived.count();
            if self.note_arrived() {
                return;
            }
            self.arrived.after(count).await;
        }
    }

    pub(crate) fn mark_lost(&self, reason: String) {
        log::error!("GPU device lost: {reason}");
        // A second report of the same loss changes nothing.
        let _ = self.lost.set(reason);
    }

    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(Error::device_lost(op, reason)),
        }
    }

    /// Records that the work of these submissions will never be computed.
    pub(crate) fn fail(&self, submissions: RangeInclusive<u64>, reason: String) {
        log::error!("recorded work could not be submitted: {reason}");
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.push((submissions, reason));
        self.any_failed.store(true, Ordering::Release);
    }

    /// Why the outputs of this submission were never computed, if it failed.
    pub(crate) fn failure(&self, submission: u64) -> Option<String> {
        if !self.any_failed.load(Ordering::Acquire) {
            return None;
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failed
            .iter()
            .find(|(numbers, _)| numbers.contains(&submission));
        found.map(|(_, reason)| reason.clone())
    }

    /// Marks the device as lost if the error says so, and passes the error on.
    pub(crate) fn note(&self, error: Error) -> Error {
        if let Error::DeviceLost { reason, .. } = &error {
            self.mark_lost(reason.clone());
        }
        error
    }
}
