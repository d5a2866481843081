//! Jobs, as `run` reads them, and the parameters of network workloads, which no disk is needed for.

use engine::job;
use network::workload::ALL;
use serde_json::json;

use super::{json_tokens, Target};

/// The target.
pub const TARGET: Target = Target {
    name: "job",
    seeds,
    tokens: json_tokens![
        "\"protocol\"",
        "\"parameters\"",
        "\"target\"",
        "\"far\"",
        "\"directory\"",
        "\"conditions\"",
        "\"inject\"",
        "\"seconds\"",
        "\"flows\"",
        "\"64k\"",
        "\"1P\"",
        "\"tcp_rr\"",
        "\"udp_stream\"",
        "\"message\"",
    ],
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    let far = json!({"far": {"address": "192.0.2.1", "port": 1, "secret": "s"}});
    let jobs = ALL.iter().map(|workload| {
        json!({
            "protocol": wire::PROTOCOL, "workload": workload.name(), "parameters": {},
            "target": far, "conditions": {"unpinned": true},
        })
    });
    let stream = json!({
        "protocol": wire::PROTOCOL, "workload": "tcp_stream",
        "parameters": {"message": ["1k", "64k"], "flows": [1, 2], "seconds": 0.5,
            "client": {"threads": 1, "cpus": [0]}, "nodelay": true},
        "target": far,
    });
    let disk = json!({
        "protocol": wire::PROTOCOL, "workload": "postmark", "target": {"directory": "/"},
    });
    jobs.chain([stream, disk])
        .map(|job| job.to_string().into_bytes())
        .collect()
}

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let job = match job::parse(text) {
        Ok(job) => job,
        Err(failure) => return assert!(!failure.message.is_empty()),
    };
    assert_eq!(job.protocol, wire::PROTOCOL);
    let named = ALL.iter().find(|known| known.name() == job.workload);
    if let (Some(workload), Some(far)) = (named, &job.target.far) {
        if let Err(failure) = workload.plan(&job.parameters, far).map(drop) {
            assert!(!failure.message.is_empty());
        }
    }
}
