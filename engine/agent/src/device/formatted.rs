//! A block device that was blank and carries a file system of ours, and the way back.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wire::{HostFailureKind, OpDevice};

use super::contents::{first_written, forget_cache, make_blank, signatures, Signature};
use super::identity::{number, number_of, Device};
use super::mistaken;
use super::places::{ends, looked_at};
use super::users::claimed;

/// A file system on a device that was blank before, and by what it is known as ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formatted {
    pub device: OpDevice,
    pub filesystem: String,
    /// Marks of its signatures: the UUID that mkfs is told, or what was there when it had ended. Empty
    /// while a mkfs is at work that takes no UUID.
    pub known: Vec<String>,
}

impl Formatted {
    /// Makes it blank again, if what is there is what we made.
    ///
    /// A device that is gone, or that carries something else now, is left as it is: what was ours there
    /// is lost already, and what is there is somebody's.
    ///
    /// # Errors
    /// It cannot be had alone, or does not become blank.
    pub fn take_back(&self) -> io::Result<Option<String>> {
        let (given, made) = (&self.device.given, &self.filesystem);
        let device = match Device::at(Path::new(given)) {
            Err(failed) if failed.kind == HostFailureKind::Refused => {
                let told = format!("left {given}: it is gone; it may still carry our {made}");
                return Ok(Some(told));
            }
            other => other.map_err(|failed| io::Error::other(failed.text))?,
        };
        if let Some(why) = mistaken(&device, &self.device) {
            let told = format!("left {device}: it is not the one that carries our {made}: {why}");
            return Ok(Some(told));
        }
        let file =
            claimed(&device).map_err(|who| of(&device, &format!("cannot be had alone: {who}")))?;
        self.blank(&device, &file)
    }

    /// On a device that nobody else has.
    fn blank(&self, device: &Device, file: &File) -> io::Result<Option<String>> {
        let opened = number(file.metadata()?.rdev());
        if number_of(&device.given).as_ref() != Ok(&opened) {
            return Err(of(device, "its name means another device now; not touched"));
        }
        forget_cache(file)?;
        let found = on(device)?;
        let given = device.given.display();
        if let Some(foreign) = found.iter().find(|one| !self.known.contains(&one.mark())) {
            return Ok(Some(format!(
                "left {device}: it carries {foreign}, which is not known to be ours; if nobody needs it: \
                 wipefs --all {given}"
            )));
        }
        let bytes = self.device.size_bytes;
        if found.is_empty() {
            if let Some(at) = first_written(file, &ends(bytes))? {
                return Ok(Some(format!("left {device}: its byte {at} is not zero")));
            }
            if first_written(file, &looked_at(file, bytes)?)?.is_none() {
                return Ok(None);
            }
            // A mkfs that was cut short: the device was blank, as a whole, right before it.
        }
        make_blank(file, bytes)?;
        if let Some(left) = on(device)?.first() {
            let why = format!("still carries {left} after zeros were written");
            return Err(of(device, &why));
        }
        Ok(Some(format!(
            "removed our {} from {device}",
            self.filesystem
        )))
    }
}

fn on(device: &Device) -> io::Result<Vec<Signature>> {
    signatures(Path::new(&device.is.node)).map_err(|failed| io::Error::other(failed.text))
}

fn of(device: &Device, why: &str) -> io::Error {
    io::Error::other(format!("{device}: {why}"))
}
