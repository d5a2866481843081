//! The kinds of system calls that are timed one by one.

use kit::Calls;

/// A kind of system call, by the column in which the original shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Opening a file that is not there.
    Create,
    /// One write.
    Write,
    /// Syncing a file; after the loop, opening and closing it again belong to it.
    Fsync,
    /// Syncing the file system.
    Sync,
    /// Closing a file just written.
    Close,
    /// Removing a file.
    Unlink,
}

impl Call {
    /// In the order of the original's columns.
    pub const ALL: [Call; 6] = [
        Call::Create,
        Call::Write,
        Call::Fsync,
        Call::Sync,
        Call::Close,
        Call::Unlink,
    ];
}

impl From<Call> for usize {
    fn from(call: Call) -> Self {
        call as usize
    }
}

/// The calls of one thread in one loop.
pub type CallsOfLoop = Calls<{ Call::ALL.len() }>;

/// Time in all calls on files that are there, in ns: removing them is not part of it.
pub fn spent_ns(calls: &CallsOfLoop) -> u64 {
    let kinds = Call::ALL.into_iter().filter(|&call| call != Call::Unlink);
    kinds.map(|call| calls.histogram(call).sum_ns()).sum()
}
