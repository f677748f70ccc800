//! Which trials run at the same time on a software GPU.
//!
//! Its driver compiles a kernel for up to ten seconds, and then keeps it on disk. Two threads that need the same kernel
//! at the same time would both compile it. So trials of a GPU run in two lanes, one trial at a time in each, and the
//! kernels of one lane are mostly not those of the other. Each lane has a device. Trials of the CPU run beside them.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};

use super::bench::gpu_is_software;

/// The modules of the second lane. Transforms are here with modules that share few kernels with the rest; the split was
/// balanced by measurement.
pub const SECOND: &[&str] = &[
    "attention",
    "company",
    "conv",
    "conv_boxes",
    "conv_plan",
    "correlate_max",
    "cumulate",
    "fft",
    "fft2",
    "functions",
    "imaging",
    "pooling",
    "sbd",
    "shape_matrix",
    "sort",
    "stft",
];

/// Trials start in one order for all lanes, and most threads wait for their turn. If all waited for the same lane, the
/// other would be idle.
const THREADS: usize = 256;

struct Lane {
    /// How many more trials may run.
    free: Mutex<usize>,
    freed: Condvar,
}

impl Lane {
    const fn of(trials: usize) -> Lane {
        Lane {
            free: Mutex::new(trials),
            freed: Condvar::new(),
        }
    }
}

static LANES: [Lane; 3] = [Lane::of(1), Lane::of(1), Lane::of(2)];
const CPU: usize = 2;

thread_local! {
    /// The lane of the trial on this thread.
    static LANE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A trial's turn in its lane. It ends when this is dropped.
pub struct Turn(Option<&'static Lane>);

impl Turn {
    fn new(lane: usize) -> Turn {
        if !gpu_is_software() {
            return Turn(None);
        }
        let Lane { free, freed } = &LANES[lane];
        let free = free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = freed.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        LANE.set(Some(lane));
        Turn(Some(&LANES[lane]))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(Lane { free, freed }) = self.0 {
            LANE.set(None);
            *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            freed.notify_one();
        }
    }
}

/// Waits for the turn of a trial of a GPU.
pub fn of_gpu(module: &str) -> Turn {
    Turn::new(usize::from(SECOND.contains(&module)))
}

/// Waits for the turn of a trial of the CPU.
pub fn of_cpu() -> Turn {
    Turn::new(CPU)
}

/// Which of the opened devices the trial on this thread uses; `None` if any.
#[cfg(feature = "gpu")]
pub fn device() -> Option<usize> {
    LANE.get()
}

/// How many threads start trials; `None` for one per core.
pub fn threads() -> Option<usize> {
    gpu_is_software().then_some(THREADS)
}
