//! What is printed: a head, and for each stage its rates before and after fsync.

use std::collections::BTreeMap;

use wire::{Event, Hello, Latency, Sample};

use super::{asked_stages, Stage, STAGES};
use crate::bench::Printer;
use crate::tool::Settings;

const MIB: f64 = 1_048_576.0;
/// Upper limits of the classes that latencies are counted in, in ms.
const CLASSES_MS: [u64; 6] = [100, 250, 500, 1_000, 5_000, 10_000];

/// Prints each stage when it is over.
pub struct Report {
    settings: Settings,
    threads: u64,
    /// Of the stage under way, by metric.
    samples: BTreeMap<String, Sample>,
}

impl Report {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            threads: 1,
            samples: BTreeMap::new(),
        }
    }

    fn head(&self, hello: &Hello) -> String {
        let number = |name| self.settings.number(name);
        let mut text = String::new();
        let asked = asked_stages(&self.settings).unwrap_or_default();
        for stage in &asked {
            text += &format!("adding stage {}\n", stage.label);
        }
        let is_asked = |stage: &&Stage| asked.iter().any(|asked| asked.name == stage.name);
        if let Some(first) = STAGES.iter().find(is_asked) {
            text += &format!("starting with {}\n", first.label);
        }
        let (files, contexts) = (number("files"), number("contexts"));
        let built = number("batch").min(number("depth"));
        let (submit_max, batch) = match number("submit_max") {
            0 => (files * built * contexts, built),
            most => (most, built.min(most)),
        };
        text + &format!(
            "file size {}MB, record size {}KB, depth {}, ios per iteration {batch}\n\
             max io_submit {submit_max}, buffer alignment set to {}KB\n\
             threads {} files {files} contexts {contexts} context offset {}MB verification {}\n",
            number("file") >> 20,
            number("record") >> 10,
            number("depth"),
            number("alignment") >> 10,
            hello.effective["threads"],
            number("context_offset") >> 20,
            if self.settings.has("-v") { "on" } else { "off" },
        )
    }

    /// The stage that is over, if one is.
    fn stage(&mut self) -> String {
        let samples = std::mem::take(&mut self.samples);
        let is_measured = |stage: &&Stage| samples.contains_key(stage.metric);
        let Some(stage) = STAGES.iter().find(is_measured) else {
            return String::new();
        };
        let of = |ending: &str| samples.get(&format!("{}{ending}", stage.metric));
        let (label, mut text) = (stage.label, String::new());
        let delays = |ending| of(ending).and_then(|sample: &Sample| sample.latency_ns.as_ref());
        if let Some(submits) = delays("_submit_mean").filter(|_| self.settings.has("-l")) {
            text += &latencies("latency", submits);
        }
        if let Some(requests) = delays("").filter(|_| self.settings.has("-L")) {
            text += &latencies("completion latency", requests);
        }
        let files: Vec<_> = self.settings.operands().collect();
        let contexts = self.settings.number("contexts");
        if let ([file], 1, Some(rate)) = (&*files, contexts, of("_before_fsync")) {
            text += &format!("{label} on {} {}\n", file.display(), amount(rate));
        }
        if let Some(rate) = of("") {
            text += &match self.threads {
                1 => format!("thread 0 {label} totals {}\n", amount(rate)),
                _ => format!("{label} throughput {}\n", amount(rate)),
            };
        }
        text
    }
}

impl Printer for Report {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Hello(hello) => {
                self.threads = hello.effective["threads"].as_u64().unwrap_or(1);
                self.head(hello)
            }
            Event::Sample(sample) => {
                self.samples.insert(sample.metric.clone(), sample.clone());
                String::new()
            }
            Event::Progress(_) | Event::End(_) => self.stage(),
            _ => String::new(),
        }
    }
}

/// Rate, bytes and time.
fn amount(rate: &Sample) -> String {
    let mb = rate.bytes as f64 / MIB;
    let (rate_mb, elapsed_s) = (rate.value / MIB, rate.elapsed_s);
    format!("({rate_mb:.2} MB/s) {mb:.2} MB in {elapsed_s:.2}s")
}

/// Minimum, mean, maximum, and the count in each class; those above all classes come last.
fn latencies(label: &str, latency: &Latency) -> String {
    let mut text = format!(
        "{label} min {:.2} avg {:.2} max {:.2}\n\t",
        latency.min as f64 / 1e6,
        latency.mean / 1e6,
        latency.max as f64 / 1e6,
    );
    let below = |limit_ms: u64| {
        let buckets = latency.buckets.iter();
        let early = buckets.filter(|(lowest_ns, _)| *lowest_ns < limit_ms * 1_000_000);
        early.map(|(_, count)| count).sum::<u64>()
    };
    let mut counted = 0;
    for limit_ms in CLASSES_MS {
        let so_far = below(limit_ms);
        text += &format!(" {} < {limit_ms}", so_far - counted);
        counted = so_far;
    }
    if latency.count > counted {
        text += &format!(" < {}", latency.count - counted);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_is_in_one_class() {
        let ms = 1_000_000;
        let latency = Latency {
            count: 7,
            min: ms / 10,
            max: 20_000 * ms,
            mean: 290_000.0,
            p50: ms,
            p90: ms,
            p99: ms,
            p999: None,
            p9999: None,
            buckets: vec![(ms / 10, 3), (99 * ms, 1), (700 * ms, 2), (20_000 * ms, 1)],
        };
        let text = "latency min 0.10 avg 0.29 max 20000.00\n\
                    \t 4 < 100 0 < 250 0 < 500 2 < 1000 0 < 5000 0 < 10000 < 1\n";
        assert_eq!(latencies("latency", &latency), text);
    }
}
