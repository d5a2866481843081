//! MSG_ZEROCOPY: the kernel sends from our pages, and reports on the error queue of the socket when
//! it needs them no longer. Until then a buffer must not change, so that its next turn waits.

use std::io::{self, ErrorKind};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use kit::inject::before;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::{retry_on_intr, Errno};
use rustix::net::{self, SendFlags};
use socket2::SockRef;
use wire::Call;

use super::ring::{Ring, RING_BYTES_MAX};
use super::stream::{send_some, Sender};
use super::{Flow, Notes};
use crate::socket::{set_number, SO_ZEROCOPY};

// linux/errqueue.h; not in the libc crate.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

/// Fewest buffers, so that sending continues while some are in use.
const WIDTH_MIN: u64 = 16;
/// No ring has more.
const WIDTH_MAX: u64 = RING_BYTES_MAX;
/// How long the last completions may take when the other end has everything already: they come at
/// once, as soon as the machine does anything.
const LAST: Duration = Duration::from_secs(10);
/// Flags of each call.
const UNCOPIED: SendFlags =
    SendFlags::NOSIGNAL.union(SendFlags::from_bits_retain(libc::MSG_ZEROCOPY as u32));
/// One wait for completions.
const WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Sends without a copy.
pub struct ZeroCopy<'a> {
    socket: BorrowedFd<'a>,
    ring: Ring,
    /// Which buffers the kernel uses: message `number` is in buffer `number % width`.
    in_use: Vec<bool>,
    sent: u32,
    /// Bytes of the last message that are not out.
    rest: usize,
    outstanding: usize,
    completed: u64,
    copied: u64,
}

impl<'a> ZeroCopy<'a> {
    /// Over `flow`, from buffers that take turns.
    ///
    /// # Errors
    /// As setsockopt(2): not every kind of socket can do it.
    pub fn new(flow: &'a Flow, ring: Ring) -> io::Result<Self> {
        // The kernel's numbers of 32 bits wrap around, and fall into place all the same.
        assert!(ring.width().is_power_of_two());
        set_number(&flow.socket, libc::SOL_SOCKET, SO_ZEROCOPY, 1)?;
        Ok(Self {
            socket: flow.socket.as_fd(),
            in_use: vec![false; ring.width()],
            ring,
            sent: 0,
            rest: 0,
            outstanding: 0,
            completed: 0,
            copied: 0,
        })
    }

    /// How many buffers there are where `fitting` would fill the socket's own.
    pub fn width(fitting: u64) -> u64 {
        fitting.clamp(WIDTH_MIN, WIDTH_MAX).next_power_of_two()
    }

    /// Takes the completions that are there.
    fn reap(&mut self) -> io::Result<()> {
        while let Some(done) = next_completion(self.socket)? {
            let count = done.last.wrapping_sub(done.first).wrapping_add(1);
            for offset in 0..count {
                let slot = self.slot(done.first.wrapping_add(offset));
                self.outstanding -= usize::from(mem::take(&mut self.in_use[slot]));
            }
            self.completed += u64::from(count);
            self.copied += u64::from(if done.was_copied { count } else { 0 });
        }
        Ok(())
    }

    fn slot(&self, number: u32) -> usize {
        number as usize % self.in_use.len()
    }

    /// Waits for completions; an error queue that has something shows as an error.
    fn wait(&mut self) -> io::Result<()> {
        let mut fds = [PollFd::from_borrowed_fd(self.socket, PollFlags::empty())];
        match poll(&mut fds, Some(&WAIT)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let (seen, before) = (fds[0].revents(), self.completed);
        self.reap()?;
        if seen.contains(PollFlags::HUP) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        // An error that is no completion is one of the connection.
        if seen.contains(PollFlags::ERR) && self.completed == before {
            return SockRef::from(&self.socket)
                .take_error()?
                .map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Hands over a buffer that the kernel does not use; gives how much of it was taken.
    fn send_message(&mut self) -> io::Result<usize> {
        let slot = self.slot(self.sent);
        while self.in_use[slot] {
            self.reap()?;
            if self.in_use[slot] {
                self.wait()?;
            }
        }
        self.ring.turn();
        let sent = loop {
            before(Call::Send);
            match retry_on_intr(|| net::send(self.socket, self.ring.last(), UNCOPIED)) {
                // So many completions are outstanding that there is no memory for another.
                Err(Errno::NOBUFS) => self.wait()?,
                sent => break sent?,
            }
        };
        self.in_use[slot] = true;
        self.sent = self.sent.wrapping_add(1);
        self.outstanding += 1;
        Ok(sent)
    }
}

impl Sender for ZeroCopy<'_> {
    #[inline(always)]
    fn send(&mut self) -> io::Result<u64> {
        let size = self.ring.size();
        if self.rest == 0 {
            self.rest = size - self.send_message()?;
        }
        // Cut short by a signal, or by a socket that does not block; a copy of the rest has no
        // completion of its own.
        while self.rest > 0 {
            self.rest -= send_some(self.socket, &self.ring.last()[size - self.rest..])?;
        }
        Ok(size as u64)
    }

    fn is_within_message(&self) -> bool {
        self.rest > 0
    }

    fn finish(&mut self) -> io::Result<Notes> {
        let until = Instant::now() + LAST;
        self.reap()?;
        while self.outstanding > 0 && Instant::now() < until {
            self.wait()?;
        }
        Ok([
            ("zerocopy_completed", self.completed),
            ("zerocopy_copied", self.copied),
        ]
        .into())
    }
}

/// The completion of calls `first` to `last`, which the socket counts from 0.
struct Completion {
    first: u32,
    last: u32,
    /// The kernel could not do without a copy.
    was_copied: bool,
}

/// The next one on the error queue, if there is one.
fn next_completion(socket: BorrowedFd) -> io::Result<Option<Completion>> {
    // Aligned as control messages must be.
    let mut control = [0u64; 16];
    // SAFETY: all fields are numbers and pointers, for which zeroes are values.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the kernel writes to `control` alone, as far as its length.
    let status = unsafe {
        libc::recvmsg(
            socket.as_raw_fd(),
            &raw mut header,
            libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
        )
    };
    if status < 0 {
        return match io::Error::last_os_error() {
            error if error.kind() == ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        };
    }
    // SAFETY: the header is as the kernel left it, and its control messages lie in `control`.
    let error = unsafe {
        let first = libc::CMSG_FIRSTHDR(&header);
        let mut error = MaybeUninit::<libc::sock_extended_err>::uninit();
        if first.is_null() || (*first).cmsg_len < libc::CMSG_LEN(size_of_val(&error) as u32) as _ {
            return Ok(None);
        }
        libc::CMSG_DATA(first).copy_to(error.as_mut_ptr().cast(), size_of_val(&error));
        error.assume_init()
    };
    match (error.ee_origin, error.ee_errno) {
        (SO_EE_ORIGIN_ZEROCOPY, 0) => Ok(Some(Completion {
            first: error.ee_info,
            last: error.ee_data,
            was_copied: error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED != 0,
        })),
        (_, errno) => Err(io::Error::from_raw_os_error(errno as i32)),
    }
}
