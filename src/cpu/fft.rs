//! Real transforms of the CPU, planned once for each length.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

/// The transforms of one length, there and back.
pub(crate) struct RealFft {
    pub forward: Arc<dyn RealToComplex<f32>>,
    pub inverse: Arc<dyn ComplexToReal<f32>>,
}

/// Values of all transforms kept together: some 100 MB of twiddles.
const KEPT: usize = 1 << 22;

/// The transforms of this length, planned now if they are not at hand.
///
/// A planner of realfft keeps everything that it ever made; what is kept here is bounded instead, and every length has
/// a planner of its own.
pub(crate) fn real_fft(length: usize) -> Arc<RealFft> {
    static PLANNED: Mutex<Option<HashMap<usize, Arc<RealFft>>>> = Mutex::new(None);
    let planned = || PLANNED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = planned().as_ref().and_then(|all| all.get(&length)) {
        return found.clone();
    }
    let mut planner = RealFftPlanner::new();
    let made = Arc::new(RealFft {
        forward: planner.plan_fft_forward(length),
        inverse: planner.plan_fft_inverse(length),
    });
    let mut planned = planned();
    let all = planned.get_or_insert_default();
    if all.keys().sum::<usize>() + length > KEPT {
        all.clear();
    }
    all.entry(length).or_insert(made).clone()
}
