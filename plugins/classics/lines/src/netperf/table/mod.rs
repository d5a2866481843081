//! The tables of the classic tests.

mod rr;
mod stream;
mod udp;

use super::figures::Load;
use super::report::{middle_ns, Report};

/// What a field says that was not measured.
const UNKNOWN: f64 = -1.0;

/// The parts of a table; all but the last know whether CPUs were measured.
struct Layout {
    /// One figure only.
    figure: fn(&Report, bool) -> String,
    headings: fn(&Report, bool) -> String,
    rows: fn(&Report, bool) -> String,
    extra: fn(&Report) -> String,
}

/// All that is printed of a test when it is done.
pub fn table(report: &Report) -> String {
    let (output, test) = (&report.request.output, &report.request.test);
    let layout = match (test.kind.counts_transactions(), test.kind.is_udp()) {
        (true, _) => rr::LAYOUT,
        (false, true) => udp::LAYOUT,
        (false, false) => stream::LAYOUT,
    };
    let with_cpu = test.local.measure_cpu || test.remote.measure_cpu;
    let has_rows = matches!(output.verbosity, 1 | 2);
    let mut text = String::new();
    if output.verbosity == 0 {
        text += &(layout.figure)(report, with_cpu);
    }
    if has_rows && output.headers {
        text += &(layout.headings)(report, with_cpu);
    }
    if has_rows {
        text += &(layout.rows)(report, with_cpu);
    }
    if output.verbosity > 1 {
        text += &(layout.extra)(report);
    }
    text
}

/// The histogram that stands below chosen figures.
pub fn durations(report: &Report) -> String {
    let kind = report.request.test.kind;
    let what = match (kind.is_connection_test(), kind.sends(), kind.receives()) {
        (true, true, _) => "connect/request/response/close",
        (true, ..) => "connect/close",
        (false, true, true) => "request/response",
        (false, true, false) => "send",
        (false, ..) => "recv",
    };
    histogram(report, &format!("\nHistogram of {what} times\n"))
}

/// The brand, which only stands where no headings are.
fn brand<'r>(report: &'r Report) -> &'r str {
    let output = &report.request.output;
    match &output.brand {
        Some(brand) if !output.headers => brand,
        _ => "",
    }
}

/// A size, or -1 where it is not known.
fn size(size: Option<u32>) -> i64 {
    size.map_or(-1, i64::from)
}

/// The one figure with CPUs measured: service demand here, or of the remote end if only that was
/// measured, and the method.
fn demand(report: &Report) -> (f64, char) {
    match report.request.test.local.measure_cpu {
        true => (service_demand(&report.figures.local), report.local_method()),
        false => (
            service_demand(&report.figures.remote),
            report.remote_method(),
        ),
    }
}

fn busy_percent(load: &Load) -> f64 {
    load.busy.map_or(UNKNOWN, |busy| 100.0 * busy)
}

fn service_demand(load: &Load) -> f64 {
    load.service_demand_us.unwrap_or(UNKNOWN)
}

/// The rows, and how many µs a cell is wide.
const ROWS: [(&str, u64); 8] = [
    ("UNIT_USEC", 1),
    ("TEN_USEC", 10),
    ("HUNDRED_USEC", 100),
    ("UNIT_MSEC", 1_000),
    ("TEN_MSEC", 10_000),
    ("HUNDRED_MSEC", 100_000),
    ("UNIT_SEC", 1_000_000),
    ("TEN_SEC", 10_000_000),
];

/// The histogram below `heading`; nothing when no durations were kept.
fn histogram(report: &Report, heading: &str) -> String {
    let Some(latency) = &report.latency else {
        return String::new();
    };
    let mut cells = [[0_u64; 10]; ROWS.len()];
    let mut longer = 0;
    for &(lowest_ns, count) in &latency.buckets {
        let us = middle_ns(lowest_ns) / 1_000;
        match ROWS.iter().position(|(_, width_us)| us < 10 * width_us) {
            Some(row) => cells[row][(us / ROWS[row].1) as usize] += count,
            None => longer += count,
        }
    }
    let rows = ROWS.iter().zip(&cells).map(|((label, _), cells)| {
        let cells: String = cells.iter().map(|count| format!(": {count:4}")).collect();
        format!("{label:<14}{cells}\n")
    });
    format!(
        "{heading}{}>100_SECS: {longer}\nHIST_TOTAL:      {}\n",
        rows.collect::<String>(),
        latency.count
    )
}

#[cfg(test)]
mod tests;
