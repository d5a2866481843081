//! What is accepted, made up and refused.

use serde_json::json;

use super::*;
use testing::assert_refusals_name;

fn parse(value: Value) -> Result<(Params, Vec<Test>), Failure> {
    Params::parse(value.as_object().unwrap())
}

#[test]
fn defaults_are_the_thirteen_columns_in_order() {
    let (params, left_out) = parse(json!({})).unwrap();
    assert_eq!(&*params.tests, &Test::CLASSIC);
    assert_eq!(params.cells().len(), 3);
    assert!(left_out.is_empty());
    assert!(params.is_plain());
}

#[test]
fn records_larger_than_the_file_are_skipped() {
    let job = json!({"file": ["64k", "1M"], "record": ["4k", "256k"]});
    let (params, _) = parse(job).unwrap();
    let cells: Vec<_> = params
        .cells()
        .iter()
        .map(|cell| (cell.file.to_string(), cell.record.to_string()))
        .collect();
    let wanted = [("64k", "4k"), ("1M", "4k"), ("1M", "256k")];
    assert_eq!(cells, wanted.map(|(f, r)| (f.into(), r.into())));
}

#[test]
fn the_tail_that_fills_no_record_is_dropped() {
    let cell = Cell {
        file: Size(100 << 10),
        record: Size(32 << 10),
    };
    assert_eq!((cell.records(), cell.bytes()), (3, 96 << 10));
}

/// Row counts observed with the original: plain -a, and -a -z.
#[test]
fn auto_mode_has_the_rows_of_the_original() {
    let rows = |job| parse(job).unwrap().0.cells().len();
    assert_eq!(rows(json!({"auto": {}})), 126);
    assert_eq!(rows(json!({"auto": {}, "crossover": false})), 146);
    assert_eq!(rows(json!({"auto": {"record_max": "16M"}})), 146);
    assert_eq!(rows(json!({"auto": {}, "file": "32M"})), 13);
    assert_eq!(rows(json!({"auto": {}, "record": "8k"})), 14);
}

#[test]
fn what_auto_mode_made_up_is_effective_and_gives_the_same_again() {
    let (params, _) = parse(json!({"auto": {"file_max": "64M"}})).unwrap();
    let effective = kit::params::effective(&params);
    assert_eq!(effective["auto"], Value::Null);
    assert_eq!(effective["crossover"], json!(true));
    let (again, _) = Params::parse(&effective).unwrap();
    assert_eq!(again.cells(), params.cells());
    assert_eq!(kit::params::effective(&again), effective);
}

#[test]
fn refusals_name_the_parameter() {
    assert_refusals_name(
        parse,
        [
            (json!({"record": "32M"}), "record"),
            (json!({"record": 100}), "record"),
            (json!({"file": "4k", "record": "8k"}), "record"),
            (json!({"file": "1T", "record": 512}), "record"),
            (json!({"access": "direct", "record": 1000}), "record"),
            (json!({"file": "0"}), "file"),
            (json!({"stride": 0}), "stride"),
            (json!({"think_ms": 60_000}), "think_ms"),
            (json!({"purge": "2G"}), "purge"),
            (json!({"name": "../x"}), "name"),
            (json!({"name": ""}), "name"),
            (json!({"auto": {"multiplier": 1}}), "auto.multiplier"),
            (json!({"auto": {"file_mix": 1}}), "auto.file_mix"),
            (json!({"tests": ["reed"]}), "tests[0]"),
            (json!({"tests": []}), "tests"),
            (json!({"access": "direct", "tests": ["fread"]}), "tests"),
            (json!({"existing": "read"}), "tests"),
            (json!({"existing": "take_over"}), "existing"),
            (json!({"random_order": "3.5"}), "random_order"),
            (json!({"pattern": 256}), "pattern"),
            (json!({"access": "cold"}), "access"),
            (json!({"access": "direct", "backend": "mmap"}), "access"),
            (json!({"msync": "sync"}), "msync"),
            (json!({"depth": 4}), "depth"),
            (json!({"copies": true}), "copies"),
            (json!({"depth": 2000, "backend": "libaio"}), "depth"),
            (
                json!({"depth": 512, "backend": "libaio", "record": "16M"}),
                "depth",
            ),
            (json!({"jitter": true, "backend": "libaio"}), "jitter"),
            (json!({"recrod": "4k"}), "recrod"),
        ],
    );
}

#[test]
fn tests_are_ordered_and_streams_are_left_out_of_direct_trials() {
    let job = json!({"tests": ["preadv", "fread", "stride", "write"], "access": "direct"});
    let (params, left_out) = parse(job).unwrap();
    assert_eq!(&*params.tests, &[Test::Write, Test::Stride, Test::Preadv]);
    assert_eq!(left_out, [Test::Fread]);
}
