//! The report, line for line as the original gives it, with the figures that the original
//! would have printed: whole seconds, counts divided as integers.

use std::collections::BTreeMap;

use wire::{Event, Native};

use crate::bench::Printer;

const KILO: f64 = 1024.0;
const MEGA: f64 = KILO * KILO;
/// The original writes an amount of nothing with all the digits of its type.
const NO_BYTES: &str = "0.000000 bytes";

/// What a run found, gathered as it comes.
#[derive(Debug, Default)]
pub struct Report {
    natives: BTreeMap<String, Native>,
    counters: BTreeMap<String, u64>,
    parameters: BTreeMap<&'static str, u64>,
    /// How many phases have begun.
    phases: u32,
}

impl Printer for Report {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Hello(hello) => {
                for name in ["files", "transactions", "subdirectories"] {
                    let value = hello.effective[name].as_u64().unwrap_or_default();
                    self.parameters.insert(name, value);
                }
            }
            Event::Progress(_) => {
                self.phases += 1;
                return match self.phases {
                    1 => self.subdirectories("Creating") + "Creating files...",
                    2 => "Done\nPerforming transactions".to_owned(),
                    _ => format!("{}Done\nDeleting files...", ".".repeat(self.dots())),
                };
            }
            Event::Sample(sample) => {
                if let Some(native) = &sample.native {
                    self.natives.insert(sample.metric.clone(), native.clone());
                }
            }
            Event::End(end) => {
                self.counters = end.counters.clone();
                return match (self.phases, &end.failure) {
                    (0, _) => String::new(),
                    (_, None) => "Done\n".to_owned() + &self.subdirectories("Deleting"),
                    (_, Some(_)) => "\n".to_owned(),
                };
            }
            _ => {}
        }
        String::new()
    }
}

impl Report {
    /// The line on subdirectories, which a run has from two on.
    fn subdirectories(&self, doing: &str) -> String {
        match self.parameters["subdirectories"] {
            0 | 1 => String::new(),
            _ => format!("{doing} subdirectories...Done\n"),
        }
    }

    /// The original prints a dot at every tenth of the transactions, rounded down: those of a
    /// phase are printed here when it is over, as nothing is printed while it is timed.
    fn dots(&self) -> usize {
        let transactions = self.parameters["transactions"];
        transactions.div_ceil((transactions / 10).max(1)) as usize
    }

    /// The report of a run that was done.
    pub fn text(&self, is_terse: bool) -> String {
        if is_terse {
            self.terse()
        } else {
            self.verbose()
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
        let rate = match self.natives.get(metric) {
            Some(native) if native.value > 0.0 => format!("{:.2} {}", native.value, native.unit),
            _ => format!("{NO_BYTES} per second"),
        };
        format!("\t{bytes} {done} ({rate})\n")
    }

    /// One line: thirteen figures with a blank between them. Those of creation alone and deletion
    /// alone are rounded down, as in the long form; the seconds that they took are not printed.
    fn terse(&self) -> String {
        let [total_s, transaction_s] = ["total_time", "transaction_time"].map(|m| self.native(m));
        let per = |seconds: u64| move |count: u64| count as f64 / seconds as f64;
        let (overall, mixed) = (per(total_s), per(transaction_s));
        let rates = [
            mixed(self.parameters["transactions"]),
            overall(self.count("files_created")),
            self.native("created_alone") as f64,
            mixed(self.count("files_created_mixed")),
            mixed(self.count("files_read")),
            mixed(self.count("files_appended")),
            overall(self.count("files_deleted")),
            self.native("deleted_alone") as f64,
            mixed(self.count("files_deleted_mixed")),
            overall(self.count("bytes_read")),
            overall(self.count("bytes_written")),
        ];
        let rates = rates.map(|rate| format!(" {rate:.2}")).concat();
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
        NO_BYTES.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 16 s whose figures the original printed.
    #[test]
    fn the_terse_report_has_the_quotients_of_the_original() {
        let seconds = ["total_time", "transaction_time"].map(|metric| (metric, 16.0));
        let alone = [("created_alone", 20_000.0), ("deleted_alone", 19_816.0)];
        let natives = seconds.into_iter().chain(alone).map(|(metric, value)| {
            let unit = String::new();
            (metric.to_owned(), Native { value, unit })
        });
        let counters = [
            ("files_created", 219_908),
            ("files_created_mixed", 199_908),
            ("files_read", 200_125),
            ("files_appended", 196_677),
            ("files_deleted", 219_908),
            ("files_deleted_mixed", 200_092),
            ("bytes_read", 401_066_912),
            ("bytes_written", 441_072_768),
        ];
        let report = Report {
            natives: natives.collect(),
            counters: counters
                .map(|(name, count)| (name.to_owned(), count))
                .into(),
            parameters: [("transactions", 400_000)].into(),
            phases: 3,
        };
        assert_eq!(
            report.text(true),
            "16 16 25000.00 13744.25 20000.00 12494.25 12507.81 12292.31 13744.25 19816.00 \
             12505.75 25066682.00 27567048.00\n"
        );
    }

    #[test]
    fn dots_are_as_many_as_the_original_prints() {
        for (transactions, dots) in [(20, 10), (500, 10), (505, 11), (19, 19), (5, 5)] {
            let report = Report {
                parameters: [("transactions", transactions)].into(),
                ..Report::default()
            };
            assert_eq!(report.dots(), dots, "{transactions}");
        }
    }

    #[test]
    fn sizes_are_written_in_the_unit_of_the_original() {
        for (bytes, text) in [
            (1_430_770, "1.36 megabytes"),
            (1 << 20, "1024.00 kilobytes"),
            (100, "0.10 kilobytes"),
            (0, "0.000000 bytes"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
