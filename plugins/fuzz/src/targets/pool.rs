//! Streams of clients, which come from hosts of strangers, pooled with one as it should be.

use engine::pool as pooling;
use serde_json::json;
use wire::{Event, Pool};

use super::{json_tokens, Target};

/// The target.
pub const TARGET: Target = Target {
    name: "pool",
    seeds: || vec![STREAM.as_bytes().to_vec()],
    tokens: json_tokens![
        "\"latency_ns\"",
        "\"buckets\"",
        "\"1/s\"",
        "\"B/s\"",
        "\"s\"",
        "1e-320",
        "_p99"
    ],
    run,
};

const STREAM: &str = r#"{"type":"hello","data":{"protocol":1,"engine":"e","workload":"w","effective":{},"hash":"h","timing":"pass","conditions":{"cpus":[],"awake":[]}}}
{"type":"region","data":{"began_ns":9,"elapsed_s":0.5,"operations":2,"bytes":8192}}
{"type":"interval","data":{"t_s":0.5,"operations":2,"bytes":8192}}
{"type":"sample","data":{"metric":"rate","value":16384.0,"unit":"B/s","direction":"higher","operations":2,"bytes":8192,"elapsed_s":0.5}}
{"type":"sample","data":{"metric":"read","value":3.5e-9,"unit":"s","direction":"lower","operations":2,"bytes":0,"elapsed_s":0.5,"latency_ns":{"count":2,"min":3,"max":4,"mean":3.5,"p50":3,"p90":4,"p99":4,"buckets":[[3,1],[4,1]]}}}
{"type":"sample","data":{"metric":"read_p99","value":4e-9,"unit":"s","direction":"lower","operations":0,"bytes":0,"elapsed_s":0.5}}
{"type":"end","data":{"outcome":"done","operations":2,"bytes":8192,"elapsed_s":1.0,"checksum":"0f","floor":{"clock_ns":1.0,"clock_step_ns":1.0,"operation_ns":1.0},"usage":{"user_s":0.5,"system_s":0.5,"parent_s":0.0,"voluntary_switches":0,"involuntary_switches":0,"minor_faults":0,"major_faults":0,"peak_memory_bytes":1}}}
"#;

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let client = json!({
        "name": "1", "path": "/", "file": "f", "sha256": "s",
        "starts": [{"at_ns": 0, "ahead_ns": 0, "uncertainty_ns": 0}],
    });
    let request = json!({"clients": [client, client], "late_s": 1e9, "late_share": 0.0});
    let request: Pool = serde_json::from_value(request).expect("as the lab writes it");
    match pooling::pool(&request, &[STREAM.to_owned(), text.to_owned()]) {
        Err(sentence) => assert!(!sentence.is_empty()),
        // What is written can be read: each number is one.
        Ok((_, events)) => events.iter().for_each(|event| {
            let line = serde_json::to_string(event).expect("an event");
            serde_json::from_str::<Event>(&line).expect("what was written");
        }),
    }
}
