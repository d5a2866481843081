//! Which figures are printed, and how.

use std::fs;

use kit::failure::bad_parameter;
use netperf::client::Test;
use wire::Failure;

use super::{Selector, BLOCKS};
use crate::netperf::report::Report;
use crate::netperf::request::Mode;

/// Figures that are printed when none are named.
const STREAM: &str = "LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE";
const MAERTS: &str = "RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE";
const TRANSACTIONS: &str =
    "LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,RESPONSE_SIZE";
const RESULT: &str = "ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";
const CPU: &str = "LOCAL_CPU_UTIL,LOCAL_CPU_PERCENT_USER,LOCAL_CPU_PERCENT_SYSTEM,\
    LOCAL_CPU_PERCENT_IOWAIT,LOCAL_CPU_PERCENT_IRQ,LOCAL_CPU_PERCENT_SWINTR,LOCAL_CPU_METHOD,\
    REMOTE_CPU_UTIL,REMOTE_CPU_PERCENT_USER,REMOTE_CPU_PERCENT_SYSTEM,REMOTE_CPU_PERCENT_IOWAIT,\
    REMOTE_CPU_PERCENT_IRQ,REMOTE_CPU_PERCENT_SWINTR,REMOTE_CPU_METHOD,LOCAL_SD,REMOTE_SD,SD_UNITS";

/// Chosen figures, in blocks.
pub struct Selection {
    pub blocks: Vec<Vec<&'static Selector>>,
}

impl Selection {
    /// What `text` chooses: `all`, names, blocks of names separated by semicolons, or the name of
    /// a file with a block in each line; without it what is usual for `test`. There are four
    /// blocks at most.
    ///
    /// # Errors
    /// `BadJob`: a name is not known, or there are too many blocks.
    pub fn read(text: &str, test: &Test) -> Result<Self, Failure> {
        if text.is_empty() {
            return Self::of_blocks(usual(test).split(';'));
        }
        if text.eq_ignore_ascii_case("all") {
            let blocks = BLOCKS.iter().map(|block| block.iter().collect());
            return Ok(Self {
                blocks: blocks.collect(),
            });
        }
        Self::of_blocks(text.split(';')).or_else(|failure| match fs::read_to_string(text) {
            Ok(lines) => Self::of_blocks(lines.lines()),
            Err(_) => Err(failure),
        })
    }

    /// Whether durations of operations are among them.
    pub fn has_latencies(&self) -> bool {
        let names = self.blocks.iter().flatten().map(|selector| selector.name);
        // This one is computed from the rate of transactions.
        let mut timed = names.filter(|name| *name != "RT_LATENCY");
        timed.any(|name| name.ends_with("_LATENCY"))
    }

    fn of_blocks<'t>(blocks: impl Iterator<Item = &'t str>) -> Result<Self, Failure> {
        let blocks = blocks.map(block).collect::<Result<Vec<_>, _>>()?;
        if blocks.len() > BLOCKS.len() {
            let message = format!("{} blocks of selectors are more than four", blocks.len());
            return Err(bad_parameter("-o", message));
        }
        Ok(Self { blocks })
    }
}

fn usual(test: &Test) -> String {
    let sizes = match (test.kind.counts_transactions(), test.kind.sends()) {
        (true, _) => TRANSACTIONS,
        (false, true) => STREAM,
        (false, false) => MAERTS,
    };
    match test.local.measure_cpu || test.remote.measure_cpu {
        true => [sizes, RESULT, CPU].join(","),
        false => [sizes, RESULT].join(","),
    }
}

fn block(text: &str) -> Result<Vec<&'static Selector>, Failure> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(selector).collect()
}

fn selector(word: &str) -> Result<&'static Selector, Failure> {
    let mut all = BLOCKS.iter().flat_map(|block| block.iter());
    let selector = all.find(|selector| selector.name.eq_ignore_ascii_case(word));
    selector.ok_or_else(|| {
        let message =
            format!("\"{word}\" is neither a selector nor a file with some; ? lists them");
        bad_parameter("-o", message)
    })
}

/// Rows of a heading.
const HEADING_ROWS: usize = 4;

/// The figures of `selection`, in the form that was asked for.
pub fn print(report: &Report, selection: &Selection) -> String {
    match report.request.output.mode {
        Mode::Csv => csv(report, selection),
        Mode::Keyval => keyval(report, selection),
        Mode::Human | Mode::Classic => human(report, selection),
    }
}

/// Blocks make no difference here.
fn csv(report: &Report, selection: &Selection) -> String {
    let selectors = || selection.blocks.iter().flatten();
    let values = selectors().map(|selector| (selector.value)(report).unwrap_or_default());
    let values = values.collect::<Vec<_>>().join(",") + "\n";
    if !report.request.output.headers {
        return values;
    }
    let headings = selectors().map(|selector| selector.heading.replace('|', " "));
    headings.collect::<Vec<_>>().join(",") + "\n" + &values
}

fn keyval(report: &Report, selection: &Selection) -> String {
    let lines = selection.blocks.iter().flatten().filter_map(|selector| {
        let value = (selector.value)(report)?;
        Some(format!("{}={value}\n", selector.name))
    });
    lines.collect()
}

fn human(report: &Report, selection: &Selection) -> String {
    let blocks = selection.blocks.iter().map(|block| columns(report, block));
    blocks.collect::<Vec<_>>().join("\n")
}

/// One block: every column is as wide as its widest cell, and blanks at the end are kept.
fn columns(report: &Report, block: &[&Selector]) -> String {
    let mut rows = [const { String::new() }; HEADING_ROWS];
    let mut values = String::new();
    for selector in block {
        let value = (selector.value)(report);
        // The original makes room for the end of the line, too.
        let value_width = value.as_ref().map_or(0, |value| value.len() + 1);
        let heading_width = selector.heading.split('|').map(str::len).max();
        let width = value_width.max(heading_width.unwrap_or_default()) + 1;
        let mut heading = selector.heading.split('|');
        for row in &mut rows {
            *row += &format!("{:width$}", heading.next().unwrap_or_default());
        }
        values += &format!("{:width$}", value.unwrap_or_default());
    }
    let mut text = String::new();
    if report.request.output.headers {
        text += &rows.join("\n");
        text.push('\n');
    }
    text + &values + "\n"
}
