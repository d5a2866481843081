//! A copy of a device's every byte, and putting the device back to it.
//!
//! The copy is sparse: where the device has zeros it has holes. Both are read past the page cache, and a
//! device is put back chunk by chunk: one that is the same is left alone, one that is not is written and
//! read again. So at the end every byte was read from the device and compared, and the SHA-256 of them all
//! is the one of the day when the copy was made.

use std::fmt::Write;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use kit::buffers::Buffer;
use rustix::fs::{fadvise, Advice};
use sha2::{Digest, Sha256};
use wire::{HostFailure, HostFailureKind};

use crate::command::{failed, failure};
use crate::device::{forget_cache, user_of};
use crate::meanwhile::{Meanwhile, Told};
use crate::request::shown;

const CHUNK_BYTES: usize = 1 << 20;
/// What was unmounted is let go a moment later, and programs that look at every device take each of them
/// for a moment.
const PATIENCE: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(100);

/// Copies a device, to which nobody may write, to a file that is not there; its SHA-256, in hex. On return
/// the copy is on disk.
///
/// # Errors
/// `Lacks`: there is no room for it. `Failed`: somebody keeps the device. `Interrupted`: it was not to go
/// on.
pub fn keep(
    device: &Path,
    copy: &Path,
    at: u32,
    meanwhile: &mut dyn Meanwhile,
) -> Result<String, HostFailure> {
    let (source, bytes) = had_alone(device, false, PATIENCE, meanwhile)?;
    let of_copy = |error| failed(copy, error);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let target = options.custom_flags(libc::O_NOFOLLOW).open(copy);
    let target = target.map_err(of_copy)?;
    let mut digest = Sha256::new();
    let mut told = Told::begun(at, bytes, meanwhile);
    let mut buffer = chunk(device)?;
    for offset in (0..bytes).step_by(CHUNK_BYTES) {
        meanwhile.wait(Some(Duration::ZERO))?;
        let piece = &mut buffer[..length_at(offset, bytes)];
        source
            .read_exact_at(piece, offset)
            .map_err(|error| failed(device, error))?;
        digest.update(&*piece);
        if piece.iter().any(|byte| *byte != 0) {
            target.write_all_at(piece, offset).map_err(of_copy)?;
        }
        told.of_more(piece.len() as u64, meanwhile);
    }
    target.set_len(bytes).map_err(of_copy)?;
    target.sync_all().map_err(of_copy)?;
    forget(&target).map_err(of_copy)?;
    Ok(in_hex(digest))
}

/// Makes a device the same as its copy again; the bytes that had to be written.
///
/// # Errors
/// `Failed`: the device does not keep what is written, or has not the size of the copy, or somebody keeps
/// it, or the copy is not what was made. `Interrupted`: it was not to go on.
pub fn put_back(
    device: &Path,
    copy: &Path,
    sha256: &str,
    at: u32,
    meanwhile: &mut dyn Meanwhile,
) -> Result<u64, HostFailure> {
    let of_copy = |error| failed(copy, error);
    let of_device = |error| failed(device, error);
    let mut options = OpenOptions::new();
    let source = options.read(true).custom_flags(libc::O_NOFOLLOW).open(copy);
    let source = source.map_err(of_copy)?;
    let (target, bytes) = had_alone(device, true, PATIENCE, meanwhile)?;
    if source.metadata().map_err(of_copy)?.len() != bytes {
        return Err(wrong(
            device,
            &format!("has not the size of {}", copy.display()),
        ));
    }
    let (mut digest, mut written_bytes) = (Sha256::new(), 0);
    let mut told = Told::begun(at, bytes, meanwhile);
    let [mut there, mut wanted] = [chunk(device)?, chunk(device)?];
    for offset in (0..bytes).step_by(CHUNK_BYTES) {
        meanwhile.wait(Some(Duration::ZERO))?;
        let length = length_at(offset, bytes);
        let (there, wanted) = (&mut there[..length], &mut wanted[..length]);
        target.read_exact_at(there, offset).map_err(of_device)?;
        source.read_exact_at(wanted, offset).map_err(of_copy)?;
        digest.update(&*wanted);
        if there != wanted {
            target.write_all_at(wanted, offset).map_err(of_device)?;
            target.read_exact_at(there, offset).map_err(of_device)?;
            if there != wanted {
                let why = format!("does not keep what is written at byte {offset}");
                return Err(wrong(device, &why));
            }
            written_bytes += length as u64;
        }
        told.of_more(length as u64, meanwhile);
    }
    target.sync_all().map_err(of_device)?;
    // Somebody may hold it who has looked at it before.
    forget_cache(&target).map_err(of_device)?;
    forget(&source).map_err(of_copy)?;
    if in_hex(digest) != sha256 {
        let why = ": its SHA-256 is not that of the state that was made";
        let text = format!("{}{why}", copy.display());
        return Err(failure(HostFailureKind::Failed, shown(&text)));
    }
    Ok(written_bytes)
}

/// A device, opened so that it is read itself and not what memory holds of it, and its size. Nobody else
/// may have it.
fn had_alone(
    device: &Path,
    writes: bool,
    patience: Duration,
    meanwhile: &mut dyn Meanwhile,
) -> Result<(File, u64), HostFailure> {
    let begun = Instant::now();
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(writes);
        options.custom_flags(libc::O_DIRECT | libc::O_EXCL);
        match options.open(device) {
            Ok(mut file) => {
                let bytes = file.seek(SeekFrom::End(0));
                return Ok((file, bytes.map_err(|error| failed(device, error))?));
            }
            Err(error) if error.kind() != ErrorKind::ResourceBusy => {
                return Err(failed(device, error));
            }
            Err(_) if begun.elapsed() > patience => {
                let who = user_of(device).unwrap_or_else(|| "somebody has it".to_owned());
                let text = format!("{}: cannot be had alone: {who}", device.display());
                return Err(failure(HostFailureKind::Failed, shown(&text)));
            }
            Err(_) => meanwhile.wait(Some(STEP))?,
        }
    }
}

fn chunk(device: &Path) -> Result<Buffer, HostFailure> {
    Buffer::new(CHUNK_BYTES).map_err(|error| failed(device, error))
}

fn length_at(offset: u64, bytes: u64) -> usize {
    (bytes - offset).min(CHUNK_BYTES as u64) as usize
}

/// What memory holds of a file.
fn forget(file: &File) -> io::Result<()> {
    fadvise(file, 0, None, Advice::DontNeed).map_err(Into::into)
}

fn in_hex(digest: Sha256) -> String {
    digest
        .finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn wrong(device: &Path, why: &str) -> HostFailure {
    let text = format!("{} {why}", device.display());
    failure(HostFailureKind::Failed, shown(&text))
}
