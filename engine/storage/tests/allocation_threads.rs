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
    for (backend, depth) in [
        ("null", 1),
        ("sync", 1),
        ("mmap", 1),
        ("libaio", 8),
        ("uring", 8),
    ] {
        named("stream").assert_ten_times_as_large_allocates_no_more(
            backend,
            |size_kib| json!({"file": format!("{size_kib}k"), "block": "4k", "threads": 2, "depth": depth}),
        );
        named("random").assert_ten_times_as_large_allocates_no_more(backend, |size_kib| {
            json!({
                "file": "64k", "operations": size_kib, "read_percent": 50, "threads": 2,
                "depth": depth, "offsets": "zipf", "content": "zeroes",
            })
        });
    }
}
