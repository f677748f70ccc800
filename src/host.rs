//! Memory of the host: every allocation whose size depends on a batch is made here, so that one that cannot be had is
//! an [`Error::OutOfMemory`] and never an abort.
//!
//! There is one budget for the process. A single request above what is left of it is refused before anything is
//! allocated, and tensors of the CPU device are taken from it as long as they live ([`hold`]). What is allocated for
//! the length of a call, or kept by a layout, is not taken from it: it is in proportion to what was checked.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Zeroable;

use crate::{Error, Result};

/// What [`set_host_memory_limit`] was given; `UNSET` before.
static LIMIT: AtomicU64 = AtomicU64::new(UNSET);
const UNSET: u64 = u64::MAX;

/// Bytes that live tensors of CPU devices take, and what these keep for reuse.
static HELD: AtomicU64 = AtomicU64::new(0);

/// The most bytes that one request, together with the tensors of CPU devices, may take in host memory: three quarters
/// of the machine's memory (or of what its control group may use), unless [`set_host_memory_limit`] was called.
pub fn host_memory_limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        UNSET => default_limit(),
        limit => limit,
    }
}

/// Sets the budget of host memory of this process, in bytes.
///
/// Whatever this library is about to allocate in host memory is sized first: data of constructors, plans, results of
/// the CPU device, downloads. A request that is larger than this limit, less what tensors of CPU devices hold at the
/// time, is an [`Error::OutOfMemory`], which says what was asked for and what was left, and nothing is allocated. Below
/// the limit an allocation that the system refuses is that error, too. What exists is not touched when the limit falls
/// below it.
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
    // More than this the address space does not hold, whatever the machine has.
    let most = isize::MAX as u64;
    *MACHINE.get_or_init(|| machine_memory().map_or(most, |all| (all / 4 * 3).min(most)))
}

/// Bytes of memory that this process may use at most, where the system tells.
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

/// What is left of the budget.
fn left() -> u64 {
    host_memory_limit().saturating_sub(HELD.load(Ordering::Relaxed))
}

fn refused(op: &'static str, bytes: u128, available: Option<u64>) -> Error {
    Error::OutOfMemory {
        op,
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        available,
    }
}

/// Whether `count` things of so many bytes are within the budget. Asked of a whole plan, before its first part is made.
pub(crate) fn check(op: &'static str, count: impl TryInto<u64>, bytes_each: usize) -> Result<()> {
    let count = count.try_into().unwrap_or(u64::MAX);
    let (bytes, left) = (u128::from(count) * bytes_each as u128, left());
    match bytes <= u128::from(left) {
        true => Ok(()),
        false => Err(refused(op, bytes, Some(left))),
    }
}

/// A part of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held(u64);

impl Held {
    pub(crate) fn bytes(&self) -> u64 {
        self.0
    }
}

/// Takes so many bytes from the budget, unless that is more than is left. Threads that ask at once never get more than
/// there is.
pub(crate) fn hold(op: &'static str, bytes: u64) -> Result<Held> {
    let limit = host_memory_limit();
    let taken = HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
        held.checked_add(bytes).filter(|&sum| sum <= limit)
    });
    match taken {
        Ok(_) => Ok(Held(bytes)),
        Err(held) => Err(refused(op, bytes.into(), Some(limit.saturating_sub(held)))),
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Makes room for `more` values, at least doubling it when it grows, so that pushing one by one is a pass. Nothing
/// changes when that fails.
pub(crate) fn reserve<T>(op: &'static str, values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    grow(op, values, more)
}

#[cold]
fn grow<T>(op: &'static str, values: &mut Vec<T>, more: usize) -> Result<()> {
    let least = values.len().saturating_add(more);
    let doubled = least.max(values.capacity().saturating_mul(2)).max(4);
    let doubled = match check(op, doubled, size_of::<T>()) {
        Ok(()) => doubled,
        Err(_) => check(op, least, size_of::<T>()).map(|()| least)?,
    };
    let bytes = doubled as u128 * size_of::<T>() as u128;
    if injected() || values.try_reserve_exact(doubled - values.len()).is_err() {
        return Err(refused(op, bytes, None));
    }
    Ok(())
}

/// An empty vector with room for `count` values, and no more.
pub(crate) fn room<T>(op: &'static str, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    if count > 0 {
        check(op, count, size_of::<T>())?;
        if injected() || values.try_reserve_exact(count).is_err() {
            let bytes = count as u128 * size_of::<T>() as u128;
            return Err(refused(op, bytes, None));
        }
    }
    Ok(values)
}

/// `count` times one value.
pub(crate) fn filled<T: Clone>(op: &'static str, value: T, count: usize) -> Result<Vec<T>> {
    let mut values = room(op, count)?;
    values.resize(count, value);
    Ok(values)
}

/// `count` zeros, from the system's fresh pages where there are many: no pass over them.
pub(crate) fn zeroed<T: Zeroable>(op: &'static str, count: usize) -> Result<Vec<T>> {
    check(op, count, size_of::<T>())?;
    zeroed_held(op, count)
}

/// The same for what was taken from the budget before.
pub(crate) fn zeroed_held<T: Zeroable>(op: &'static str, count: usize) -> Result<Vec<T>> {
    if count > 0 && !injected() {
        let made = bytemuck::allocation::try_zeroed_vec(count);
        return made.map_err(|()| refused(op, count as u128 * size_of::<T>() as u128, None));
    }
    match count {
        0 => Ok(Vec::new()),
        _ => Err(refused(op, count as u128 * size_of::<T>() as u128, None)),
    }
}

/// A copy.
pub(crate) fn copied<T: Copy>(op: &'static str, values: &[T]) -> Result<Vec<T>> {
    let mut copy = room(op, values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// What an iterator of ours yields, which knows how much that is.
pub(crate) fn exact<T, I>(op: &'static str, values: I) -> Result<Vec<T>>
where
    I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
{
    let values = values.into_iter();
    let mut all = room(op, values.len())?;
    all.extend(values);
    Ok(all)
}

/// What a caller's iterator yields. One that promises more than the budget is refused at once; else so much of its
/// promise is believed as costs little if it is broken.
pub(crate) fn collect<T>(op: &'static str, values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut all = promised(op, values.size_hint().0)?;
    for value in values {
        push(op, &mut all, value)?;
    }
    Ok(all)
}

/// Room for what a caller's iterator promises, if that is within the budget, and not much before it comes.
pub(crate) fn promised<T>(op: &'static str, count: usize) -> Result<Vec<T>> {
    const BELIEVED: usize = 1 << 26;
    check(op, count, size_of::<T>())?;
    room(op, count.min(BELIEVED / size_of::<T>().max(1)))
}

/// The values of an iterator that can fail, as [`collect`].
pub(crate) fn try_collect<T>(
    op: &'static str,
    values: impl IntoIterator<Item = Result<T>>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for value in values {
        push(op, &mut all, value?)?;
    }
    Ok(all)
}

/// One value more.
#[inline]
pub(crate) fn push<T>(op: &'static str, values: &mut Vec<T>, value: T) -> Result<()> {
    reserve(op, values, 1)?;
    values.push(value);
    Ok(())
}

/// Some values more, which know how many they are.
#[inline]
pub(crate) fn extend<T, I>(op: &'static str, values: &mut Vec<T>, more: I) -> Result<()>
where
    I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
{
    let more = more.into_iter();
    reserve(op, values, more.len())?;
    values.extend(more);
    Ok(())
}

/// An entry more of a map; what was there before.
pub(crate) fn insert<K: Eq + Hash, V>(
    op: &'static str,
    map: &mut HashMap<K, V>,
    key: K,
    value: V,
) -> Result<Option<V>> {
    if map.len() == map.capacity() {
        let more = (2 * map.len()).max(4);
        check(op, more, size_of::<(K, V)>())?;
        if injected() || map.try_reserve(more - map.len()).is_err() {
            return Err(refused(
                op,
                more as u128 * size_of::<(K, V)>() as u128,
                None,
            ));
        }
    }
    Ok(map.insert(key, value))
}

/// Allocations that are still made before one fails, and that one; 0 when none is to fail.
static COUNTDOWN: AtomicU64 = AtomicU64::new(0);

/// For tests: the `n`-th allocation from now on, of those that this module makes in the whole process, fails as if
/// memory had run out; 0 calls it off. Gives what was left of the number before, which is 0 if that allocation has
/// failed.
#[doc(hidden)]
pub fn fail_host_allocation(n: u64) -> u64 {
    COUNTDOWN.swap(n, Ordering::SeqCst)
}

/// Whether this allocation is to fail.
#[inline]
fn injected() -> bool {
    COUNTDOWN.load(Ordering::Relaxed) != 0 && counted_down()
}

#[cold]
fn counted_down() -> bool {
    let one_less = |left: u64| left.checked_sub(1);
    COUNTDOWN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) == Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_refused_before_it_is_tried() {
        let limit = host_memory_limit();
        assert!(limit > 1 << 24, "{limit}");
        let too_many = usize::MAX / 8;
        let kind = |error: Error| (error.kind(), error.op());
        let refused = ("out_of_memory", "test");
        assert_eq!(room::<u64>("test", too_many).map_err(kind), Err(refused));
        assert_eq!(zeroed::<u64>("test", too_many).map_err(kind), Err(refused));
        assert_eq!(filled("test", 1u64, too_many).map_err(kind), Err(refused));
        let promise = std::iter::repeat_n(1u64, too_many);
        assert_eq!(exact("test", promise.clone()).map_err(kind), Err(refused));
        assert_eq!(collect("test", promise).map_err(kind), Err(refused));
        assert_eq!(
            hold("test", u64::MAX).map(|_| ()).map_err(kind),
            Err(refused)
        );
        assert_eq!(
            check("test", u64::MAX, usize::MAX).map_err(kind),
            Err(refused)
        );
        let mut few = vec![1u64];
        assert_eq!(
            reserve("test", &mut few, usize::MAX).map_err(kind),
            Err(refused)
        );
        assert_eq!(few, [1]);
    }

    #[test]
    fn what_there_is_room_for_is_made() {
        assert_eq!(room::<u8>("test", 9).map(|values| values.capacity()), Ok(9));
        assert_eq!(filled("test", 7, 3), Ok(vec![7; 3]));
        assert_eq!(zeroed("test", 3), Ok(vec![0u8; 3]));
        assert_eq!(copied("test", &[1, 2]), Ok(vec![1, 2]));
        assert_eq!(
            collect("test", (0..200_000).filter(|i| i % 2 == 0)).map(|all| all.len()),
            Ok(100_000)
        );
        let mut values = Vec::new();
        for value in 0..1000 {
            assert_eq!(push("test", &mut values, value), Ok(()));
        }
        assert_eq!(extend("test", &mut values, 1000..1010), Ok(()));
        assert!(values.iter().copied().eq(0..1010));
    }
}
