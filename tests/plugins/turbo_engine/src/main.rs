//! An engine with one workload: a file is renamed, and back.
//!
//! Timing formula: rate = renames / (t1 − t0); t0 before the first rename, t1 after the last.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use kit::failure::io_failure;
use kit::trial::{self, Planned};
use kit::{params, EventSink, OperationProbe, Probe};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use storage::scratch::check_free;
use storage::workload::Workload;
use wire::{Card, Failure, MetricCard, Role, TargetKind, Unit};

kit::parameters! {
    /// Parameters of the workload.
    pub struct Params {
        /// How often the file is renamed.
        pub renames: u32 = 1_000, in 1..=1_000_000;
    }
}

struct Renames;

impl Workload for Renames {
    fn name(&self) -> &'static str {
        "turbo_renames"
    }

    fn card(&self) -> Card {
        Card {
            name: self.name().to_owned(),
            title: "turbo renames".to_owned(),
            target: TargetKind::Directory,
            about: "a file is renamed, and back".to_owned(),
            lineage: "rename(2)".to_owned(),
            timing: "rate = renames / (t1 − t0), before the first and after the last".to_owned(),
            description: "One thread renames one empty file. Nothing is synced.".to_owned(),
            parameters: params::schema::<Params>(),
            metrics: vec![rate()],
            grid: Vec::new(),
            usual: json!({"renames": 100_000}),
            smoke: json!({"renames": 100}),
        }
    }

    fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        let params: Params = params::read(parameters)?;
        let (one, other) = (directory.join("turbo.1"), directory.join("turbo.2"));
        check_free([one.clone(), other.clone()])?;
        Ok(trial::ready(params, 1, move |params, event_sink| {
            let done = run(params, &one, &other, event_sink);
            // One of them is there, unless it could not even be made.
            let _ = fs::remove_file(&one).or_else(|_| fs::remove_file(&other));
            done
        }))
    }
}

fn rate() -> MetricCard {
    let about = "Renames over the time of all.";
    MetricCard::new("renames", "renames", Unit::PerSecond, Role::Headline, about)
}

fn run(
    params: &Params,
    one: &Path,
    other: &Path,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    fs::write(one, b"").map_err(|error| io_failure("make", one, &error))?;
    let mut probe = OperationProbe::new();
    probe.start();
    let (mut from, mut to) = (one, other);
    for _ in 0..params.renames {
        fs::rename(from, to).map_err(|error| io_failure("rename", from, &error))?;
        probe.operation(0);
        (from, to) = (to, from);
    }
    let reading = probe.finish();
    event_sink.add(&reading);
    event_sink.sample(reading.sample(rate(), reading.operations_per_s(), Map::new()));
    Ok(())
}

fn main() -> ExitCode {
    engine::main(engine::Parts {
        storage: vec![&Renames],
        ..engine::Parts::default()
    })
}
