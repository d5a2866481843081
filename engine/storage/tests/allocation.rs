//! Nothing is allocated in a timed region: a counting allocator looks on while whole trials are
//! executed, small ones and large ones.

mod common;

use common::named;
use serde_json::json;
use testing::{allocations, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The preparation may allocate a little more for more work, a timed operation may not.
#[test]
fn ten_times_the_transactions_allocate_no_more() {
    for backend in ["null", "real"] {
        let with = |transactions: u64| {
            let parameters = json!({"transactions": transactions, "backend": backend});
            named("postmark").allocations(&parameters)
        };
        let (few, many) = (with(500), with(5_000));
        assert!(
            many < few + 50,
            "{backend}: {few} allocations became {many}"
        );
    }
}

#[test]
fn the_counter_counts() {
    allocations::assert_counted();
}
