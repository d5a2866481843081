//! The workload as the engine sees it, on a real directory.

use kit::EventSink;
use serde_json::json;
use wire::{Event, Sample};

use super::*;

/// Samples and checksum of a trial in memory, so that what others read from a disk does not
/// contradict the declared access.
fn execute(parameters: Value) -> (Vec<Sample>, u64) {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut samples = Vec::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            samples.push(sample);
        }
    };
    let mut event_sink = EventSink::new(&mut emit);
    let plan = Stream.plan(parameters.as_object().unwrap(), directory.path());
    plan.unwrap().run(&mut event_sink).unwrap();
    let checksum = event_sink.totals.checksum;
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    (samples, checksum)
}

#[test]
fn every_backend_moves_the_same_blocks() {
    let backends = [("sync", 1), ("mmap", 1), ("libaio", 5), ("uring", 5)];
    let checksums = backends.map(|(backend, depth)| {
        let (samples, checksum) = execute(json!({
            "file": "260k", "block": "8k", "threads": 2, "backend": backend, "depth": depth,
            "verify": true, "include_fsync": true,
        }));
        for metric in ["stream_write", "stream_rewrite", "stream_read"] {
            let sample = samples.iter().find(|sample| sample.metric == metric);
            let sample = sample.unwrap();
            assert_eq!((sample.operations, sample.bytes), (64, 64 * 8_192));
            assert_eq!(sample.latency_ns.as_ref().unwrap().count, 64);
        }
        checksum
    });
    assert!(checksums.iter().all(|&sum| sum == checksums[0]));
    assert_ne!(checksums[0], 0);
}

#[test]
fn a_phase_alone_finds_its_file_laid_out() {
    for phase in ["rewrite", "read"] {
        let parameters = json!({"file": "64k", "phases": phase, "timing": "pass"});
        let (samples, checksum) = execute(parameters);
        let metrics: Vec<_> = samples
            .iter()
            .map(|sample| sample.metric.as_str())
            .collect();
        let headline = format!("stream_{phase}");
        let operations = format!("stream_{phase}_operations");
        assert_eq!(metrics, [operations, headline], "no latencies");
        assert_eq!(checksum != 0, phase == "read");
    }
}
