//! What it cost, how sure it is, and how long it took to and fro.

use netperf::client::{CpuUse, Side};

use super::{known, percent, text, three, two, whole};
use crate::netperf::confidence::Widths;
use crate::netperf::report::Report;
use crate::netperf::units::Unit;

selectors! {
    SELECTORS(report)
    "LOCAL_CPU_UTIL" "Local|CPU|Util|%" => percent(report.figures.local.busy);
    "LOCAL_CPU_PERCENT_USER" "Local|CPU|User|%" => local(report, |cpu| cpu.user);
    "LOCAL_CPU_PERCENT_SYSTEM" "Local|CPU|System|%" => local(report, |cpu| cpu.system);
    "LOCAL_CPU_PERCENT_IOWAIT" "Local|CPU|I/O|%" => local(report, |cpu| cpu.iowait);
    "LOCAL_CPU_PERCENT_IRQ" "Local|CPU|IRQ|%" => local(report, |cpu| cpu.irq);
    "LOCAL_CPU_PERCENT_SWINTR" "Local|CPU|swintr|%" => local(report, |cpu| cpu.softirq);
    "LOCAL_CPU_METHOD" "Local|CPU|Util|Method" => text(&report.local_method().to_string());
    "LOCAL_SD" "Local|Service|Demand" => three(report.figures.local.service_demand_us);
    "REMOTE_CPU_UTIL" "Remote|CPU|Util|%" => percent(report.figures.remote.busy);
    "REMOTE_CPU_PERCENT_USER" "Remote|CPU|User|%" => remote(report, |cpu| cpu.user);
    "REMOTE_CPU_PERCENT_SYSTEM" "Remote|CPU|System|%" => remote(report, |cpu| cpu.system);
    "REMOTE_CPU_PERCENT_IOWAIT" "Remote|CPU|I/O|%" => remote(report, |cpu| cpu.iowait);
    "REMOTE_CPU_PERCENT_IRQ" "Remote|CPU|IRQ|%" => remote(report, |cpu| cpu.irq);
    "REMOTE_CPU_PERCENT_SWINTR" "Remote|CPU|swintr|%" => remote(report, |cpu| cpu.softirq);
    "REMOTE_CPU_METHOD" "Remote|CPU|Util|Method" => text(&report.remote_method().to_string());
    "REMOTE_SD" "Remote|Service|Demand" => three(report.figures.remote.service_demand_us);
    "SD_UNITS" "Service|Demand|Units" => {
        match report.request.unit() {
            Unit::Transactions => text("usec/Tran"),
            _ => text("usec/KB"),
        }
    };
    "CONFIDENCE_LEVEL" "Confidence|Level|Percent"
        => whole(report.request.goal.map_or(0, |goal| goal.level.percent()));
    "CONFIDENCE_INTERVAL" "Confidence|Width|Target" => {
        let width = report.request.goal.map_or(-1.0, |goal| 100.0 * goal.width);
        Some(format!("{width:.6}"))
    };
    "CONFIDENCE_ITERATION" "Confidence|Iterations|Run" => whole(report.repetitions);
    "THROUGHPUT_CONFID" "Throughput|Confidence|Width (%)" => width(report, |widths| widths.result);
    "LOCAL_CPU_CONFID" "Local|CPU|Confidence|Width (%)" => width(report, |widths| widths.local_cpu);
    "REMOTE_CPU_CONFID" "Remote|CPU|Confidence|Width (%)"
        => width(report, |widths| widths.remote_cpu);
    "TRANSACTION_RATE" "Transaction|Rate|Tran/s" => {
        let counts_transactions = report.request.test.kind.counts_transactions();
        three(counts_transactions.then_some(report.figures.transactions))
    };
    "RT_LATENCY" "Round|Trip|Latency|usec/tran" => three(report.figures.round_trip_us);
    "BURST_SIZE" "Initial|Burst|Requests" => whole(report.request.test.burst);
    "LOCAL_TRANSPORT_RETRANS" "Local|Transport|Retransmissions" => retransmits(&report.last.local);
    "REMOTE_TRANSPORT_RETRANS" "Remote|Transport|Retransmissions"
        => retransmits(&report.last.remote);
    "TRANSPORT_MSS" "Transport|MSS|bytes" => known(report.last.segment_size);
}

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
