//! The largest piece of memory that a thread asks for at once.

#![allow(unsafe_code, reason = "allocators are")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// What `f` gives, and the most bytes that it asked for at once on this thread.
pub fn largest_in<T>(f: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.set(0);
    let outcome = f();
    (outcome, LARGEST.get())
}

struct Watched;

#[global_allocator]
static WATCHED: Watched = Watched;

fn watch(bytes: usize) {
    // A thread that ends may free, and even ask, when its cells are gone.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}
