//! Nothing is allocated in a timed region: a counting allocator looks on while whole trials are
//! executed, small ones and large ones.

mod common;

use common::named;
use serde_json::json;
use testing::{allocations, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Every file is written, found, read and removed in timed regions.
#[test]
fn ten_times_the_files_of_trees_allocate_no_more() {
    for backend in ["null", "stdio"] {
        let with = |files: u32| {
            named("compilebench").allocations(&json!({
                "scenario": "make-j", "trees": 1, "files": files, "backend": backend,
                "sync": false, "cold": false,
            }))
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
            named("iozone").allocations(&parameters)
        };
        let (few, many) = (with("100k"), with("1000k"));
        assert!(many < few + 50, "{few} allocations became {many}");
    }
}

#[test]
fn the_counter_counts() {
    allocations::assert_counted();
}
