//! TCP_STREAM, TCP_MAERTS and TCP_SENDFILE.

use netperf::client::Kind;

use super::{brand, busy_percent, demand, histogram, service_demand, size, Layout};
use crate::netperf::report::Report;

pub const LAYOUT: Layout = Layout {
    figure,
    headings,
    rows,
    extra,
};

fn figure(report: &Report, with_cpu: bool) -> String {
    let brand = brand(report);
    match with_cpu {
        true => {
            let (demand, method) = demand(report);
            format!("{demand:6.3} {method} {brand}\n")
        }
        false => format!("{:7.2} {brand}\n", report.figures.throughput),
    }
}

fn headings(report: &Report, with_cpu: bool) -> String {
    let unit = report.request.unit().name();
    if !with_cpu {
        return format!(
            "Recv   Send    Send                          \n\
             Socket Socket  Message  Elapsed              \n\
             Size   Size    Size     Time     Throughput  \n\
             bytes  bytes   bytes    secs.    {unit}/sec  \n\n"
        );
    }
    let (this, other) = match is_received(report) {
        true => ("Recv", "Send"),
        false => ("Send", "Recv"),
    };
    let (local, remote) = (report.local_method(), report.remote_method());
    format!(
        "Recv   Send    Send                          Utilization       Service Demand\n\
         Socket Socket  Message  Elapsed              {this}     {other}     {this}    {other}\n\
         Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
         bytes  bytes   bytes    secs.    {unit:<8.8}/s  % {local}      % {remote}      \
         us/KB   us/KB\n\n"
    )
}

fn rows(report: &Report, with_cpu: bool) -> String {
    let (local, remote) = (&report.last.local, &report.last.remote);
    let (sender, receiver) = match is_received(report) {
        true => (remote, local),
        false => (local, remote),
    };
    let figures = &report.figures;
    let sizes = format!(
        "{:6} {:6} {:6}    {:<6.2}",
        size(receiver.receive_buffer.initial),
        size(sender.send_buffer.initial),
        size(sender.send_size),
        figures.elapsed_s,
    );
    let brand = brand(report);
    if !with_cpu {
        return format!("{sizes}   {:7.2}   {brand}\n", figures.throughput);
    }
    format!(
        "{sizes}     {:7.2}   {:<6.2}   {:<6.2}   {:<6.3}  {:<6.3} {brand}\n",
        figures.throughput,
        busy_percent(&figures.local),
        busy_percent(&figures.remote),
        service_demand(&figures.local),
        service_demand(&figures.remote),
    )
}

fn extra(report: &Report) -> String {
    let (local, remote) = (&report.last.local, &report.last.remote);
    let test = &report.request.test;
    let is_received = is_received(report);
    let (here, there) = match is_received {
        true => ("Recv", "Send"),
        false => ("Send", "Recv"),
    };
    let (bytes, calls, remote_bytes, remote_calls) = match is_received {
        true => (
            local.received_bytes,
            local.receives,
            remote.sent_bytes,
            remote.sends,
        ),
        false => (
            local.sent_bytes,
            local.sends,
            remote.received_bytes,
            remote.receives,
        ),
    };
    let (local_moves, remote_moves) = match is_received {
        true => (test.local.receive, test.remote.send),
        false => (test.local.send, test.remote.receive),
    };
    let moved = format!(
        "\nAlignment      Offset         Bytes    Bytes       {here}s   Bytes    {there}s\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         {here}   {there}    {here}   {there}             {here} (avg)          {there} (avg)\n\
         {:5}   {:5}  {:5}   {:5} {bytes:6}  {:6.2}    {calls:6}   {:6.2} {remote_calls:6}\n",
        local_moves.align,
        remote_moves.align,
        local_moves.offset,
        remote_moves.offset,
        per_call(bytes, calls),
        per_call(remote_bytes, remote_calls),
    );
    let segment = size(report.last.segment_size);
    let call = here.to_lowercase();
    let times = histogram(
        report,
        &format!("\n\nHistogram of time spent in {call}() call.\n"),
    );
    format!("{moved}\nMaximum\nSegment\nSize (bytes)\n{segment:6}\n{times}")
}

fn per_call(bytes: u64, calls: u64) -> f64 {
    bytes as f64 / calls.max(1) as f64
}

fn is_received(report: &Report) -> bool {
    report.request.test.kind == Kind::TcpMaerts
}
