//! Conducting one test: what the far end gets ready and grants, before the data come.

use std::os::fd::AsFd;
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::{recvfrom, RecvFlags};
use rustix::param::clock_ticks_per_second;
use socket2::Socket;

use super::door;
use super::hall::{Hall, Share};
use super::plan::{Errno, Plan};
use super::play::{play, Done};
use crate::netperf::control::Control;
use crate::netperf::data::call::CallError;
use crate::netperf::data::link::is_from;
use crate::netperf::data::ring::{Ring, Shape};
use crate::netperf::data::socket;
use crate::netperf::message::{flag, Message, Request, Response, TestType};

/// The first data come within this, or the client has forgotten us.
const FIRST_DATA: Duration = Duration::from_secs(60);
/// Between two looks for a stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Everything that is ready before the client is answered.
pub struct Stage<'a> {
    /// What is to be done.
    pub plan: Plan,
    /// Bytes or transactions after which this end has done its part.
    pub limit: u64,
    /// Where data come in.
    pub socket: Socket,
    /// `SO_SNDBUF` and `SO_RCVBUF` before there is a connection, in bytes.
    pub buffers: (u32, u32),
    /// What is sent.
    pub send: Option<Ring>,
    /// What is received into.
    pub receive: Option<Ring>,
    /// The memory of both.
    _share: Share<'a>,
}

/// Does this end's part of `test`, and tells the client.
///
/// # Errors
/// What the client is still to be told.
pub fn conduct(
    test: TestType,
    request: &Request,
    control: &mut Control,
    hall: &Hall,
) -> Result<(), Errno> {
    let mut stage = Stage::set(test, request, control, hall)?;
    let response = Message::response(test, &stage.response(request));
    control.send(&response).map_err(|_| Errno(libc::EPIPE))?;
    let mut done = Done::default();
    if stage.has_visitor(control) {
        let played = play(&mut stage, control, hall.limits);
        done = played.map_err(|error| Errno(error.errno()))?;
    }
    let results = match done.cut {
        None => Message::results(test, &done.results, control.generation),
        Some(Errno(errno)) => Message::new(test.response(), errno),
    };
    control.send(&results).map_err(|_| Errno(libc::EPIPE))
}

impl<'a> Stage<'a> {
    fn set(
        test: TestType,
        request: &Request,
        control: &Control,
        hall: &'a Hall,
    ) -> Result<Self, Errno> {
        let limits = hall.limits;
        let told = |error: CallError| Errno(error.errno());
        let gone = |_| Errno(libc::ENOTCONN);
        let peer = control.peer().map_err(gone)?.ip().to_canonical();
        let mut local = control.local().map_err(gone)?;
        local.set_ip(local.ip().to_canonical());
        let plan = Plan::of(test, request, (peer, local), limits)?;
        let socket = door::open(&plan, limits)?;
        let buffers = socket::buffers(&socket).map_err(told)?;
        let [send, receive] = plan.shapes(request, buffers)?;
        let bytes = [send, receive].into_iter().flatten().map(Shape::bytes);
        let share = hall.memory.take(bytes.sum()).ok_or(Errno(libc::ENOMEM))?;
        let ring = |shape| Ring::new(shape, &[]).map_err(|_| Errno(libc::ENOMEM));
        Ok(Self {
            limit: plan.limit(request, limits),
            plan,
            socket,
            buffers,
            send: send.map(ring).transpose()?,
            receive: receive.map(ring).transpose()?,
            _share: share,
        })
    }

    fn response(&self, request: &Request) -> Response {
        let shape = |ring: &Option<Ring>| {
            ring.as_ref().map_or((0, 0), |ring| {
                let shape = ring.shape();
                (shape.size as i32, shape.width as i32)
            })
        };
        let (send_size, send_width) = shape(&self.send);
        let (receive_size, receive_width) = shape(&self.receive);
        let bound = self.socket.local_addr().ok();
        let port = bound.and_then(|address| Some(address.as_socket()?.port()));
        let cpu_rate = if self.plan.measures_cpu {
            clock_ticks_per_second() as f32
        } else {
            0.0
        };
        Response {
            receive_buffer: self.buffers.1 as i32,
            receive_size,
            receive_width,
            send_buffer: self.buffers.0 as i32,
            send_size,
            send_width,
            flags: request.flags & (flag::NO_DELAY | flag::MEASURE_CPU),
            cpu_rate,
            length: request.length,
            port: port.unwrap_or(0).into(),
            priority: request.priority,
            tos: request.tos,
        }
    }

    /// Waits for the first connection or datagram, so that time begins with the test. `false`
    /// when the client has gone, does not come, or a stop is asked for.
    fn has_visitor(&self, control: &Control) -> bool {
        if !self.plan.receives && self.plan.is_udp {
            return true;
        }
        let deadline_ns = clock::now_ns() + FIRST_DATA.as_nanos() as u64;
        while clock::now_ns() < deadline_ns && !stop::requested() {
            let mut watched = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::from_borrowed_fd(control.as_fd(), PollFlags::RDHUP),
            ];
            // An interrupted poll is repeated like one that has seen nothing.
            let _ = poll(&mut watched, Some(&LOOK));
            let [data, control] = watched.map(|fd| !fd.revents().is_empty());
            if control || data && !self.is_from_a_stranger() {
                return data;
            }
        }
        false
    }

    /// Whether what has come is a datagram of somebody else than the client; it is thrown away.
    fn is_from_a_stranger(&self) -> bool {
        let receive = |flags| {
            let flags = flags | RecvFlags::DONTWAIT;
            recvfrom(&self.socket, &mut [0u8; 1][..], flags)
        };
        if !self.plan.is_udp {
            return false;
        }
        let Ok((.., Some(from))) = receive(RecvFlags::PEEK) else {
            // A checksum that was wrong: nothing is there after all.
            return true;
        };
        let is_stranger = !is_from(from, self.plan.peer);
        if is_stranger {
            let _ = receive(RecvFlags::empty());
        }
        is_stranger
    }
}
