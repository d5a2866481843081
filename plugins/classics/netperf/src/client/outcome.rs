//! What a test came to: this end from what it did, the remote end from what it reported.

use kit::histogram::Histogram;

use super::local::LocalEnd;
use super::test::Test;
use crate::data::connections::ConnectionInfo;
use crate::data::work::Tally;
use crate::message::{Response, Results, TestType};
use network::cpu::CpuUse;
use network::flow::ring::Ring;

/// The buffer of a socket in one direction, in bytes; `None` where the other end did not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketBuffer {
    /// What was asked for.
    pub asked: Option<u32>,
    /// What the kernel said before the connection was there.
    pub initial: Option<u32>,
    /// What it said at the end.
    pub last: Option<u32>,
}

/// One end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Calls that sent them.
    pub sends: u64,
    /// Datagrams for which there was no room.
    pub failed_sends: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Calls that received them.
    pub receives: u64,
    /// Transactions ended.
    pub transactions: u64,
    /// How long this end says that it took, in seconds.
    pub elapsed_s: f64,
    /// `SO_SNDBUF`.
    pub send_buffer: SocketBuffer,
    /// `SO_RCVBUF`.
    pub receive_buffer: SocketBuffer,
    /// Bytes of each send; `None` where this end does not send or did not report it.
    pub send_size: Option<u32>,
    /// Bytes asked for by each receive.
    pub receive_size: Option<u32>,
    /// Buffers in the ring of the sender.
    pub send_width: Option<u32>,
    /// Buffers in the ring of the receiver.
    pub receive_width: Option<u32>,
    /// Number of CPUs; `None` where the other end did not report it.
    pub cpus: Option<u32>,
    /// Use of the CPUs, if it was measured: at the local end, from `/proc/stat`. A stock netserver
    /// that waited four seconds more (as in a timed connection test) multiplies its own by the
    /// whole time over the test's, and reports more than 100 %.
    pub cpu: Option<CpuUse>,
    /// How it was measured: a number of netperf's own, 8 for `/proc/stat`.
    pub cpu_method: Option<u32>,
    /// Segments that TCP sent again.
    pub retransmits: Option<u64>,
    /// Name of the congestion control.
    pub congestion: Option<String>,
    /// The TOS byte as granted.
    pub tos: Option<u8>,
    /// The priority as granted.
    pub priority: Option<u32>,
}

/// A test and its figures.
#[derive(Clone)]
pub struct Outcome {
    /// This end.
    pub local: Side,
    /// The netserver's.
    pub remote: Side,
    /// From before the first connect to after the last byte was drained, in seconds; a classic
    /// request's begins after the connect.
    pub elapsed_s: f64,
    /// Thereof spent waiting for the pace, in seconds.
    pub paced_s: f64,
    /// `TCP_MAXSEG` of the connection, in bytes.
    pub segment_size: Option<u32>,
    /// Durations of operations, if they were to be kept.
    pub latencies: Option<Histogram>,
    /// Whether a stop was asked for before the test's own end.
    pub was_stopped: bool,
}

/// What this end was asked for and counted. `last` is its connection at the end.
pub fn local_side(local: &LocalEnd, tally: &Tally, last: &ConnectionInfo) -> Side {
    let buffer = |asked, initial, last| SocketBuffer {
        asked,
        initial: Some(initial),
        // No connection was ever there to look at.
        last: (last > 0).then_some(last),
    };
    let file_size = local.file.as_ref().map(|(_, size)| *size);
    let shape = |ring: &Option<Ring>| ring.as_ref().map(Ring::shape);
    let (send, receive) = (shape(&local.send), shape(&local.receive));
    Side {
        sent_bytes: tally.sent_bytes,
        sends: tally.sends,
        failed_sends: tally.failed_sends,
        received_bytes: tally.received_bytes,
        receives: tally.receives,
        transactions: tally.transactions,
        send_buffer: buffer(local.options.send_buffer, local.initial.0, last.buffers.0),
        receive_buffer: buffer(
            local.options.receive_buffer,
            local.initial.1,
            last.buffers.1,
        ),
        send_size: send.map(|shape| shape.size).or(file_size),
        receive_size: receive.map(|shape| shape.size),
        send_width: send.map(|shape| shape.width),
        receive_width: receive.map(|shape| shape.width),
        retransmits: last.transport.retransmits,
        congestion: last.transport.congestion.clone(),
        tos: local.options.tos,
        priority: local.options.priority,
        ..Side::default()
    }
}

/// What the remote end granted and counted. A classic type reports less, and bytes not at all or in
/// one word, which overflows: they follow from the messages, of which all are whole.
pub fn remote_side(
    test: &Test,
    test_type: TestType,
    message_size: Option<u32>,
    response: &Response,
    results: &Results,
) -> Side {
    let is_omni = test_type == TestType::Omni;
    let tells_last = is_omni || test_type == TestType::TcpStream;
    let buffer = |asked, initial: i32, last: i32| SocketBuffer {
        asked,
        initial: known(initial),
        last: known(last).filter(|_| tells_last),
    };
    let sends = test.kind.receives();
    let receives = test.kind.sends();
    let (received_bytes, sent_bytes) = match test_type {
        TestType::UdpStream => (
            u64::from(results.receives) * u64::from(message_size.unwrap_or(0)),
            0,
        ),
        TestType::TcpRr | TestType::TcpCrr | TestType::UdpRr => (
            u64::from(results.transactions) * u64::from(test.request_size),
            u64::from(results.transactions) * u64::from(test.response_size),
        ),
        _ => (results.received_bytes, results.sent_bytes),
    };
    Side {
        sent_bytes,
        sends: results.sends.into(),
        failed_sends: results.failed_sends.into(),
        received_bytes,
        receives: results.receives.into(),
        transactions: results.transactions.into(),
        // One that subtracts seconds that it did not wait gets below zero.
        elapsed_s: f64::from(results.elapsed_s).max(0.0),
        send_buffer: buffer(
            test.remote.send_buffer,
            response.send_buffer,
            results.send_buffer,
        ),
        receive_buffer: buffer(
            test.remote.receive_buffer,
            response.receive_buffer,
            results.receive_buffer,
        ),
        send_size: known(response.send_size).filter(|_| sends),
        receive_size: known(response.receive_size).filter(|_| receives),
        send_width: known(response.send_width).filter(|_| sends),
        receive_width: known(response.receive_width).filter(|_| receives),
        cpus: known(results.cpus),
        cpu: (test.remote.measure_cpu && results.cpu_method > 0).then(|| cpu_use(results)),
        cpu_method: known(results.cpu_method).filter(|_| test.remote.measure_cpu),
        retransmits: u64::try_from(results.retransmits)
            .ok()
            .filter(|_| is_omni && !test.kind.is_udp()),
        congestion: name(&results.congestion),
        tos: u8::try_from(response.tos).ok().filter(|_| is_omni),
        priority: u32::try_from(response.priority).ok().filter(|_| is_omni),
    }
}

/// A number that was reported: a netserver leaves zero or less where it reports none.
fn known(value: i32) -> Option<u32> {
    u32::try_from(value).ok().filter(|&value| value > 0)
}

fn cpu_use(results: &Results) -> CpuUse {
    let share = |percent: f32| f64::from(percent) / 100.0;
    CpuUse {
        busy: share(results.cpu.busy),
        user: share(results.cpu.user),
        system: share(results.cpu.system),
        iowait: share(results.cpu.iowait),
        irq: share(results.cpu.irq),
        softirq: share(results.cpu.softirq),
        peak_cpu: u32::try_from(results.peak_cpu).unwrap_or_default(),
        peak_busy: share(results.peak_percent),
    }
}

fn name(text: &[u8; 16]) -> Option<String> {
    let end = text
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(text.len());
    let name = String::from_utf8_lossy(&text[..end]).into_owned();
    (!name.is_empty()).then_some(name)
}
