//! The model against what the original program decided (PostMark 1.51 and 1.53, seed 42 unless
//! said otherwise).

use super::*;
use serde_json::{json, Value};

fn params(given: Value) -> Params {
    serde_json::from_value(given).expect("valid parameters")
}

fn first_files(params: &Params, count: usize) -> Vec<File> {
    let (mut model, _) = Model::new(params);
    (0..count)
        .map(|_| model.create().expect("room in the pool"))
        .collect()
}

/// Created, read, appended, deleted mixed, deleted alone, bytes read, bytes written.
fn counts(given: Value) -> [u64; 7] {
    let tally = rehearse(&params(given)).expect("files to the end");
    [
        tally.created(),
        tally.read,
        tally.appended,
        tally.deleted_mixed,
        tally.deleted_alone,
        tally.bytes_read,
        tally.bytes_written,
    ]
}

#[test]
fn the_defaults_count_as_the_original_does() {
    assert_eq!(
        counts(json!({})),
        [764, 243, 257, 236, 528, 1430770, 4662068]
    );
}

#[test]
fn subdirectories_and_sizes_count_as_the_original_does() {
    let given = json!({"size": "100..200000", "transactions": 5000, "subdirectories": 10,
                       "locations": [{"name": "only"}]});
    assert_eq!(
        counts(given),
        [2990, 2461, 2534, 2510, 480, 316990094, 383967424]
    );
}

#[test]
fn twenty_five_thousand_transactions_count_as_the_original_does() {
    let given = json!({"size": "5120..524288", "transactions": 25000});
    assert_eq!(
        counts(given),
        [12978, 12475, 12512, 12522, 456, 4343654783, 4534409541]
    );
}

#[test]
fn a_quarter_million_transactions_count_as_the_original_does() {
    let given = json!({"size": "5120..524288", "transactions": 250000});
    let expected = [
        125608,
        125224,
        124584,
        124892,
        716,
        43866388338,
        44053243649,
    ];
    assert_eq!(counts(given), expected);
}

#[test]
fn the_first_sizes_are_those_of_the_original() {
    let sizes: Vec<u32> = first_files(&params(json!({})), 6)
        .iter()
        .map(|f| f.size)
        .collect();
    assert_eq!(sizes, [1390, 4732, 3583, 6507, 9640, 8219]);
}

#[test]
fn the_first_subdirectories_are_those_of_the_original() {
    let given = json!({"size": "100..200000", "subdirectories": 10});
    let files = first_files(&params(given), 5);
    let found: Vec<(u32, u32)> = files.iter().map(|f| (f.subdirectory, f.size)).collect();
    assert_eq!(
        found,
        [
            (7, 54685),
            (1, 64801),
            (8, 154239),
            (5, 107347),
            (0, 194309)
        ]
    );
}

#[test]
fn weighted_locations_are_drawn_as_in_the_original() {
    let given = json!({"seed": 7, "subdirectories": 3,
                       "locations": [{"name": "a"}, {"name": "b", "weight": 3}]});
    let files = first_files(&params(given), 6);
    let found: Vec<(u32, u32, u32)> = files
        .iter()
        .map(|f| (f.location, f.subdirectory, f.size))
        .collect();
    let expected = [
        (0, 0, 1554),
        (1, 1, 3117),
        (1, 1, 5727),
        (1, 0, 8504),
        (1, 0, 1952),
        (1, 2, 3419),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_text_is_that_of_the_original() {
    let (_, text) = Model::new(&params(json!({})));
    assert_eq!(text.len(), 10000);
    assert!(text.starts_with(b"LeZebJ6S5~qP"));
}

#[test]
fn a_single_size_draws_nothing_and_cannot_be_appended_to() {
    let given = params(json!({"size": 4096, "bias_read": 0, "bias_create": -1}));
    let tally = rehearse(&given).expect("files to the end");
    assert_eq!((tally.appended, tally.bytes_written), (0, 500 * 4096));
}

#[test]
fn a_full_pool_creates_nothing_more() {
    let given = params(json!({"files": 10, "bias_create": 10}));
    let tally = rehearse(&given).expect("files to the end");
    assert_eq!((tally.created_mixed, tally.deleted_alone), (10, 20));
}

#[test]
fn only_deleting_runs_out_of_files() {
    let given = params(json!({"files": 20, "bias_create": 0}));
    assert_eq!(rehearse(&given), Err(OutOfFiles { after: 20 }));
    let just_enough = params(json!({"files": 20, "bias_create": 0, "transactions": 20}));
    assert_eq!(rehearse(&just_enough).map(|tally| tally.deleted()), Ok(20));
}

#[test]
fn switched_off_halves_do_nothing() {
    let given = params(json!({"bias_read": -1, "bias_create": -1}));
    let tally = rehearse(&given).expect("files to the end");
    assert_eq!((tally.read, tally.appended, tally.created_mixed), (0, 0, 0));
    assert_eq!(tally.deleted_alone, 500);
}
