//! Errors that a test lets the kernel give, for want of a way to bring them about: they stand in
//! for the next waits of this thread.

use std::cell::RefCell;
use std::io;

thread_local! {
    static CODES: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// The next waits fail with these error codes, in this order.
pub(crate) fn arm(codes: &[i32]) {
    CODES.set(codes.iter().rev().copied().collect());
}

/// How many are left.
pub(crate) fn left() -> usize {
    CODES.with_borrow(Vec::len)
}

/// The error that the wait that is to be made now fails with.
pub(crate) fn next() -> io::Result<()> {
    match CODES.with_borrow_mut(Vec::pop) {
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Ok(()),
    }
}
