//! Which edges of the program were taken, as counters that the compiler puts there
//! (SanitizerCoverage of LLVM, inline 8-bit counters).

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static FIRST: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Most inputs reach few edges: so many counters are passed over at once.
const STEP: usize = 32;

/// Called before `main` where the program was compiled with counters.
///
/// # Safety
/// `first` and `end` are the bounds of an array that is there as long as the program.
#[no_mangle]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(first: *mut u8, end: *mut u8) {
    FIRST.store(first, Ordering::Relaxed);
    COUNT.store(end as usize - first as usize, Ordering::Relaxed);
}

/// A copy of the counters; they are zero afterwards.
fn take(counters: &mut Vec<u8>) {
    let (first, count) = (FIRST.load(Ordering::Relaxed), COUNT.load(Ordering::Relaxed));
    counters.resize(count, 0);
    if !first.is_null() {
        // SAFETY: as the compiler said it; nothing else executes that it counts.
        unsafe {
            ptr::copy_nonoverlapping(first, counters.as_mut_ptr(), count);
            ptr::write_bytes(first, 0, count);
        }
    }
}

/// What has been reached so far. Only one input may be executed at a time.
#[derive(Default)]
pub struct Coverage {
    counters: Vec<u8>,
    /// Of each edge the classes of how often it was taken.
    seen: Vec<u8>,
    reached: usize,
}

impl Coverage {
    /// Forgets what was counted until now.
    pub fn begin(&mut self) {
        take(&mut self.counters);
        self.seen.resize(self.counters.len(), 0);
    }

    /// Whether something new was reached since [`Coverage::begin`]: an edge, or one taken another
    /// power of two times.
    pub fn end(&mut self) -> bool {
        take(&mut self.counters);
        let mut is_new = false;
        let steps = self.counters.chunks(STEP).zip(self.seen.chunks_mut(STEP));
        for (counters, seen) in
            steps.filter(|(counters, _)| counters.iter().any(|&count| count > 0))
        {
            let taken = counters.iter().zip(seen).filter(|(&count, _)| count > 0);
            for (count, seen) in taken {
                let class = 1 << count.ilog2();
                self.reached += usize::from(*seen == 0);
                is_new |= class & !*seen != 0;
                *seen |= class;
            }
        }
        is_new
    }

    /// How many edges were reached, and how many there are.
    pub fn edges(&self) -> [usize; 2] {
        [self.reached, self.seen.len()]
    }
}
