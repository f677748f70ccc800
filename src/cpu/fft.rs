//! FFT plans of the CPU device, each planned independently and cached.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

pub(crate) static FFT: Plans<dyn Fft<f32>> = Plans::new(|n| FftPlanner::new().plan_fft_forward(n));
pub(crate) static IFFT: Plans<dyn Fft<f32>> = Plans::new(|n| FftPlanner::new().plan_fft_inverse(n));
pub(crate) static RFFT: Plans<dyn RealToComplex<f32>> =
    Plans::new(|n| RealFftPlanner::new().plan_fft_forward(n));
pub(crate) static IRFFT: Plans<dyn ComplexToReal<f32>> =
    Plans::new(|n| RealFftPlanner::new().plan_fft_inverse(n));

/// Drops all cached plans. Plans in use stay alive until their users drop them.
pub(crate) fn forget() {
    FFT.lock().clear();
    IFFT.lock().clear();
    RFFT.lock().clear();
    IRFFT.lock().clear();
}

/// An upper bound on the bytes of all cached plans.
pub(super) fn cached_bytes() -> u64 {
    let complex = FFT.lock().bytes + IFFT.lock().bytes;
    (complex + RFFT.lock().bytes + IRFFT.lock().bytes) as u64
}

/// The most bytes that the cached plans of one kind may take together, by [`bytes`]. A larger plan is cached alone.
const CACHE_BYTES: usize = 64 << 20;

/// The cached transforms of one kind, by length.
///
/// A planner reuses its earlier plans: after planning length 108, it builds a different transform of length 2,700 than
/// a new planner does, with bitwise different results. A separate planner for each length and direction makes a plan
/// depend only on these two.
pub(crate) struct Plans<P: ?Sized> {
    make: fn(usize) -> Arc<P>,
    cache: Mutex<Cache<P>>,
}

struct Cache<P: ?Sized> {
    plans: BTreeMap<usize, Arc<P>>,
    bytes: usize,
}

impl<P: ?Sized> Cache<P> {
    fn clear(&mut self) {
        self.plans.clear();
        self.bytes = 0;
    }
}

impl<P: ?Sized> Plans<P> {
    const fn new(make: fn(usize) -> Arc<P>) -> Plans<P> {
        Plans {
            make,
            cache: Mutex::new(Cache {
                plans: BTreeMap::new(),
                bytes: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Cache<P>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transform of this length, planned now if it is not cached.
    pub(crate) fn of(&self, length: usize) -> Arc<P> {
        if let Some(found) = self.lock().plans.get(&length) {
            return found.clone();
        }
        let made = (self.make)(length);
        let mut cache = self.lock();
        if let Some(found) = cache.plans.get(&length) {
            return found.clone();
        }
        if cache.bytes + bytes(length) > CACHE_BYTES {
            cache.clear();
        }
        cache.bytes += bytes(length);
        cache.plans.insert(length, made.clone());
        made
    }
}

/// An upper bound on the bytes of a plan, from measurements. A plan holds twiddles and, for a length with a large prime
/// factor, the twiddles of a convolution and its filter.
fn bytes(length: usize) -> usize {
    let mut rest = length.max(1);
    for prime in [2, 3, 5, 7, 11] {
        while rest.is_multiple_of(prime) {
            rest /= prime;
        }
    }
    640 + length * if rest == 1 { 10 } else { 46 }
}
