//! A request to end, of one server or of the whole process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Shared by all that have to end together. A signal to the process ends all of them.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks all that share it to end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to end now.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) || kit::stop::requested()
    }
}
