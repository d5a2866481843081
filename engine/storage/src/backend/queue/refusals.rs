//! Errors that a test injects into the next waits of this thread, since it cannot make the kernel
//! return them.

use std::cell::RefCell;
use std::io;

thread_local! {
    static CODES: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// The next waits fail with these error codes, in this order.
pub fn arm(codes: &[i32]) {
    CODES.set(codes.iter().rev().copied().collect());
}

/// How many are left.
pub fn left() -> usize {
    CODES.with_borrow(Vec::len)
}

/// The error that the wait that is to be made now fails with.
pub fn next() -> io::Result<()> {
    match CODES.with_borrow_mut(Vec::pop) {
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Ok(()),
    }
}
