//! Which process has changed something, on which host and in which boot of it.

use std::fs;

use rustix::system::uname;
use serde::{Deserialize, Serialize};

/// Whose a ledger is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// In ticks since boot: tells it from a later process of the same number.
    pub started: u64,
    pub boot: String,
    /// Which host: a home may be shared.
    pub host: String,
    /// Number and start of the process that asks it; on another host that leads here.
    pub asked_by: (u32, u64),
}

impl Owner {
    /// This process.
    pub fn current() -> Self {
        let pid = std::process::id();
        let asks = std::os::unix::process::parent_id();
        Self {
            pid,
            started: started(pid),
            boot: boot(),
            host: host(),
            asked_by: (asks, started(asks)),
        }
    }

    pub fn lives(&self) -> bool {
        self.boot == boot() && self.started == started(self.pid)
    }

    /// Whether it lives, but not for long: nobody asks it for anything any more.
    pub fn is_ending(&self) -> bool {
        let (asks, since) = self.asked_by;
        self.lives() && since != started(asks)
    }

    /// Whether it is of another host: what that has changed nobody here can put back.
    pub fn is_elsewhere(&self) -> bool {
        self.boot != boot() && self.host != host()
    }
}

/// When a process has begun, in ticks since boot; 0: it is not there.
fn started(pid: u32) -> u64 {
    kit::proc::process_at(pid).map_or(0, |one| one.started_ticks)
}

/// Which boot of this host this is.
pub fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Its name and its machine-id(5), which nodes of one image may share.
fn host() -> String {
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!(
        "{} {}",
        uname().nodename().to_string_lossy(),
        machine.trim()
    )
}
