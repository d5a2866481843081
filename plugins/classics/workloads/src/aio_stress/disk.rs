//! Where the requests of a thread go: to the kernel, or nowhere.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use kit::inject::before;
use rustix::fs::{Mode, OFlags};
use wire::Call;

use storage::backend::libaio::{Context, Event, Request};

/// A queue of requests, and the files that they are about.
pub trait Disk: Sized + Send {
    /// Whether bytes really move. Where they do not, what was read must not be verified.
    const MOVES_DATA: bool;

    /// A queue for `depth` requests.
    fn setup(depth: u32) -> io::Result<Self>;

    /// Opens for requests of both kinds, with the flags of open(2).
    fn open(path: &CStr, flags: OFlags) -> io::Result<OwnedFd>;

    /// Size of the file now.
    fn size_bytes(file: &OwnedFd) -> io::Result<u64>;

    /// Waits until data and metadata are on the device.
    fn sync(file: &OwnedFd) -> io::Result<()>;

    /// As [`Context::push`].
    ///
    /// # Safety
    /// As there: the buffer must stay and be left alone until the request's completion was
    /// reaped, or the queue dropped.
    unsafe fn push(&mut self, request: Request);

    /// As [`Context::submit`].
    fn submit(&mut self) -> io::Result<usize>;

    /// As [`Context::reap`].
    fn reap(&mut self, min: usize, max: usize) -> io::Result<&[Event]>;
}

impl Disk for Context {
    const MOVES_DATA: bool = true;

    fn setup(depth: u32) -> io::Result<Self> {
        Context::setup(depth)
    }

    fn open(path: &CStr, flags: OFlags) -> io::Result<OwnedFd> {
        before(Call::of_open(flags.contains(OFlags::CREATE)));
        Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?)
    }

    fn size_bytes(file: &OwnedFd) -> io::Result<u64> {
        Ok(rustix::fs::fstat(file)?.st_size as u64)
    }

    fn sync(file: &OwnedFd) -> io::Result<()> {
        before(Call::Sync);
        Ok(rustix::fs::fsync(file)?)
    }

    #[inline]
    unsafe fn push(&mut self, request: Request) {
        // SAFETY: promised by the caller.
        unsafe { Context::push(self, request) }
    }

    #[inline]
    fn submit(&mut self) -> io::Result<usize> {
        Context::submit(self)
    }

    #[inline]
    fn reap(&mut self, min: usize, max: usize) -> io::Result<&[Event]> {
        Context::reap(self, min, max)
    }
}

/// Completes every request at once without doing anything.
pub struct Nowhere {
    /// Number of the last `completions` that were not submitted yet.
    queued: usize,
    completions: Vec<Event>,
    reaped: Vec<Event>,
}

impl Disk for Nowhere {
    const MOVES_DATA: bool = false;

    fn setup(depth: u32) -> io::Result<Self> {
        Ok(Self {
            queued: 0,
            completions: Vec::with_capacity(depth as usize),
            reaped: Vec::with_capacity(depth as usize),
        })
    }

    fn open(_: &CStr, _: OFlags) -> io::Result<OwnedFd> {
        Ok(rustix::fs::open(c"/dev/null", OFlags::RDWR, Mode::empty())?)
    }

    fn size_bytes(_: &OwnedFd) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn sync(_: &OwnedFd) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    unsafe fn push(&mut self, request: Request) {
        self.queued += 1;
        self.completions.push(request.completed());
    }

    #[inline]
    fn submit(&mut self) -> io::Result<usize> {
        Ok(std::mem::take(&mut self.queued))
    }

    #[inline]
    fn reap(&mut self, _: usize, max: usize) -> io::Result<&[Event]> {
        let count = max.min(self.completions.len() - self.queued);
        self.reaped.clear();
        self.reaped.extend(self.completions.drain(..count));
        Ok(&self.reaped)
    }
}
