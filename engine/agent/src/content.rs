//! Files whose every block is allocated and written before anybody is measured on them.
//!
//! A sparse file would make whoever writes a block first pay for its allocation in the file system
//! below. Zeros are therefore written once; and whenever a file system was made in it, those ranges are
//! written that mkfs has turned into unwritten extents (it asks the device to zero its journal and its
//! tables), or somebody into holes (btrfs discards what it frees).

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use kit::buffers::Buffer;
use rustix::fs::{fadvise, fallocate, fcntl_getfl, fcntl_setfl, Advice, FallocateFlags, OFlags};
use rustix::io::Errno;
use wire::HostFailure;

use crate::command::failed;
use crate::extents::{extents_from, BATCH, UNWRITTEN};
use crate::meanwhile::{Meanwhile, Told};

const CHUNK_BYTES: u64 = 16 << 20;

/// From where to where, in bytes.
type Range = (u64, u64);

/// A new file of zeros, written through to the device.
///
/// # Errors
/// `Lacks`: there is no room for it. `Interrupted`: it was not to go on.
pub fn lay_out(
    path: &Path,
    bytes: u64,
    at: u32,
    meanwhile: &mut dyn Meanwhile,
) -> Result<(), HostFailure> {
    let told = Told::begun(at, bytes, meanwhile);
    let create = || -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
        if bytes > 0 {
            match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
                // All of it is written anyway.
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(file)
    };
    let file = create().map_err(|error| failed(path, error))?;
    write(path, &file, &[(0, bytes)], false, told, meanwhile)
}

/// Writes a file wherever it is not written; what it holds stays, and nobody else may write to it. Where
/// the file system cannot tell, nothing is done.
///
/// # Errors
/// As those of [`lay_out`].
pub fn mend(path: &Path, at: u32, meanwhile: &mut dyn Meanwhile) -> Result<(), HostFailure> {
    let look = || -> io::Result<(File, Vec<Range>)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
        let gaps = gaps(&file)?;
        Ok((file, gaps))
    };
    let (file, gaps) = look().map_err(|error| failed(path, error))?;
    let bytes = gaps.iter().map(|(from, to)| to - from).sum();
    let told = Told::begun(at, bytes, meanwhile);
    write(path, &file, &gaps, true, told, meanwhile)
}

/// Writes zeros, or what is read there, from each begin to its end; synced.
///
/// Past the page cache where that can be: through it, it takes several times as long and pushes out
/// what others have there.
fn write(
    path: &Path,
    file: &File,
    ranges: &[Range],
    reads: bool,
    mut told: Told,
    meanwhile: &mut dyn Meanwhile,
) -> Result<(), HostFailure> {
    let failed = |error| failed(path, error);
    let most = ranges.iter().map(|(from, to)| to - from).max();
    let most = most.unwrap_or(0).clamp(1, CHUNK_BYTES);
    let mut buffer = Buffer::new(most as usize).map_err(failed)?;
    let flags = fcntl_getfl(file).map_err(|error| failed(error.into()))?;
    let _ = fcntl_setfl(file, flags | OFlags::DIRECT);
    for (from, to) in ranges {
        for offset in (*from..*to).step_by(CHUNK_BYTES as usize) {
            meanwhile.wait(Some(Duration::ZERO))?;
            let piece = &mut buffer[..CHUNK_BYTES.min(to - offset) as usize];
            let mut written = write_piece(file, piece, offset, reads);
            if matches!(&written, Err(error) if error.kind() == ErrorKind::InvalidInput) {
                // It ends within a sector, or its file system takes none after all.
                written = fcntl_setfl(file, flags)
                    .map_err(Into::into)
                    .and_then(|()| write_piece(file, piece, offset, reads));
            }
            written.map_err(failed)?;
            told.of_more(piece.len() as u64, meanwhile);
        }
    }
    file.sync_all().map_err(failed)?;
    fadvise(file, 0, None, Advice::DontNeed).map_err(|error| failed(error.into()))
}

fn write_piece(file: &File, piece: &mut [u8], offset: u64, reads: bool) -> io::Result<()> {
    if reads {
        file.read_exact_at(piece, offset)?;
    }
    file.write_all_at(piece, offset)
}

/// Where a file has holes or unwritten extents, in order; nothing where its file system does not tell
/// (tmpfs).
fn gaps(file: &File) -> io::Result<Vec<Range>> {
    let bytes = file.metadata()?.len();
    let (mut found, mut position) = (Vec::new(), 0);
    // Extents may lie beyond the end.
    let mut add = |from: u64, to: u64| {
        if from < to.min(bytes) {
            found.push((from, to.min(bytes)));
        }
    };
    loop {
        let Some(extents) = extents_from(file, position)? else {
            return Ok(Vec::new());
        };
        for extent in &extents {
            add(position, extent.start);
            position = extent.start + extent.bytes;
            if extent.flags & UNWRITTEN != 0 {
                add(extent.start, position);
            }
        }
        if extents.len() < BATCH {
            add(position, bytes);
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meanwhile::Asleep;
    use std::fs;

    #[test]
    fn zeros_are_written_and_holes_are_mended_and_what_is_there_stays() {
        // On the file system of the build: the temporary one may be none on a disk.
        let own = std::env::current_exe().unwrap();
        let held = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
        let path = held.path().join("file");
        let mut meanwhile = Asleep::new();
        for bytes in [0, 1, 4096, (17 << 20) + 100] {
            lay_out(&path, bytes, 0, &mut meanwhile).unwrap();
            let written = fs::read(&path).unwrap();
            assert_eq!(written.len() as u64, bytes);
            assert!(written.iter().all(|byte| *byte == 0));
            assert_eq!(gaps(&File::open(&path).unwrap()).unwrap(), []);
            fs::remove_file(&path).unwrap();
        }
        let file = File::create(&path).unwrap();
        file.set_len((20 << 20) + 100).unwrap();
        fallocate(&file, FallocateFlags::empty(), 1 << 20, 1 << 20).unwrap();
        file.write_all_at(b"what it holds", 4 << 20).unwrap();
        file.write_all_at(b"x", 20 << 20).unwrap();
        file.sync_all().unwrap();
        let before = fs::read(&path).unwrap();
        let told = extents_from(&file, 0).unwrap();
        let had: u64 = gaps(&file)
            .unwrap()
            .iter()
            .map(|(from, to)| to - from)
            .sum();
        assert!(told.is_none() || had > 19 << 20, "{had}");
        mend(&path, 0, &mut meanwhile).unwrap();
        assert_eq!(gaps(&file).unwrap(), []);
        assert!(fs::read(&path).unwrap() == before);
    }

    #[test]
    fn what_is_no_file_of_its_own_is_not_written() {
        let held = tempfile::tempdir().unwrap();
        let [path, link] = ["file", "link"].map(|name| held.path().join(name));
        fs::write(&path, "x").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut meanwhile = Asleep::new();
        for laid in [
            lay_out(&link, 1, 0, &mut meanwhile),
            mend(&link, 0, &mut meanwhile),
            mend(&held.path().join("none"), 0, &mut meanwhile),
        ] {
            let text = laid.unwrap_err().text;
            assert!(
                text.starts_with(&held.path().display().to_string()),
                "{text}"
            );
        }
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }
}
