//! Memory of the CPU's convolutions by transforms, kept between calls: fresh pages cost as much as a transform.

use std::sync::{Mutex, MutexGuard, PoisonError};

use realfft::num_complex::Complex32;

/// Those of all CPU devices.
pub(super) static KEPT: Workspaces = Workspaces(Mutex::new(Vec::new()));

/// Values of the workspaces that are kept, 4 words each: 256 MiB in all.
const KEPT_VALUES: usize = 1 << 24;

/// Memory of the transforms of one pair.
#[derive(Default)]
pub(crate) struct Workspace {
    pub values: Vec<f32>,
    pub spectrum: Vec<Complex32>,
    pub taps: Vec<Complex32>,
    pub scratch: Vec<Complex32>,
}

/// Workspaces for the next calls.
pub(super) struct Workspaces(Mutex<Vec<Workspace>>);

impl Workspaces {
    fn lock(&self) -> MutexGuard<'_, Vec<Workspace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives them all back, but those that are in use. True if there were any.
    pub(super) fn forget(&self) -> bool {
        let kept = std::mem::take(&mut *self.lock());
        !kept.is_empty()
    }

    fn with<R>(&self, body: impl FnOnce(&mut Workspace) -> R) -> R {
        let mut workspace = self.lock().pop().unwrap_or_default();
        let result = body(&mut workspace);
        let mut kept = self.lock();
        let values: usize = kept.iter().map(|other| other.values.len()).sum();
        if values + workspace.values.len() <= KEPT_VALUES {
            kept.push(workspace);
        }
        result
    }
}

impl Workspace {
    /// Calls `body` with a workspace that nobody else has.
    pub(crate) fn with<R>(body: impl FnOnce(&mut Workspace) -> R) -> R {
        KEPT.with(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_kept_until_they_are_forgotten() {
        let all = Workspaces(Mutex::new(Vec::new()));
        let fit = |values: usize| {
            all.with(|workspace| {
                let before = workspace.values.len();
                workspace.values.resize(values, 0.0);
                before
            })
        };
        assert_eq!((fit(5), fit(KEPT_VALUES + 1)), (0, 5));
        assert_eq!(fit(7), 0, "too large to be kept");
        assert!(all.forget() && !all.forget());
        assert_eq!(fit(7), 0);
    }
}
