//! What each end moved, and how it was told to.

use network::netperf::client::Side;

use super::{deprecated, known, percent, selector, text, two, unknown, whole, zero, Selector};

pub const SELECTORS: &[Selector] = &[
    selector("LOCAL_SEND_THROUGHPUT", "Local|Send|Throughput", |report| {
        two(report.figures.rates[0])
    }),
    selector("LOCAL_RECV_THROUGHPUT", "Local|Recv|Throughput", |report| {
        two(report.figures.rates[1])
    }),
    selector(
        "REMOTE_SEND_THROUGHPUT",
        "Remote|Send|Throughput",
        |report| two(report.figures.rates[2]),
    ),
    selector(
        "REMOTE_RECV_THROUGHPUT",
        "Remote|Recv|Throughput",
        |report| two(report.figures.rates[3]),
    ),
    selector("LOCAL_CPU_BIND", "Local|CPU|Bind", |report| {
        known(report.request.cpu)
    }),
    selector("LOCAL_CPU_COUNT", "Local|CPU|Count", |report| {
        cpus(&report.last.local)
    }),
    selector(
        "LOCAL_CPU_PEAK_UTIL",
        "Local|Peak|Per CPU|Util %",
        |report| peak(&report.last.local),
    ),
    selector("LOCAL_CPU_PEAK_ID", "Local|Peak|Per CPU|ID", |report| {
        peak_id(&report.last.local)
    }),
    selector("LOCAL_CPU_MODEL", "Local|CPU|Model", deprecated),
    selector("LOCAL_CPU_FREQUENCY", "Local|CPU|Frequency|MHz", zero),
    selector("REMOTE_CPU_BIND", "Remote|CPU|Bind", |report| {
        known(report.request.test.remote.cpu)
    }),
    selector("REMOTE_CPU_COUNT", "Remote|CPU|Count", |report| {
        cpus(&report.last.remote)
    }),
    selector(
        "REMOTE_CPU_PEAK_UTIL",
        "Remote|Peak|Per CPU|Util %",
        |report| peak(&report.last.remote),
    ),
    selector("REMOTE_CPU_PEAK_ID", "Remote|Peak|Per CPU|ID", |report| {
        peak_id(&report.last.remote)
    }),
    selector("REMOTE_CPU_MODEL", "Remote|CPU|Model", deprecated),
    selector("REMOTE_CPU_FREQUENCY", "Remote|CPU|Frequency|MHz", zero),
    selector("SOURCE_PORT", "Source|Port", |report| {
        whole(report.request.test.local.port)
    }),
    selector("SOURCE_ADDR", "Source|Address", |report| {
        text(&report.ends.local.name)
    }),
    selector("SOURCE_FAMILY", "Source|Family", |report| {
        whole(report.ends.local.family_number())
    }),
    selector("DEST_PORT", "Destination|Port", |report| {
        whole(report.request.test.remote.port)
    }),
    selector("DEST_ADDR", "Destination|Address", |report| {
        text(&report.ends.remote.name)
    }),
    selector("DEST_FAMILY", "Destination|Family", |report| {
        whole(report.ends.remote.family_number())
    }),
    selector("LOCAL_SEND_CALLS", "Local|Send|Calls", |report| {
        whole(report.last.local.sends)
    }),
    selector("LOCAL_RECV_CALLS", "Local|Recv|Calls", |report| {
        whole(report.last.local.receives)
    }),
    selector("LOCAL_BYTES_PER_RECV", "Local|Bytes|Per|Recv", |report| {
        per_receive(&report.last.local)
    }),
    selector("LOCAL_BYTES_PER_SEND", "Local|Bytes|Per|Send", |report| {
        per_send(&report.last.local)
    }),
    selector("LOCAL_BYTES_SENT", "Local|Bytes|Sent", |report| {
        whole(report.last.local.sent_bytes)
    }),
    selector("LOCAL_BYTES_RECVD", "Local|Bytes|Received", |report| {
        whole(report.last.local.received_bytes)
    }),
    selector("LOCAL_BYTES_XFERD", "Local|Bytes|Xferred", |report| {
        moved(&report.last.local)
    }),
    selector("LOCAL_SEND_OFFSET", "Local|Send|Offset", |report| {
        whole(report.request.test.local.send.offset)
    }),
    selector("LOCAL_RECV_OFFSET", "Local|Recv|Offset", |report| {
        whole(report.request.test.local.receive.offset)
    }),
    selector("LOCAL_SEND_ALIGN", "Local|Send|Alignment", |report| {
        whole(report.request.test.local.send.align)
    }),
    selector("LOCAL_RECV_ALIGN", "Local|Recv|Alignment", |report| {
        whole(report.request.test.local.receive.align)
    }),
    selector("LOCAL_SEND_WIDTH", "Local|Send|Width", |report| {
        width(report.last.local.send_width)
    }),
    selector("LOCAL_RECV_WIDTH", "Local|Recv|Width", |report| {
        width(report.last.local.receive_width)
    }),
    selector("LOCAL_SEND_DIRTY_COUNT", "Local|Send|Dirty|Count", unknown),
    selector("LOCAL_RECV_DIRTY_COUNT", "Local|Recv|Dirty|Count", unknown),
    selector("LOCAL_RECV_CLEAN_COUNT", "Local|Recv|Clean|Count", unknown),
    selector("LOCAL_NODELAY", "Local|NODELAY", |report| {
        flag(report.request.test.no_delay)
    }),
    selector("LOCAL_CORK", "Local|Cork", |report| {
        flag(report.request.test.cork)
    }),
    selector("REMOTE_SEND_CALLS", "Remote|Send|Calls", |report| {
        whole(report.last.remote.sends)
    }),
    selector("REMOTE_RECV_CALLS", "Remote|Recv|Calls", |report| {
        whole(report.last.remote.receives)
    }),
    selector("REMOTE_BYTES_PER_RECV", "Remote|Bytes|Per|Recv", |report| {
        per_receive(&report.last.remote)
    }),
    selector("REMOTE_BYTES_PER_SEND", "Remote|Bytes|Per|Send", |report| {
        per_send(&report.last.remote)
    }),
    selector("REMOTE_BYTES_SENT", "Remote|Bytes|Sent", |report| {
        whole(report.last.remote.sent_bytes)
    }),
    selector("REMOTE_BYTES_RECVD", "Remote|Bytes|Received", |report| {
        whole(report.last.remote.received_bytes)
    }),
    selector("REMOTE_BYTES_XFERD", "Remote|Bytes|Xferred", |report| {
        moved(&report.last.remote)
    }),
    selector("REMOTE_SEND_OFFSET", "Remote|Send|Offset", |report| {
        whole(report.request.test.remote.send.offset)
    }),
    selector("REMOTE_RECV_OFFSET", "Remote|Recv|Offset", |report| {
        whole(report.request.test.remote.receive.offset)
    }),
    selector("REMOTE_SEND_ALIGN", "Remote|Send|Alignment", |report| {
        whole(report.request.test.remote.send.align)
    }),
    selector("REMOTE_RECV_ALIGN", "Remote|Recv|Alignment", |report| {
        whole(report.request.test.remote.receive.align)
    }),
    selector("REMOTE_SEND_WIDTH", "Remote|Send|Width", |report| {
        width(report.last.remote.send_width)
    }),
    selector("REMOTE_RECV_WIDTH", "Remote|Recv|Width", |report| {
        width(report.last.remote.receive_width)
    }),
    selector(
        "REMOTE_SEND_DIRTY_COUNT",
        "Remote|Send|Dirty|Count",
        unknown,
    ),
    selector(
        "REMOTE_RECV_DIRTY_COUNT",
        "Remote|Recv|Dirty|Count",
        unknown,
    ),
    selector(
        "REMOTE_RECV_CLEAN_COUNT",
        "Remote|Recv|Clean|Count",
        unknown,
    ),
    selector("REMOTE_NODELAY", "Remote|NODELAY", |report| {
        flag(report.request.test.no_delay)
    }),
    selector("REMOTE_CORK", "Remote|Cork", zero),
];

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
