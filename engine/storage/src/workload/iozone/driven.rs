//! Which loop moves the records of a file along its position.

use super::locks::Lock;
use super::loops::Drive;
use super::pattern::Motion;
use crate::backend::mmap::MmapFile;
use crate::backend::null::NullFile;
use crate::backend::sync::SyncFile;
use crate::backend::Positioned;

/// A file that all tests but those on C streams can use.
pub trait Driven: Positioned + Lock + Sized {
    /// The loops for it.
    type Along: Drive<Self>;

    /// The loop of `motion`.
    fn along(motion: Motion) -> Self::Along;
}

impl Driven for SyncFile {
    type Along = Motion;

    fn along(motion: Motion) -> Motion {
        motion
    }
}

impl Driven for MmapFile {
    type Along = Motion;

    fn along(motion: Motion) -> Motion {
        motion
    }
}

impl Driven for NullFile {
    type Along = Motion;

    fn along(motion: Motion) -> Motion {
        motion
    }
}
