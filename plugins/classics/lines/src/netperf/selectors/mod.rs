//! Figures that are chosen by name, and three ways to print them.

/// A table of selectors: name, heading and value of each.
macro_rules! selectors {
    ($table:ident($report:ident) $($name:literal $heading:literal => $value:expr;)+) => {
        pub const $table: &[super::Selector] = &[$(super::Selector {
            name: $name,
            heading: $heading,
            value: |$report: &crate::netperf::report::Report| {
                let _ = $report;
                $value
            },
        }),+];
    };
}

mod cpu;
mod host;
mod result;
mod selection;
mod traffic;

pub use self::selection::{print, Selection};
use super::report::Report;
use super::request::Mode;

/// A figure that can be chosen.
pub struct Selector {
    pub name: &'static str,
    /// The rows of its heading, four at most, separated by bars.
    heading: &'static str,
    /// `None` for one that has no value in this test.
    value: fn(&Report) -> Option<String>,
}

/// All of them, in the blocks and in the order of the original.
pub const BLOCKS: [&[Selector]; 4] = [
    result::SELECTORS,
    cpu::SELECTORS,
    traffic::SELECTORS,
    host::SELECTORS,
];

/// The list that `?` asks for: in one line where values come in one.
pub fn names(mode: Mode) -> String {
    let names = BLOCKS.iter().flat_map(|block| block.iter());
    let names: Vec<&str> = names.map(|selector| selector.name).collect();
    match mode {
        Mode::Human => names.join("\n") + "\n",
        _ => names.join(",") + "\n",
    }
}

fn deprecated() -> Option<String> {
    text("Deprecated")
}

fn zero() -> Option<String> {
    whole(0)
}

fn unknown() -> Option<String> {
    whole(-1)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn quoted(text: &str) -> Option<String> {
    Some(format!("\"{text}\""))
}

fn whole<T: TryInto<i128>>(number: T) -> Option<String> {
    number.try_into().ok().map(|number| number.to_string())
}

/// A number, or -1 for one that is not known.
fn known<T: Into<i64>>(number: Option<T>) -> Option<String> {
    whole(number.map_or(-1, Into::into))
}

/// Two decimals.
fn two(value: f64) -> Option<String> {
    Some(format!("{value:.2}"))
}

/// Three decimals, or -1 for what is not known.
fn three(value: Option<f64>) -> Option<String> {
    Some(format!("{:.3}", value.unwrap_or(-1.0)))
}

fn percent(share: Option<f64>) -> Option<String> {
    two(share.map_or(-1.0, |share| 100.0 * share))
}

#[cfg(test)]
mod tests;
