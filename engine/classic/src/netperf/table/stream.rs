//! TCP_STREAM, TCP_MAERTS and TCP_SENDFILE.

use network::netperf::client::Kind;

use super::{brand, busy_percent, demand, histogram, service_demand, size, Parts};
use crate::netperf::report::Report;

pub fn table(report: &Report) -> String {
    let parts = Parts::of(report);
    let mut text = String::new();
    if parts.figure {
        text += &figure(report, parts.with_cpu);
    }
    if parts.headings {
        text += &headings(report, parts.with_cpu);
    }
    if parts.row {
        text += &row(report, parts.with_cpu);
    }
    if parts.extra {
        text += &extra(report);
    }
    text
}

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
    let (near, far) = (report.near_method(), report.far_method());
    format!(
        "Recv   Send    Send                          Utilization       Service Demand\n\
         Socket Socket  Message  Elapsed              {this}     {other}     {this}    {other}\n\
         Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
         bytes  bytes   bytes    secs.    {unit:<8.8}/s  % {near}      % {far}      \
         us/KB   us/KB\n\n"
    )
}

fn row(report: &Report, with_cpu: bool) -> String {
    let (near, far) = (&report.last.near, &report.last.far);
    let (sender, receiver) = match is_received(report) {
        true => (far, near),
        false => (near, far),
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
        busy_percent(&figures.near),
        busy_percent(&figures.far),
        service_demand(&figures.near),
        service_demand(&figures.far),
    )
}

fn extra(report: &Report) -> String {
    let (near, far) = (&report.last.near, &report.last.far);
    let test = &report.request.test;
    let is_received = is_received(report);
    let (here, there) = match is_received {
        true => ("Recv", "Send"),
        false => ("Send", "Recv"),
    };
    let (bytes, calls, far_bytes, far_calls) = match is_received {
        true => (
            near.received_bytes,
            near.receives,
            far.sent_bytes,
            far.sends,
        ),
        false => (
            near.sent_bytes,
            near.sends,
            far.received_bytes,
            far.receives,
        ),
    };
    let (near_moves, far_moves) = match is_received {
        true => (test.near.receive, test.far.send),
        false => (test.near.send, test.far.receive),
    };
    let moved = format!(
        "\nAlignment      Offset         Bytes    Bytes       {here}s   Bytes    {there}s\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         {here}   {there}    {here}   {there}             {here} (avg)          {there} (avg)\n\
         {:5}   {:5}  {:5}   {:5} {bytes:6}  {:6.2}    {calls:6}   {:6.2} {far_calls:6}\n",
        near_moves.align,
        far_moves.align,
        near_moves.offset,
        far_moves.offset,
        per_call(bytes, calls),
        per_call(far_bytes, far_calls),
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
