//! Putting back what agents that died have left changed on this host.
//!
//! All ledgers of the dead are taken together and their changes undone newest first, because two may
//! have changed the same thing one after the other. Those of other hosts, which share a home with this
//! one, are theirs. After a boot nothing is done where the boot itself has undone a change.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{flock, FlockOperation};

use super::{append, boot, require_ours, Content, Line, Recorded, ENDING};

/// Longest wait for commands of a dead agent to end.
const ORPHANS_END: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// What became of the changes of dead agents, one sentence each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    pub done: Vec<String>,
    /// What could not be put back, and why.
    pub left: Vec<String>,
}

/// A ledger that is for us to take back, locked.
struct Dead {
    path: PathBuf,
    file: File,
    boot: String,
    broken: Vec<usize>,
    left: usize,
}

/// Takes back what agents that died have left behind in a state directory.
pub fn put_back(directory: &Path) -> PutBack {
    let mut told = PutBack::default();
    if !directory.exists() {
        return told;
    }
    let entries = require_ours(directory).and_then(|()| fs::read_dir(directory));
    let mut paths: Vec<PathBuf> = match entries {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => {
            told.left.push(error.to_string());
            return told;
        }
    };
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    let mut dead = Vec::new();
    let mut changes: Vec<(usize, Recorded)> = Vec::new();
    for path in paths {
        match of_the_dead(&path) {
            Ok(None) => {}
            Ok(Some((one, outstanding))) => {
                changes.extend(outstanding.into_iter().map(|change| (dead.len(), change)));
                dead.push(one);
            }
            Err(error) => told.left.push(format!("{}: {error}", path.display())),
        }
    }
    changes.sort_by_key(|(_, change)| std::cmp::Reverse((change.at_ns, change.number)));
    for (of, change) in changes {
        let one = &mut dead[of];
        if change.is.ends_with_boot() && one.boot != boot() {
            one.mark(&change);
            continue;
        }
        match change.is.take_back() {
            Ok(said) => {
                one.mark(&change);
                told.done.extend(said);
            }
            Err(error) => told.left.push(error.to_string()),
        }
    }
    for one in dead {
        one.remove_if_done(&mut told.left);
    }
    told
}

impl Dead {
    /// Without room to say that it is undone, the ledger's removal says it.
    fn mark(&mut self, change: &Recorded) {
        self.left -= 1;
        let undone = Line::Undone {
            undone: change.number,
        };
        let _ = append(&mut self.file, &undone);
    }

    /// The ledger stays while something in it is to be undone, or to be looked at.
    fn remove_if_done(self, left: &mut Vec<String>) {
        let path = self.path.display();
        if let Some(first) = self.broken.first() {
            left.push(format!(
                "{path}:{first}: not whole, with {} more such lines: what they record may still be changed. \
                 Fix: look at what is left of the line, put that back by hand, then remove {path}",
                self.broken.len() - 1
            ));
        } else if self.left == 0 {
            if let Err(error) = fs::remove_file(&self.path) {
                left.push(format!(
                    "{path}: all of it is put back, but it could not be removed: {error}"
                ));
            }
        }
    }
}

/// A ledger and what is outstanding in it, if it is for us to take back.
fn of_the_dead(path: &Path) -> io::Result<Option<(Dead, Vec<Recorded>)>> {
    require_ours(path)?;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .append(true)
        .custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path)?;
    if !lock(&file, path)? || !path.exists() {
        return Ok(None);
    }
    let content = Content::read(path)?;
    if content
        .owner
        .as_ref()
        .is_some_and(|owner| owner.is_elsewhere())
    {
        return Ok(None);
    }
    let outstanding: Vec<Recorded> = content.outstanding.into_values().collect();
    let dead = Dead {
        path: path.to_owned(),
        file,
        boot: content.owner.map_or_else(String::new, |owner| owner.boot),
        broken: content.broken,
        left: outstanding.len(),
    };
    Ok(Some((dead, outstanding)))
}

/// Locks a ledger if its agent is dead, waiting for the commands that it left running.
fn lock(file: &File, path: &Path) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(true);
        }
        if !path.exists() {
            return Ok(false);
        }
        let Some(owner) = Content::read(path)?.owner else {
            return Ok(false);
        };
        if owner.lives() || owner.is_elsewhere() {
            return Ok(false);
        }
        if began.elapsed() > ORPHANS_END {
            return Err(io::Error::other(format!(
                "a command that process {} has started still runs; again when that has ended",
                owner.pid
            )));
        }
        thread::sleep(PAUSE);
    }
}
