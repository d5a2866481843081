//! The clock beside the system calls: how long each kind takes.

use kit::clock;
use kit::histogram::Histogram;

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

/// The calls of one thread in one loop. The clock is read once per call: the end of one is the
/// start of the next, as long as nothing lies between.
pub struct Calls {
    histograms: [Histogram; Call::ALL.len()],
    last_ns: u64,
}

impl Calls {
    /// None yet; allocates all that is ever needed.
    pub fn new() -> Self {
        Self {
            histograms: Call::ALL.map(|_| Histogram::new()),
            last_ns: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histograms.iter_mut().for_each(Histogram::clear);
    }

    /// A call begins now; gives the instant, in ns.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.last_ns = clock::now_ns();
        self.last_ns
    }

    /// A call has ended, and the next one may have begun; gives the instant, in ns.
    #[inline]
    pub fn end(&mut self, call: Call) -> u64 {
        let now_ns = clock::now_ns();
        self.histograms[call as usize].record(now_ns - self.last_ns);
        self.last_ns = now_ns;
        now_ns
    }

    /// Durations of all calls of a kind.
    pub fn histogram(&self, call: Call) -> &Histogram {
        &self.histograms[call as usize]
    }

    /// Time in all calls on files that are there, in ns: removing them is not part of it.
    pub fn spent_ns(&self) -> u64 {
        let kinds = Call::ALL.into_iter().filter(|&call| call != Call::Unlink);
        kinds.map(|call| self.histogram(call).sum_ns()).sum()
    }
}
