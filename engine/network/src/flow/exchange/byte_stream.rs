//! Messages over a stream of bytes: nothing is lost, and they come in the order in which they were
//! sent, so that they need no numbers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use kit::inject::before;
use kit::Buffer;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::{retry_on_intr, Errno};
use rustix::net::{recv, send, RecvFlags, SendFlags};
use socket2::Socket;
use wire::Call;

use super::{Channel, Received};

/// One end of a connection.
pub struct ByteStream<'a> {
    socket: &'a Socket,
    outgoing: Buffer,
    incoming: Buffer,
    /// Bytes that were handed over and not taken by the kernel yet; all messages are alike.
    owed_bytes: usize,
    /// Bytes of the message that is coming.
    taken_bytes: usize,
    received: u64,
}

impl<'a> ByteStream<'a> {
    /// Over `socket`, which is connected, with messages as large as these buffers.
    pub fn new(socket: &'a Socket, outgoing: Buffer, incoming: Buffer) -> Self {
        Self {
            socket,
            outgoing,
            incoming,
            owed_bytes: 0,
            taken_bytes: 0,
            received: 0,
        }
    }

    /// Sends of what is owed as much as the kernel takes.
    #[inline(always)]
    fn pay(&mut self, flags: SendFlags) -> io::Result<()> {
        while self.owed_bytes > 0 {
            // The last bytes of a message first, if a part of it was taken.
            let size = self.outgoing.len();
            let part = match self.owed_bytes % size {
                0 => size,
                part => part,
            };
            let message = &self.outgoing[size - part..];
            before(Call::Send);
            match retry_on_intr(|| send(self.socket, message, flags | SendFlags::NOSIGNAL)) {
                Ok(sent) => self.owed_bytes -= sent,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes what there is of the next message.
    #[inline(always)]
    fn take(&mut self, flags: RecvFlags) -> io::Result<Received> {
        let rest = &mut self.incoming[self.taken_bytes..];
        before(Call::Receive);
        match retry_on_intr(|| recv(self.socket, &mut *rest, flags)) {
            Ok((_, 0)) if self.taken_bytes == 0 => return Ok(Received::End),
            Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((_, taken)) => self.taken_bytes += taken,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(error) => return Err(error.into()),
        }
        if self.taken_bytes < self.incoming.len() {
            return Ok(Received::Nothing);
        }
        self.taken_bytes = 0;
        self.received += 1;
        Ok(Received::Message(self.received - 1))
    }

    /// Waits until a message comes, or more of what is owed is taken.
    fn wait(&self) -> io::Result<()> {
        let mut fds = [PollFd::new(self.socket, PollFlags::IN | PollFlags::OUT)];
        retry_on_intr(|| poll(&mut fds, None))?;
        Ok(())
    }
}

impl Channel for ByteStream<'_> {
    fn number_bits(&self) -> u32 {
        u64::BITS
    }

    #[inline(always)]
    fn send(&mut self, _: u64, waits: bool) -> io::Result<()> {
        self.owed_bytes += self.outgoing.len();
        self.pay(match waits {
            true => SendFlags::empty(),
            false => SendFlags::DONTWAIT,
        })
    }

    fn owes(&self) -> bool {
        self.owed_bytes > 0
    }

    #[inline(always)]
    fn receive(&mut self) -> io::Result<Received> {
        loop {
            let flags = match self.owes() {
                false => RecvFlags::WAITALL,
                true => {
                    self.wait()?;
                    self.pay(SendFlags::DONTWAIT)?;
                    RecvFlags::DONTWAIT
                }
            };
            match self.take(flags)? {
                Received::Nothing => {}
                received => return Ok(received),
            }
        }
    }

    fn try_receive(&mut self) -> io::Result<Received> {
        self.pay(SendFlags::DONTWAIT)?;
        self.take(RecvFlags::DONTWAIT)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
