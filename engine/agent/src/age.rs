//! Carrying out a history on a file system that is mounted.

pub mod history;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use kit::removal;
use kit::splitmix::SplitMix;
use rustix::fs::{statvfs, syncfs};
use wire::{HostAged, HostFailure, HostFailureKind, OpAge};

use crate::command::{failed, failure};
use crate::extents::{extents_from, BATCH};
use crate::request::shown;
use history::{History, BLOCK_BYTES};

/// Longer than the memory of any file system's compressor.
const CONTENT_BYTES: usize = 16 << 20;
/// While files come and go, so much of the wanted fullness is used: the rest is for metadata.
const RECKONED_SHARE: f64 = 0.95;
/// Write-backs for each capacity that is written: in life, time passes.
const SYNCS: u64 = 16;
/// How near the fullness at the end must be, as a share of the capacity.
const CLOSE: f64 = 0.005;
const ROUNDS: u32 = 64;
const FULL_TIMES: u32 = 1000;
const CHECKED_PIECES: u32 = 64;
/// Streams of the seed: that of the history is drawn from the profile's name.
const CONTENT: u64 = 1;
const PLACES: u64 = 2;

/// What goes on around it.
pub trait Around {
    /// So much more is written.
    ///
    /// # Errors
    /// `Interrupted`: it is not to go on.
    fn go_on(&mut self, bytes: u64) -> Result<(), HostFailure>;

    /// Mounts the file system anew, if that can be.
    ///
    /// # Errors
    /// It is not mounted any more.
    fn renew(&mut self) -> Result<(), HostFailure>;
}

/// Bytes that will be written, nearly.
pub fn expected_bytes(asked: &OpAge, directory: &Path) -> u64 {
    let capacity_bytes = free_bytes(directory).unwrap_or(0);
    (capacity_bytes as f64 * asked.turnover.max(asked.to)) as u64
}

/// Lets a history happen in an empty directory of a file system of its own; the files stay.
///
/// # Errors
/// The file system does not take it; or as those of what goes on around it.
pub fn age(
    asked: &OpAge,
    directory: &Path,
    around: &mut dyn Around,
) -> Result<HostAged, HostFailure> {
    let capacity_bytes = free_bytes(directory).map_err(|error| failed(directory, error))?;
    let mut ageing = Ageing {
        directory,
        capacity_bytes,
        content: drawn(asked.seed),
        places: SplitMix::stream(asked.seed, PLACES),
        unsynced_bytes: 0,
        untold_bytes: 0,
        pieces: 0,
        full_times: 0,
        history: History::new(&asked.profile, capacity_bytes, asked.seed),
        asked,
        around,
    };
    if capacity_bytes == 0 {
        return Err(ageing.too_small());
    }
    ageing.churn()?;
    let full = ageing.settle()?;
    let mut aged = HostAged {
        files: 0,
        directories: 0,
        bytes: 0,
        pieces: None,
        score: None,
        written_bytes: ageing.history.written_bytes,
        full,
    };
    Layout::of(directory, around)?.tell(&mut aged);
    Ok(aged)
}

/// One history, and the directory that it happens in.
struct Ageing<'a> {
    asked: &'a OpAge,
    directory: &'a Path,
    around: &'a mut dyn Around,
    capacity_bytes: u64,
    content: Vec<u8>,
    /// Where the next content is taken from.
    places: SplitMix,
    unsynced_bytes: u64,
    untold_bytes: u64,
    pieces: u32,
    full_times: u32,
    history: History,
}

impl Ageing<'_> {
    /// Files come, and go as soon as the file system is full enough.
    fn churn(&mut self) -> Result<(), HostFailure> {
        let capacity_bytes = self.capacity_bytes as f64;
        let most = (self.asked.to * RECKONED_SHARE * capacity_bytes) as u64;
        let total = (self.asked.turnover * capacity_bytes) as u64;
        while self.history.written_bytes < total {
            self.write()?;
            while self.history.held_bytes > most && self.delete()? {}
        }
        while self.history.held_bytes < most {
            self.write()?;
        }
        Ok(())
    }

    /// Writes or deletes until the fullness is the wanted one; the fullness.
    ///
    /// It is read of a file system that has been mounted anew: xfs gives back what it took ahead of files
    /// that grow, and what was deleted, long after a sync.
    fn settle(&mut self) -> Result<f64, HostFailure> {
        let (to, mut full) = (self.asked.to, 0.0);
        for _ in 0..ROUNDS {
            self.sync()?;
            self.around.renew()?;
            full = 1.0 - self.free_bytes()? as f64 / self.capacity_bytes as f64;
            if full < to - CLOSE {
                // A part of what is missing: it may take more than is written.
                let missing = (to - full) / 2.0 * self.capacity_bytes as f64;
                let end = self.history.written_bytes + missing as u64;
                while self.history.written_bytes < end {
                    self.write()?;
                }
            } else if full <= to + CLOSE || !self.delete()? {
                break;
            }
        }
        Ok(full)
    }

    /// The next piece; where there is no room, something goes first.
    fn write(&mut self) -> Result<(), HostFailure> {
        let piece = self.history.write();
        let path = self.directory.join(&piece.path);
        let mut left = piece.bytes;
        while left > 0 {
            match self.append(&path, &mut left) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let above = path.parent().unwrap_or(self.directory);
                    match fs::create_dir_all(above) {
                        Err(error) if error.kind() == ErrorKind::StorageFull => self.make_room()?,
                        other => other.map_err(|error| failed(above, error))?,
                    }
                }
                Err(error) if error.kind() == ErrorKind::StorageFull => self.make_room()?,
                Err(error) => return Err(failed(&path, error)),
            }
        }
        self.untold_bytes += piece.bytes;
        self.pieces += 1;
        if self.pieces.is_multiple_of(CHECKED_PIECES) {
            self.around.go_on(std::mem::take(&mut self.untold_bytes))?;
        }
        self.unsynced_bytes += piece.bytes;
        if self.unsynced_bytes > self.capacity_bytes / SYNCS {
            self.sync()?;
        }
        Ok(())
    }

    /// Adds to a file what is left of a piece.
    fn append(&mut self, path: &Path, left: &mut u64) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o644);
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
        while *left > 0 {
            let begin = self.places.below(CONTENT_BYTES as u64 / 2) as usize;
            let end = CONTENT_BYTES.min(begin.saturating_add(*left as usize));
            *left -= file.write(&self.content[begin..end])? as u64;
        }
        Ok(())
    }

    /// A file system that is full before it is reckoned full.
    fn make_room(&mut self) -> Result<(), HostFailure> {
        self.full_times += 1;
        if self.full_times > FULL_TIMES || !self.delete()? {
            return Err(self.too_small());
        }
        self.sync()
    }

    fn too_small(&self) -> HostFailure {
        let text = format!(
            "{}: no room for a file system aged by {}; a larger one, or less full",
            self.directory.display(),
            self.asked.profile.name
        );
        failure(HostFailureKind::Failed, shown(&text))
    }

    /// The next files go; whether there were any.
    fn delete(&mut self) -> Result<bool, HostFailure> {
        let paths = self.history.delete();
        let tree = match (self.asked.profile.together, paths.first()) {
            (2.., Some(path)) => path.iter().next(),
            _ => None,
        };
        if let Some(tree) = tree {
            let tree = self.directory.join(tree);
            removal::remove(&tree).map_err(|remains| failed(&tree, remains.error))?;
            return Ok(true);
        }
        for path in &paths {
            let path = self.directory.join(path);
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        Ok(!paths.is_empty())
    }

    fn free_bytes(&self) -> Result<u64, HostFailure> {
        free_bytes(self.directory).map_err(|error| failed(self.directory, error))
    }

    /// Writes back this file system alone; some free what was deleted only then.
    fn sync(&mut self) -> Result<(), HostFailure> {
        self.unsynced_bytes = 0;
        let sync = || syncfs(File::open(self.directory)?).map_err(io::Error::from);
        sync().map_err(|error| failed(self.directory, error))
    }
}

/// What an ordinary user may still write.
fn free_bytes(directory: &Path) -> io::Result<u64> {
    let found = statvfs(directory)?;
    Ok(found.f_bavail * found.f_frsize)
}

fn drawn(seed: u64) -> Vec<u8> {
    let mut random = SplitMix::stream(seed, CONTENT);
    let mut content = Vec::with_capacity(CONTENT_BYTES);
    while content.len() < CONTENT_BYTES {
        content.extend_from_slice(&random.draw().to_le_bytes());
    }
    content
}

/// Of all files under a directory.
#[derive(Default)]
struct Layout {
    files: u64,
    directories: u64,
    bytes: u64,
    /// Of files whose pieces are known: pieces, blocks but the first, and pieces but the first.
    pieces: u64,
    joints: u64,
    broken: u64,
}

impl Layout {
    /// They must be written back.
    fn of(directory: &Path, around: &mut dyn Around) -> Result<Self, HostFailure> {
        let (mut layout, mut left) = (Self::default(), vec![directory.to_owned()]);
        while let Some(next) = left.pop() {
            around.go_on(0)?;
            layout
                .add_all(&next, &mut left)
                .map_err(|error| failed(&next, error))?;
        }
        Ok(layout)
    }

    fn add_all(&mut self, directory: &Path, left: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.directories += 1;
                left.push(entry.path());
            } else {
                self.add(&File::open(entry.path())?)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, file: &File) -> io::Result<()> {
        let (bytes, pieces) = (file.metadata()?.len(), pieces_of(file)?);
        self.files += 1;
        self.bytes += bytes;
        if pieces > 0 {
            self.pieces += pieces;
            self.joints += bytes.div_ceil(BLOCK_BYTES).saturating_sub(1);
            self.broken += pieces - 1;
        }
        Ok(())
    }

    fn tell(&self, aged: &mut HostAged) {
        aged.files = self.files;
        aged.directories = self.directories;
        aged.bytes = self.bytes;
        if self.pieces > 0 {
            aged.pieces = Some(self.pieces);
            let broken = self.broken as f64 / self.joints.max(1) as f64;
            aged.score = Some(1.0 - broken.min(1.0));
        }
    }
}

/// Pieces that a file lies in; 0 where that is not known.
fn pieces_of(file: &File) -> io::Result<u64> {
    let (mut position, mut expected, mut pieces) = (0, None, 0);
    loop {
        let Some(extents) = extents_from(file, position)? else {
            return Ok(0);
        };
        for extent in &extents {
            pieces += u64::from(expected != Some(extent.physical));
            expected = Some(extent.physical + extent.bytes);
            position = extent.start + extent.bytes;
        }
        if extents.len() < BATCH {
            return Ok(pieces);
        }
    }
}
