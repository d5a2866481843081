//! Ops of block devices that are somebody's until every check has passed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use wire::{HostFailure, HostFailureKind, OpFormat, OpHold, OpMade};

use super::{lacks, opened, List};
use crate::change::Change;
use crate::command::{failed, failure};
use crate::device::formatted::Formatted;
use crate::device::identity::number_of;
use crate::device::{marks_in, Held};
use crate::ledger::others::others;
use crate::ledger::{self, Ledger};
use crate::request::shown;

/// What a device carries that was formatted, and the name of the ledger that has that.
struct Made {
    ledger: String,
    is: Formatted,
}

impl List<'_> {
    pub(super) fn hold(&mut self, hold: &OpHold) -> Result<(), HostFailure> {
        let (given, mut keep) = (&hold.device.given, Vec::new());
        keep.extend(hold.keep.iter().map(PathBuf::from));
        keep.extend(ledger::state_directory());
        // One that was not let go is looked at again.
        self.held.remove(given);
        let held = Held::open(&hold.device, keep, self.meanwhile)?;
        if hold.node.as_deref().is_some_and(|node| node != held.node()) {
            let (node, now) = (hold.node.as_deref().unwrap_or_default(), held.node());
            let text =
                format!("{given}: was {node} and is {now} now: refused, nothing was written");
            return Err(failure(HostFailureKind::Refused, shown(&text)));
        }
        let made = hold.carries.as_ref();
        let made = made.map(|made| self.made(made, given)).transpose()?;
        self.require_alone(given, made.as_ref())?;
        held.require_unused(self.meanwhile)?;
        match &made {
            None => held.require_blank()?,
            Some(made) => held.require_known(&made.is.known)?,
        }
        self.held.insert(given.clone(), held);
        Ok(())
    }

    pub(super) fn format(&mut self, format: &OpFormat) -> Result<(), HostFailure> {
        let Some((_, held)) = self.held.remove_entry(&format.device) else {
            let text = format!("{} is not held, so that it is not formatted", format.device);
            return Err(failure(HostFailureKind::Request, shown(&text)));
        };
        held.require_unused(self.meanwhile)?;
        held.require_blank()?;
        let uuid = uuid().map_err(|error| failed(Path::new("/dev/urandom"), error))?;
        let known = match (&format.like, &format.uuid) {
            (Some(like), _) => marks_in(Path::new(like))?,
            (None, Some(_)) => vec![uuid.clone()],
            (None, None) => Vec::new(),
        };
        let formatted = |known| Change::Formatted {
            is: Formatted {
                device: held.meant().clone(),
                filesystem: format.filesystem.clone(),
                known,
            },
        };
        self.note(formatted(known.clone()))?;
        let number = self.did.changes.last().map_or(0, |one| one.number);
        if !format.argv.is_empty() {
            let drawn = format.uuid.iter().map(|name| (name.clone(), uuid.clone()));
            let before = self.did.outputs.clone();
            self.did.outputs.extend(drawn);
            let argv: Result<Vec<_>, _> = format.argv.iter().map(|text| self.text(text)).collect();
            self.did.outputs = before;
            self.run(argv?)?;
            let made = held.marks()?;
            if made != known {
                let ledger = opened(self.ledger)?;
                ledger.learn(number, formatted(made)).map_err(lacks)?;
            }
        }
        self.held.insert(format.device.clone(), held);
        Ok(())
    }

    /// What we have made on a device, if that is not taken back.
    fn made(&self, made: &OpMade, given: &str) -> Result<Made, HostFailure> {
        let own = self.ledger.as_ref();
        let change = match own.filter(|own| own.name() == made.ledger) {
            Some(own) => own.change(made.number).cloned(),
            None => {
                let others = others(None).map_err(lacks)?;
                let of_name = others.into_iter().find(|other| other.name == made.ledger);
                let mut outstanding = of_name.map(|other| other.content.outstanding);
                let recorded = outstanding
                    .as_mut()
                    .and_then(|all| all.remove(&made.number));
                recorded.map(|recorded| recorded.is)
            }
        };
        match change {
            Some(Change::Formatted { is }) if is.device.given == given => Ok(Made {
                ledger: made.ledger.clone(),
                is,
            }),
            _ => {
                let text = format!("{given}: not mounted: nothing is known of what we made on it");
                Err(failure(HostFailureKind::Refused, shown(&text)))
            }
        }
    }

    /// Makes sure that no other run has a file system on it, be it mounted now or not.
    fn require_alone(&self, given: &str, made: Option<&Made>) -> Result<(), HostFailure> {
        let number = number_of(Path::new(given)).ok();
        let own = self.ledger.as_ref().map(Ledger::name);
        for other in others(own.as_deref()).map_err(lacks)? {
            if made.is_some_and(|made| made.ledger == other.name) {
                continue;
            }
            let mut changes = other.content.outstanding.values();
            let is_on_it = changes.any(|recorded| match &recorded.is {
                Change::Formatted { is } => number_of(Path::new(&is.device.given)).ok() == number,
                _ => false,
            });
            if is_on_it {
                let pid = other.content.owner.map_or(0, |owner| owner.asked_by.0);
                let text = format!(
                    "{given} is taken by another run (process {pid}); wait for its end. If it was \
                     killed: tiltyard restore"
                );
                return Err(failure(HostFailureKind::Busy, shown(&text)));
            }
        }
        Ok(())
    }
}

/// A random UUID (RFC 9562, version 4).
fn uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits[part].to_owned());
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::OpDevice;

    #[test]
    fn what_mkfs_has_made_is_known_to_whoever_reads_the_ledger() {
        let formatted = |known: &[&str]| Change::Formatted {
            is: Formatted {
                device: OpDevice {
                    given: "/dev/sdb".to_owned(),
                    size_bytes: 1 << 30,
                    marks: [("serial".to_owned(), "S5".to_owned())].into(),
                },
                filesystem: "ntfs".to_owned(),
                known: known.iter().map(|mark| (*mark).to_owned()).collect(),
            },
        };
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        let mut ledger = Ledger::open(&state).unwrap();
        let number = ledger.record(formatted(&[])).unwrap();
        let path = state.join(format!("{}.{}", ledger.name(), ledger::ENDING));
        let read = || {
            let mut content = ledger::Content::read(&path).unwrap();
            assert!(content.broken.is_empty());
            content.outstanding.remove(&number).unwrap().is
        };
        assert_eq!(read(), formatted(&[]));
        ledger.learn(number, formatted(&["5A2F"])).unwrap();
        assert_eq!(read(), formatted(&["5A2F"]));
        assert_eq!(ledger.change(number), Some(&formatted(&["5A2F"])));
        assert!(!read().ends_with_boot());
    }

    #[test]
    fn a_uuid_is_another_one_each_time_and_says_that_it_is_random() {
        let [one, other] = [uuid().unwrap(), uuid().unwrap()];
        assert_ne!(one, other);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]));
    }
}
