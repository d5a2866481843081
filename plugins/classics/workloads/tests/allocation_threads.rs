//! Nothing is allocated while threads work: a counting allocator looks on, over all threads. It
//! is the only test of this file, because others beside it would be counted too.

mod common;

use common::named;
use serde_json::json;
use testing::{allocations, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_thread_allocates() {
    allocations::assert_counted();
    for backend in ["null", "sync"] {
        named("iozone_throughput").assert_ten_times_as_large_allocates_no_more(
            backend,
            |size_kib| json!({"file": format!("{size_kib}k"), "record": "4k", "children": 2}),
        );
        named("tiobench").assert_ten_times_as_large_allocates_no_more(
            backend,
            |size_kib| json!({"file": format!("{size_kib}k"), "random_operations": size_kib, "threads": 2}),
        );
        named("fs_mark").assert_ten_times_as_large_allocates_no_more(backend, |files| {
            json!({
                "files": files, "size": 100, "threads": 2, "subdirectories": 2,
                "sync": if backend == "null" { "sync-post" } else { "none" },
            })
        });
        named("fdtree").assert_ten_times_as_large_allocates_no_more(
            backend,
            |size_kib| json!({"levels": 2, "directories": size_kib / 200, "files": 10, "size": 100}),
        );
    }
    for backend in ["null", "libaio"] {
        named("aio_stress").assert_ten_times_as_large_allocates_no_more(backend, |size_kib| {
            json!({
                "file": format!("{size_kib}k"), "files": 2, "record": "4k", "depth": 16,
                "threads": 2,
            })
        });
    }
}
