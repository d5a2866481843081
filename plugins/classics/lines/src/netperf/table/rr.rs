//! TCP_RR and UDP_RR, TCP_CRR and TCP_CC.

use netperf::client::Kind;

use super::{brand, busy_percent, demand, histogram, service_demand, size, Layout};
use crate::netperf::report::Report;
use crate::netperf::units::Unit;

pub const LAYOUT: Layout = Layout {
    figure,
    headings,
    rows,
    extra,
};

/// Tests with a connection for each transaction print less.
fn connects(report: &Report) -> bool {
    report.request.test.kind.is_connection_test()
}

/// What stands behind the figures, with the blank before it.
fn tail(report: &Report) -> String {
    match connects(report) {
        true => String::new(),
        false => format!(" {}", brand(report)),
    }
}

fn figure(report: &Report, with_cpu: bool) -> String {
    let tail = tail(report);
    if !with_cpu {
        return format!("{:7.2}{tail}\n", report.figures.throughput);
    }
    let (demand, method) = demand(report);
    match connects(report) {
        true => format!("{demand:6.3}\n"),
        false => format!("{demand:6.3} {method}{tail}\n"),
    }
}

/// Whether bytes are shown instead of transactions. With connections, the headings stay.
fn shows_bytes(report: &Report) -> bool {
    report.request.unit() != Unit::Transactions && !connects(report)
}

fn headings(report: &Report, with_cpu: bool) -> String {
    if with_cpu {
        return headings_with_cpu(report);
    }
    if shows_bytes(report) {
        return format!(
            "Local /Remote\n\
             Socket Size   Request  Resp.   Elapsed  \n\
             Send   Recv   Size     Size    Time     Throughput \n\
             bytes  Bytes  bytes    bytes   secs.    {}/sec   \n\n",
            report.request.unit().name()
        );
    }
    "Local /Remote\n\
     Socket Size   Request  Resp.   Elapsed  Trans.\n\
     Send   Recv   Size     Size    Time     Rate         \n\
     bytes  Bytes  bytes    bytes   secs.    per sec   \n\n"
        .to_owned()
}

fn headings_with_cpu(report: &Report) -> String {
    let (what, unit, per) = match shows_bytes(report) {
        true => ("Tput  ", report.request.unit().name(), "KB"),
        false => ("Trans.", "Rate", "Tr"),
    };
    let methods = match connects(report) {
        true => "%      %     ".to_owned(),
        false => format!(
            "% {}    % {}   ",
            report.local_method(),
            report.remote_method()
        ),
    };
    format!(
        "Local /Remote\n\
         Socket Size   Request Resp.  Elapsed {what}   CPU    CPU    S.dem   S.dem\n\
         Send   Recv   Size    Size   Time    {unit:<8.8} local  remote local   remote\n\
         bytes  bytes  bytes   bytes  secs.   per sec  {methods} us/{per}   us/{per}\n\n"
    )
}

fn rows(report: &Report, with_cpu: bool) -> String {
    let (local, remote) = (&report.last.local, &report.last.remote);
    let test = &report.request.test;
    let figures = &report.figures;
    let sockets = format!(
        "{:<6} {:<6}",
        size(local.send_buffer.initial),
        size(local.receive_buffer.initial)
    );
    let (request, response) = (test.request_size, test.response_size);
    let tail = tail(report);
    let gap = match test.kind {
        Kind::TcpRr => "  ",
        _ => "   ",
    };
    let first = match with_cpu {
        true => format!(
            "{request:<6}  {response:<6} {:<6.2}  {:<6.2}{gap}{}{tail}",
            figures.elapsed_s,
            figures.throughput,
            loads(report),
        ),
        false => {
            // Tests with connections have no brand, but the blanks before it.
            let tail = if connects(report) {
                "   "
            } else {
                &format!("  {tail}")
            };
            format!(
                "{request:<6}   {response:<6}  {:<6.2}   {:7.2}{tail}",
                figures.elapsed_s, figures.throughput
            )
        }
    };
    format!(
        "{sockets} {first}\n{:<6} {:<6}\n",
        size(remote.send_buffer.initial),
        size(remote.receive_buffer.initial)
    )
}

fn loads(report: &Report) -> String {
    let (local, remote) = (&report.figures.local, &report.figures.remote);
    format!(
        "{:<6.2} {:<6.2} {:<6.3}  {:<6.3}",
        busy_percent(local),
        busy_percent(remote),
        service_demand(local),
        service_demand(remote),
    )
}

fn extra(report: &Report) -> String {
    let heading = match report.request.test.kind {
        // As the original spells it: programs look for the line.
        Kind::UdpRr => "\nHistogram of request/reponse times.\n",
        _ => "\nHistogram of request/response times\n",
    };
    let times = histogram(report, heading);
    latencies(report) + &times
}

fn latencies(report: &Report) -> String {
    let test = &report.request.test;
    let buffers = format!(
        "{:5}  {:5}   {:5}  {:5}",
        test.local.send.align,
        test.remote.receive.align,
        test.local.send.offset,
        test.remote.receive.offset
    );
    if connects(report) {
        return format!(
            "\nAlignment      Offset\n\
             Local  Remote  Local  Remote\n\
             Send   Recv    Send   Recv\n\
             {buffers}\n"
        );
    }
    if test.kind == Kind::UdpRr {
        return String::new();
    }
    let [outbound, inbound, ..] = report.figures.rates;
    format!(
        "Alignment      Offset         RoundTrip  Trans    Throughput\n\
         Local  Remote  Local  Remote  Latency    Rate     {:<8.8}/s\n\
         Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n\
         {buffers}   {:<6.3}   {:<6.3} {outbound:<6.3}    {inbound:<6.3}\n",
        report.request.unit().of_bytes().name(),
        report.figures.round_trip_us.unwrap_or_default(),
        report.figures.transactions,
    )
}
