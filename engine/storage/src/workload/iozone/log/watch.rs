//! The watch that notes operations for a log. It reads the clock once for each, and hands the
//! instants on, so that none is taken twice.

use kit::clock;
use wire::Failure;

use super::{Entry, OperationLog};
use crate::workload::watch::Watch;

/// Notes in `log` what it reports to `watch`.
pub struct Logging<'a, W> {
    watch: &'a mut W,
    log: &'a mut OperationLog,
    last_ns: u64,
}

impl<'a, W> Logging<'a, W> {
    /// For a pass that has not begun.
    pub fn new(watch: &'a mut W, log: &'a mut OperationLog) -> Self {
        log.clear();
        Self {
            watch,
            log,
            last_ns: 0,
        }
    }
}

impl<W: Watch> Watch for Logging<'_, W> {
    const IS_TIMED: bool = true;

    fn ready(&mut self) -> Result<(), Failure> {
        self.watch.ready()
    }

    fn start(&mut self) -> Result<(), Failure> {
        self.watch.start()?;
        self.last_ns = clock::now_ns();
        Ok(())
    }

    #[inline]
    fn goes_on(&self) -> bool {
        self.watch.goes_on()
    }

    #[inline]
    fn begin_operation(&mut self) {
        self.last_ns = clock::now_ns();
    }

    #[inline]
    fn operation(&mut self, bytes: u64) {
        let now_ns = clock::now_ns();
        self.overlapped_operation(bytes, self.last_ns, now_ns);
        self.last_ns = now_ns;
    }

    #[inline]
    fn overlapped_operation(&mut self, bytes: u64, began_ns: u64, ended_ns: u64) {
        self.log.note(Entry {
            latency_ns: ended_ns - began_ns,
            bytes,
        });
        self.watch.overlapped_operation(bytes, began_ns, ended_ns);
    }

    fn stop(&mut self) {
        self.watch.stop();
    }
}
