//! One test: what this end gets ready and grants before the data come, and its part under the
//! clock.

use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io;
use rustix::net::{accept_with, recvfrom, RecvFlags, SocketFlags};
use rustix::param::clock_ticks_per_second;
use socket2::Socket;

use super::plan::{self, Errno, Extent, Plan};
use super::shared::{Share, SharedState};
use super::Limits;
use crate::control::Control;
use crate::data::alarm::{self, Alarm, Settings, Silence};
use crate::data::connections::{self, ConnectionInfo, Messengers};
use crate::data::exchange::{self, Messages};
use crate::data::link::{self, is_from, Endpoint, Link};
use crate::data::socket;
use crate::data::work::{Pace, Tally, Work};
use crate::data::{named, CallError, Called};
use crate::message::{
    flag, CpuPercent, Message, Moves, Request, Response, Results, TestType, KEEP, PROC_STAT,
};
use network::cpu::Mark;
use network::cpu::{CpuUse, Times};
use network::flow::ring::{Ring, Shape};
use network::watchdog::AbortReason;

/// Timeout for the first data.
const FIRST_DATA: Duration = Duration::from_secs(60);
/// Between two looks for a stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Everything that is ready before the client is answered.
pub struct Prepared<'a> {
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

/// Does this end's part of `test`, and reports it to the client.
///
/// # Errors
/// The errno for the client.
pub fn run_test(
    test: TestType,
    request: &Request,
    control: &mut Control,
    shared: &SharedState,
) -> Result<(), Errno> {
    let mut prepared = Prepared::set(test, request, control, shared)?;
    let response = Message::response(test, &prepared.response(request));
    control.send(&response).map_err(|_| Errno(libc::EPIPE))?;
    let mut done = Done::default();
    if prepared.has_visitor(control) {
        let moved = transfer(&mut prepared, control, shared.limits);
        done = moved.map_err(|error| Errno(error.errno()))?;
    }
    let results = match done.cut {
        None => Message::results(test, &done.results, control.generation),
        Some(Errno(errno)) => Message::new(test.response(), errno),
    };
    control.send(&results).map_err(|_| Errno(libc::EPIPE))
}

impl<'a> Prepared<'a> {
    fn set(
        test: TestType,
        request: &Request,
        control: &Control,
        shared: &'a SharedState,
    ) -> Result<Self, Errno> {
        let limits = shared.limits;
        let refusal = |error: CallError| Errno(error.errno());
        let gone = |_| Errno(libc::ENOTCONN);
        let peer = control.peer().map_err(gone)?.ip().to_canonical();
        let mut local = control.local().map_err(gone)?;
        local.set_ip(local.ip().to_canonical());
        let plan = Plan::of(test, request, (peer, local), limits)?;
        let socket = plan::open_socket(&plan, limits)?;
        let buffers = socket::buffers(&socket).map_err(refusal)?;
        let [send, receive] = plan.shapes(request, buffers)?;
        let bytes = [send, receive].into_iter().flatten().map(Shape::bytes);
        let share = shared.memory.take(bytes.sum()).ok_or(Errno(libc::ENOMEM))?;
        let ring = |shape| link::ring(shape, &[]).map_err(|_| Errno(libc::ENOMEM));
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
        // Of the way that nothing takes, the original repeats what was asked for.
        let shape = |ring: &Option<Ring>, asked: &Moves| {
            ring.as_ref().map_or((asked.size, asked.width), |ring| {
                let shape = ring.shape();
                (shape.size as i32, shape.width as i32)
            })
        };
        let (send_size, send_width) = shape(&self.send, &request.send);
        let (receive_size, receive_width) = shape(&self.receive, &request.receive);
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

/// A client that decides when it is over does so within this after its time.
const GRACE: Duration = Duration::from_secs(4);
/// One that sends over TCP may have much on the way, over a slow path.
const DRAIN_GRACE: Duration = Duration::from_secs(60);
/// After its time, a client that sends nothing for this long has ended.
const SILENCE: Duration = Duration::from_millis(300);
/// Counted datagrams that do not arrive within this are lost.
const LOST: Duration = Duration::from_secs(1);
/// Empty datagrams that mark the end; several, as one might be lost.
const FAREWELLS: usize = 3;

/// What the loop left.
struct TransferResult {
    tally: Tally,
    link: Option<Link>,
    info: Option<ConnectionInfo>,
    /// As many bytes or transactions were moved as there may be.
    is_full: bool,
}

/// What this end did.
#[derive(Default)]
struct Done {
    /// What it counted.
    results: Results,
    /// Why it ended before the test did; sent to the client instead of results.
    cut: Option<Errno>,
    /// The data path.
    _link: Option<Link>,
}

/// Does this end's part. The data path stays open as long as the link lives: to close it before
/// the client has read everything might destroy what is on the way.
///
/// # Errors
/// The call that failed.
fn transfer(prepared: &mut Prepared, control: &Control, limits: &Limits) -> Called<Done> {
    let measures_cpu = prepared.plan.measures_cpu;
    let begin = Mark::now(measures_cpu);
    let settings = settings(&prepared.plan, control, limits);
    let ran = alarm::under(settings, |alarm| move_data(prepared, alarm));
    let (moved, ending) = named("alarm", ran)?;
    let mut moved = moved?;
    let cut = cut_of(&prepared.plan, &moved, ending.cause);
    // For a client that fell silent, it was over when it did.
    let end = ending.last_sign;
    let end = end.unwrap_or_else(|| Mark::now(measures_cpu));

    let mut last = moved.info.take().unwrap_or_default();
    if let Some(link) = &moved.link {
        last = ConnectionInfo::of(&link.socket)?;
        say_farewell(link, &prepared.plan);
    }
    let mut results = results_of(prepared, &moved.tally, &last);
    results.elapsed_s = end.elapsed_s(&begin) as f32;
    if let Some(used) = end.cpu_use(&begin) {
        count_cpu(&mut results, &used);
    }
    Ok(Done {
        results,
        cut,
        _link: moved.link,
    })
}

/// A limit of ours that came before the end of the test: what the client would make of the shorter
/// time is no result.
fn cut_of(plan: &Plan, moved: &TransferResult, cause: Option<AbortReason>) -> Option<Errno> {
    let is_timed = matches!(plan.extent, Extent::Timed(_));
    let is_counted = matches!(plan.extent, Extent::Counted(_));
    let errno = match cause {
        _ if moved.is_full && !is_counted => libc::EFBIG,
        Some(AbortReason::Stopped) => libc::EINTR,
        Some(AbortReason::TimeUp) if !is_timed => libc::ETIME,
        _ => return None,
    };
    Some(Errno(errno))
}

fn settings<'a>(plan: &Plan, control: &'a Control, limits: &Limits) -> Settings<'a> {
    // TCP reports the end of the data itself.
    let ends_itself = !plan.is_udp && !plan.is_connection_test && !plan.is_exchange();
    let (at, silence) = match plan.extent {
        Extent::Timed(length) if !plan.receives && plan.sends => (length, None),
        Extent::Timed(length) if ends_itself => (length + DRAIN_GRACE, None),
        Extent::Timed(length) => (length + GRACE, Some((length, SILENCE))),
        Extent::Counted(_) if plan.is_udp && !plan.sends => {
            (limits.test, Some((Duration::ZERO, LOST)))
        }
        Extent::Counted(_) | Extent::Endless => (limits.test, None),
    };
    Settings {
        at: Some(at),
        control: Some(control.as_fd()),
        silence: silence.map(|(from, lasts)| Silence {
            from,
            lasts,
            from_nothing: false,
        }),
        ..Settings::default()
    }
}

fn move_data(prepared: &mut Prepared, alarm: &Alarm) -> Called<TransferResult> {
    let plan = &prepared.plan;
    let mut work = Work::new(alarm, prepared.limit);
    work.pace = plan
        .pace
        .filter(|_| plan.sends)
        .map(|(operations, every)| Pace::new(operations, every));
    if plan.is_connection_test {
        let messengers = match (&mut prepared.receive, &mut prepared.send) {
            (Some(requests), Some(responses)) => Some(Messengers {
                requests,
                responses,
            }),
            _ => None,
        };
        let info = connections::answer(&prepared.socket, messengers, &mut work)?;
        return Ok(TransferResult {
            is_full: work.left() == 0,
            tally: work.tally,
            link: None,
            info,
        });
    }
    let mut link = data_path(prepared, &work)?;
    if let Some(link) = &mut link {
        match (&mut prepared.receive, &mut prepared.send) {
            (Some(requests), Some(responses)) => {
                let messages = if prepared.plan.is_udp {
                    Messages::Datagrams
                } else {
                    Messages::InStream
                };
                let connects = prepared.plan.connects;
                exchange::answer(link, requests, responses, messages, connects, &mut work)?;
            }
            (Some(ring), None) => link::receive(Endpoint { link, ring }, &mut work)?,
            (None, Some(ring)) => link::send("send", Endpoint { link, ring }, &mut work)?,
            (None, None) => {}
        }
    }
    Ok(TransferResult {
        is_full: work.left() == 0,
        tally: work.tally,
        link,
        info: None,
    })
}

/// The data path; `None` if the work ended before there was one.
fn data_path(prepared: &Prepared, work: &Work) -> Called<Option<Link>> {
    if prepared.plan.is_udp {
        let socket = named("socket", prepared.socket.try_clone())?;
        return Ok(Some(match prepared.plan.client {
            Some(client) => Link::towards(socket, client),
            None => Link::replying(socket, prepared.plan.peer),
        }));
    }
    while work.goes_on() {
        match accept_with(&prepared.socket, SocketFlags::CLOEXEC) {
            Ok(socket) => return Ok(Some(Link::connected(socket.into()))),
            Err(io::Errno::INTR | io::Errno::CONNABORTED) => {}
            Err(error) => return Err(CallError::new("accept", error)),
        }
    }
    Ok(None)
}

/// Signals the end of data to the client.
fn say_farewell(link: &Link, plan: &Plan) {
    if plan.is_udp && plan.sends && !plan.receives {
        for _ in 0..FAREWELLS {
            // A client that does not hear any of them has a clock.
            let _ = link.send(&[]);
        }
    } else if !plan.is_udp {
        // It may have closed its end, and be gone.
        let _ = link.socket.shutdown(Shutdown::Write);
    }
}

fn results_of(prepared: &Prepared, tally: &Tally, last: &ConnectionInfo) -> Results {
    // Before any connection the buffers are as they were made.
    let known = |last: u32, initial: u32| if last > 0 { last } else { initial } as i32;
    let mut congestion = [0; 16];
    if let Some(name) = &last.transport.congestion {
        let length = name.len().min(congestion.len() - 1);
        congestion[..length].copy_from_slice(&name.as_bytes()[..length]);
    }
    Results {
        received_bytes: tally.received_bytes,
        receives: tally.receives as u32,
        receive_buffer: known(last.buffers.1, prepared.buffers.1),
        sent_bytes: tally.sent_bytes,
        sends: tally.sends as u32,
        send_buffer: known(last.buffers.0, prepared.buffers.0),
        failed_sends: tally.failed_sends as u32,
        transactions: tally.transactions as u32,
        retransmits: last
            .transport
            .retransmits
            .map_or(KEEP, |count| count as i32),
        cpus: Times::now().map_or(1, |times| times.cpus()) as i32,
        congestion,
        ..Results::default()
    }
}

fn count_cpu(results: &mut Results, used: &CpuUse) {
    let percent = |share: f64| (share * 100.0) as f32;
    results.cpu = CpuPercent {
        busy: percent(used.busy),
        user: percent(used.user),
        system: percent(used.system),
        iowait: percent(used.iowait),
        irq: percent(used.irq),
        softirq: percent(used.softirq),
    };
    results.cpu_method = PROC_STAT;
    results.peak_cpu = used.peak_cpu as i32;
    results.peak_percent = percent(used.peak_busy);
}
