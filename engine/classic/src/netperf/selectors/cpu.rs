//! What it cost, how sure it is, and how long it took to and fro.

use network::netperf::client::{CpuUse, Side};

use super::{known, percent, selector, text, three, two, whole, Selector};
use crate::netperf::confidence::Widths;
use crate::netperf::report::Report;
use crate::netperf::units::Unit;

pub const SELECTORS: &[Selector] = &[
    selector("LOCAL_CPU_UTIL", "Local|CPU|Util|%", |report| {
        percent(report.figures.local.busy)
    }),
    selector("LOCAL_CPU_PERCENT_USER", "Local|CPU|User|%", |report| {
        local(report, |cpu| cpu.user)
    }),
    selector("LOCAL_CPU_PERCENT_SYSTEM", "Local|CPU|System|%", |report| {
        local(report, |cpu| cpu.system)
    }),
    selector("LOCAL_CPU_PERCENT_IOWAIT", "Local|CPU|I/O|%", |report| {
        local(report, |cpu| cpu.iowait)
    }),
    selector("LOCAL_CPU_PERCENT_IRQ", "Local|CPU|IRQ|%", |report| {
        local(report, |cpu| cpu.irq)
    }),
    selector("LOCAL_CPU_PERCENT_SWINTR", "Local|CPU|swintr|%", |report| {
        local(report, |cpu| cpu.softirq)
    }),
    selector("LOCAL_CPU_METHOD", "Local|CPU|Util|Method", |report| {
        text(&report.local_method().to_string())
    }),
    selector("LOCAL_SD", "Local|Service|Demand", |report| {
        three(report.figures.local.service_demand_us)
    }),
    selector("REMOTE_CPU_UTIL", "Remote|CPU|Util|%", |report| {
        percent(report.figures.remote.busy)
    }),
    selector("REMOTE_CPU_PERCENT_USER", "Remote|CPU|User|%", |report| {
        remote(report, |cpu| cpu.user)
    }),
    selector(
        "REMOTE_CPU_PERCENT_SYSTEM",
        "Remote|CPU|System|%",
        |report| remote(report, |cpu| cpu.system),
    ),
    selector("REMOTE_CPU_PERCENT_IOWAIT", "Remote|CPU|I/O|%", |report| {
        remote(report, |cpu| cpu.iowait)
    }),
    selector("REMOTE_CPU_PERCENT_IRQ", "Remote|CPU|IRQ|%", |report| {
        remote(report, |cpu| cpu.irq)
    }),
    selector(
        "REMOTE_CPU_PERCENT_SWINTR",
        "Remote|CPU|swintr|%",
        |report| remote(report, |cpu| cpu.softirq),
    ),
    selector("REMOTE_CPU_METHOD", "Remote|CPU|Util|Method", |report| {
        text(&report.remote_method().to_string())
    }),
    selector("REMOTE_SD", "Remote|Service|Demand", |report| {
        three(report.figures.remote.service_demand_us)
    }),
    selector("SD_UNITS", "Service|Demand|Units", |report| {
        match report.request.unit() {
            Unit::Transactions => text("usec/Tran"),
            _ => text("usec/KB"),
        }
    }),
    selector("CONFIDENCE_LEVEL", "Confidence|Level|Percent", |report| {
        whole(report.request.goal.map_or(0, |goal| goal.level.percent()))
    }),
    selector("CONFIDENCE_INTERVAL", "Confidence|Width|Target", |report| {
        let width = report.request.goal.map_or(-1.0, |goal| 100.0 * goal.width);
        Some(format!("{width:.6}"))
    }),
    selector(
        "CONFIDENCE_ITERATION",
        "Confidence|Iterations|Run",
        |report| whole(report.repetitions),
    ),
    selector(
        "THROUGHPUT_CONFID",
        "Throughput|Confidence|Width (%)",
        |report| width(report, |widths| widths.result),
    ),
    selector(
        "LOCAL_CPU_CONFID",
        "Local|CPU|Confidence|Width (%)",
        |report| width(report, |widths| widths.local_cpu),
    ),
    selector(
        "REMOTE_CPU_CONFID",
        "Remote|CPU|Confidence|Width (%)",
        |report| width(report, |widths| widths.remote_cpu),
    ),
    selector("TRANSACTION_RATE", "Transaction|Rate|Tran/s", |report| {
        let counts_transactions = report.request.test.kind.counts_transactions();
        three(counts_transactions.then_some(report.figures.transactions))
    }),
    selector("RT_LATENCY", "Round|Trip|Latency|usec/tran", |report| {
        three(report.figures.round_trip_us)
    }),
    selector("BURST_SIZE", "Initial|Burst|Requests", |report| {
        whole(report.request.test.burst)
    }),
    selector(
        "LOCAL_TRANSPORT_RETRANS",
        "Local|Transport|Retransmissions",
        |report| retransmits(&report.last.local),
    ),
    selector(
        "REMOTE_TRANSPORT_RETRANS",
        "Remote|Transport|Retransmissions",
        |report| retransmits(&report.last.remote),
    ),
    selector("TRANSPORT_MSS", "Transport|MSS|bytes", |report| {
        known(report.last.segment_size)
    }),
];

fn local(report: &Report, of: fn(&CpuUse) -> f64) -> Option<String> {
    two(report
        .last
        .local
        .cpu
        .as_ref()
        .map_or(0.0, |cpu| 100.0 * of(cpu)))
}

fn remote(report: &Report, of: fn(&CpuUse) -> f64) -> Option<String> {
    two(report
        .last
        .remote
        .cpu
        .as_ref()
        .map_or(0.0, |cpu| 100.0 * of(cpu)))
}

fn width(report: &Report, of: fn(&Widths) -> f64) -> Option<String> {
    three(report.widths.as_ref().map(|widths| 100.0 * of(widths)))
}

fn retransmits(side: &Side) -> Option<String> {
    side.retransmits.map_or_else(|| whole(-1), whole)
}
