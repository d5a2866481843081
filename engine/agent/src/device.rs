//! When a block device may be formatted: it is the one that was meant, nobody uses it, it is blank.
//!
//! A device is opened once by the name that a person gave; from then on the kernel's own name for what is
//! open is used, so a link that is turned elsewhere afterwards changes nothing. As long as it is open its
//! number is not given to another device. Every check is made again at the last moment.
//!
//! ```text
//! identity ─► ranges ─► users ─┬─► hold, require: what is here
//!                └─► places ─► contents ─┴─► formatted: the way back
//! ```

mod contents;
pub mod formatted;
pub mod identity;
mod places;
mod ranges;
mod users;

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{flock, FlockOperation};
use wire::{HostFailure, HostFailureKind, OpDevice};

use crate::command::{failure, reason};
use crate::meanwhile::Meanwhile;
use crate::request::shown;
pub use contents::forget_cache;
use contents::{first_written, signatures, Signature};
use identity::{number, number_of, text_of, Device};
use places::{ends, looked_at};
use users::{carries, user, Use};

/// How long udev may look at a device after a change of it.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(100);
/// Names in these are made of a device's own marks, so that they mean that one alone.
const IDENTITIES: [&str; 2] = ["/dev/disk/by-id", "/dev/disk/by-partuuid"];

/// A device that is open, and so stays itself; others are kept from formatting it.
pub struct Held {
    device: Device,
    file: File,
    meant: OpDevice,
    /// Directories that must not lie on it, beside the root directory.
    keep: Vec<PathBuf>,
}

impl Held {
    /// Opens the device that is meant, and locks it as udev and partitioning tools respect it
    /// (<https://systemd.io/BLOCK_DEVICE_LOCKING>).
    ///
    /// # Errors
    /// `Refused`: it is not the one that is meant. `Busy`: another program has locked it.
    pub fn open(
        wanted: &OpDevice,
        keep: Vec<PathBuf>,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<Self, HostFailure> {
        let device = Device::at(Path::new(&wanted.given))?;
        let file = File::open(&device.is.node).map_err(|error| {
            refused(
                &device,
                &format!("it cannot be opened ({})", reason(&error)),
            )
        })?;
        let held = Self {
            device,
            file,
            meant: wanted.clone(),
            keep,
        };
        held.require_unchanged()?;
        if let Some(why) = mistaken(&held.device, wanted) {
            return Err(refused(&held.device, &why));
        }
        match lasting(|| held.locked(), meanwhile)? {
            Some(clause) => Err(held.busy(&clause)),
            None => Ok(held),
        }
    }

    /// The kernel's own name of it.
    pub fn node(&self) -> &str {
        &self.device.is.node
    }

    /// The device that a study means.
    pub fn meant(&self) -> &OpDevice {
        &self.meant
    }

    /// Makes sure that it may be used: nobody else does, and nothing of ours lies on it.
    ///
    /// # Errors
    /// `Refused` or `Busy`: it may not; which device, and why.
    pub fn require_unused(&self, meanwhile: &mut dyn Meanwhile) -> Result<(), HostFailure> {
        self.require_unchanged()?;
        if let Some(why) = self.unusable().map_err(|error| self.failed(&error))? {
            return Err(refused(&self.device, &why));
        }
        match lasting(|| user(&self.device), meanwhile)? {
            Some(clause) => Err(self.busy(&clause)),
            None => Ok(()),
        }
    }

    /// Makes sure that nothing is on it.
    ///
    /// # Errors
    /// `Refused`: something is; what, and how a person removes it.
    pub fn require_blank(&self) -> Result<(), HostFailure> {
        let found = self.found()?;
        if let Some(first) = found.first() {
            let others = match found.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let given = self.device.given.display();
            let why = format!(
                "it carries {first}{others}. Tiltyard does not erase that; if nobody needs it: \
                 wipefs --all {given}"
            );
            return Err(refused(&self.device, &why));
        }
        let bytes = self.device.is.size_bytes;
        let written =
            looked_at(&self.file, bytes).and_then(|parts| first_written(&self.file, &parts));
        match written.map_err(|error| self.failed(&error))? {
            None => Ok(()),
            Some(at) => Err(refused(&self.device, &unknown(&self.device, at))),
        }
    }

    /// Makes sure that what is on it is known.
    ///
    /// # Errors
    /// `Refused`: something else is, or nothing.
    pub fn require_known(&self, known: &[String]) -> Result<(), HostFailure> {
        let found = self.found()?;
        let is_known = |one: &Signature| known.contains(&one.mark());
        if !found.is_empty() && found.iter().all(is_known) {
            return Ok(());
        }
        let there = found
            .first()
            .map_or_else(|| "nothing".to_owned(), ToString::to_string);
        let text = format!(
            "{}: not mounted: it carries {there}, not what we made",
            self.device
        );
        Err(failure(HostFailureKind::Refused, shown(&text)))
    }

    /// By what that is known which is on it now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn marks(&self) -> Result<Vec<String>, HostFailure> {
        Ok(self.found()?.iter().map(Signature::mark).collect())
    }

    fn found(&self) -> Result<Vec<Signature>, HostFailure> {
        forget_cache(&self.file).map_err(|error| self.failed(&error))?;
        signatures(Path::new(self.node()))
    }

    /// What is open is what the name means, and the kernel still has it.
    fn require_unchanged(&self) -> Result<(), HostFailure> {
        let found = self.file.metadata().map_err(|error| self.failed(&error))?;
        let still = number(found.rdev());
        let meant = number_of(&self.device.given);
        if meant.as_ref() != Ok(&still) || self.device.entry().is_none() {
            let why = "the name means another device now, or it is gone";
            return Err(refused(&self.device, why));
        }
        let had = &self.device.is.number;
        match *had == still {
            true => Ok(()),
            false => {
                let why = format!("what was opened has the number {still}, not {had}");
                Err(refused(&self.device, &why))
            }
        }
    }

    /// The first reason not to use it.
    fn unusable(&self) -> io::Result<Option<String>> {
        let entry = self.device.entry().ok_or(io::ErrorKind::NotFound)?;
        if text_of(&entry.join("ro")).as_deref() != Some("0") {
            return Ok(Some("it is read-only".to_owned()));
        }
        let root = PathBuf::from("/");
        for directory in [&root].into_iter().chain(&self.keep) {
            if carries(&self.device, directory)? {
                return Ok(Some(format!("{} lies on it", directory.display())));
            }
        }
        Ok(None)
    }

    /// Locks it, or says that another program has.
    fn locked(&self) -> io::Result<Option<Use>> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(None),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(Some(Use {
                clause: "another program has locked it".to_owned(),
                may_pass: true,
            })),
            Err(error) => Err(error.into()),
        }
    }

    fn busy(&self, clause: &str) -> HostFailure {
        HostFailure {
            kind: HostFailureKind::Busy,
            ..refused(&self.device, clause)
        }
    }

    fn failed(&self, error: &io::Error) -> HostFailure {
        let text = format!("{}: {}", self.device, reason(error));
        failure(HostFailureKind::Failed, shown(&text))
    }
}

/// Why it is not the one that is meant: size first, then every mark that was named.
fn mistaken(device: &Device, wanted: &OpDevice) -> Option<String> {
    let is = &device.is;
    if is.size_bytes == 0 {
        return Some("it has no size: no medium, or nothing is attached".to_owned());
    }
    if is.size_bytes != wanted.size_bytes {
        let bytes = wanted.size_bytes;
        return Some(format!("the study says that it has {bytes} bytes"));
    }
    let known = [
        ("serial", &is.serial),
        ("wwn", &is.wwn),
        ("partuuid", &is.partuuid),
        ("backing_file", &is.backing_file),
    ];
    let named = known
        .iter()
        .filter_map(|(name, mark)| Some((*name, wanted.marks.get(*name)?, mark.as_deref())));
    let is_known = |name: &str| known.iter().any(|(known, _)| *known == name);
    let others = wanted.marks.iter().filter(|(name, _)| !is_known(name));
    for (name, said, mark) in named.chain(others.map(|(name, said)| (name.as_str(), said, None))) {
        if mark != Some(said.as_str()) {
            let there = mark.map_or_else(|| "none".to_owned(), |mark| format!("\"{mark}\""));
            return Some(format!("its {name} is {there}, the study says \"{said}\""));
        }
    }
    let first = known
        .iter()
        .find_map(|(name, mark)| Some((name, mark.as_ref()?)));
    // A place on a bus is no identity where the device has one: disks are exchanged.
    match first {
        Some((name, mark)) if wanted.marks.is_empty() && !is_identity(&device.given) => {
            Some(format!(
                "the study names none of its marks; confirm = {{ {name} = \"{mark}\", … }} would"
            ))
        }
        _ => None,
    }
}

fn is_identity(given: &Path) -> bool {
    IDENTITIES
        .iter()
        .any(|one| given.parent() == Some(Path::new(one)))
}

/// Of what no library knows, with the command by which a person removes it.
fn unknown(device: &Device, at: u64) -> String {
    let bytes = device.is.size_bytes;
    let ends = ends(bytes);
    let end = ends
        .iter()
        .find(|(start, end)| (*start..*end).contains(&at));
    let which = match end {
        Some((start, end)) if end - start < bytes => {
            format!("--offset {start} --length {} ", end - start)
        }
        _ => String::new(),
    };
    format!(
        "its byte {at} is not zero, so something unknown may be there; if nobody needs it: \
         blkdiscard --zeroout {which}{}",
        device.given.display()
    )
}

/// A use that is still there after a moment, if it is of those that may pass.
fn lasting(
    find: impl Fn() -> io::Result<Option<Use>>,
    meanwhile: &mut dyn Meanwhile,
) -> Result<Option<String>, HostFailure> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let found = find().map_err(|error| {
            let text = format!("it cannot be seen who uses the device: {}", reason(&error));
            failure(HostFailureKind::Failed, shown(&text))
        })?;
        match found {
            Some(one) if one.may_pass && Instant::now() < give_up => {}
            other => return Ok(other.map(|one| one.clause)),
        }
        meanwhile.wait(Some(STEP))?;
    }
}

/// In one form: which device, that nothing was done, why.
fn refused(device: &Device, why: &str) -> HostFailure {
    let text = format!("{device}: refused, nothing was written: {why}");
    failure(HostFailureKind::Refused, shown(&text))
}

/// Who uses a device at this moment, as a clause.
pub fn user_of(node: &Path) -> Option<String> {
    let found = user(&Device::at(node).ok()?).ok()??;
    Some(found.clause)
}

/// By what that is known which is in a file.
///
/// # Errors
/// It cannot be read.
pub fn marks_in(file: &Path) -> Result<Vec<String>, HostFailure> {
    let found = signatures(file)?;
    Ok(found.iter().map(Signature::mark).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::HostDevice;

    fn device(given: &str) -> Device {
        Device {
            given: given.into(),
            is: HostDevice {
                node: "/dev/sdb".to_owned(),
                size_bytes: 64 << 20,
                serial: Some("S5".to_owned()),
                ..HostDevice::default()
            },
        }
    }

    fn wanted(size_bytes: u64, marks: &[(&str, &str)]) -> OpDevice {
        let own = |(name, mark): &(&str, &str)| ((*name).to_owned(), (*mark).to_owned());
        OpDevice {
            given: "/dev/sdb".to_owned(),
            size_bytes,
            marks: marks.iter().map(own).collect(),
        }
    }

    #[test]
    fn a_device_is_the_one_that_is_meant_or_it_is_told_what_is_not_so() {
        let (sdb, by_id) = (device("/dev/sdb"), device("/dev/disk/by-id/ata-X"));
        let told = |device: &Device, bytes, marks: &[(&str, &str)]| {
            mistaken(device, &wanted(bytes, marks)).unwrap_or_default()
        };
        assert_eq!(told(&sdb, 64 << 20, &[("serial", "S5")]), "");
        let other = told(&sdb, 1 << 30, &[("serial", "S5")]);
        assert_eq!(other, "the study says that it has 1073741824 bytes");
        let other = told(&sdb, 64 << 20, &[("serial", "S6")]);
        assert_eq!(other, "its serial is \"S5\", the study says \"S6\"");
        let other = told(&sdb, 64 << 20, &[("serial", "S5"), ("wwn", "eui.1")]);
        assert_eq!(other, "its wwn is none, the study says \"eui.1\"");
        let other = told(&sdb, 64 << 20, &[("colour", "red")]);
        assert_eq!(other, "its colour is none, the study says \"red\"");
        let none = told(&sdb, 64 << 20, &[]);
        assert!(none.starts_with("the study names none of its marks; confirm = { serial = \"S5\""));
        assert_eq!(told(&by_id, 64 << 20, &[]), "");
        let mut gone = sdb.clone();
        gone.is.size_bytes = 0;
        let told = told(&gone, 0, &[]);
        assert_eq!(told, "it has no size: no medium, or nothing is attached");
    }

    #[test]
    fn a_person_is_told_to_zero_no_more_than_is_needed() {
        let sdb = device("/dev/sdb");
        let command = |at| unknown(&sdb, at).rsplit_once(": ").unwrap().1.to_owned();
        let first = "blkdiscard --zeroout --offset 0 --length 1048576 /dev/sdb";
        assert_eq!(command(70_000), first);
        let last = "blkdiscard --zeroout --offset 66060288 --length 1048576 /dev/sdb";
        assert_eq!(command((64 << 20) - 1), last);
        assert_eq!(command(5 << 20), "blkdiscard --zeroout /dev/sdb");
    }
}
