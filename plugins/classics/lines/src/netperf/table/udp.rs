//! UDP_STREAM: what was sent, and below it what arrived.

use netperf::client::Kind;

use super::{busy_percent, histogram, service_demand, size, Layout};
use crate::netperf::figures::Load;
use crate::netperf::report::Report;

pub const LAYOUT: Layout = Layout {
    figure,
    headings,
    rows,
    extra,
};

fn figure(report: &Report, with_cpu: bool) -> String {
    match with_cpu {
        true => {
            let (demand, method) = super::demand(report);
            format!("{demand:6.2} {method}\n")
        }
        false => format!("{:7.2}\n", sent_and_received(report).0),
    }
}

fn headings(report: &Report, with_cpu: bool) -> String {
    let unit = report.request.unit().name();
    if !with_cpu {
        return format!(
            "Socket  Message  Elapsed      Messages                \n\
             Size    Size     Time         Okay Errors   Throughput\n\
             bytes   bytes    secs            #      #   {unit}/sec\n\n"
        );
    }
    let (local, remote) = (report.local_method(), report.remote_method());
    format!(
        "Socket  Message  Elapsed      Messages                   CPU      Service\n\
         Size    Size     Time         Okay Errors   Throughput   Util     Demand\n\
         bytes   bytes    secs            #      #   {unit}/sec % {local}{remote}     us/KB\n\n"
    )
}

fn rows(report: &Report, with_cpu: bool) -> String {
    let (local, remote) = (&report.last.local, &report.last.remote);
    let (sender, receiver) = match is_received(report) {
        true => (remote, local),
        false => (local, remote),
    };
    let figures = &report.figures;
    let (send_load, receive_load) = match is_received(report) {
        true => (&figures.remote, &figures.local),
        false => (&figures.local, &figures.remote),
    };
    let (sent, received) = sent_and_received(report);
    let tail = |rate: f64, load: &Load| match with_cpu {
        true => format!(
            "{rate:7.1}     {:<6.2}   {:<6.3}",
            busy_percent(load),
            service_demand(load)
        ),
        false => format!("{rate:7.2}"),
    };
    let elapsed_s = figures.elapsed_s;
    format!(
        "{:6}  {:6}   {elapsed_s:<7.2}   {:7} {:6}    {}\n\
         {:6}           {elapsed_s:<7.2}   {:7}           {}\n\n",
        size(sender.send_buffer.initial),
        size(sender.send_size),
        sender.sends,
        sender.failed_sends,
        tail(sent, send_load),
        size(receiver.receive_buffer.initial),
        receiver.receives,
        tail(received, receive_load),
    )
}

/// Rates at which datagrams were sent and arrived.
fn sent_and_received(report: &Report) -> (f64, f64) {
    let [local_sent, local_received, remote_sent, remote_received] = report.figures.rates;
    match is_received(report) {
        true => (remote_sent, local_received),
        false => (local_sent, remote_received),
    }
}

fn is_received(report: &Report) -> bool {
    report.request.test.kind == Kind::UdpMaerts
}

fn extra(report: &Report) -> String {
    histogram(report, "\nHistogram of time spent in send() call\n")
}
