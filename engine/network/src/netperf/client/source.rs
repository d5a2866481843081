//! What is sent: buffers filled from a file, or a file itself.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use kit::failure::{bad_parameter, failure, io_failure};
use kit::splitmix::SplitMix;
use rustix::fs::{memfd_create, MemfdFlags};
use wire::{Failure, FailureKind};

use crate::flow::ring::{Ring, Shape};
use crate::netperf::data::link;

/// The seed of a file that nobody named: its content is arbitrary, and always the same.
const SEED: u64 = 12_865;

/// A ring of `shape`, filled with the begin of the file at `fill` if one is named. The file may
/// be endless.
///
/// # Errors
/// `BadJob` for a shape that may not be, and for a file that is empty; `Io` if it cannot be read.
pub fn ring(shape: Shape, fill: Option<&str>) -> Result<Ring, Failure> {
    let refused = |message| bad_parameter("local", format!("local: {message}"));
    shape.check().map_err(refused)?;
    let mut content = Vec::new();
    if let Some(path) = fill.map(Path::new) {
        let needed = u64::from(shape.size) * u64::from(shape.width);
        File::open(path)
            .and_then(|file| file.take(needed).read_to_end(&mut content))
            .map_err(|error| io_failure("read", path, &error))?;
        if content.is_empty() {
            return Err(empty(path));
        }
    }
    link::ring(shape, &content).map_err(kit::failure::no_memory)
}

fn empty(path: &Path) -> Failure {
    let message = format!("local.fill: {} is empty", path.display());
    bad_parameter("local.fill", message)
}

/// A file to be sent with sendfile(2).
pub struct SourceFile {
    file: File,
    /// Its size, in bytes.
    pub bytes: u64,
}

impl SourceFile {
    /// The file at `path`, or one in memory, of `bytes`.
    ///
    /// # Errors
    /// `BadJob` for one that is empty or not a plain file; `Io` and `HostLacks` from the kernel.
    pub fn new(path: Option<&str>, bytes: u64) -> Result<Self, Failure> {
        let Some(path) = path.map(Path::new) else {
            let file = in_memory(bytes).map_err(|error| {
                let message = format!("no memory for a file of {bytes} bytes: {error}");
                failure(FailureKind::HostLacks, message)
            })?;
            return Ok(Self { file, bytes });
        };
        let cannot = |error: io::Error| io_failure("open", path, &error);
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if !metadata.is_file() {
            let message = format!("local.fill: {} is not a plain file", path.display());
            return Err(bad_parameter("local.fill", message));
        }
        match metadata.len() {
            0 => Err(empty(path)),
            bytes => Ok(Self { file, bytes }),
        }
    }
}

impl AsFd for SourceFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A file of random bytes that has no name and leaves nothing behind.
fn in_memory(bytes: u64) -> io::Result<File> {
    let mut file = File::from(memfd_create("netperf", MemfdFlags::CLOEXEC)?);
    let mut random = SplitMix::new(SEED);
    let mut block = [0; 65_536];
    let mut left = bytes;
    while left > 0 {
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&random.draw().to_ne_bytes());
        }
        let length = left.min(block.len() as u64);
        file.write_all(&block[..length as usize])?;
        left -= length;
    }
    Ok(file)
}
