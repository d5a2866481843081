//! The chosen figures: with commas, in columns, or each with its name.

use super::{Selection, Selector};
use crate::netperf::report::Report;
use crate::netperf::request::Mode;

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
