//! FFT plans of the CPU device, each planned independently and cached.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

use crate::{Result, host};

pub(crate) static FFT: Plans<dyn Fft<f32>> = Plans::new(|n| FftPlanner::new().plan_fft_forward(n));
pub(crate) static IFFT: Plans<dyn Fft<f32>> = Plans::new(|n| FftPlanner::new().plan_fft_inverse(n));
pub(crate) static RFFT: Plans<dyn RealToComplex<f32>> =
    Plans::new(|n| RealFftPlanner::new().plan_fft_forward(n));
pub(crate) static IRFFT: Plans<dyn ComplexToReal<f32>> =
    Plans::new(|n| RealFftPlanner::new().plan_fft_inverse(n));

/// Drops all cached plans. Plans in use stay alive until their users drop them.
pub(crate) fn forget() {
    FFT.forget();
    IFFT.forget();
    RFFT.forget();
    IRFFT.forget();
}

/// An upper bound on the bytes of all cached plans, by [`bytes`].
static CACHED: AtomicUsize = AtomicUsize::new(0);

pub(super) fn cached_bytes() -> u64 {
    CACHED.load(Ordering::Relaxed) as u64
}

/// The most bytes that the cached plans of all kinds may take together, which is also limited to 1/`SHARE` of the host
/// budget. A larger plan is cached alone. Thousands of lengths of up to a few thousand values fit: 3,561 lengths of 4
/// to 4,096 take 280 MiB.
const CACHE_BYTES: usize = 512 << 20;
const SHARE: u64 = 8;

/// Reserves the bytes of a plan in the cache; if they do not fit, all other plans are dropped.
fn reserve(bytes: usize) {
    let most = host::host_memory_limit() / SHARE;
    let most = usize::try_from(most).map_or(CACHE_BYTES, |most| most.min(CACHE_BYTES));
    let reserve = |cached: usize| (cached == 0 || cached + bytes <= most).then_some(cached + bytes);
    while CACHED
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve)
        .is_err()
    {
        forget();
    }
}

/// The cached transforms of one kind, by length.
///
/// A planner reuses its earlier plans: after planning length 108, it builds a different transform of length 2,700 than
/// a new planner does, with bitwise different results. A separate planner for each length and direction makes a plan
/// depend only on these two.
pub(crate) struct Plans<P: ?Sized> {
    make: fn(usize) -> Arc<P>,
    cache: Mutex<BTreeMap<usize, Arc<P>>>,
}

/// The transforms of one kind for several lengths, charged to the budget as long as they are in use.
pub(crate) struct PlansInUse<'a, P: ?Sized> {
    lengths: &'a [usize],
    plans: Vec<Arc<P>>,
    _held: host::Held,
}

impl<P: ?Sized> PlansInUse<'_, P> {
    /// The transform of one of the lengths.
    pub(crate) fn of(&self, length: usize) -> &P {
        let place = self.lengths.partition_point(|&other| other < length);
        &self.plans[place]
    }
}

impl<P: ?Sized> Plans<P> {
    const fn new(make: fn(usize) -> Arc<P>) -> Plans<P> {
        Plans {
            make,
            cache: Mutex::new(BTreeMap::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<P>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self) {
        let gone = std::mem::take(&mut *self.lock());
        let freed = gone.keys().map(|&length| bytes(length)).sum();
        CACHED.fetch_sub(freed, Ordering::Relaxed);
    }

    /// The transform of this length, planned now if it is not cached.
    pub(crate) fn of(&self, length: usize) -> Arc<P> {
        if let Some(found) = self.lock().get(&length) {
            return found.clone();
        }
        let made = (self.make)(length);
        reserve(bytes(length));
        let mut cache = self.lock();
        if let Some(found) = cache.get(&length) {
            CACHED.fetch_sub(bytes(length), Ordering::Relaxed);
            return found.clone();
        }
        cache.insert(length, made.clone());
        made
    }
}

impl<P: ?Sized + Send + Sync> Plans<P> {
    /// The transforms of these lengths, which are distinct and in ascending order.
    pub(crate) fn all<'a>(&self, lengths: &'a [usize]) -> Result<PlansInUse<'a, P>> {
        let all = lengths.iter().map(|&length| bytes(length) as u64).sum();
        let held = host::hold(all)?;
        let mut plans = host::room(lengths.len())?;
        match lengths {
            [length] => plans.push(self.of(*length)),
            _ => {
                let planned = lengths.par_iter().map(|&length| self.of(length));
                planned.collect_into_vec(&mut plans);
            }
        }
        Ok(PlansInUse {
            lengths,
            plans,
            _held: held,
        })
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
