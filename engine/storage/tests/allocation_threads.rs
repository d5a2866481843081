//! Nothing is allocated while threads work: a counting allocator looks on, over all threads. It
//! is the only test of this file, because others beside it would be counted too.

use kit::EventSink;
use serde_json::{json, Value};
use storage::workload::aio_stress::AioStress;
use storage::workload::fdtree::Fdtree;
use storage::workload::fs_mark::FsMark;
use storage::workload::iozone::Throughput;
use storage::workload::random::Random;
use storage::workload::stream::Stream;
use storage::workload::tiobench::Tiobench;
use storage::workload::Workload;
use testing::{allocations, Counting};
use wire::FailureKind;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a whole trial, in all threads. A trial that others disturbed is made again: what
/// they read from the device counts against its cache.
fn allocations_of_a_trial(workload: &dyn Workload, parameters: &Value) -> u64 {
    for _ in 0..50 {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let trial = workload.plan(parameters.as_object().unwrap(), directory.path());
        let trial = trial.unwrap();
        let mut emit = drop;
        let before = allocations::of_all_threads();
        match trial.run(&mut EventSink::new(&mut emit)) {
            Err(failure) if failure.kind == FailureKind::Access => {}
            done => {
                done.unwrap();
                return allocations::of_all_threads() - before;
            }
        }
    }
    panic!("each of 50 trials was disturbed");
}

/// The preparation may allocate a little more for more work, a timed operation may not.
/// `parameters` are those for so much work: files of so many KiB, or so many files.
fn ten_times_as_large_allocates_no_more(
    workload: &dyn Workload,
    backend: &str,
    parameters: impl Fn(u64) -> Value,
) {
    let with = |size_kib| {
        let mut parameters = parameters(size_kib);
        parameters["backend"] = json!(backend);
        allocations_of_a_trial(workload, &parameters)
    };
    let (few, many) = (with(400), with(4_000));
    let name = workload.card().name;
    assert!(
        many < few + 50,
        "{name}, {backend}: {few} allocations became {many}"
    );
}

#[test]
fn no_thread_allocates() {
    allocations::assert_counted();
    for backend in ["null", "sync"] {
        ten_times_as_large_allocates_no_more(
            &Throughput,
            backend,
            |size_kib| json!({"file": format!("{size_kib}k"), "record": "4k", "children": 2}),
        );
        ten_times_as_large_allocates_no_more(
            &Tiobench,
            backend,
            |size_kib| json!({"file": format!("{size_kib}k"), "random_operations": size_kib, "threads": 2}),
        );
    }
    for backend in ["null", "sync"] {
        ten_times_as_large_allocates_no_more(&FsMark, backend, |files| {
            json!({
                "files": files, "size": 100, "threads": 2, "subdirectories": 2,
                "sync": if backend == "null" { "sync-post" } else { "none" },
            })
        });
        ten_times_as_large_allocates_no_more(
            &Fdtree,
            backend,
            |size_kib| json!({"levels": 2, "directories": size_kib / 200, "files": 10, "size": 100}),
        );
    }
    for (backend, depth) in [
        ("null", 1),
        ("sync", 1),
        ("mmap", 1),
        ("libaio", 8),
        ("uring", 8),
    ] {
        ten_times_as_large_allocates_no_more(
            &Stream,
            backend,
            |size_kib| json!({"file": format!("{size_kib}k"), "block": "4k", "threads": 2, "depth": depth}),
        );
        ten_times_as_large_allocates_no_more(&Random, backend, |size_kib| {
            json!({
                "file": "64k", "operations": size_kib, "read_percent": 50, "threads": 2,
                "depth": depth, "offsets": "zipf", "content": "zeroes",
            })
        });
    }
    for backend in ["null", "libaio"] {
        ten_times_as_large_allocates_no_more(&AioStress, backend, |size_kib| {
            json!({
                "file": format!("{size_kib}k"), "files": 2, "record": "4k", "depth": 16,
                "threads": 2,
            })
        });
    }
}
