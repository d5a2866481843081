//! Putting back what agents that died have left changed on this host.
//!
//! All ledgers of the dead are taken together and their changes undone newest first, because two may
//! have changed the same thing one after the other. Those of other hosts, which share a home with this
//! one, are theirs, and those that a study goes on with are left to it. After a boot nothing is done where
//! the boot itself has undone a change.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{flock, FlockOperation};

use super::{append, boot, require_ours, Content, Line, Owner, Recorded, ENDING};
use crate::meanwhile::Meanwhile;

/// Longest wait for commands of a dead agent to end, or for one that lives to take all back.
const LONGEST: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// What became of the changes of dead agents, one sentence each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    pub done: Vec<String>,
    /// What could not be put back, and why.
    pub left: Vec<String>,
}

/// Asks, once, whether what is machine-wide may be put back now.
pub type MayChangeMachine<'a> = dyn FnMut(&mut dyn Meanwhile) -> Result<(), String> + 'a;

/// What of the ledgers is to be put back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Ledgers that a study goes on with as well.
    pub kept: bool,
    /// The same of the one that goes on with this name.
    pub kept_for: Option<&'a str>,
}

impl Which<'_> {
    pub(super) fn has(&self, content: &Content) -> bool {
        let kept_for = content.kept_for.as_deref();
        self.kept || kept_for.is_none() || kept_for == self.kept_for
    }
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
///
/// What is machine-wide stays recorded while another run holds the machine.
pub fn put_back(
    directory: &Path,
    which: Which<'_>,
    may: &mut MayChangeMachine<'_>,
    meanwhile: &mut dyn Meanwhile,
) -> PutBack {
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
        match of_the_dead(&path, false, meanwhile) {
            Ok(Some((one, content))) if which.has(&content) => {
                let outstanding = content.outstanding.into_values();
                changes.extend(outstanding.map(|change| (dead.len(), change)));
                dead.push(one);
            }
            Ok(_) => {}
            Err(error) => told.left.push(format!("{}: {error}", path.display())),
        }
    }
    take_back(dead, changes, may, meanwhile, &mut told);
    told
}

/// Takes these changes of one ledger back. One that is gone was taken back; for one whose agent lives,
/// which is ending, there is a wait.
pub fn put_back_these(
    path: &Path,
    numbers: &[u64],
    may: &mut MayChangeMachine<'_>,
    meanwhile: &mut dyn Meanwhile,
) -> PutBack {
    let mut told = PutBack::default();
    let is_ours = path.parent().map_or(Ok(()), require_ours);
    match is_ours.and_then(|()| of_the_dead(path, true, meanwhile)) {
        Ok(Some((one, mut content))) => {
            let numbers: BTreeSet<u64> = numbers.iter().copied().collect();
            let outstanding = numbers
                .iter()
                .filter_map(|number| content.outstanding.remove(number));
            let changes = outstanding.map(|change| (0, change)).collect();
            take_back(vec![one], changes, may, meanwhile, &mut told);
        }
        Ok(None) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => told.left.push(format!("{}: {error}", path.display())),
    }
    told
}

/// Changes with the places of their ledgers: newest first.
fn take_back(
    mut dead: Vec<Dead>,
    mut changes: Vec<(usize, Recorded)>,
    may: &mut MayChangeMachine<'_>,
    meanwhile: &mut dyn Meanwhile,
    told: &mut PutBack,
) {
    changes.sort_by_key(|(_, change)| std::cmp::Reverse((change.at_ns, change.number)));
    let (gone, mut there): (Vec<_>, Vec<_>) = changes
        .into_iter()
        .partition(|(of, change)| change.is.ends_with_boot() && dead[*of].boot != boot());
    for (of, change) in gone {
        dead[of].mark(&change);
    }
    if there.iter().any(|(_, change)| change.is.is_machine_wide()) {
        if let Err(why) = may(meanwhile) {
            told.left.push(why);
            there.retain(|(_, change)| !change.is.is_machine_wide());
        }
    }
    for (of, change) in there {
        match change.is.take_back() {
            Ok(said) => {
                dead[of].mark(&change);
                told.done.extend(said);
            }
            Err(error) => told.left.push(error.to_string()),
        }
    }
    for one in dead {
        one.remove_if_done(&mut told.left);
    }
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
            let lines = match self.broken.len() {
                1 => "not whole: what it records".to_owned(),
                more => format!("not whole, as {} more are: what they record", more - 1),
            };
            left.push(format!(
                "{path}:{first}: {lines} may still be changed. Fix: put that back by hand, then remove the file"
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

/// The file of a ledger, if it is there.
///
/// # Errors
/// It cannot be opened, or is not ours.
pub fn opened(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .append(true)
        .custom_flags(libc::O_NOFOLLOW);
    match require_ours(path).and_then(|()| options.open(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// A ledger and what it says, if it is there and for us to take back.
fn of_the_dead(
    path: &Path,
    waits_for_living: bool,
    meanwhile: &mut dyn Meanwhile,
) -> io::Result<Option<(Dead, Content)>> {
    let Some(file) = opened(path)? else {
        return Ok(None);
    };
    if !lock(&file, path, waits_for_living, meanwhile)? || !path.exists() {
        return Ok(None);
    }
    let content = Content::read(path)?;
    let owner = content.owner.as_ref();
    if owner.is_some_and(Owner::is_elsewhere) {
        return Ok(None);
    }
    let dead = Dead {
        path: path.to_owned(),
        file,
        boot: owner.map_or_else(String::new, |owner| owner.boot.clone()),
        broken: content.broken.clone(),
        left: content.outstanding.len(),
    };
    Ok(Some((dead, content)))
}

/// Locks a ledger if its agent is dead, waiting for the commands that it left running, and for one that
/// is ending; if `for_living`, for any that lives.
fn lock(
    file: &File,
    path: &Path,
    for_living: bool,
    meanwhile: &mut dyn Meanwhile,
) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(true);
        }
        let owner = match Content::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            other => other?.owner,
        };
        let Some(owner) = owner.filter(|owner| !owner.is_elsewhere()) else {
            return Ok(false);
        };
        let lives = owner.lives();
        if lives && !for_living && !owner.is_ending() {
            return Ok(false);
        }
        let goes_on = meanwhile.wait(Some(PAUSE)).is_ok();
        if !goes_on || began.elapsed() > LONGEST {
            let pid = owner.pid;
            return Err(io::Error::other(match lives {
                true => format!("process {pid} still takes it back"),
                false => format!(
                    "a command that process {pid} has started still runs; again when that has ended"
                ),
            }));
        }
    }
}
