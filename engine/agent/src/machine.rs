//! The lock of this machine: one run at a time changes what all of it shares.
//!
//! Two runs whose ledgers are in different state directories do not see each other, and each would put
//! back what the other had set. So the lock lies where every process lies that could make such a change
//! here, and says whose it is: who takes it after a holder that was killed puts its ledger back first.
//! The agent's ledger has a lock that its commands inherit; this one ends with the agent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{flock, FlockOperation};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use wire::{HostFailure, HostFailureKind};

use crate::command::{failure, reason};
use crate::ledger::{Content, Owner, ENDING};
use crate::meanwhile::Meanwhile;
use crate::request::shown;

const NAME: &str = "tiltyard.lock";
/// Where all of a host look: gone with a boot, and only root writes there. Not every host has the first.
const PLACES: [&str; 2] = ["/run", "/dev"];
const MOST_BYTES: usize = 16 << 10;
const OTHERS: u32 = 0o077;
/// Longest wait for a holder that is about to end.
const LONGEST: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Who holds it, or held it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    pub owner: Owner,
    /// Where its ledger is.
    pub directory: PathBuf,
    /// What it is held for.
    pub run: String,
}

impl Holder {
    /// The process that a person knows: the one that has started the agent.
    pub fn pid(&self) -> u32 {
        self.owner.asked_by.0
    }

    /// Whether something that it has changed is still recorded.
    fn has_left(&self) -> bool {
        let begin = format!("{}-", self.owner.pid);
        let is_its_own = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // One that was taken up after a boot has the name of who began it.
            let owns =
                || Content::read(path).is_ok_and(|one| one.owner.as_ref() == Some(&self.owner));
            path.extension().is_some_and(|ending| ending == ENDING)
                && (name.starts_with(&begin) || owns())
        };
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        entries.flatten().any(|entry| is_its_own(&entry.path()))
    }
}

/// Whether this agent holds it, and for whom.
pub struct Machine {
    lock: PathBuf,
    held: Option<Held>,
}

struct Held {
    /// `None`: who could change nothing of the machine needs no lock, and who has it for the same run
    /// has it.
    file: Option<File>,
    run: String,
    /// Whether the file says that it is ours.
    is_written: bool,
}

impl Default for Machine {
    fn default() -> Self {
        let place = PLACES.into_iter().find(|place| Path::new(place).is_dir());
        Self::at(Path::new(place.unwrap_or(PLACES[0])).join(NAME))
    }
}

impl Machine {
    fn at(lock: PathBuf) -> Self {
        Self { lock, held: None }
    }

    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The run that it is held for.
    pub fn run(&self) -> Option<String> {
        Some(self.held.as_ref()?.run.clone())
    }

    fn holder(&self) -> Option<Holder> {
        said(self.held.as_ref()?.file.as_ref()?)
    }

    /// Takes it for a run; without a name, for somebody who only puts things back. Who held it last,
    /// unless it is ours already: that was not written over yet.
    ///
    /// # Errors
    /// `Busy`: another run has it. `Refused`: what lies there is not root's. `Lacks`: it cannot be made.
    pub fn take(
        &mut self,
        what: &str,
        run: &str,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<Option<Holder>, HostFailure> {
        if self.held.is_none() {
            let file = taken(&self.lock, what, run, meanwhile)?;
            self.held = Some(Held {
                file,
                run: run.to_owned(),
                is_written: false,
            });
        }
        let held = self.held.as_ref().filter(|held| held.run == run);
        let Some(Held {
            file, is_written, ..
        }) = held
        else {
            return Err(busy(what, self.holder(), &self.lock));
        };
        let file = file.as_ref().filter(|_| !is_written);
        Ok(file.and_then(said))
    }

    /// Says whose it is; who only puts things back leaves the last holder's name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sign(&mut self, directory: &Path) -> io::Result<()> {
        let Some(held) = self.held.as_mut() else {
            return Ok(());
        };
        let Some(file) = held.file.as_mut().filter(|_| !held.run.is_empty()) else {
            return Ok(());
        };
        let holder = Holder {
            owner: Owner::current(),
            directory: directory.to_owned(),
            run: held.run.clone(),
        };
        let text = serde_json::to_vec(&holder).map_err(io::Error::other)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        held.is_written = true;
        Ok(())
    }

    /// Lets go of what was taken for a run. What a dead holder has left goes as well, if it is all that is
    /// left of it.
    pub fn let_go(&mut self, run: &str) {
        if self.held.as_ref().is_some_and(|held| held.run != run) {
            return;
        }
        match self.held.take() {
            Some(held) if held.is_written => {
                let _ = fs::remove_file(&self.lock);
            }
            Some(held) => forget(&self.lock, held.file),
            None => forget(&self.lock, free(&self.lock)),
        }
    }

    /// At the end of this agent: nobody has to know of it where nothing is left changed.
    pub fn close(&mut self, is_changed: bool) {
        if let Some(held) = self.held.take() {
            if held.is_written && !is_changed {
                let _ = fs::remove_file(&self.lock);
            }
        }
    }
}

/// The locked file, which only root has: nobody else can change what it is about.
fn taken(
    lock: &Path,
    what: &str,
    run: &str,
    meanwhile: &mut dyn Meanwhile,
) -> Result<Option<File>, HostFailure> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let began = Instant::now();
    loop {
        // Root of a user namespace can change nothing of the machine.
        let Some(file) = opened(lock, what)? else {
            return Ok(None);
        };
        require_of_root(lock, &file)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            match lies_there(lock, &file) {
                true => return Ok(Some(file)),
                false => continue, // Its holder has removed it meanwhile.
            }
        }
        let holder = said(&file);
        let is_ours = |holder: &Holder| !run.is_empty() && holder.run == run;
        if holder.as_ref().is_some_and(is_ours) {
            return Ok(None);
        }
        let is_ending = holder.as_ref().is_some_and(|one| one.owner.is_ending());
        if !is_ending || began.elapsed() > LONGEST {
            return Err(busy(what, holder, lock));
        }
        meanwhile.wait(Some(PAUSE))?;
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

fn opened(lock: &Path, what: &str) -> Result<Option<File>, HostFailure> {
    match options().create(true).open(lock) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(match error.raw_os_error() {
            Some(libc::ELOOP | libc::ENXIO | libc::EISDIR) => {
                refused(lock, "not a file; look who made it, then remove it")
            }
            _ => {
                let text = format!("{what}: cannot lock {}: {}", lock.display(), reason(&error));
                failure(HostFailureKind::Lacks, shown(&text))
            }
        }),
    }
}

/// Whoever could write it would choose what root puts back.
fn require_of_root(lock: &Path, file: &File) -> Result<(), HostFailure> {
    let is_of_root =
        |found: fs::Metadata| found.is_file() && found.uid() == 0 && found.mode() & OTHERS == 0;
    match file.metadata().is_ok_and(is_of_root) {
        true => Ok(()),
        false => Err(refused(
            lock,
            "not a file of root's with mode 0600; look who made it, then remove it",
        )),
    }
}

/// Whether others who look for the lock find this file.
fn lies_there(lock: &Path, file: &File) -> bool {
    let (there, ours) = (fs::symlink_metadata(lock), file.metadata());
    let known = there.and_then(|there| ours.map(|ours| (there, ours)));
    known.is_ok_and(|(there, ours)| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
}

/// The file, locked, if nobody holds it.
fn free(lock: &Path) -> Option<File> {
    let file = options().open(lock).ok()?;
    require_of_root(lock, &file).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    lies_there(lock, &file).then_some(file)
}

/// Removes a file that is locked, unless the next one has to know whose it was.
fn forget(lock: &Path, file: Option<File>) {
    if file.is_some_and(|file| !said(&file).is_some_and(|last| last.has_left())) {
        let _ = fs::remove_file(lock);
    }
}

/// What the file says; `None` where nobody has held it in this boot.
fn said(file: &File) -> Option<Holder> {
    let mut bytes = vec![0; MOST_BYTES];
    let read = file.read_at(&mut bytes, 0).ok()?;
    serde_json::from_slice(&bytes[..read]).ok()
}

fn busy(what: &str, holder: Option<Holder>, lock: &Path) -> HostFailure {
    let who = match holder {
        Some(holder) => format!("process {}, {}", holder.pid(), holder.directory.display()),
        None => format!("see: fuser {}", lock.display()),
    };
    let text = format!(
        "{what} is taken by another run ({who}); one at a time changes this machine. Wait for its end"
    );
    failure(HostFailureKind::Busy, shown(&text))
}

fn refused(lock: &Path, why: &str) -> HostFailure {
    let text = format!("{}: {why}", lock.display());
    failure(HostFailureKind::Refused, shown(&text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{symlink, PermissionsExt};

    use super::*;
    use crate::meanwhile::Asleep;

    fn taken_by(machine: &mut Machine, run: &str) -> Result<Option<Holder>, String> {
        let taken = machine.take("it", run, &mut Asleep::new());
        taken.map_err(|failed| failed.text)
    }

    /// Whether the lock of this machine can be told from nothing: only root has one.
    fn is_root() -> bool {
        geteuid().is_root()
    }

    #[test]
    fn one_run_holds_it_and_who_takes_it_after_one_that_died_is_told_of_that() {
        let held = tempfile::tempdir().unwrap();
        let lock = held.path().join("lock");
        let (first, second) = ("1a2b", "3c4d");
        let machine = || Machine::at(lock.clone());
        let (mut one, mut other) = (machine(), machine());
        assert_eq!(taken_by(&mut one, first), Ok(None));
        one.sign(held.path()).unwrap();
        assert_eq!(taken_by(&mut one, first), Ok(None), "it has it already");
        if !is_root() {
            return;
        }
        let who = format!(
            "process {}, {}",
            std::os::unix::process::parent_id(),
            held.path().display()
        );
        let text = format!(
            "it is taken by another run ({who}); one at a time changes this machine. Wait for its end"
        );
        assert_eq!(taken_by(&mut other, second), Err(text.clone()));
        assert_eq!(
            taken_by(&mut one, second),
            Err(text),
            "of the same agent, but another run"
        );
        assert_eq!(taken_by(&mut other, first), Ok(None), "the same run has it");
        other.let_go(first);
        assert!(lock.exists());
        let mut last = machine();
        let ledger = format!("{}-0a0b0c0d.{ENDING}", std::process::id());
        let ledger = held.path().join(ledger);
        fs::write(&ledger, "").unwrap();
        one.close(true);
        let told = taken_by(&mut last, second).unwrap().unwrap();
        assert_eq!(
            (told.run.as_str(), told.directory.as_path()),
            (first, held.path())
        );
        last.let_go(second);
        assert!(lock.exists(), "what was not signed is still known");
        fs::remove_file(&ledger).unwrap();
        last.let_go(second);
        assert!(!lock.exists(), "the machine is left as it was");
    }

    #[test]
    fn it_is_root_s_and_nothing_else_is_taken_for_it() {
        if !is_root() {
            return;
        }
        let held = tempfile::tempdir().unwrap();
        let (lock, aim) = (held.path().join("lock"), held.path().join("aim"));
        let told = || taken_by(&mut Machine::at(lock.clone()), "x").unwrap_err();
        fs::write(&aim, "").unwrap();
        symlink(&aim, &lock).unwrap();
        assert!(told().contains("not a file; look who made it"));
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(told().contains("not a file of root's with mode 0600"));
        fs::remove_file(&lock).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &lock,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        assert!(told().contains("not a file of root's"));
        fs::remove_file(&lock).unwrap();
        let mut machine = Machine::at(lock.clone());
        assert_eq!(taken_by(&mut machine, "x"), Ok(None));
        let found = fs::metadata(&lock).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o600));
        machine.let_go("x");
        assert!(!lock.exists());
    }
}
