//! The result, and the sizes it was found with.

use netperf::client::SocketBuffer;

use super::{known, text, two, whole};
use crate::netperf::report::Report;

selectors! {
    SELECTORS(report)
    "SOCKET_TYPE" "Socket|Type" => text(if is_udp(report) { "Datagram" } else { "Stream" });
    "PROTOCOL" "Protocol" => text(if is_udp(report) { "UDP" } else { "TCP" });
    "DIRECTION" "Direction" => text(report.request.direction());
    "ELAPSED_TIME" "Elapsed|Time|(sec)" => two(report.figures.elapsed_s);
    "THROUGHPUT" "Throughput" => two(report.figures.throughput);
    "THROUGHPUT_UNITS" "Throughput|Units" => Some(format!("{}/s", report.request.unit().name()));
    "LSS_SIZE_REQ" "Local|Send Socket|Size|Requested" => asked(local_send(report));
    "LSS_SIZE" "Local|Send Socket|Size|Initial" => initial(local_send(report));
    "LSS_SIZE_END" "Local|Send Socket|Size|Final" => last(local_send(report));
    "LSR_SIZE_REQ" "Local|Recv Socket|Size|Requested" => asked(local_receive(report));
    "LSR_SIZE" "Local|Recv Socket|Size|Initial" => initial(local_receive(report));
    "LSR_SIZE_END" "Local|Recv Socket|Size|Final" => last(local_receive(report));
    "RSS_SIZE_REQ" "Remote|Send Socket|Size|Requested" => asked(remote_send(report));
    "RSS_SIZE" "Remote|Send Socket|Size|Initial" => initial(remote_send(report));
    "RSS_SIZE_END" "Remote|Send Socket|Size|Final" => last(remote_send(report));
    "RSR_SIZE_REQ" "Remote|Recv Socket|Size|Requested" => asked(remote_receive(report));
    "RSR_SIZE" "Remote|Recv Socket|Size|Initial" => initial(remote_receive(report));
    "RSR_SIZE_END" "Remote|Recv Socket|Size|Final" => last(remote_receive(report));
    "LOCAL_SEND_SIZE" "Local|Send|Size" => whole(report.last.local.send_size.unwrap_or_default());
    "LOCAL_RECV_SIZE" "Local|Recv|Size"
        => whole(report.last.local.receive_size.unwrap_or_default());
    "REMOTE_SEND_SIZE" "Remote|Send|Size" => known(report.last.remote.send_size);
    "REMOTE_RECV_SIZE" "Remote|Recv|Size" => known(report.last.remote.receive_size);
    "REQUEST_SIZE" "Request|Size|Bytes" => exchanged(report, report.request.test.request_size);
    "RESPONSE_SIZE" "Response|Size|Bytes" => exchanged(report, report.request.test.response_size);
}

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
