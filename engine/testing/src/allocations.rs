//! A counting allocator. A test installs it with
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: testing::Counting = testing::Counting;
//! # testing::allocations::assert_counted();
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

thread_local! {
    static OF_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}
static OF_ALL_THREADS: AtomicU64 = AtomicU64::new(0);
static USED_BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with somebody who looks on.
pub struct Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OF_THIS_THREAD.set(OF_THIS_THREAD.get() + 1);
        OF_ALL_THREADS.fetch_add(1, Ordering::Relaxed);
        let used_bytes = USED_BYTES.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST_BYTES.fetch_max(used_bytes, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        USED_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

/// How often the calling thread has allocated.
pub fn of_this_thread() -> u64 {
    OF_THIS_THREAD.get()
}

/// How often all threads have allocated.
pub fn of_all_threads() -> u64 {
    OF_ALL_THREADS.load(Ordering::Relaxed)
}

/// The most memory that was in use at any moment, in bytes.
pub fn most_bytes() -> usize {
    MOST_BYTES.load(Ordering::Relaxed)
}

/// Without an installed allocator, nothing would ever be counted.
pub fn assert_counted() {
    let before = (of_this_thread(), of_all_threads());
    drop(std::hint::black_box(Box::new(7_u64)));
    assert_eq!(of_this_thread() - before.0, 1);
    assert!(of_all_threads() > before.1);
    assert!(most_bytes() >= size_of::<u64>());
}
