//! The tables of rates and latencies, or the terse lines in their place.

use std::collections::BTreeMap;

use wire::{Event, Failure, Latency, Sample};

use super::{Phase, FIRST, PHASES};
use crate::bench::Printer;
use crate::tool::Settings;

const MIB: f64 = 1_048_576.0;
const RATE_RULE: &str = "-----------------------+----------+--------------+----------+---------";
const LATENCY_RULE: &str =
    "--------------+-----------------+-----------------+----------+-----------";

/// Gathers what the phases found, and prints it when all are done, as the original.
pub struct Table {
    settings: Settings,
    /// The rates, by metric.
    rates: BTreeMap<String, Sample>,
}

/// CPU time of a phase as the version counts it, in seconds.
struct Cpu {
    user_s: f64,
    system_s: f64,
}

/// How long operations took.
#[derive(Default)]
struct Delays {
    count: u64,
    sum_ms: f64,
    max_ms: f64,
    above_2_s: u64,
    above_10_s: u64,
}

impl Table {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            rates: BTreeMap::new(),
        }
    }

    /// Where figures credit other bytes than were moved, and by how much.
    fn remarks(&self) -> Vec<String> {
        let remark = |(phase, rate): (&Phase, &Sample)| {
            let moved = rate.value / MIB;
            let inflation = native_rate(rate) / moved;
            ((inflation - 1.0).abs() > 1e-6).then(|| {
                format!(
                    "{}: the version of 2017 credits whole files, {inflation:.3} times what was \
                     moved; that was {moved:.3} MB/s",
                    phase.label
                )
            })
        };
        self.measured().filter_map(remark).collect()
    }

    fn measured(&self) -> impl Iterator<Item = (&Phase, &Sample)> {
        let rate = |phase: &'static Phase| Some((phase, self.rates.get(phase.metric)?));
        PHASES.iter().filter_map(rate)
    }

    fn cpu(&self, phase: &Phase, counters: &BTreeMap<String, u64>) -> Cpu {
        // At first, each thread added the time of the whole process.
        let overcount = match self.settings.word("version") {
            FIRST => self.settings.number("threads"),
            _ => 1,
        };
        let seconds = |mode: &str| {
            let used_us = counters.get(&format!("{}_{mode}_us", phase.metric));
            overcount as f64 * used_us.copied().unwrap_or_default() as f64 / 1e6
        };
        Cpu {
            user_s: seconds("user"),
            system_s: seconds("system"),
        }
    }

    fn rates(&self, counters: &BTreeMap<String, u64>) -> String {
        let row = |(phase, rate): (&Phase, &Sample)| {
            let Cpu { user_s, system_s } = self.cpu(phase, counters);
            let (label, room) = (phase.label, 16 - phase.label.len());
            format!(
                "| {label} {:room$.0} MBs | {:6.1} s | {:7.3} MB/s | {:5.1} %  | {:5.1} % |\n",
                credited_mb(rate),
                rate.elapsed_s,
                native_rate(rate),
                100.0 * user_s / rate.elapsed_s,
                100.0 * system_s / rate.elapsed_s,
            )
        };
        let rows: String = self.measured().map(row).collect();
        format!(
            "Tiotest results for {} concurrent io threads:\n\
             ,----------------------------------------------------------------------.\n\
             | Item                  | Time     | Rate         | Usr CPU  | Sys CPU |\n\
             +{RATE_RULE}+\n\
             {rows}\
             `----------------------------------------------------------------------'\n",
            self.settings.number("threads")
        )
    }

    fn latencies(&self) -> String {
        let row = |label: &str, delays: &Delays| {
            format!(
                "| {label:12} | {:12.3} ms | {:12.3} ms | {:8.5} | {:9.5} |\n",
                delays.mean_ms(),
                delays.max_ms,
                delays.percent(delays.above_2_s),
                delays.percent(delays.above_10_s),
            )
        };
        let rows: String = self
            .measured()
            .map(|(phase, rate)| row(phase.label, &Delays::of([rate])))
            .collect();
        let total = row("Total", &self.delays());
        format!(
            "Tiotest latency results:\n\
             ,-------------------------------------------------------------------------.\n\
             | Item         | Average latency | Maximum latency | % >2 sec | % >10 sec |\n\
             +{LATENCY_RULE}+\n\
             {rows}\
             |{LATENCY_RULE}|\n\
             {total}\
             `{LATENCY_RULE}'\n\n"
        )
    }

    fn terse(&self, counters: &BTreeMap<String, u64>) -> String {
        let line = |phase: &Phase| {
            let Some(rate) = self.rates.get(phase.metric) else {
                return format!("{}:{}\n", phase.terse, fields(&[0.0; 8]));
            };
            let Cpu { user_s, system_s } = self.cpu(phase, counters);
            let times = [credited_mb(rate), rate.elapsed_s, user_s, system_s];
            let delays = Delays::of([rate]).fields();
            format!("{}:{}\n", phase.terse, fields(&[times, delays].concat()))
        };
        let lines: String = PHASES.iter().map(line).collect();
        format!("{lines}total:{}\n", fields(&self.delays().fields()))
    }

    fn delays(&self) -> Delays {
        Delays::of(self.measured().map(|(_, rate)| rate))
    }
}

impl Printer for Table {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Sample(sample) => {
                if PHASES.iter().any(|phase| phase.metric == sample.metric) {
                    self.rates.insert(sample.metric.clone(), sample.clone());
                }
                String::new()
            }
            Event::End(end) if end.failure.is_none() => {
                if self.settings.has("-T") {
                    return self.terse(&end.counters);
                }
                let mut text = self.rates(&end.counters);
                if !self.settings.has("-L") {
                    text += &self.latencies();
                }
                text
            }
            _ => String::new(),
        }
    }

    fn finish(&mut self, succeeded: bool) -> Result<Vec<String>, Failure> {
        Ok(if succeeded {
            self.remarks()
        } else {
            Vec::new()
        })
    }
}

impl Delays {
    /// Of all operations of these phases.
    fn of<'s>(rates: impl IntoIterator<Item = &'s Sample>) -> Self {
        let latencies = rates
            .into_iter()
            .filter_map(|rate| rate.latency_ns.as_ref());
        latencies.fold(Self::default(), |all, latency| Self {
            count: all.count + latency.count,
            sum_ms: all.sum_ms + latency.mean * latency.count as f64 / 1e6,
            max_ms: all.max_ms.max(latency.max as f64 / 1e6),
            above_2_s: all.above_2_s + above(latency, 2),
            above_10_s: all.above_10_s + above(latency, 10),
        })
    }

    fn mean_ms(&self) -> f64 {
        self.sum_ms / self.count.max(1) as f64
    }

    fn percent(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.count.max(1) as f64
    }

    fn fields(&self) -> [f64; 4] {
        let percent = |count| self.percent(count);
        [
            self.mean_ms(),
            self.max_ms,
            percent(self.above_2_s),
            percent(self.above_10_s),
        ]
    }
}

/// Operations in buckets that begin at `limit_s` or later.
fn above(latency: &Latency, limit_s: u64) -> u64 {
    let buckets = latency.buckets.iter();
    let late = buckets.filter(|(lowest_ns, _)| *lowest_ns >= limit_s * 1_000_000_000);
    late.map(|(_, count)| count).sum()
}

fn native_rate(rate: &Sample) -> f64 {
    rate.native.as_ref().map_or(0.0, |native| native.value)
}

/// Bytes that the version says it has moved, in MiB.
fn credited_mb(rate: &Sample) -> f64 {
    native_rate(rate) * rate.elapsed_s
}

fn fields(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|value| format!("{value:.5}")).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_operations_are_counted_from_both_limits() {
        let second_ns = 1_000_000_000;
        let latency = Latency {
            count: 10,
            min: 1,
            max: 12 * second_ns,
            mean: 1.5e9,
            p50: 1,
            p90: 1,
            p99: 1,
            p999: None,
            p9999: None,
            buckets: vec![(1, 6), (3 * second_ns, 3), (12 * second_ns, 1)],
        };
        assert_eq!((above(&latency, 2), above(&latency, 10)), (4, 1));
    }
}
