//! io_uring: requests and completions pass through memory shared with the kernel, and one system
//! call hands over a batch and waits for what has ended.
//!
//! The fastest features are requested first, and those granted are reported: completions
//! handled only when the one thread that submits asks for them (SINGLE_ISSUER with DEFER_TASKRUN,
//! Linux 6.1), or at least without interrupting it (COOP_TASKRUN, 5.19); the ring, the file and
//! the memory registered, so that they need not be looked up and pinned for each request.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use io_uring::squeue::Flags;
use io_uring::{opcode, squeue, types, EnterFlags, IoUring};
use kit::inject::before;
use wire::Call;

use super::queue::{self, Completion, Grant, Queue, Transfer};
use super::Card;

pub(super) const CARD: Card = Card {
    name: "uring",
    about: "io_uring: many requests at once through shared memory, with all that was granted",
};

const DEFER_TASKRUN: &str = "io_uring_defer_taskrun";
const COOP_TASKRUN: &str = "io_uring_coop_taskrun";
const REGISTERED_RING: &str = "io_uring_registered_ring";
const REGISTERED_FILE: &str = "io_uring_registered_file";
const REGISTERED_BUFFERS: &str = "io_uring_registered_buffers";

/// Numbers of io_uring_register(2) and its structure, for which the library keeps no state
/// between calls.
const IORING_REGISTER_RING_FDS: libc::c_uint = 20;

/// `struct io_uring_rsrc_update` of linux/io_uring.h.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    descriptor: u64,
}

/// A ring for the transfers of one file.
pub struct Uring {
    ring: IoUring,
    /// What io_uring_enter(2) is called with: the registered ring, or its descriptor.
    entrance: RawFd,
    /// Says which of both it is.
    by_number: EnterFlags,
    /// The file: its place among the registered ones, or its descriptor.
    file: RawFd,
    entry_flags: Flags,
    has_buffers: bool,
    /// In the ring and not yet taken by the kernel.
    queued: u32,
    /// Queued, or taken and without a completion.
    pending: usize,
    granted: Vec<Grant>,
}

impl Uring {
    /// One io_uring_enter(2): hands over the first `count` of what is queued and, if `flags` say
    /// so, brings in what has ended, at least `min`.
    #[inline]
    fn enter(&mut self, count: u32, min: usize, flags: EnterFlags) -> io::Result<()> {
        #[cfg(any(test, feature = "refusals"))]
        queue::refusals::next()?;
        // SAFETY: the ring is ours; that the memory of what is queued lives was promised to
        // `push`. No argument follows, so that none is read.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.entrance,
                count,
                min,
                (self.by_number | flags).bits(),
                ptr::null::<libc::c_void>(),
                0,
            )
        };
        match u32::try_from(taken) {
            Ok(taken) => {
                self.queued -= taken;
                Ok(())
            }
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// The request, with whatever is registered.
    #[inline]
    fn entry(&self, transfer: &Transfer) -> squeue::Entry {
        let &Transfer {
            is_write,
            start,
            size_bytes,
            offset,
            tag,
        } = transfer;
        let file = types::Fd(self.file);
        let entry = match (is_write, self.has_buffers) {
            (false, true) => opcode::ReadFixed::new(file, start.cast_mut(), size_bytes, 0)
                .offset(offset)
                .build(),
            (false, false) => opcode::Read::new(file, start.cast_mut(), size_bytes)
                .offset(offset)
                .build(),
            (true, true) => opcode::WriteFixed::new(file, start, size_bytes, 1)
                .offset(offset)
                .build(),
            (true, false) => opcode::Write::new(file, start, size_bytes)
                .offset(offset)
                .build(),
        };
        entry.flags(self.entry_flags).user_data(tag)
    }
}

impl Queue for Uring {
    fn setup(file: BorrowedFd, areas: [&[u8]; 2], depth: u32) -> io::Result<Self> {
        let (ring, mut granted) = best_ring(depth)?;
        let submitter = ring.submitter();
        let has_file = submitter.register_files(&[file.as_raw_fd()]).is_ok();
        let areas = areas.map(|area| libc::iovec {
            iov_base: area.as_ptr().cast_mut().cast(),
            iov_len: area.len(),
        });
        // SAFETY: the kernel pins the memory, which `push` promises to outlive what is in flight.
        let has_buffers = unsafe { submitter.register_buffers(&areas) }.is_ok();
        let registered = register(&ring);
        granted.extend([
            (REGISTERED_RING, registered.is_some()),
            (REGISTERED_FILE, has_file),
            (REGISTERED_BUFFERS, has_buffers),
        ]);
        let by_number = registered.map_or(EnterFlags::empty(), |_| EnterFlags::REGISTERED_RING);
        Ok(Self {
            entrance: registered.unwrap_or(ring.as_raw_fd()),
            by_number,
            ring,
            file: if has_file { 0 } else { file.as_raw_fd() },
            entry_flags: if has_file {
                Flags::FIXED_FILE
            } else {
                Flags::empty()
            },
            has_buffers,
            queued: 0,
            pending: 0,
            granted,
        })
    }

    fn lacks(error: &io::Error) -> Option<&'static str> {
        match error.raw_os_error() {
            Some(libc::ENOSYS) => Some(
                "the kernel has no io_uring, or a seccomp filter (as containers have it) hides \
                 it; use backend \"libaio\"",
            ),
            Some(libc::EPERM | libc::EACCES) => Some(
                "io_uring is disabled on this host: see the sysctl kernel.io_uring_disabled and \
                 the seccomp filter of the container; or use backend \"libaio\"",
            ),
            Some(libc::ENOMEM) => Some(
                "io_uring may not lock so much memory; use a smaller depth, or raise the limit \
                 RLIMIT_MEMLOCK (ulimit -l)",
            ),
            _ => None,
        }
    }

    #[inline]
    unsafe fn push(&mut self, transfer: Transfer) {
        before(Call::of_transfer(transfer.is_write));
        let entry = self.entry(&transfer);
        // SAFETY: promised by the caller.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "deeper than set up");
        self.queued += 1;
        self.pending += 1;
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        while self.queued > 0 {
            match self.enter(self.queued, 0, EnterFlags::empty()) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn exchange(&mut self, min: usize) -> io::Result<()> {
        loop {
            match self.enter(self.queued, min, EnterFlags::GETEVENTS) {
                Ok(()) if self.queued > 0 => {}
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => return Ok(()),
            }
        }
    }

    /// Hands over nothing, so that nothing but the wait can be refused.
    fn drain(&mut self) {
        let in_flight = |ring: &Self| ring.pending - ring.queued as usize;
        queue::reap_all(self, in_flight, |ring| {
            ring.enter(0, 1, EnterFlags::GETEVENTS)?;
            while ring.completion().is_some() {}
            Ok(())
        });
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        self.pending -= 1;
        Some(Completion {
            tag: entry.user_data(),
            result: entry.result().into(),
        })
    }

    fn granted(&self) -> Vec<Grant> {
        self.granted.clone()
    }
}

impl Drop for Uring {
    /// Closing a ring waits neither for what is in flight nor until the kernel has let go of the
    /// file: after the end of the process, its file system could not be unmounted for a while.
    fn drop(&mut self) {
        self.drain();
        let submitter = self.ring.submitter();
        // Refused where nothing was registered.
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
    }
}

/// The first kind of ring that the kernel knows, and what that grants.
fn best_ring(depth: u32) -> io::Result<(IoUring, Vec<Grant>)> {
    let build = |builder: &mut io_uring::Builder| builder.build(depth);
    let mut deferred = IoUring::builder();
    match build(deferred.setup_single_issuer().setup_defer_taskrun()) {
        Err(error) if is_unknown(&error) => {}
        result => return Ok((result?, vec![(DEFER_TASKRUN, true)])),
    }
    match build(IoUring::builder().setup_coop_taskrun()) {
        Err(error) if is_unknown(&error) => {}
        result => return Ok((result?, vec![(DEFER_TASKRUN, false), (COOP_TASKRUN, true)])),
    }
    let plain = build(&mut IoUring::builder())?;
    Ok((plain, vec![(DEFER_TASKRUN, false), (COOP_TASKRUN, false)]))
}

/// The kernel is older than one of the flags.
fn is_unknown(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

/// Registers the ring itself for this thread (Linux 5.18); gives its number.
fn register(ring: &IoUring) -> Option<RawFd> {
    let descriptor = ring.as_raw_fd();
    let mut update = RingUpdate {
        offset: u32::MAX,
        reserved: 0,
        descriptor: descriptor as u64,
    };
    // SAFETY: one structure of the layout that the kernel expects, which lives for the call.
    let registered = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            descriptor,
            IORING_REGISTER_RING_FDS,
            &mut update,
            1,
        )
    };
    (registered == 1).then_some(update.offset as RawFd)
}

#[cfg(test)]
mod tests;
