//! Command lines of other tools: what the engine can be called as, and what it does for them.

use std::ffi::OsString;

use wire::{Event, Failure, Job};

/// A tool that the engine can be called as.
pub trait Tool: Sync {
    /// The names it goes by, its usual one first.
    fn names(&self) -> &'static [&'static str];

    /// Does what the command line asks for.
    ///
    /// # Errors
    /// What the tool could not do.
    fn run(&self, arguments: Vec<OsString>, host: &mut dyn Host) -> Result<(), Failure>;
}

/// What the engine does for a tool.
pub trait Host {
    /// Prints text to standard output, at once.
    fn print(&mut self, text: &str);

    /// Prints a remark to standard error.
    fn remark(&mut self, text: &str);

    /// Writes one event to standard output as a line of JSON.
    fn record(&mut self, event: &Event);

    /// Executes a job; every event is handed to `listener` as it comes, the `end` too. Where it
    /// `is_recorded`, the events also tell what else the host did meanwhile.
    ///
    /// # Errors
    /// What kept the job from being done; the listener got the same in the `end`.
    fn execute(
        &mut self,
        job: &Job,
        is_recorded: bool,
        listener: &mut dyn FnMut(&mut dyn Host, &Event),
    ) -> Result<(), Failure>;

    /// Goes on when whoever has called it ends; if `in_background`, in a process of its own. Gives
    /// whether this is the process that goes on.
    ///
    /// # Errors
    /// `HostLacks` when the kernel allows no further process.
    fn stay(&mut self, in_background: bool) -> Result<bool, Failure>;
}
