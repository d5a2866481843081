//! Messages as datagrams: any may be lost, come late, or in another order. Each begins with the
//! number of its transaction, or as many of the number's lowest bytes as both messages of the
//! transaction have room for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use kit::inject::before;
use kit::Buffer;
use rustix::io::{retry_on_intr, Errno};
use rustix::net::{recv, send, RecvFlags, SendFlags};
use socket2::Socket;
use wire::Call;

use super::{Channel, Received};

/// Bytes of the number that transactions of these sizes carry.
pub fn number_bytes(request: u64, response: u64) -> usize {
    request.min(response).min(size_of::<u64>() as u64) as usize
}

/// One of a pair of sockets.
pub struct Datagrams<'a> {
    socket: &'a Socket,
    outgoing: Buffer,
    incoming: Buffer,
    number_bytes: usize,
}

impl<'a> Datagrams<'a> {
    /// Over `socket`, which is connected, with messages as large as these buffers.
    pub fn new(socket: &'a Socket, outgoing: Buffer, incoming: Buffer) -> Self {
        Self {
            socket,
            number_bytes: number_bytes(outgoing.len() as u64, incoming.len() as u64),
            outgoing,
            incoming,
        }
    }

    #[inline(always)]
    fn take(&mut self, flags: RecvFlags) -> io::Result<Received> {
        // With TRUNC a datagram that is too long reports its real length.
        let flags = flags | RecvFlags::TRUNC;
        loop {
            before(Call::Receive);
            match retry_on_intr(|| recv(self.socket, &mut self.incoming[..], flags)) {
                Ok((_, 0)) => return Ok(Received::End),
                Ok((_, length)) if length == self.incoming.len() => break,
                // It is none of ours.
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(Received::Nothing),
                Err(error) => return Err(error.into()),
            }
        }
        let mut number = [0; size_of::<u64>()];
        let carried = &self.incoming[..self.number_bytes];
        number[..self.number_bytes].copy_from_slice(carried);
        Ok(Received::Message(u64::from_le_bytes(number)))
    }
}

impl Channel for Datagrams<'_> {
    fn number_bits(&self) -> u32 {
        self.number_bytes as u32 * u8::BITS
    }

    #[inline(always)]
    fn send(&mut self, number: u64, _: bool) -> io::Result<()> {
        let number = &number.to_le_bytes()[..self.number_bytes];
        self.outgoing[..self.number_bytes].copy_from_slice(number);
        before(Call::Send);
        match retry_on_intr(|| send(self.socket, &self.outgoing, SendFlags::NOSIGNAL)) {
            // The queue of a device was full, or the flow has been cut, which receiving will show:
            // it is lost, as any other may be.
            Ok(_) | Err(Errno::NOBUFS | Errno::PIPE) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn owes(&self) -> bool {
        false
    }

    #[inline(always)]
    fn receive(&mut self) -> io::Result<Received> {
        self.take(RecvFlags::empty())
    }

    fn try_receive(&mut self) -> io::Result<Received> {
        self.take(RecvFlags::DONTWAIT)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
