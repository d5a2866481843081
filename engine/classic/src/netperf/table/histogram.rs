//! The durations of the operations, in decades of ten cells.

use crate::netperf::report::{middle_ns, Report};

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
pub fn histogram(report: &Report, heading: &str) -> String {
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
