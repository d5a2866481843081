//! What both ends do with the data: sockets, connections, transactions, and what ends them.

pub mod alarm;
pub mod connections;
pub mod exchange;
pub mod link;
pub mod socket;
pub mod work;

use std::fmt;
use std::io;

use rustix::io::Errno;

/// The kernel refused a call, or an option.
#[derive(Debug)]
pub struct CallError {
    /// Which.
    pub call: &'static str,
    /// Why.
    pub error: io::Error,
}

/// What a call gives.
pub type Called<T> = Result<T, CallError>;

/// Names the call of which `result` is the result.
pub fn named<T>(call: &'static str, result: io::Result<T>) -> Called<T> {
    result.map_err(|error| CallError { call, error })
}

impl CallError {
    /// `call` failed with `error`.
    pub fn new(call: &'static str, error: Errno) -> Self {
        Self {
            call,
            error: error.into(),
        }
    }

    /// The error's number; `EIO` if it has none.
    pub fn errno(&self) -> i32 {
        self.error.raw_os_error().unwrap_or(libc::EIO)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.call, self.error)
    }
}
