//! Several flows on one thread: sockets that do not block, and epoll(7), which names those that
//! can go on. Each has a turn of a limited number of operations, so that none starves.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::OwnedFd;

use kit::team::Member;
use kit::Probe;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;

use super::stream::{count, Receive, Receiver, Sender};
use super::Flow;

/// Operations of one turn.
const TURN: u64 = 16;
/// Flows that are named at once.
const NAMED: usize = 64;
/// Between two looks whether to go on, where nothing moves.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Flows of one thread, of which those that can go on are named.
pub struct Round<'a> {
    flows: &'a [Flow],
    epoll: OwnedFd,
    events: Vec<Event>,
    open: usize,
}

impl<'a> Round<'a> {
    /// Of flows that are to send (`OUT`) or to receive (`IN`).
    ///
    /// # Errors
    /// As epoll_ctl(2).
    pub fn new(flows: &'a [Flow], direction: EventFlags) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (index, flow) in flows.iter().enumerate() {
            flow.socket.set_nonblocking(true)?;
            let data = EventData::new_u64(index as u64);
            epoll::add(&epoll, &*flow.socket, data, direction)?;
        }
        Ok(Self {
            flows,
            epoll,
            events: Vec::with_capacity(NAMED),
            open: flows.len(),
        })
    }

    /// Sends `messages` of each flow, for as long as the member goes on; what is begun then is
    /// brought to its end.
    ///
    /// # Errors
    /// As the senders.
    pub fn send<P: Probe>(
        &mut self,
        senders: &mut [impl Sender],
        left: &mut [u64],
        member: &mut Member<P>,
    ) -> io::Result<()> {
        while self.open > 0 && member.goes_on() {
            self.wait()?;
            for at in 0..self.events.len() {
                let index = self.events[at].data.u64() as usize;
                let turn = left[index].min(TURN);
                left[index] -= self.send_turn(index, &mut senders[index], turn, member)?;
                if left[index] == 0 {
                    self.leave(index)?;
                }
            }
        }
        for (sender, flow) in senders.iter_mut().zip(self.flows) {
            flow.socket.set_nonblocking(false)?;
            if sender.is_within_message() {
                count(member, &flow.tally, sender.send()?);
            }
        }
        Ok(())
    }

    /// Waits until some flows can go on, or for a moment.
    fn wait(&mut self) -> io::Result<()> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&LOOK)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A flow has come to its end.
    fn leave(&mut self, index: usize) -> io::Result<()> {
        self.open -= 1;
        Ok(epoll::delete(&self.epoll, &*self.flows[index].socket)?)
    }

    /// Gives how many messages are out.
    fn send_turn<P: Probe>(
        &self,
        index: usize,
        sender: &mut impl Sender,
        turn: u64,
        member: &mut Member<P>,
    ) -> io::Result<u64> {
        for sent in 0..turn {
            member.probe.begin_operation();
            match sender.send() {
                Ok(bytes) => count(member, &self.flows[index].tally, bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(sent),
                Err(error) => {
                    sender.on_send_error(error)?;
                    return Ok(sent);
                }
            }
        }
        Ok(turn)
    }

    /// Takes what comes over all flows until no other end has more to send.
    ///
    /// # Errors
    /// As recv(2).
    pub fn receive<P: Probe>(
        &mut self,
        receivers: &mut [Receiver],
        member: &mut Member<P>,
    ) -> io::Result<()> {
        while self.open > 0 {
            self.wait()?;
            for at in 0..self.events.len() {
                let index = self.events[at].data.u64() as usize;
                let turn = self.receive_turn(index, &mut receivers[index], member)?;
                // A socket of datagrams that was cut has nothing for ever, where one that blocks
                // would have an end.
                let flags = self.events[at].flags;
                let is_cut = flags.contains(EventFlags::HUP);
                if turn == Turn::End || (turn == Turn::Nothing && is_cut) {
                    self.leave(index)?;
                }
            }
        }
        Ok(())
    }

    /// Takes what one flow has, as far as a turn goes.
    fn receive_turn<P: Probe>(
        &self,
        index: usize,
        receiver: &mut Receiver,
        member: &mut Member<P>,
    ) -> io::Result<Turn> {
        let flow = &self.flows[index];
        for _ in 0..TURN {
            member.probe.begin_operation();
            match receiver.receive() {
                Ok(0) => {
                    // Signals to a sender that everything was received; datagrams have no such
                    // signal.
                    let _ = flow.socket.shutdown(Shutdown::Write);
                    return Ok(Turn::End);
                }
                Ok(bytes) => count(member, &flow.tally, bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Turn::Nothing),
                Err(error) => return Err(error),
            }
        }
        Ok(Turn::More)
    }
}

/// How a turn ended.
#[derive(PartialEq, Eq)]
enum Turn {
    /// There may be more.
    More,
    /// There is no more now.
    Nothing,
    /// The other end has no more to send.
    End,
}
