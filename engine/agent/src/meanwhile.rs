//! What goes on beside a change that takes its time: requests are heard, and somebody may not want it
//! any more.

use std::time::Duration;

use kit::signals::Signals;
use wire::{HostFailure, HostProgress};

/// The one who hears and tells.
pub trait Meanwhile {
    /// Sleeps until there is something to hear or a child has ended, and no longer than `most`.
    ///
    /// # Errors
    /// `Interrupted`: it is not to go on.
    fn wait(&mut self, most: Option<Duration>) -> Result<(), HostFailure>;

    /// Says how far it is.
    fn tell(&mut self, progress: HostProgress);

    /// Those that are kept back, but not from commands.
    fn signals(&self) -> &Signals;
}

/// One that only sleeps.
#[cfg(test)]
pub struct Asleep(Signals);

#[cfg(test)]
impl Asleep {
    pub fn new() -> Self {
        Self(Signals::block().unwrap())
    }
}

#[cfg(test)]
impl Meanwhile for Asleep {
    fn wait(&mut self, most: Option<Duration>) -> Result<(), HostFailure> {
        std::thread::sleep(most.unwrap_or(Duration::from_millis(1)));
        Ok(())
    }

    fn tell(&mut self, _: HostProgress) {}

    fn signals(&self) -> &Signals {
        &self.0
    }
}
