//! Workspaces for FFT convolutions on the CPU, cached between calls: fresh pages cost as much as a transform.

use std::sync::{Mutex, MutexGuard, PoisonError};

use realfft::num_complex::Complex32;

/// The cached workspaces of all CPU devices.
pub(super) static FREE: Workspaces = Workspaces(Mutex::new(Vec::new()));

/// The most values in cached workspaces, at 4 words per value: 256 MiB in total.
const MAX_FREE_VALUES: usize = 1 << 24;

/// The working memory for transforming one pair.
#[derive(Default)]
pub(crate) struct Workspace {
    pub values: Vec<f32>,
    pub spectrum: Vec<Complex32>,
    pub taps: Vec<Complex32>,
    pub scratch: Vec<Complex32>,
}

/// The workspaces available for the next calls.
pub(super) struct Workspaces(Mutex<Vec<Workspace>>);

impl Workspaces {
    fn lock(&self) -> MutexGuard<'_, Vec<Workspace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees all workspaces that are not in use. Returns whether there were any.
    pub(super) fn forget(&self) -> bool {
        let free = std::mem::take(&mut *self.lock());
        !free.is_empty()
    }

    /// The bytes of the workspaces that are not in use.
    pub(super) fn bytes(&self) -> u64 {
        let bytes_of = |workspace: &Workspace| {
            let spectra = [&workspace.spectrum, &workspace.taps, &workspace.scratch];
            let complex: usize = spectra.iter().map(|values| values.capacity()).sum();
            workspace.values.capacity() * size_of::<f32>() + complex * size_of::<Complex32>()
        };
        self.lock().iter().map(bytes_of).sum::<usize>() as u64
    }

    fn with<R>(&self, body: impl FnOnce(&mut Workspace) -> R) -> R {
        let mut workspace = self.lock().pop().unwrap_or_default();
        let result = body(&mut workspace);
        let mut free = self.lock();
        let values: usize = free.iter().map(|other| other.values.len()).sum();
        if values + workspace.values.len() <= MAX_FREE_VALUES {
            free.push(workspace);
        }
        result
    }
}

impl Workspace {
    /// Calls `body` with exclusive use of a workspace.
    pub(crate) fn with<R>(body: impl FnOnce(&mut Workspace) -> R) -> R {
        FREE.with(body)
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn workspaces_are_kept_until_they_are_forgotten() {
        let all = Workspaces(Mutex::new(Vec::new()));
        let fit = |values: usize| {
            all.with(|workspace| {
                let before = workspace.values.len();
                workspace.values.resize(values, 0.0);
                before
            })
        };
        assert_eq!((all.bytes(), fit(5)), (0, 0));
        assert!(all.bytes() >= 5 * 4);
        assert_eq!(fit(MAX_FREE_VALUES + 1), 5);
        assert_eq!(fit(7), 0, "too large to cache");
        assert!(all.forget() && !all.forget());
        assert_eq!(all.bytes(), 0);
        assert_eq!(fit(7), 0);
    }
}
