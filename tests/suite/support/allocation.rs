//! A global allocator that measures the memory a thread requests (largest allocation and peak) and can refuse
//! allocations.

#![allow(unsafe_code, reason = "allocators are")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    /// The bytes held now and at the peak, since counting began.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
    /// The library's own allocations, while they are counted.
    static OURS: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Keeps wgpu from capturing backtraces, as its debug builds do under `RUST_BACKTRACE=1`: a capture holds a lock and
/// allocates, and counting an allocation captures a backtrace, too. Must be called before threads are started.
pub fn disable_backtraces_of_others() {
    // SAFETY: there are no other threads yet.
    unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
}

/// The result of `f`, and how often this library allocated on this thread, without what wgpu allocated for it.
pub fn ours_in<T>(f: impl FnOnce() -> T) -> (T, usize) {
    OURS.set(Some(0));
    let outcome = f();
    (outcome, OURS.take().unwrap_or(0))
}

/// The result of `f`, and the peak bytes that this thread held while it ran, on top of what it held before.
pub fn peak_in<T>(f: impl FnOnce() -> T) -> (T, usize) {
    HELD.set((0, 0));
    let outcome = f();
    (outcome, HELD.get().1 as usize)
}

/// The bytes that this thread freed while `f` ran, less those that it allocated.
pub fn freed_in(f: impl FnOnce()) -> i64 {
    HELD.set((0, 0));
    f();
    -HELD.get().0 as i64
}

/// The result of `f`, and the size of its largest single allocation on this thread.
pub fn largest_in<T>(f: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.set(0);
    let outcome = f();
    (outcome, LARGEST.get())
}

/// Allocations of at least `LARGE` bytes decrement `COUNTDOWN`; the one that brings it to 0 is refused.
static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);
static COUNTDOWN: AtomicU64 = AtomicU64::new(0);

/// Refuses the `n`-th allocation of at least `bytes` bytes on any thread from now on, all of them for `u64::MAX`, or
/// none for 0. Returns the rest of the previous count.
pub fn refuse(n: u64, bytes: usize) -> u64 {
    LARGE.store(if n == 0 { usize::MAX } else { bytes }, Ordering::SeqCst);
    COUNTDOWN.swap(n, Ordering::SeqCst)
}

fn is_refused(bytes: usize) -> bool {
    if bytes < LARGE.load(Ordering::Relaxed) {
        return false;
    }
    let left = COUNTDOWN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| match left {
        u64::MAX => None,
        left => left.checked_sub(1),
    });
    match left {
        Err(u64::MAX) => true,
        Ok(1) if is_elsewhere(bytes) => {
            // Refuse the next one instead.
            COUNTDOWN.store(1, Ordering::SeqCst);
            false
        }
        left => left == Ok(1),
    }
}

/// Whether the allocation comes from a crate that cannot handle failure: packed factors in gemm, twiddles in the FFT
/// crates, or anything in wgpu or the catalogue. The tables of kernels are excepted, too: their size is constant.
fn is_elsewhere(bytes: usize) -> bool {
    let large = LARGE.swap(usize::MAX, Ordering::SeqCst);
    let stack = std::backtrace::Backtrace::force_capture().to_string();
    let first: Vec<&str> = stack.lines().take(24).collect();
    // Optimized builds inline FFT planners into their only caller.
    let planners = ["gemm", "rustfft", "realfft", "cpu::fft::Plans"];
    let elsewhere = first.iter().any(|line| is_of(line, &planners))
        || is_of_others(&stack)
        || stack.contains("vsla::gpu::Gpu>::table");
    if !elsewhere {
        println!("{bytes} bytes refused: {}", first.join("\n"));
    }
    LARGE.store(large, Ordering::SeqCst);
    elsewhere
}

fn is_of(line: &str, names: &[&str]) -> bool {
    names.iter().any(|name| line.contains(name))
}

/// Whether wgpu or the catalogue asked for memory. They call this library, or are called, so the innermost counts.
fn is_of_others(stack: &str) -> bool {
    let others = ["wgpu", "naga", "ash::", "gpu_allocator", "catalogue::"];
    let innermost = stack
        .lines()
        .find(|line| is_of(line, &["vsla::"]) || is_of(line, &others));
    innermost.is_some_and(|line| is_of(line, &others))
}

struct Watched;

#[global_allocator]
static WATCHED: Watched = Watched;

fn watch(bytes: usize) {
    // An exiting thread may free, and even allocate, after its thread-locals are gone.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
    let _ = OURS.try_with(|ours| {
        // The stack's own memory is not counted.
        if let Some(count) = ours.take() {
            let stack = std::backtrace::Backtrace::force_capture().to_string();
            ours.set(Some(count + usize::from(!is_of_others(&stack))));
        }
    });
}

fn hold(bytes: isize) {
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        hold(layout.size() as isize);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        hold(layout.size() as isize);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch(size);
        if is_refused(size) {
            return std::ptr::null_mut();
        }
        // If the data has to move, both allocations exist for a moment.
        hold(size as isize);
        // SAFETY: the caller's contract is the same.
        let moved = unsafe { System.realloc(at, layout, size) };
        let gone = match moved.is_null() {
            true => size,
            false => layout.size(),
        };
        hold(-(gone as isize));
        moved
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(at, layout) }
    }
}
