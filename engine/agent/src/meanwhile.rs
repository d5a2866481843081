//! What goes on beside a change that takes its time: requests are heard, and somebody may not want it
//! any more.

use std::time::{Duration, Instant};

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

/// Between two words of how far something is.
const PAUSE: Duration = Duration::from_secs(1);

/// How far something is, said once a second.
pub struct Told {
    progress: HostProgress,
    last: Instant,
}

impl Told {
    /// An op begins that will write so much, 0 if that is not known.
    pub fn begun(at: u32, of_bytes: u64, meanwhile: &mut dyn Meanwhile) -> Self {
        let progress = HostProgress {
            at,
            done_bytes: 0,
            of_bytes,
        };
        meanwhile.tell(progress);
        Self {
            progress,
            last: Instant::now(),
        }
    }

    /// It has written so much more.
    pub fn of_more(&mut self, bytes: u64, meanwhile: &mut dyn Meanwhile) {
        self.progress.done_bytes += bytes;
        if self.last.elapsed() >= PAUSE {
            meanwhile.tell(self.progress);
            self.last = Instant::now();
        }
    }
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
