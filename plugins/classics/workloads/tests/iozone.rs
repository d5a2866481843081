//! What iozone gives beyond the rules.

mod common;

use common::named;
use serde_json::json;
use testing::scratch_directory;

#[test]
fn iozone_gives_latencies_when_each_operation_is_timed() {
    let taken = named("iozone").taken_with(&json!({"timing": "operation"}));
    for sample in taken.samples() {
        let latency = sample.latency_ns.as_ref().unwrap();
        assert_eq!(latency.count, sample.operations);
    }
}

#[test]
fn iozone_takes_its_options_together() {
    named("iozone").taken_with(
        &json!({"include_fsync": true, "include_close": true, "content": "random", "stride": 3}),
    );
}

#[test]
fn iozone_lays_out_the_file_when_no_test_writes_it() {
    let directory = scratch_directory();
    let parameters = json!({"file": "64k", "record": "4k", "tests": ["fread", "stride"]});
    let taken = named("iozone").take(parameters.as_object().unwrap(), directory.path());
    let taken = taken.unwrap();
    let metrics: Vec<_> = taken.samples().iter().map(|s| s.metric.as_str()).collect();
    assert_eq!(metrics, ["stride_read", "fread", "freread"]);
    assert_ne!(taken.totals.checksum, 0);
}

#[test]
fn iozone_native_figure_is_the_truncated_one() {
    let taken = named("iozone").taken_with(&json!({}));
    for sample in taken.samples() {
        let native = sample.native.as_ref().unwrap();
        let bytes_per_s = (sample.bytes as f64 / sample.elapsed_s).floor();
        assert_eq!(native.value, (bytes_per_s / 1024.0).floor());
        assert_eq!(native.unit, "kB/s");
    }
}
