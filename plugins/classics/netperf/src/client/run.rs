//! What the local end does, under the clock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use kit::clock;
use kit::histogram::Histogram;
use kit::splitmix::SplitMix;

use super::local::LocalEnd;
use super::outcome::local_side;
use super::outcome::{Outcome, Side};
use super::test::{Extent, Kind, Test};
use crate::data::alarm::{self, Alarm, Ending, Settings, Silence};
use crate::data::alarm::{Interim, Interims};
use crate::data::connections::{self, ConnectionInfo, Dialer, Messengers};
use crate::data::exchange::{self, Messages};
use crate::data::link::{self, Endpoint, Link};
use crate::data::work::{Pace, Tally, Work, UNLIMITED};
use crate::data::{named, CallError, Called};
use crate::message::{TestType, PROC_STAT};
use network::cpu::Mark;
use network::cpu::Times;
use network::flow::sendfile::FromFileByCalls;
use network::watchdog::AbortReason;

/// So long after its time, a remote end that sends has to be done.
const REMOTE_GRACE: Duration = Duration::from_secs(4);
/// After this silence a remote end has sent its last datagram.
const REMOTE_SILENCE: Duration = Duration::from_millis(300);
/// A counted test has stalled when nothing moves for this long.
const HALT: Duration = Duration::from_secs(60);
/// The remote end has taken everything within this.
const DRAIN: Duration = Duration::from_secs(120);
/// Empty datagrams that mark the end; several, as one might be lost.
const FAREWELLS: usize = 3;

/// Why there is no outcome.
pub enum Why {
    /// The kernel here refused a call.
    Call(CallError),
    /// It is the remote end's fault.
    Remote(String),
}

impl From<CallError> for Why {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// What the loop left.
struct Done {
    begin: Mark,
    tally: Tally,
    latencies: Option<Histogram>,
    paced_ns: u64,
    is_complete: bool,
    link: Option<Link>,
    info: Option<ConnectionInfo>,
}

/// Runs the test of `local`, whose remote end was asked by a request of type `test_type`. The clock
/// starts before the connect of an omni test, after that of a classic one.
///
/// # Errors
/// Why there is no result.
pub fn run(
    local: &mut LocalEnd,
    test_type: TestType,
    control: BorrowedFd,
    observer: &mut (dyn FnMut(Interim) + Send),
) -> Result<Outcome, Why> {
    let test = local.test;
    let settings = settings(test, control, observer);
    let ran = alarm::under(settings, |alarm| transfer(local, test_type, alarm));
    let (done, ending) = named("alarm", ran)?;
    let mut done = done?;
    judge(test, &done, &ending)?;

    // What a remote end sends after the end is not counted; nor is the time that it takes.
    let is_cut = remote_sends(test.kind) && ending.cause.is_some();
    let cut = is_cut.then(|| Mark::now(test.local.measure_cpu));
    let mut last = done.info.take().unwrap_or_default();
    if let Some(link) = &mut done.link {
        last = ConnectionInfo::of(&link.socket)?;
        say_farewell(link, test.kind, test_type);
    }
    let end = ending.last_sign.or(cut);
    let end = end.unwrap_or_else(|| Mark::now(test.local.measure_cpu));
    let elapsed_s = end.elapsed_s(&done.begin);
    let mut side = local_side(local, &done.tally, &last);
    side.elapsed_s = elapsed_s;
    side.cpus = end.cpu.as_ref().map(Times::cpus);
    side.cpu = end.cpu_use(&done.begin);
    side.cpu_method = side.cpu.map(|_| PROC_STAT as u32);
    Ok(Outcome {
        local: side,
        remote: Side::default(),
        elapsed_s,
        paced_s: done.paced_ns as f64 / 1e9,
        segment_size: last.transport.segment_size,
        latencies: done.latencies,
        was_stopped: ending.cause == Some(AbortReason::Stopped),
    })
}

/// Whether it is the remote end that sends, and knows when it is over.
fn remote_sends(kind: Kind) -> bool {
    kind.receives() && !kind.sends()
}

fn settings<'a>(
    test: &Test,
    control: BorrowedFd<'a>,
    observer: &'a mut (dyn FnMut(Interim) + Send),
) -> Settings<'a> {
    let mut settings = Settings {
        control: Some(control),
        interims: test.interim.map(|every| Interims { every, observer }),
        ..Settings::default()
    };
    match test.extent {
        Extent::Seconds(seconds) => {
            let length = Duration::from_secs(seconds.into());
            settings.at = Some(if remote_sends(test.kind) {
                length + REMOTE_GRACE
            } else {
                length
            });
            settings.silence = (test.kind == Kind::UdpMaerts).then_some(Silence {
                from: length,
                lasts: REMOTE_SILENCE,
                from_nothing: true,
            });
        }
        Extent::Count(_) => {
            settings.silence = Some(Silence {
                from: Duration::ZERO,
                lasts: HALT,
                from_nothing: true,
            });
        }
        Extent::Endless => {}
    }
    settings
}

/// Connects, if there is something to connect, and moves the data.
fn transfer(local: &mut LocalEnd, test_type: TestType, alarm: &Alarm) -> Called<Done> {
    let test = local.test;
    let limit = match test.extent {
        Extent::Count(count) => count,
        Extent::Seconds(_) | Extent::Endless => UNLIMITED,
    };
    let mut work = Work::new(alarm, limit);
    work.latencies = test.latencies.then(Histogram::new);
    let mut begin = Mark::now(test.local.measure_cpu);
    let mut link = None;
    if !test.kind.is_connection_test() {
        link = Some(connect(local)?);
        if test_type != TestType::Omni {
            begin = Mark::now(test.local.measure_cpu);
        }
    }
    work.pace = test
        .local
        .pace
        .map(|pace| Pace::new(pace.operations, pace.every));
    let info = match &mut link {
        None => call(local, &mut work)?,
        Some(link) => move_data(local, link, &mut work).map(|()| None)?,
    };
    Ok(Done {
        begin,
        is_complete: work.left() == 0,
        tally: work.tally,
        latencies: work.latencies,
        paced_ns: work.paced_ns,
        link,
        info,
    })
}

fn connect(local: &mut LocalEnd) -> Called<Link> {
    let taken = local
        .socket
        .take()
        .ok_or(io::ErrorKind::NotConnected.into());
    let socket = named("socket", taken)?;
    let test = local.test;
    if test.kind.is_udp() && !test.local.connected {
        return Ok(Link::towards(socket, local.remote));
    }
    named("connect", socket.connect(&local.remote.into()))?;
    Ok(Link::connected(socket))
}

fn move_data(local: &mut LocalEnd, link: &mut Link, work: &mut Work) -> Called<()> {
    let messages = if local.test.kind.is_udp() {
        Messages::Datagrams
    } else {
        Messages::InStream
    };
    match (&mut local.send, &mut local.receive, &local.file) {
        (Some(requests), Some(responses), _) => {
            exchange::ask(link, requests, responses, messages, local.test.burst, work)
        }
        (Some(ring), None, _) => link::send("send", Endpoint { link, ring }, work),
        (None, Some(ring), _) => link::receive(Endpoint { link, ring }, work),
        (None, None, Some((file, size))) => {
            let sender = FromFileByCalls {
                socket: link.socket.as_fd(),
                file: file.as_fd(),
                file_bytes: file.bytes,
                call_bytes: u64::from(*size).min(file.bytes),
                offset: 0,
            };
            link::send("sendfile", sender, work)
        }
        (None, None, None) => Ok(()),
    }
}

/// Opens one connection after the other.
fn call(local: &mut LocalEnd, work: &mut Work) -> Called<Option<ConnectionInfo>> {
    let ports = local.test.client_ports.clone();
    let random = SplitMix::new(clock::now_ns()).below(ports.len() as u64) as u16;
    let mut dialer = Dialer {
        remote: local.remote,
        local: local.address,
        port: ports.start + random,
        ports,
        options: &local.options,
        retry: local.test.retry_connect,
    };
    let messengers = match (&mut local.send, &mut local.receive) {
        (Some(requests), Some(responses)) => Some(Messengers {
            requests,
            responses,
        }),
        _ => None,
    };
    connections::ask(&mut dialer, messengers, work)
}

/// Whether what was done is a test that came to its end.
fn judge(test: &Test, done: &Done, ending: &Ending) -> Result<(), Why> {
    let what = match ending.cause {
        Some(AbortReason::Vanished) => "it closed the control connection in the middle of the test",
        Some(AbortReason::Silence)
            if matches!(test.extent, Extent::Count(_)) && !done.is_complete =>
        {
            "nothing has come or gone for a minute"
        }
        None if !done.is_complete && !remote_sends(test.kind) => {
            "it closed the data socket in the middle of the test"
        }
        _ => return Ok(()),
    };
    Err(Why::Remote(what.to_owned()))
}

/// Signals the end of data to the remote end. TCP waits until it has taken everything; a classic
/// remote
/// end takes a datagram without content for an error.
fn say_farewell(link: &mut Link, kind: Kind, test_type: TestType) {
    if !kind.is_udp() {
        link.close_gracefully(DRAIN);
    } else if test_type == TestType::Omni {
        for _ in 0..FAREWELLS {
            // A remote end that does not hear any of them has a clock.
            let _ = link.send(&[]);
        }
    }
}
