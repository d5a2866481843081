//! Nothing is allocated in a timed region: a counting allocator looks on while whole trials are
//! executed, small ones and large ones.

use kit::EventSink;
use serde_json::{json, Value};
use storage::workload::compilebench::Compilebench;
use storage::workload::iozone::Iozone;
use storage::workload::postmark::Postmark;
use storage::workload::Workload;
use testing::{allocations, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a whole trial without I/O.
fn allocations_of_a_trial(workload: &dyn Workload, parameters: &Value) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let trial = workload.plan(parameters.as_object().unwrap(), directory.path());
    let trial = trial.unwrap();
    let mut emit = drop;
    let before = allocations::of_this_thread();
    trial.run(&mut EventSink::new(&mut emit)).unwrap();
    allocations::of_this_thread() - before
}

/// The preparation may allocate a little more for more work, a timed operation may not.
#[test]
fn ten_times_the_transactions_allocate_no_more() {
    for backend in ["null", "real"] {
        let with = |transactions: u64| {
            let parameters = json!({"transactions": transactions, "backend": backend});
            allocations_of_a_trial(&Postmark, &parameters)
        };
        let (few, many) = (with(500), with(5_000));
        assert!(
            many < few + 50,
            "{backend}: {few} allocations became {many}"
        );
    }
}

/// Every file is written, found, read and removed in timed regions.
#[test]
fn ten_times_the_files_of_trees_allocate_no_more() {
    for backend in ["null", "stdio"] {
        let with = |files: u32| {
            let parameters = json!({
                "scenario": "make-j", "trees": 1, "files": files, "backend": backend,
                "sync": false, "cold": false,
            });
            allocations_of_a_trial(&Compilebench, &parameters)
        };
        let (few, many) = (with(20), with(200));
        assert!(
            many < few + 50,
            "{backend}: {few} allocations became {many}"
        );
    }
}

#[test]
fn ten_times_the_records_allocate_no_more() {
    let options = json!({
        "backend": "null", "record": "4k", "locks": "record", "jitter": true, "purge": "64k",
        "content": "diagnostic", "verify_every_byte": true,
    });
    let closed = json!({"include_close": true, "record": "4k", "retest": false});
    let with_backend = |backend: &str, depth: u32| {
        let mut chosen = closed.clone();
        (chosen["backend"], chosen["depth"]) = (backend.into(), depth.into());
        chosen
    };
    let logs = tempfile::tempdir().unwrap();
    let logged = json!({
        "backend": "null", "record": "4k", "log_directory": logs.path(), "log_append": true,
    });
    for chosen in [
        json!({"backend": "null", "record": "4k"}),
        logged,
        options,
        with_backend("mmap", 1),
        with_backend("libaio", 8),
    ] {
        let with = |file: &str| {
            let mut parameters = chosen.clone();
            parameters["file"] = file.into();
            allocations_of_a_trial(&Iozone, &parameters)
        };
        let (few, many) = (with("100k"), with("1000k"));
        assert!(many < few + 50, "{few} allocations became {many}");
    }
}

#[test]
fn the_counter_counts() {
    allocations::assert_counted();
}
