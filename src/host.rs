//! Host memory: all allocations whose size depends on a batch go through this module, so that a failed allocation is an
//! [`Error::OutOfMemory`] instead of an abort.
//!
//! The process has a single budget. A request for more than what is left is refused before anything is allocated.
//! Tensors of CPU devices are charged to the budget as long as they live ([`hold`]), and so are those workspaces of a
//! call that may be far larger than its operands. Other allocations that last for one call, or that a layout owns, are
//! not charged: their size is proportional to data that was checked.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Zeroable;

use crate::{Error, Result};

/// The argument of [`set_host_memory_limit`], or `UNSET` before the first call.
static LIMIT: AtomicU64 = AtomicU64::new(UNSET);
const UNSET: u64 = u64::MAX;

/// The bytes of live tensors of CPU devices and of the buffers that these devices cache for reuse.
static HELD: AtomicU64 = AtomicU64::new(0);

/// The most bytes of host memory that one request, together with the tensors of CPU devices, may take.
///
/// Three quarters of the machine's memory (or of its control group's limit), unless [`set_host_memory_limit`] was
/// called.
pub fn host_memory_limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNSET => default_limit(),
        limit => limit,
    }
}

/// Sets this process's budget of host memory, in bytes.
///
/// This library checks the size of everything that it allocates in host memory: data of constructors, plans, results of
/// the CPU device, downloads. A request above the limit, less the memory held by tensors of CPU devices at the time, is
/// an [`Error::OutOfMemory`] with the requested and the remaining bytes, and nothing is allocated. A request below the
/// limit that the system refuses is the same error. Lowering the limit does not affect existing data.
///
/// ```
/// use vsla::{Device, Layout, Pairing};
///
/// vsla::device::set_host_memory_limit(1 << 28);
/// let many = Layout::from_lengths(vec![0; 65_535])?;
/// let many = Device::cpu().full(&many, 0.0f32)?;
/// // Four billion empty results would be 17 GB of offsets.
/// let error = many.pair(&many, Pairing::AllToAll)?.dot().unwrap_err();
/// assert_eq!((error.kind(), error.op()), ("out_of_memory", "dot"));
/// # Ok::<(), vsla::Error>(())
/// ```
pub fn set_host_memory_limit(bytes: u64) {
    LIMIT.store(bytes.min(UNSET - 1), Ordering::Relaxed);
}

fn default_limit() -> u64 {
    static MACHINE: OnceLock<u64> = OnceLock::new();
    // The address space cannot hold more, regardless of the machine's memory.
    let most = isize::MAX as u64;
    *MACHINE.get_or_init(|| machine_memory().map_or(most, |all| (all / 4 * 3).min(most)))
}

/// The bytes of memory that this process may use, if the system reports them.
#[cfg(not(target_family = "wasm"))]
fn machine_memory() -> Option<u64> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let group = system.cgroup_limits().map(|group| group.total_memory);
    let all = [Some(system.total_memory()), group];
    all.into_iter().flatten().filter(|&bytes| bytes > 0).min()
}

#[cfg(target_family = "wasm")]
fn machine_memory() -> Option<u64> {
    None
}

/// The bytes left in the budget.
pub(crate) fn left() -> u64 {
    host_memory_limit().saturating_sub(HELD.load(Ordering::Relaxed))
}

fn refused(bytes: u128, available: Option<u64>) -> Error {
    Error::out_of_memory(u64::try_from(bytes).unwrap_or(u64::MAX), available)
}

/// Checks that `count` items of `bytes_each` bytes fit in the budget. Called for several lists together before the
/// first is allocated.
pub(crate) fn check(count: impl TryInto<u64>, bytes_each: usize) -> Result<()> {
    let count = count.try_into().unwrap_or(u64::MAX);
    let (bytes, left) = (u128::from(count) * bytes_each as u128, left());
    match bytes <= u128::from(left) {
        true => Ok(()),
        false => Err(refused(bytes, Some(left))),
    }
}

/// A share of the budget, returned when dropped.
#[derive(Debug)]
pub(crate) struct Held(u64);

impl Held {
    pub(crate) fn bytes(&self) -> u64 {
        self.0
    }
}

/// Takes `bytes` bytes from the budget, or fails if fewer are left. Atomic, so concurrent calls never exceed the
/// budget.
pub(crate) fn hold(bytes: u64) -> Result<Held> {
    let limit = host_memory_limit();
    let taken = HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
        held.checked_add(bytes).filter(|&sum| sum <= limit)
    });
    match taken {
        Ok(_) => Ok(Held(bytes)),
        Err(held) => Err(refused(bytes.into(), Some(limit.saturating_sub(held)))),
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Reserves space for `more` values. The capacity at least doubles when it grows, so pushing values one by one takes
/// linear time. On failure, nothing changes.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    grow(values, more)
}

#[cold]
fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let least = values.len().saturating_add(more);
    let doubled = least.max(values.capacity().saturating_mul(2)).max(4);
    let doubled = match check(doubled, size_of::<T>()) {
        Ok(()) => doubled,
        Err(_) => check(least, size_of::<T>()).map(|()| least)?,
    };
    let bytes = doubled as u128 * size_of::<T>() as u128;
    if injected() || values.try_reserve_exact(doubled - values.len()).is_err() {
        return Err(refused(bytes, None));
    }
    Ok(())
}

/// An empty vector with capacity for exactly `count` values.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    if count > 0 {
        check(count, size_of::<T>())?;
        if injected() || values.try_reserve_exact(count).is_err() {
            let bytes = count as u128 * size_of::<T>() as u128;
            return Err(refused(bytes, None));
        }
    }
    Ok(values)
}

/// `count` copies of a value.
pub(crate) fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut values = room(count)?;
    values.resize(count, value);
    Ok(values)
}

/// `count` zeros. Large allocations are fresh zero pages from the system and are not written.
pub(crate) fn zeroed<T: Zeroable>(count: usize) -> Result<Vec<T>> {
    check(count, size_of::<T>())?;
    zeroed_held(count)
}

/// As [`zeroed`], for bytes that are already charged to the budget.
pub(crate) fn zeroed_held<T: Zeroable>(count: usize) -> Result<Vec<T>> {
    if count > 0 && !injected() {
        let made = bytemuck::allocation::try_zeroed_vec(count);
        return made.map_err(|()| refused(count as u128 * size_of::<T>() as u128, None));
    }
    match count {
        0 => Ok(Vec::new()),
        _ => Err(refused(count as u128 * size_of::<T>() as u128, None)),
    }
}

/// A copy of a slice.
pub(crate) fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = room(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// Collects an iterator of this crate, whose exact length is trusted.
pub(crate) fn exact<T, I>(values: I) -> Result<Vec<T>>
where
    I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
{
    let values = values.into_iter();
    let mut all = room(values.len())?;
    all.extend(values);
    Ok(all)
}

/// Collects a caller's iterator. Refuses a size hint above the budget immediately, and otherwise reserves only an
/// amount that is cheap if the hint turns out to be wrong.
pub(crate) fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut all = promised(values.size_hint().0)?;
    for value in values {
        push(&mut all, value)?;
    }
    Ok(all)
}

/// An empty vector for the `count` values that a caller's iterator promises, if they fit in the budget. Reserves at
/// most 64 MiB up front.
pub(crate) fn promised<T>(count: usize) -> Result<Vec<T>> {
    const BELIEVED: usize = 1 << 26;
    check(count, size_of::<T>())?;
    room(count.min(BELIEVED / size_of::<T>().max(1)))
}

/// As [`collect`], for an iterator that can fail.
pub(crate) fn try_collect<T>(values: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for value in values {
        push(&mut all, value?)?;
    }
    Ok(all)
}

/// Appends a value.
#[inline]
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    reserve(values, 1)?;
    values.push(value);
    Ok(())
}

/// Appends the values of an iterator of known length.
#[inline]
pub(crate) fn extend<T, I>(values: &mut Vec<T>, more: I) -> Result<()>
where
    I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
{
    let more = more.into_iter();
    reserve(values, more.len())?;
    values.extend(more);
    Ok(())
}

/// Inserts an entry into a map and returns the previous value.
pub(crate) fn insert<K: Eq + Hash, V>(
    map: &mut HashMap<K, V>,
    key: K,
    value: V,
) -> Result<Option<V>> {
    if map.len() == map.capacity() {
        let more = (2 * map.len()).max(4);
        check(more, size_of::<(K, V)>())?;
        if injected() || map.try_reserve(more - map.len()).is_err() {
            return Err(refused(more as u128 * size_of::<(K, V)>() as u128, None));
        }
    }
    Ok(map.insert(key, value))
}

/// The number of allocations up to and including the one that is to fail; 0 when none is.
#[cfg(feature = "testing")]
static COUNTDOWN: AtomicU64 = AtomicU64::new(0);

/// Makes the `n`-th allocation from now on fail as if memory had run out; 0 cancels. Counts the allocations
/// of this module in the whole process. Returns the rest of the previous count, which is 0 if that allocation has
/// failed.
#[cfg(feature = "testing")]
pub fn fail_host_allocation(n: u64) -> u64 {
    COUNTDOWN.swap(n, Ordering::SeqCst)
}

/// Whether this allocation must fail.
#[cfg(not(feature = "testing"))]
fn injected() -> bool {
    false
}

#[cfg(feature = "testing")]
#[inline]
fn injected() -> bool {
    COUNTDOWN.load(Ordering::Relaxed) != 0 && counted_down()
}

#[cfg(feature = "testing")]
#[cold]
fn counted_down() -> bool {
    let one_less = |left: u64| left.checked_sub(1);
    COUNTDOWN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) == Ok(1)
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn what_cannot_be_had_is_refused_before_it_is_tried() {
        let limit = host_memory_limit();
        assert!(limit > 1 << 24, "{limit}");
        let too_many = usize::MAX / 8;
        let kind = |error: Error| (error.kind(), error.op());
        let refused = ("out_of_memory", "");
        assert_eq!(room::<u64>(too_many).map_err(kind), Err(refused));
        assert_eq!(zeroed::<u64>(too_many).map_err(kind), Err(refused));
        assert_eq!(filled(1u64, too_many).map_err(kind), Err(refused));
        let promise = std::iter::repeat_n(1u64, too_many);
        assert_eq!(exact(promise.clone()).map_err(kind), Err(refused));
        assert_eq!(collect(promise).map_err(kind), Err(refused));
        assert_eq!(hold(u64::MAX).map(|_| ()).map_err(kind), Err(refused));
        assert_eq!(check(u64::MAX, usize::MAX).map_err(kind), Err(refused));
        let mut few = vec![1u64];
        assert_eq!(reserve(&mut few, usize::MAX).map_err(kind), Err(refused));
        assert_eq!(few, [1]);
    }

    #[apply(unit_test)]
    fn what_there_is_room_for_is_made() {
        assert_eq!(room::<u8>(9).map(|values| values.capacity()), Ok(9));
        assert_eq!(filled(7, 3), Ok(vec![7; 3]));
        assert_eq!(zeroed(3), Ok(vec![0u8; 3]));
        assert_eq!(copied(&[1, 2]), Ok(vec![1, 2]));
        assert_eq!(
            collect((0..200_000).filter(|i| i % 2 == 0)).map(|all| all.len()),
            Ok(100_000)
        );
        let mut values = Vec::new();
        for value in 0..1000 {
            assert_eq!(push(&mut values, value), Ok(()));
        }
        assert_eq!(extend(&mut values, 1000..1010), Ok(()));
        assert!(values.iter().copied().eq(0..1010));
    }
}
