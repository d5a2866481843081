//! What is measured of every execution, and the samples over all of them.

use kit::{EventSink, OperationProbe, Probe};
use wire::{Execution, MetricCard, Role, Sample, Unit};

/// One metric: `value` gives that of an execution, where the kernel counts it.
struct Metric {
    name: &'static str,
    label: &'static str,
    unit: Unit,
    about: &'static str,
    value: fn(&Execution) -> Option<f64>,
}

static METRICS: &[Metric] = &[
    Metric {
        name: "time",
        label: "time",
        unit: Unit::Second,
        about: "from the start of the program to its end, by the monotonic clock",
        value: |done| Some(done.elapsed_s),
    },
    Metric {
        name: "cpu_time",
        label: "CPU time",
        unit: Unit::Second,
        about: "in user mode and in the kernel, of all processes that it started; to a microsecond",
        value: |done| Some(done.user_s + done.system_s),
    },
    Metric {
        name: "user",
        label: "user time",
        unit: Unit::Second,
        about: "CPU time in user mode, of all processes that it started",
        value: |done| Some(done.user_s),
    },
    Metric {
        name: "system",
        label: "system time",
        unit: Unit::Second,
        about: "CPU time in the kernel, of all processes that it started",
        value: |done| Some(done.system_s),
    },
    Metric {
        name: "peak_memory",
        label: "peak memory",
        unit: Unit::Byte,
        about: "largest resident set of one of its processes",
        value: |done| Some(done.peak_memory_bytes as f64),
    },
    Metric {
        name: "minor_faults",
        label: "minor faults",
        unit: Unit::Count,
        about: "page faults without I/O",
        value: |done| Some(done.minor_faults as f64),
    },
    Metric {
        name: "major_faults",
        label: "major faults",
        unit: Unit::Count,
        about: "page faults with I/O",
        value: |done| Some(done.major_faults as f64),
    },
    Metric {
        name: "voluntary_switches",
        label: "voluntary switches",
        unit: Unit::Count,
        about: "how often its processes waited for something",
        value: |done| Some(done.voluntary_switches as f64),
    },
    Metric {
        name: "involuntary_switches",
        label: "involuntary switches",
        unit: Unit::Count,
        about: "how often its processes had to give way",
        value: |done| Some(done.involuntary_switches as f64),
    },
    Metric {
        name: "read",
        label: "read from devices",
        unit: Unit::Byte,
        about: "bytes that its processes caused to be read from devices",
        value: |done| done.read_bytes.map(|bytes| bytes as f64),
    },
    Metric {
        name: "written",
        label: "written to devices",
        unit: Unit::Byte,
        about: "bytes that its processes caused to be written to devices, now or later",
        value: |done| done.written_bytes.map(|bytes| bytes as f64),
    },
];

impl Metric {
    fn card(&self) -> MetricCard {
        let role = match self.name {
            "time" => Role::Headline,
            _ => Role::Detail,
        };
        MetricCard::new(self.name, self.label, self.unit, role, self.about)
    }
}

/// The cards of all metrics.
pub fn cards() -> Vec<MetricCard> {
    METRICS.iter().map(Metric::card).collect()
}

/// Hands over what the measured executions come to: one sample a metric, the mean.
pub fn report(executions: &[Execution], sink: &mut EventSink) {
    let mut probe = OperationProbe::new();
    probe.start_at(0);
    let mut now_ns = 0;
    for done in executions {
        // Less the start of a shell, nothing may be left.
        let ended_ns = now_ns + ((done.elapsed_s * 1e9).round() as u64).max(1);
        probe.overlapped_operation(0, now_ns, ended_ns);
        now_ns = ended_ns;
    }
    let reading = probe.finish_at(now_ns);
    sink.add(&reading);
    for metric in METRICS {
        let values: Option<Vec<f64>> = executions.iter().map(metric.value).collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else {
            continue;
        };
        let value = match metric.name {
            "time" => reading.elapsed_s() / reading.operations as f64,
            _ => values.iter().sum::<f64>() / values.len() as f64,
        };
        sink.sample(Sample {
            latency_ns: reading.latency.clone().filter(|_| metric.name == "time"),
            ..reading.sample(metric.card(), value, serde_json::Map::new())
        });
    }
}
