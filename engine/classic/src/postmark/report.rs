//! The report, line for line as the original gives it, with the figures that the original
//! would have printed: whole seconds, counts divided as integers.

use std::collections::BTreeMap;

use wire::{Event, Native};

use super::settings::Form;
use crate::bench::Printer;

const KILO: f64 = 1024.0;
const MEGA: f64 = KILO * KILO;

/// What a run found, gathered as it comes.
#[derive(Debug, Default)]
pub struct Report {
    natives: BTreeMap<String, Native>,
    counters: BTreeMap<String, u64>,
    parameters: BTreeMap<&'static str, u64>,
    is_under_way: bool,
}

impl Printer for Report {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Hello(hello) => {
                for name in ["files", "transactions"] {
                    let value = hello.effective[name].as_u64().unwrap_or_default();
                    self.parameters.insert(name, value);
                }
            }
            Event::Progress(progress) => {
                let before = if self.is_under_way { "done\n" } else { "" };
                self.is_under_way = true;
                return format!("{before}{}...", capitalised(&progress.what));
            }
            Event::Sample(sample) => {
                if let Some(native) = &sample.native {
                    self.natives.insert(sample.metric.clone(), native.clone());
                }
            }
            Event::End(end) => {
                self.counters = end.counters.clone();
                let text = match (self.is_under_way, &end.failure) {
                    (false, _) => "",
                    (true, None) => "done\n",
                    (true, Some(_)) => "\n",
                };
                return text.to_owned();
            }
            Event::Interval(_) | Event::Warning(_) => {}
        }
        String::new()
    }
}

impl Report {
    /// The report of a run that was done.
    pub fn text(&self, form: Form) -> String {
        match form {
            Form::Verbose => self.verbose(),
            Form::Terse => self.terse(),
        }
    }

    fn verbose(&self) -> String {
        let transaction_s = self.native("transaction_time");
        let per_transaction_s = |count: u64| format!("({} per second)", count / transaction_s);
        let mixed = |count: u64| {
            format!(
                "Mixed with transactions: {count} files {}",
                per_transaction_s(count)
            )
        };
        let files = |counter: &str, done: &str, metric: &str| {
            let count = self.count(counter);
            format!("\t{count} {done} ({} per second)\n", self.native(metric))
        };
        let alone = |what: &str, count: u64, metric: &str| {
            format!(
                "\t\t{what} alone: {count} files ({} per second)\n",
                self.native(metric)
            )
        };
        let transactions = self.native("transactions");
        [
            format!("Time:\n\t{} seconds total\n", self.native("total_time")),
            format!("\t{transaction_s} seconds of transactions ({transactions} per second)\n"),
            "\nFiles:\n".to_owned(),
            files("files_created", "created", "created"),
            alone("Creation", self.parameters["files"], "created_alone"),
            format!("\t\t{}\n", mixed(self.count("files_created_mixed"))),
            files("files_read", "read", "read"),
            files("files_appended", "appended", "appended"),
            files("files_deleted", "deleted", "deleted"),
            alone(
                "Deletion",
                self.count("files_deleted_alone"),
                "deleted_alone",
            ),
            format!("\t\t{}\n", mixed(self.count("files_deleted_mixed"))),
            "\nData:\n".to_owned(),
            self.data("bytes_read", "read", "data_read"),
            self.data("bytes_written", "written", "data_written"),
        ]
        .concat()
    }

    fn data(&self, counter: &str, done: &str, metric: &str) -> String {
        let bytes = size(self.count(counter));
        let (value, unit) = self
            .natives
            .get(metric)
            .map_or((0.0, ""), |native| (native.value, native.unit.as_str()));
        format!("\t{bytes} {done} ({value:.2} {unit})\n")
    }

    /// One line: thirteen figures with a blank between them.
    fn terse(&self) -> String {
        let transaction_s = self.native("transaction_time");
        let total_s = self.native("total_time");
        let mixed = |counter| self.count(counter) / transaction_s;
        let rates = [
            self.native("transactions"),
            self.native("created"),
            self.native("created_alone"),
            mixed("files_created_mixed"),
            self.native("read"),
            self.native("appended"),
            self.native("deleted"),
            self.native("deleted_alone"),
            mixed("files_deleted_mixed"),
            self.count("bytes_read") / total_s,
            self.count("bytes_written") / total_s,
        ];
        let rates = rates.map(|rate| format!(" {rate}.00")).concat();
        format!("{total_s} {transaction_s}{rates}\n")
    }

    /// A figure of the original that is a whole number.
    fn native(&self, metric: &str) -> u64 {
        self.natives[metric].value as u64
    }

    fn count(&self, counter: &str) -> u64 {
        self.counters[counter]
    }
}

/// An amount of data as the original writes it.
fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes > MEGA {
        format!("{:.2} megabytes", bytes / MEGA)
    } else if bytes > 0.0 {
        format!("{:.2} kilobytes", bytes / KILO)
    } else {
        "0.00 bytes".to_owned()
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
