//! A ledger that is left to a study over a boot of the host, and taken up after it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{flock, FlockOperation};

use super::{recover, require_ours, Content, Ledger, Line, Owner, Recorded, ENDING};

impl Ledger {
    /// What is outstanding and not of these, or is gone after a boot of the host.
    pub fn not_over_boot(&self, keep: &[u64]) -> Vec<u64> {
        let lasts = |one: &Recorded| keep.contains(&one.number) && !one.is.ends_with_boot();
        let rest = self.outstanding.values().filter(|one| !lasts(one));
        rest.map(|one| one.number).collect()
    }

    /// Writes down that a study will go on with what is outstanding, and lets go of it: whoever recovers
    /// leaves it then.
    ///
    /// # Errors
    /// It is not on disk.
    pub fn keep_for(&mut self, study: &str) -> io::Result<()> {
        let kept_for = study.to_owned();
        self.append(&Line::Kept { kept_for })?;
        // Servers that commands have left behind hold the same lock.
        Ok(flock(&self.file, FlockOperation::Unlock)?)
    }

    /// The one that was kept for a study, which is of this process from now on.
    ///
    /// # Errors
    /// It is not whole, or that cannot be written down.
    pub fn take_up(directory: &Path, study: &str) -> io::Result<Option<Self>> {
        let entries = match require_ours(directory).and_then(|()| fs::read_dir(directory)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let paths = entries.flatten().map(|entry| entry.path());
        for path in paths.filter(|path| path.extension().is_some_and(|end| end == ENDING)) {
            let file = match recover::opened(&path)? {
                Some(file) if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() => {
                    file
                }
                _ => continue,
            };
            let content = Content::read(&path)?;
            let is_elsewhere = content.owner.as_ref().is_some_and(Owner::is_elsewhere);
            if content.kept_for.as_deref() != Some(study) || is_elsewhere {
                continue;
            }
            if let Some(line) = content.broken.first() {
                let text = format!(
                    "{}:{line}: not whole. Fix: tiltyard restore",
                    path.display()
                );
                return Err(io::Error::other(text));
            }
            let (number, last_ns) = content.last;
            let mut taken = Self {
                file,
                path,
                outstanding: content.outstanding,
                number,
                last_ns,
            };
            let owner = Owner::current();
            taken.append(&Line::Owner { owner })?;
            return Ok(Some(taken));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{directory, made};
    use super::*;
    use crate::change::Change;

    #[test]
    fn what_was_kept_is_taken_up_by_who_goes_on_and_is_his_to_take_back() {
        let (held, state) = directory();
        let paths = ["tiltyard-kept", "tiltyard-gone"].map(|name| held.path().join(name));
        let mut ledger = Ledger::open(&state).unwrap();
        for path in &paths {
            ledger.record(made(path)).unwrap();
        }
        let at = held.path().join("tiltyard-at");
        ledger.record(Change::Mounted { at, behind: None }).unwrap();
        assert_eq!(
            ledger.not_over_boot(&[1, 3]),
            [2, 3],
            "a mount does not outlast it"
        );
        ledger.undo(&[2, 3], false);
        ledger.keep_for("/srv/study").unwrap();
        let took_up = |study| Ledger::take_up(&state, study).unwrap();
        assert!(took_up("/srv/other").is_none());
        let mut again = took_up("/srv/study").unwrap();
        assert_eq!(Content::read(&again.path).unwrap().kept_for, None);
        assert!(took_up("/srv/study").is_none(), "somebody has it");
        assert_eq!(again.name(), ledger.name());
        assert_eq!(
            again.record(made(&paths[1])).unwrap(),
            4,
            "no number comes again"
        );
        fs::create_dir(&paths[0]).unwrap();
        assert_eq!(again.close().0, [format!("removed {}", paths[0].display())]);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
        assert!(took_up("/srv/study").is_none());
    }

    #[test]
    fn what_is_not_whole_is_not_gone_on_with() {
        let (_held, state) = directory();
        let mut ledger = Ledger::open(&state).unwrap();
        ledger.record(made(Path::new("/x/tiltyard-1"))).unwrap();
        ledger.keep_for("/srv/study").unwrap();
        let broken = fs::read_to_string(&ledger.path)
            .unwrap()
            .replace("/x/", "/y/");
        fs::write(&ledger.path, broken).unwrap();
        let error = Ledger::take_up(&state, "/srv/study").err().unwrap();
        assert!(
            error
                .to_string()
                .ends_with(":2: not whole. Fix: tiltyard restore"),
            "{error}"
        );
    }
}
