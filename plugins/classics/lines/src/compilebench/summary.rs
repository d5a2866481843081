//! The summary: one line for each kind of work.

use std::collections::BTreeMap;

use wire::{Event, Native};

use crate::bench::Printer;

const RULE: &str = "==========================================================================";

/// Metrics, and what the original calls them.
const STAGES: [(&str, &str); 11] = [
    // Its spelling, which others look for.
    ("initial_create", "intial create"),
    ("create", "create"),
    ("patch", "patch"),
    ("compile", "compile"),
    ("clean", "clean"),
    ("read_tree", "read tree"),
    ("read_compiled_tree", "read compiled tree"),
    ("delete_tree", "delete tree"),
    ("delete_compiled_tree", "delete compiled tree"),
    ("stat_tree", "stat tree"),
    ("stat_compiled_tree", "stat compiled tree"),
];

/// Gathers the figures; counts are known at the end.
#[derive(Default)]
pub struct Summary {
    natives: BTreeMap<String, Native>,
}

impl Summary {
    fn line(&self, metric: &str, label: &str, counters: &BTreeMap<String, u64>) -> String {
        let count = |what: &str| counters.get(&format!("{metric}_{what}")).copied();
        let trees = count("trees").unwrap_or_default();
        let Some(Native { value, unit }) = self.natives.get(metric).filter(|_| trees > 0) else {
            return format!("no runs for {label}\n");
        };
        let mean_s = |what| count(what).unwrap_or_default() as f64 / 1e6 / trees as f64;
        format!(
            "{label} total runs {trees} avg {value:.2} {unit} (user {:.2}s sys {:.2}s)\n",
            mean_s("user_us"),
            mean_s("system_us"),
        )
    }
}

impl Printer for Summary {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Sample(sample) => {
                if let Some(native) = &sample.native {
                    self.natives.insert(sample.metric.clone(), native.clone());
                }
                String::new()
            }
            Event::End(end) if end.failure.is_none() => {
                let lines = STAGES.map(|(metric, label)| self.line(metric, label, &end.counters));
                format!("\nrun complete:\n{RULE}\n{}", lines.concat())
            }
            _ => String::new(),
        }
    }
}
