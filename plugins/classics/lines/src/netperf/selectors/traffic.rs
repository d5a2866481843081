//! What each end moved, and its options.

use netperf::client::Side;

use super::{deprecated, known, percent, text, two, unknown, whole, zero};

selectors! {
    SELECTORS(report)
    "LOCAL_SEND_THROUGHPUT" "Local|Send|Throughput" => two(report.figures.rates[0]);
    "LOCAL_RECV_THROUGHPUT" "Local|Recv|Throughput" => two(report.figures.rates[1]);
    "REMOTE_SEND_THROUGHPUT" "Remote|Send|Throughput" => two(report.figures.rates[2]);
    "REMOTE_RECV_THROUGHPUT" "Remote|Recv|Throughput" => two(report.figures.rates[3]);
    "LOCAL_CPU_BIND" "Local|CPU|Bind" => known(report.request.cpu);
    "LOCAL_CPU_COUNT" "Local|CPU|Count" => cpus(&report.last.local);
    "LOCAL_CPU_PEAK_UTIL" "Local|Peak|Per CPU|Util %" => peak(&report.last.local);
    "LOCAL_CPU_PEAK_ID" "Local|Peak|Per CPU|ID" => peak_id(&report.last.local);
    "LOCAL_CPU_MODEL" "Local|CPU|Model" => deprecated();
    "LOCAL_CPU_FREQUENCY" "Local|CPU|Frequency|MHz" => zero();
    "REMOTE_CPU_BIND" "Remote|CPU|Bind" => known(report.request.test.remote.cpu);
    "REMOTE_CPU_COUNT" "Remote|CPU|Count" => cpus(&report.last.remote);
    "REMOTE_CPU_PEAK_UTIL" "Remote|Peak|Per CPU|Util %" => peak(&report.last.remote);
    "REMOTE_CPU_PEAK_ID" "Remote|Peak|Per CPU|ID" => peak_id(&report.last.remote);
    "REMOTE_CPU_MODEL" "Remote|CPU|Model" => deprecated();
    "REMOTE_CPU_FREQUENCY" "Remote|CPU|Frequency|MHz" => zero();
    "SOURCE_PORT" "Source|Port" => whole(report.request.test.local.port);
    "SOURCE_ADDR" "Source|Address" => text(&report.ends.local.name);
    "SOURCE_FAMILY" "Source|Family" => whole(report.ends.local.family_number());
    "DEST_PORT" "Destination|Port" => whole(report.request.test.remote.port);
    "DEST_ADDR" "Destination|Address" => text(&report.ends.remote.name);
    "DEST_FAMILY" "Destination|Family" => whole(report.ends.remote.family_number());
    "LOCAL_SEND_CALLS" "Local|Send|Calls" => whole(report.last.local.sends);
    "LOCAL_RECV_CALLS" "Local|Recv|Calls" => whole(report.last.local.receives);
    "LOCAL_BYTES_PER_RECV" "Local|Bytes|Per|Recv" => per_receive(&report.last.local);
    "LOCAL_BYTES_PER_SEND" "Local|Bytes|Per|Send" => per_send(&report.last.local);
    "LOCAL_BYTES_SENT" "Local|Bytes|Sent" => whole(report.last.local.sent_bytes);
    "LOCAL_BYTES_RECVD" "Local|Bytes|Received" => whole(report.last.local.received_bytes);
    "LOCAL_BYTES_XFERD" "Local|Bytes|Xferred" => moved(&report.last.local);
    "LOCAL_SEND_OFFSET" "Local|Send|Offset" => whole(report.request.test.local.send.offset);
    "LOCAL_RECV_OFFSET" "Local|Recv|Offset" => whole(report.request.test.local.receive.offset);
    "LOCAL_SEND_ALIGN" "Local|Send|Alignment" => whole(report.request.test.local.send.align);
    "LOCAL_RECV_ALIGN" "Local|Recv|Alignment" => whole(report.request.test.local.receive.align);
    "LOCAL_SEND_WIDTH" "Local|Send|Width" => width(report.last.local.send_width);
    "LOCAL_RECV_WIDTH" "Local|Recv|Width" => width(report.last.local.receive_width);
    "LOCAL_SEND_DIRTY_COUNT" "Local|Send|Dirty|Count" => unknown();
    "LOCAL_RECV_DIRTY_COUNT" "Local|Recv|Dirty|Count" => unknown();
    "LOCAL_RECV_CLEAN_COUNT" "Local|Recv|Clean|Count" => unknown();
    "LOCAL_NODELAY" "Local|NODELAY" => flag(report.request.test.no_delay);
    "LOCAL_CORK" "Local|Cork" => flag(report.request.test.cork);
    "REMOTE_SEND_CALLS" "Remote|Send|Calls" => whole(report.last.remote.sends);
    "REMOTE_RECV_CALLS" "Remote|Recv|Calls" => whole(report.last.remote.receives);
    "REMOTE_BYTES_PER_RECV" "Remote|Bytes|Per|Recv" => per_receive(&report.last.remote);
    "REMOTE_BYTES_PER_SEND" "Remote|Bytes|Per|Send" => per_send(&report.last.remote);
    "REMOTE_BYTES_SENT" "Remote|Bytes|Sent" => whole(report.last.remote.sent_bytes);
    "REMOTE_BYTES_RECVD" "Remote|Bytes|Received" => whole(report.last.remote.received_bytes);
    "REMOTE_BYTES_XFERD" "Remote|Bytes|Xferred" => moved(&report.last.remote);
    "REMOTE_SEND_OFFSET" "Remote|Send|Offset" => whole(report.request.test.remote.send.offset);
    "REMOTE_RECV_OFFSET" "Remote|Recv|Offset" => whole(report.request.test.remote.receive.offset);
    "REMOTE_SEND_ALIGN" "Remote|Send|Alignment" => whole(report.request.test.remote.send.align);
    "REMOTE_RECV_ALIGN" "Remote|Recv|Alignment" => whole(report.request.test.remote.receive.align);
    "REMOTE_SEND_WIDTH" "Remote|Send|Width" => width(report.last.remote.send_width);
    "REMOTE_RECV_WIDTH" "Remote|Recv|Width" => width(report.last.remote.receive_width);
    "REMOTE_SEND_DIRTY_COUNT" "Remote|Send|Dirty|Count" => unknown();
    "REMOTE_RECV_DIRTY_COUNT" "Remote|Recv|Dirty|Count" => unknown();
    "REMOTE_RECV_CLEAN_COUNT" "Remote|Recv|Clean|Count" => unknown();
    "REMOTE_NODELAY" "Remote|NODELAY" => flag(report.request.test.no_delay);
    "REMOTE_CORK" "Remote|Cork" => zero();
}

/// Number of CPUs; 0 where their use was not measured.
fn cpus(side: &Side) -> Option<String> {
    let cpus = side.cpus.filter(|_| side.cpu.is_some());
    whole(cpus.unwrap_or_default())
}

fn peak(side: &Side) -> Option<String> {
    percent(side.cpu.map(|cpu| cpu.peak_busy))
}

fn peak_id(side: &Side) -> Option<String> {
    known(side.cpu.map(|cpu| cpu.peak_cpu))
}

fn per_send(side: &Side) -> Option<String> {
    two(side.sent_bytes as f64 / side.sends.max(1) as f64)
}

fn per_receive(side: &Side) -> Option<String> {
    two(side.received_bytes as f64 / side.receives.max(1) as f64)
}

fn moved(side: &Side) -> Option<String> {
    whole(side.sent_bytes + side.received_bytes)
}

fn width(width: Option<u32>) -> Option<String> {
    whole(width.unwrap_or_default())
}

fn flag(flag: bool) -> Option<String> {
    whole(u8::from(flag))
}
