//! The workload as the engine sees it, on a real directory.

use serde_json::json;
use wire::{Event, FailureKind, Sample};

use super::*;
use testing::scratch_directory;

struct Taken {
    samples: Vec<Sample>,
    warnings: Vec<String>,
    checksum: u64,
}

fn execute(parameters: Value) -> Result<Taken, Failure> {
    let directory = scratch_directory();
    let (mut samples, mut warnings) = (Vec::new(), Vec::new());
    let mut emit = |event| match event {
        Event::Sample(sample) => samples.push(sample),
        Event::Warning(warning) => warnings.push(warning.code),
        _ => {}
    };
    let plan = Random.plan(parameters.as_object().unwrap(), directory.path());
    let mut event_sink = EventSink::new(&mut emit);
    plan?.run(&mut event_sink)?;
    let checksum = event_sink.totals.checksum;
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    Ok(Taken {
        samples,
        warnings,
        checksum,
    })
}

fn find<'a>(taken: &'a Taken, metric: &str) -> Option<&'a Sample> {
    taken.samples.iter().find(|sample| sample.metric == metric)
}

/// All that move data and can have more than one block in flight, or cannot.
const BACKENDS: [(&str, u32); 6] = [
    ("sync", 1),
    ("mmap", 1),
    ("libaio", 1),
    ("libaio", 7),
    ("uring", 1),
    ("uring", 7),
];

#[test]
fn every_backend_does_the_same_in_every_order() {
    for offsets in ["uniform", "permutation", "zipf"] {
        let checksums = BACKENDS.map(|(backend, depth)| {
            let taken = execute(json!({
                "file": "256k", "offsets": offsets, "backend": backend, "depth": depth,
                "read_percent": 60, "operations": 300, "verify": true,
            }))
            .unwrap();
            let operations = |metric| find(&taken, metric).unwrap().operations;
            let sum = operations("random_read") + operations("random_write");
            assert_eq!(sum, 300, "{backend} {offsets}");
            assert!((120..240).contains(&operations("random_read")));
            taken.checksum
        });
        assert!(checksums.iter().all(|&sum| sum == checksums[0]));
        assert_ne!(checksums[0], 0);
    }
}

#[test]
fn without_a_limit_a_permutation_reads_each_block_once() {
    let taken = execute(json!({"file": "256k", "offsets": "permutation"})).unwrap();
    let read = find(&taken, "random_read").unwrap();
    assert_eq!((read.operations, read.bytes), (64, 262_144));
    assert_eq!(read.latency_ns.as_ref().unwrap().count, 64);
    assert!(find(&taken, "random_write").is_none());
}

#[test]
fn a_runtime_ends_what_has_no_other_end() {
    for (backend, depth) in BACKENDS {
        for timing in ["pass", "operation"] {
            let taken = execute(json!({
                "file": "64k", "content": "zeroes", "runtime_s": 0.03, "backend": backend, "depth": depth,
                "timing": timing,
            }))
            .unwrap();
            let read = find(&taken, "random_read").unwrap();
            assert!(read.elapsed_s >= 0.03, "{backend} {timing}");
            let p99 = find(&taken, "random_read_latency_p99");
            assert_eq!(p99.is_some(), timing == "operation");
        }
    }
}

/// 100 operations at 2000 per second take 49.5 ms until the last is due, however fast they are.
#[test]
fn a_rate_is_kept_by_all_threads_together() {
    for (backend, depth) in BACKENDS {
        let taken = execute(json!({
            "file": "64k", "content": "zeroes", "threads": 2, "operations": 50, "rate": 2_000, "backend": backend,
            "depth": depth,
        }))
        .unwrap();
        let read = find(&taken, "random_read").unwrap();
        assert_eq!(read.operations, 100);
        assert!(read.elapsed_s >= 0.0495, "{backend}: {}", read.elapsed_s);
    }
}

/// What is due and cannot be begun waits, and its latency says so.
#[test]
fn an_overloaded_open_loop_shows_in_latency_and_a_warning() {
    for (backend, depth) in [("sync", 1), ("libaio", 4)] {
        let taken = execute(json!({
            "file": "64k", "content": "zeroes", "operations": 2_000, "rate": 100_000_000, "backend": backend,
            "depth": depth,
        }))
        .unwrap();
        assert_eq!(taken.warnings, ["rate-not-kept"]);
        let read = find(&taken, "random_read").unwrap();
        let latency = read.latency_ns.as_ref().unwrap();
        // All were due within 20 us: the last one waited for nearly all the others.
        let waited_s = latency.max as f64 / 1e9;
        assert!(waited_s > 0.5 * (read.elapsed_s - 0.001), "{backend}");
    }
}

#[test]
fn a_file_in_the_way_is_refused_and_kept() {
    let directory = scratch_directory();
    let path = directory.path().join("tiltyard-random.1");
    std::fs::write(&path, "precious").unwrap();
    let plan = |parameters: Value| Random.plan(parameters.as_object().unwrap(), directory.path());
    assert!(plan(json!({"threads": 1})).is_ok());
    let failure = plan(json!({"threads": 2})).err().unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_batch_of_which_all_fail_ends_the_trial() {
    for backend in ["libaio", "uring"] {
        let directory = scratch_directory();
        let parameters = json!({
            "file": "256k", "backend": backend, "depth": 7, "runtime_s": 10.0,
        });
        let plan = Random.plan(parameters.as_object().unwrap(), directory.path());
        let path = directory.path().join("tiltyard-random.0");
        let failure = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !path.metadata().is_ok_and(|file| file.len() == 256 << 10) {
                    std::thread::yield_now();
                }
                // By then it is being read; all that is in flight fails together.
                std::thread::sleep(std::time::Duration::from_millis(100));
                let file = std::fs::OpenOptions::new().write(true).open(&path);
                file.unwrap().set_len(0).unwrap();
            });
            plan.unwrap().run(&mut EventSink::new(&mut |_| {}))
        });
        let message = failure.err().unwrap().message;
        assert!(message.ends_with("only 0 bytes were moved"), "{message}");
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
