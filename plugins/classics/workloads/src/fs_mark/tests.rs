//! The workload as the engine sees it, on a real directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use kit::EventSink;
use serde_json::json;
use wire::{Event, Failure, FailureKind, Sample};

use super::*;

/// What a trial gave, and what it left in its directory.
struct Done {
    samples: Vec<Sample>,
    counters: BTreeMap<String, u64>,
    operations: u64,
    bytes: u64,
    /// Paths of files below the directory.
    left: Vec<PathBuf>,
}

fn execute_in(directory: &Path, parameters: &Value) -> Result<Done, Failure> {
    let mut samples = Vec::new();
    let mut emit = |event| {
        if let Event::Sample(sample) = event {
            samples.push(sample);
        }
    };
    let mut event_sink = EventSink::new(&mut emit);
    FsMark
        .plan(parameters.as_object().unwrap(), directory)?
        .run(&mut event_sink)?;
    let totals = event_sink.totals;
    Ok(Done {
        samples,
        counters: totals.counters,
        operations: totals.operations,
        bytes: totals.bytes,
        left: files_below(directory),
    })
}

fn execute(parameters: Value) -> Done {
    let directory = tempfile::tempdir().unwrap();
    execute_in(directory.path(), &parameters).unwrap()
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn operations(done: &Done, metric: &str) -> Vec<u64> {
    let of_metric = done.samples.iter().filter(|sample| sample.metric == metric);
    of_metric.map(|sample| sample.operations).collect()
}

#[test]
fn each_method_syncs_what_it_says() {
    for (method, fsyncs, syncs) in [
        ("none", 0, 0),
        ("inband", 12, 0),
        ("sync-first", 2, 2),
        ("post-reverse", 12, 0),
        ("sync-post-reverse", 12, 2),
        ("post", 12, 0),
        ("sync-post", 12, 2),
    ] {
        let done = execute(json!({"files": 6, "size": 100, "threads": 2, "sync": method}));
        let sum = |metric| operations(&done, metric).iter().sum::<u64>();
        assert_eq!((sum("fsync"), sum("sync")), (fsyncs, syncs), "{method}");
        assert_eq!([sum("create"), sum("write"), sum("close")], [12; 3]);
        assert_eq!([sum("files"), sum("unlink"), sum("removed")], [12; 3]);
        assert!(done.left.is_empty());
    }
}

#[test]
fn files_are_written_in_blocks_and_the_last_is_short() {
    let done = execute(json!({"files": 3, "size": "10k", "write_block": "4k", "loops": 2}));
    assert_eq!(operations(&done, "write"), [9, 9]);
    assert_eq!((done.operations, done.bytes), (12, 6 * 10_240));
    assert_eq!(done.counters["files_created"], 6);
    assert!(done.counters["files_per_s_p99"] > 0);
    let empty = execute(json!({"files": 3, "size": 0}));
    assert_eq!(operations(&empty, "write"), [3], "a write of no bytes each");
}

#[test]
fn files_that_are_kept_have_the_size_and_the_contents() {
    for (content, is_zero) in [("zeroes", true), ("random", false)] {
        let directory = tempfile::tempdir().unwrap();
        let parameters = json!({
            "files": 4, "size": 5_000, "write_block": "4k", "loops": 3, "keep": "for-good",
            "directories": ["a", "b"], "content": content,
        });
        let done = execute_in(directory.path(), &parameters).unwrap();
        assert_eq!(done.left.len(), 24);
        for path in done.left {
            let bytes = fs::read(&path).unwrap();
            assert_eq!(bytes.len(), 5_000);
            assert_eq!(bytes.iter().all(|&byte| byte == 0), is_zero);
        }
        assert!(!done.samples.iter().any(|sample| sample.metric == "unlink"));
    }
}

#[test]
fn files_are_spread_over_subdirectories_and_their_names_repeat_with_the_seed() {
    let names = |seed| {
        let directory = tempfile::tempdir().unwrap();
        let parameters = json!({
            "files": 12, "size": 0, "subdirectories": 4, "keep": "for-good", "seed": seed,
        });
        let done = execute_in(directory.path(), &parameters).unwrap();
        let below = done
            .left
            .iter()
            .map(|path| path.strip_prefix(directory.path()).unwrap());
        below.map(Path::to_owned).collect::<BTreeSet<_>>()
    };
    let first = names(1);
    for subdirectory in ["00", "01", "02", "03"] {
        let inside = first.iter().filter(|path| path.starts_with(subdirectory));
        assert_eq!(inside.count(), 3);
    }
    assert_eq!(first, names(1));
    assert_ne!(first, names(2));
}

#[test]
fn classic_makes_one_subdirectory_as_it_goes_and_stamps_names_with_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let parameters = json!({
        "files": 20, "size": 0, "subdirectories": 32, "keep": "for-good", "classic": true,
        "sync": "sync-first",
    });
    let done = execute_in(directory.path(), &parameters).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let name = done.left[0].file_name().unwrap().to_str().unwrap();
    let stamp = u64::from_str_radix(&name[..8], 16).unwrap();
    assert!(stamp > 1_700_000_000, "{name}");
    assert_eq!(&name[8..16], "~~~~~~~~");
    let cleared = execute(json!({"files": 20, "subdirectories": 3, "classic": true}));
    assert!(cleared.left.is_empty());
}

#[test]
fn what_was_there_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("d/00")).unwrap();
    for digit in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars().skip(1) {
        fs::write(directory.path().join(format!("d/00/{digit}")), "precious").unwrap();
    }
    let parameters = |files| {
        json!({
            "files": files, "name_length": 1, "random_characters": 1, "directories": ["d"],
            "subdirectories": 1,
        })
    };
    let done = execute_in(directory.path(), &parameters(1)).unwrap();
    assert_eq!(
        done.left.len(),
        35,
        "the one name left was found and removed again"
    );
    let refused = execute_in(directory.path(), &parameters(2)).err().unwrap();
    assert_eq!(refused.kind, FailureKind::Refused, "{}", refused.message);
    let left = files_below(directory.path());
    assert!(left
        .iter()
        .all(|path| fs::read(path).unwrap() == b"precious"));
    assert_eq!(left.len(), 35);
}

#[test]
fn more_than_fits_is_told_before_a_file_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let parameters = json!({"files": 1_000_000, "size": "1T", "directories": ["d"]});
    let failure = execute_in(directory.path(), &parameters).err().unwrap();
    assert_eq!(failure.kind, FailureKind::NoSpace);
    assert!(
        failure.message.contains("1000000 files of 1T"),
        "{}",
        failure.message
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn the_calls_explain_the_time() {
    let share_explained = || {
        let done = execute(json!({"files": 50, "sync": "none"}));
        let seconds = |metric: &str| {
            let sample = done.samples.iter().find(|sample| sample.metric == metric);
            sample.unwrap().elapsed_s
        };
        let parts = ["create", "write", "close", "overhead"].map(seconds);
        let files_s = seconds("files");
        let sum_s: f64 = parts.iter().sum();
        assert!(sum_s <= files_s, "{parts:?} of {files_s}");
        sum_s / files_s
    };
    // On a busy machine a thread may begin late, which is in no call.
    assert!((0..50).any(|_| share_explained() > 0.5));
}
