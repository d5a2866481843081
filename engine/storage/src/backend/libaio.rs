//! Linux native asynchronous I/O, by its system calls: io_setup(2), io_submit(2),
//! io_getevents(2). Requests are queued here, handed over in batches, and reaped in any order.
//!
//! On a file opened without O_DIRECT the kernel moves the data inside io_submit; only direct
//! requests are really in flight when it returns.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use kit::inject::before;
use wire::Call;

use super::queue::{self, Completion, Queue, Transfer};
use super::Card;

pub(super) const CARD: Card = Card {
    name: "libaio",
    about: "Linux native asynchronous I/O: many requests at once by io_submit and io_getevents",
};

/// One read or write, `struct iocb` of linux/aio_abi.h.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Request {
    data: u64,
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    size_bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

impl Request {
    const READ: u16 = 0;
    const WRITE: u16 = 1;

    /// `transfer` of `file`.
    #[inline]
    pub fn of(file: BorrowedFd, transfer: &Transfer) -> Self {
        Self {
            data: transfer.tag,
            opcode: if transfer.is_write {
                Self::WRITE
            } else {
                Self::READ
            },
            descriptor: file.as_raw_fd() as u32,
            buffer: transfer.start as u64,
            size_bytes: transfer.size_bytes.into(),
            offset: transfer.offset as i64,
            ..Self::default()
        }
    }

    /// Its completion, as if the kernel had moved all bytes.
    pub fn completed(&self) -> Event {
        Event {
            tag: self.data,
            result: self.size_bytes as i64,
            ..Event::default()
        }
    }
}

/// A request that has ended, `struct io_event` of linux/aio_abi.h.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Event {
    /// What the request was tagged with.
    pub tag: u64,
    request: u64,
    result: i64,
    result2: i64,
}

impl Event {
    /// The number of bytes that were moved.
    ///
    /// # Errors
    /// Those of read(2) and write(2).
    pub fn moved(&self) -> io::Result<usize> {
        queue::moved(self.result)
    }

    /// The number of bytes moved, or less than zero an error.
    #[inline]
    pub(super) fn result(&self) -> i64 {
        self.result
    }
}

/// An AIO context with room for a fixed number of requests. Dropping it waits for those in flight.
#[derive(Debug)]
pub struct Context {
    id: libc::c_ulong,
    /// Queued and not yet taken by the kernel, first come first served.
    queued: Vec<Request>,
    /// Where the queued requests are, in the form that io_submit wants; rebuilt for each call.
    addresses: Vec<u64>,
    /// Taken by the kernel and not reaped.
    in_flight: usize,
    completions: Vec<Event>,
}

impl Context {
    /// A context for `depth` requests; allocates all that it will ever need.
    ///
    /// # Errors
    /// `EAGAIN` when the host's limit (fs.aio-max-nr) is reached.
    pub fn setup(depth: u32) -> io::Result<Self> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's number to `id`, which lives for the call.
        check(unsafe { libc::syscall(libc::SYS_io_setup, depth, &mut id) })?;
        Ok(Self {
            id,
            queued: Vec::with_capacity(depth as usize),
            addresses: Vec::with_capacity(depth as usize),
            in_flight: 0,
            completions: vec![Event::default(); depth as usize],
        })
    }

    /// Queues a request for the next [`Context::submit`].
    ///
    /// # Safety
    /// Its buffer must stay where it is, and must not be touched, until its completion has been
    /// reaped or this context has been dropped.
    #[inline]
    pub unsafe fn push(&mut self, request: Request) {
        before(Call::of_transfer(request.opcode == Request::WRITE));
        debug_assert!(
            self.queued.len() < self.completions.len(),
            "deeper than set up"
        );
        self.queued.push(request);
    }

    /// Hands the queued requests to the kernel; gives how many it took. The others stay queued.
    ///
    /// # Errors
    /// Those of io_submit(2); `EAGAIN` when some must be reaped first.
    #[inline]
    pub fn submit(&mut self) -> io::Result<usize> {
        self.addresses.clear();
        let addresses = self
            .queued
            .iter()
            .map(|request| ptr::from_ref(request) as u64);
        self.addresses.extend(addresses);
        let (count, start) = (self.addresses.len(), self.addresses.as_ptr());
        // SAFETY: `start` leads to `count` addresses of requests, which the kernel copies before
        // it returns; that their buffers live was promised to `push`.
        let taken = check(unsafe { libc::syscall(libc::SYS_io_submit, self.id, count, start) })?;
        self.queued.drain(..taken);
        self.in_flight += taken;
        Ok(taken)
    }

    /// Hands all queued requests to the kernel.
    ///
    /// # Errors
    /// As for [`Context::submit`].
    #[inline]
    pub fn submit_all(&mut self) -> io::Result<()> {
        while !self.queued.is_empty() {
            self.submit()?;
        }
        Ok(())
    }

    /// Waits for at least `min` completions and gives up to `max`.
    ///
    /// # Errors
    /// Those of io_getevents(2), except that an interrupted call is made again.
    #[inline]
    pub fn reap(&mut self, min: usize, max: usize) -> io::Result<&[Event]> {
        let max = max.min(self.completions.len());
        let start = self.completions.as_mut_ptr();
        let no_timeout = ptr::null::<libc::timespec>();
        loop {
            #[cfg(any(test, feature = "refusals"))]
            queue::refusals::next()?;
            // SAFETY: there is room for `max` completions at `start`.
            let status = unsafe {
                libc::syscall(libc::SYS_io_getevents, self.id, min, max, start, no_timeout)
            };
            match check(status) {
                Ok(reaped) => {
                    self.in_flight -= reaped;
                    return Ok(&self.completions[..reaped]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the kernel has none of the requests any more, and forgets those that are
    /// queued. Aborts the process when the kernel does not give them back.
    pub fn drain(&mut self) {
        self.queued.clear();
        let reap = |context: &mut Self| context.reap(1, usize::MAX).map(|_| ());
        queue::reap_all(self, |context| context.in_flight, reap);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours. It can only fail for one that does not exist, and waits
        // for what is in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

fn check(status: libc::c_long) -> io::Result<usize> {
    usize::try_from(status).map_err(|_| io::Error::last_os_error())
}

/// [`Context`] as a queue of one file.
#[derive(Debug)]
pub struct Libaio {
    context: Context,
    file: RawFd,
    /// Completions of the last exchange, and how many of them were taken.
    ended: Vec<Completion>,
    taken: usize,
}

impl Libaio {
    /// From now on transfers are of `file`; none may be in flight.
    pub fn turn_to(&mut self, file: BorrowedFd) {
        self.file = file.as_raw_fd();
    }
}

impl Queue for Libaio {
    fn setup(file: BorrowedFd, _: [&[u8]; 2], depth: u32) -> io::Result<Self> {
        Ok(Self {
            context: Context::setup(depth)?,
            file: file.as_raw_fd(),
            ended: Vec::with_capacity(depth as usize),
            taken: 0,
        })
    }

    fn lacks(error: &io::Error) -> Option<&'static str> {
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Some(
                "no AIO context of this depth is left on this host; use a smaller depth, or \
                 raise the sysctl fs.aio-max-nr",
            ),
            Some(libc::ENOSYS) => {
                Some("the kernel was built without asynchronous I/O (CONFIG_AIO)")
            }
            _ => None,
        }
    }

    #[inline]
    unsafe fn push(&mut self, transfer: Transfer) {
        // SAFETY: the caller keeps the file open while this is used.
        let file = unsafe { BorrowedFd::borrow_raw(self.file) };
        let request = Request::of(file, &transfer);
        // SAFETY: promised by the caller.
        unsafe { self.context.push(request) };
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        self.context.submit_all()
    }

    #[inline]
    fn exchange(&mut self, min: usize) -> io::Result<()> {
        self.ended.clear();
        self.taken = 0;
        self.submit()?;
        let ended = self.context.reap(min, usize::MAX)?;
        self.ended.extend(ended.iter().map(|event| Completion {
            tag: event.tag,
            result: event.result(),
        }));
        Ok(())
    }

    fn drain(&mut self) {
        self.context.drain();
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        let next = self.ended.get(self.taken).copied();
        self.taken += usize::from(next.is_some());
        next
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    fn request(
        file: &impl AsFd,
        is_write: bool,
        (start, size_bytes): (*const u8, u32),
        offset: u64,
        tag: u64,
    ) -> Request {
        let transfer = Transfer {
            is_write,
            start,
            size_bytes,
            offset,
            tag,
        };
        Request::of(file.as_fd(), &transfer)
    }

    #[test]
    fn structures_have_the_sizes_of_the_kernels() {
        assert_eq!((size_of::<Request>(), size_of::<Event>()), (64, 32));
    }

    #[test]
    fn what_a_batch_wrote_a_batch_reads_back() {
        let file = tempfile::tempfile().unwrap();
        let mut context = Context::setup(4).unwrap();
        let written = [b"one", b"two", b"six"];
        for (tag, word) in written.iter().enumerate() {
            let request = request(&file, true, (word.as_ptr(), 3), 3 * tag as u64, tag as u64);
            // SAFETY: the words are constants.
            unsafe { context.push(request) };
        }
        assert_eq!(context.submit().unwrap(), 3);
        let mut tags: Vec<_> = context.reap(3, 4).unwrap().iter().map(|c| c.tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, [0, 1, 2]);

        let mut word = [0; 5];
        let request = request(&file, false, (word.as_mut_ptr(), 5), 6, 7);
        // SAFETY: the word is not touched before the completion has been reaped.
        unsafe { context.push(request) };
        assert_eq!(context.submit().unwrap(), 1);
        let completion = context.reap(1, 1).unwrap()[0];
        assert_eq!((completion.tag, completion.moved().unwrap()), (7, 3));
        assert_eq!(&word, b"six\0\0");
    }

    /// A request that is in flight until the pipe has something: IOCB_CMD_POLL for POLLIN.
    #[test]
    fn a_context_waits_on_when_waiting_is_refused_for_a_moment() {
        const POLL: u16 = 5;
        let (reader, writer) = io::pipe().unwrap();
        let mut context = Context::setup(2).unwrap();
        let poll = |tag| Request {
            opcode: POLL,
            buffer: libc::POLLIN as u64,
            ..request(&reader, false, (std::ptr::null(), 0), 0, tag)
        };
        // SAFETY: what would be the address of a buffer is a set of events here.
        unsafe { context.push(poll(0)) };
        context.submit_all().unwrap();
        // SAFETY: never handed over.
        unsafe { context.push(poll(1)) };
        queue::refusals::arm(&[libc::EAGAIN, libc::EBUSY]);
        let written = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            io::Write::write_all(&mut { writer }, b"word").unwrap();
        });
        context.drain();
        assert_eq!((context.in_flight, context.queued.len()), (0, 0));
        assert_eq!(queue::refusals::left(), 0);
        let mut found = [0; 4];
        rustix::io::ioctl_fionread(&reader)
            .map(|ready| assert_eq!(ready, 4))
            .unwrap();
        io::Read::read_exact(&mut { reader }, &mut found).unwrap();
        written.join().unwrap();
    }

    #[test]
    fn a_refused_request_says_why() {
        let nowhere = File::open("/dev/null").unwrap();
        let mut context = Context::setup(1).unwrap();
        // SAFETY: an empty buffer is never touched.
        unsafe { context.push(request(&nowhere, true, ([].as_ptr(), 0), 0, 0)) };
        let error = context.submit().unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(libc::EBADF),
            "opened for reading"
        );
    }
}
