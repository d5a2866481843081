//! The result, and the sizes it was found with.

use network::netperf::client::SocketBuffer;

use super::{known, selector, text, two, whole, Selector};
use crate::netperf::report::Report;

pub const SELECTORS: &[Selector] = &[
    selector("SOCKET_TYPE", "Socket|Type", |report| {
        text(if is_udp(report) { "Datagram" } else { "Stream" })
    }),
    selector("PROTOCOL", "Protocol", |report| {
        text(if is_udp(report) { "UDP" } else { "TCP" })
    }),
    selector("DIRECTION", "Direction", |report| {
        text(report.request.direction())
    }),
    selector("ELAPSED_TIME", "Elapsed|Time|(sec)", |report| {
        two(report.figures.elapsed_s)
    }),
    selector("THROUGHPUT", "Throughput", |report| {
        two(report.figures.throughput)
    }),
    selector("THROUGHPUT_UNITS", "Throughput|Units", |report| {
        Some(format!("{}/s", report.request.unit().name()))
    }),
    selector(
        "LSS_SIZE_REQ",
        "Local|Send Socket|Size|Requested",
        |report| asked(local_send(report)),
    ),
    selector("LSS_SIZE", "Local|Send Socket|Size|Initial", |report| {
        initial(local_send(report))
    }),
    selector("LSS_SIZE_END", "Local|Send Socket|Size|Final", |report| {
        last(local_send(report))
    }),
    selector(
        "LSR_SIZE_REQ",
        "Local|Recv Socket|Size|Requested",
        |report| asked(local_receive(report)),
    ),
    selector("LSR_SIZE", "Local|Recv Socket|Size|Initial", |report| {
        initial(local_receive(report))
    }),
    selector("LSR_SIZE_END", "Local|Recv Socket|Size|Final", |report| {
        last(local_receive(report))
    }),
    selector(
        "RSS_SIZE_REQ",
        "Remote|Send Socket|Size|Requested",
        |report| asked(remote_send(report)),
    ),
    selector("RSS_SIZE", "Remote|Send Socket|Size|Initial", |report| {
        initial(remote_send(report))
    }),
    selector("RSS_SIZE_END", "Remote|Send Socket|Size|Final", |report| {
        last(remote_send(report))
    }),
    selector(
        "RSR_SIZE_REQ",
        "Remote|Recv Socket|Size|Requested",
        |report| asked(remote_receive(report)),
    ),
    selector("RSR_SIZE", "Remote|Recv Socket|Size|Initial", |report| {
        initial(remote_receive(report))
    }),
    selector("RSR_SIZE_END", "Remote|Recv Socket|Size|Final", |report| {
        last(remote_receive(report))
    }),
    selector("LOCAL_SEND_SIZE", "Local|Send|Size", |report| {
        whole(report.last.local.send_size.unwrap_or_default())
    }),
    selector("LOCAL_RECV_SIZE", "Local|Recv|Size", |report| {
        whole(report.last.local.receive_size.unwrap_or_default())
    }),
    selector("REMOTE_SEND_SIZE", "Remote|Send|Size", |report| {
        known(report.last.remote.send_size)
    }),
    selector("REMOTE_RECV_SIZE", "Remote|Recv|Size", |report| {
        known(report.last.remote.receive_size)
    }),
    selector("REQUEST_SIZE", "Request|Size|Bytes", |report| {
        exchanged(report, report.request.test.request_size)
    }),
    selector("RESPONSE_SIZE", "Response|Size|Bytes", |report| {
        exchanged(report, report.request.test.response_size)
    }),
];

fn is_udp(report: &Report) -> bool {
    report.request.test.kind.is_udp()
}

fn local_send(report: &Report) -> SocketBuffer {
    report.last.local.send_buffer
}

fn local_receive(report: &Report) -> SocketBuffer {
    report.last.local.receive_buffer
}

fn remote_send(report: &Report) -> SocketBuffer {
    report.last.remote.send_buffer
}

fn remote_receive(report: &Report) -> SocketBuffer {
    report.last.remote.receive_buffer
}

fn asked(buffer: SocketBuffer) -> Option<String> {
    known(buffer.asked)
}

fn initial(buffer: SocketBuffer) -> Option<String> {
    known(buffer.initial)
}

fn last(buffer: SocketBuffer) -> Option<String> {
    known(buffer.last)
}

fn exchanged(report: &Report, size: u32) -> Option<String> {
    let kind = report.request.test.kind;
    known(kind.counts_transactions().then_some(size))
}
