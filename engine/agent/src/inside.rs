//! Directories in the mount namespace of a process, which a server in it may show to nobody outside:
//! nsenter(1) goes there. When the process is gone nobody gets there any more.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::back;
use crate::marked::begun;
use crate::names::{refused, require_prefix};

/// Who holds a namespace: numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pid: u32,
    /// Clock ticks since the boot.
    begun: u64,
}

impl Process {
    /// The one of a number, if there is one.
    pub fn of(pid: &str) -> Option<Self> {
        let pid = pid.parse().ok()?;
        let begun = begun(pid);
        (begun != 0).then_some(Self { pid, begun })
    }

    fn lives(&self) -> bool {
        begun(self.pid) == self.begun
    }

    /// A command in its namespaces, as the one who made them.
    pub fn enter(&self, argv: &[&str]) -> Vec<String> {
        let mut all: Vec<String> = ["nsenter", "--preserve-credentials", "--user", "--mount"]
            .map(str::to_owned)
            .to_vec();
        all.push(format!("--target={}", self.pid));
        all.extend(argv.iter().map(|word| (*word).to_owned()));
        all
    }
}

/// Whether something is there, as far as it can be seen.
pub fn is_there(path: &str, of: &Process) -> bool {
    back::run(&of.enter(&["test", "-e", path])).is_ok()
}

/// Removes one with all that is in it.
///
/// # Errors
/// It has no name of ours, or is not removed.
pub fn remove(directory: &Path, of: &Process) -> io::Result<Option<String>> {
    require_prefix(directory, "not removed")?;
    let path = directory.to_string_lossy();
    let argv = of.enter(&["rm", "-rf", "--one-file-system", &path]);
    if !of.lives() {
        return Ok(None);
    }
    match back::run(&argv) {
        Ok(_) => Ok(Some(format!("removed {path}"))),
        Err(_) if !of.lives() => Ok(None),
        Err(error) => Err(refused(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_s_namespace_is_entered_and_only_a_name_of_ours_removed() {
        let own = Process::of(&std::process::id().to_string()).unwrap();
        assert!(own.lives());
        let gone = Process { begun: 1, ..own };
        let ours = Path::new("/no/such/tiltyard-directory");
        assert_eq!(remove(ours, &gone).unwrap(), None);
        let text = remove(Path::new("/etc"), &own).unwrap_err().to_string();
        assert!(text.contains("does not begin with tiltyard-"), "{text}");
        assert_eq!((Process::of("0"), Process::of("x")), (None, None));
    }
}
