//! An instant, and what the CPUs had done until then.

use kit::clock;

use super::cpu::{CpuUse, Times};

/// One end of a stretch of time.
#[derive(Debug)]
pub struct Mark {
    /// When, on [`clock::now_ns`].
    pub at_ns: u64,
    /// The CPUs' times then, if they are measured.
    pub cpu: Option<Times>,
}

impl Mark {
    /// Now.
    pub fn now(measures_cpu: bool) -> Self {
        let cpu = measures_cpu.then(Times::now).flatten();
        Self {
            cpu,
            at_ns: clock::now_ns(),
        }
    }

    /// Time since `earlier`, in seconds.
    pub fn elapsed_s(&self, earlier: &Self) -> f64 {
        self.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9
    }

    /// What the CPUs did since `earlier`, if they were measured both times.
    pub fn cpu_use(&self, earlier: &Self) -> Option<CpuUse> {
        Some(self.cpu.as_ref()?.since(earlier.cpu.as_ref()?))
    }
}
