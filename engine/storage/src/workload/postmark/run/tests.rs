//! Runs on real directories and on backends that fail.

use std::ffi::CStr;
use std::io::{self, SeekFrom};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use kit::{OperationProbe, PassProbe};
use rustix::fs::{Mode, OFlags};
use serde_json::{json, Value};
use wire::{Event, Sample};

use super::*;
use crate::backend::{self, Null, Stdio, Sync};
use crate::workload::postmark::model::rehearse;

struct Outcome {
    result: Result<(), Failure>,
    events: Vec<Event>,
    tally: Tally,
    operations: u64,
    bytes: u64,
    checksum: u64,
    counters: std::collections::BTreeMap<String, u64>,
}

impl Outcome {
    fn samples(&self) -> Vec<&Sample> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Sample(sample) => Some(sample),
                _ => None,
            })
            .collect()
    }
}

fn small() -> Value {
    json!({"files": 20, "transactions": 100, "size": "100..5000", "subdirectories": 2,
           "locations": [{"name": "a"}, {"name": "b", "weight": 2}]})
}

fn outcome(
    backend: impl Backend + Copy + Send,
    opening: Opening,
    given: Value,
    at: &Path,
) -> Outcome {
    outcome_by::<OperationProbe>(backend, opening, given, at)
}

fn outcome_by<P: Probe + Default + Send>(
    backend: impl Backend + Copy + Send,
    opening: Opening,
    given: Value,
    at: &Path,
) -> Outcome {
    let params: Params = serde_json::from_value(given).expect("valid parameters");
    let threads: Vec<Params> = (0..params.threads)
        .map(|index| params.of_thread(index))
        .collect();
    let rehearsed = |params| rehearse(params).expect("files to the end");
    let tally = threads.iter().map(rehearsed).sum();
    let mut events = Vec::new();
    let mut emit = |event| events.push(event);
    let mut event_sink = EventSink::new(&mut emit);
    let result = run::<_, P>(backend, opening, &threads, at, &mut event_sink);
    let totals = event_sink.totals;
    Outcome {
        result,
        events,
        tally,
        operations: totals.operations,
        bytes: totals.bytes,
        checksum: totals.checksum,
        counters: totals.counters,
    }
}

fn is_empty(directory: &Path) -> bool {
    directory.read_dir().expect("a directory").next().is_none()
}

fn check_done(outcome: &Outcome) {
    outcome.result.as_ref().expect("done");
    let tally = &outcome.tally;
    assert_eq!(outcome.counters, tally.counters());
    assert_eq!(
        outcome.operations,
        tally.created_alone + tally.transactions + tally.deleted_alone
    );
    assert_eq!(outcome.bytes, tally.bytes());
    let names: Vec<_> = outcome
        .samples()
        .iter()
        .map(|sample| &sample.metric)
        .collect();
    let cards: Vec<_> = measures::cards().into_iter().chain(call::cards()).collect();
    assert_eq!(
        names,
        cards.iter().map(|card| &card.name).collect::<Vec<_>>()
    );
    let headline = outcome.samples()[0];
    assert_eq!(
        headline.latency_ns.as_ref().expect("latencies").count,
        tally.transactions
    );
    assert!(outcome
        .samples()
        .iter()
        .all(|sample| sample.value.is_finite()));
}

#[test]
fn both_ways_of_buffering_do_what_was_rehearsed_and_leave_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let streams = outcome(Stdio { buffer_bytes: None }, Opening::STREAMS, small(), at);
    check_done(&streams);
    assert!(is_empty(at));
    let calls = outcome(Sync, Opening::CALLS, small(), at);
    check_done(&calls);
    assert!(is_empty(at));
    assert_eq!(streams.checksum, calls.checksum);
    assert_ne!(calls.checksum, 0);
}

#[test]
fn the_null_backend_counts_alike_and_makes_nothing() {
    let nowhere = Path::new("/nowhere/at/all");
    check_done(&outcome(Null, Opening::CALLS, small(), nowhere));
    check_done(&outcome(Null, Opening::CALLS, json!({}), nowhere));
}

/// The clock is read twice per phase, so that no part has a time; the work is the same.
#[test]
fn timed_by_the_pass_it_does_the_same_and_has_no_latencies() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let each = outcome(Sync, Opening::CALLS, small(), at);
    let pass = outcome_by::<PassProbe>(Sync, Opening::CALLS, small(), at);
    pass.result.as_ref().expect("done");
    assert_eq!(pass.tally, each.tally);
    assert_eq!(pass.counters, each.counters);
    assert_eq!(pass.checksum, each.checksum);
    assert!(is_empty(at));
    let names: Vec<_> = pass.samples().iter().map(|s| &s.metric).collect();
    let cards = measures::cards();
    assert_eq!(names, cards.iter().map(|c| &c.name).collect::<Vec<_>>());
    assert!(pass.samples().iter().all(|s| s.latency_ns.is_none()));
}

#[test]
fn intervals_sum_to_the_totals() {
    let done = outcome(Null, Opening::CALLS, json!({}), Path::new("/nowhere"));
    let (mut operations, mut bytes) = (0, 0);
    for event in &done.events {
        if let Event::Interval(interval) = event {
            operations += interval.operations;
            bytes += interval.bytes;
        }
    }
    assert_eq!((operations, bytes), (done.operations, done.bytes));
}

#[test]
fn the_kernel_is_asked_in_blocks_and_for_the_empty_rest() {
    let given = json!({"files": 1, "transactions": 1, "size": 1024, "bias_read": 10,
                       "bias_create": -1});
    let watched = Watched::default();
    check_done(&outcome(
        &watched,
        Opening::CALLS,
        given,
        Path::new("/nowhere"),
    ));
    // Created and read: two blocks and an empty one each.
    assert_eq!(
        (
            watched.calls.load(Relaxed),
            watched.empty_calls.load(Relaxed)
        ),
        (6, 2)
    );
}

#[test]
fn a_full_device_fails_the_trial_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    for fail_at in [1, 60, 400] {
        let watched = Watched {
            fail_at: Some(fail_at),
            ..Watched::real()
        };
        let failed = outcome(&watched, Opening::CALLS, small(), directory.path());
        let failure = failed.result.as_ref().expect_err("no space");
        assert_eq!(failure.kind, FailureKind::NoSpace, "{}", failure.message);
        assert!(failed.samples().is_empty());
        assert!(is_empty(directory.path()));
    }
}

#[test]
fn a_file_that_is_too_short_fails_the_trial_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let watched = Watched {
        loses_data: true,
        ..Watched::real()
    };
    let failed = outcome(&watched, Opening::CALLS, small(), directory.path());
    let failure = failed.result.expect_err("short files");
    assert_eq!(
        failure.kind,
        FailureKind::Verification,
        "{}",
        failure.message
    );
    assert!(is_empty(directory.path()));
}

/// Appends go on in the text, so that every byte of a file is known.
#[test]
fn verification_finds_what_was_written_and_a_single_wrong_byte() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let mut verified = small();
    verified["verify"] = true.into();
    let streams = Stdio { buffer_bytes: None };
    check_done(&outcome(streams, Opening::STREAMS, verified.clone(), at));
    let shares = json!({"compressible": 0.5, "dedupable": 0.5});
    for content in [json!("text"), shares] {
        verified["content"] = content;
        let calls = outcome(&Watched::real(), Opening::CALLS, verified.clone(), at);
        assert!(calls.result.is_ok(), "{:?}", calls.result);
        let spoiling = Watched {
            spoils: Some(700),
            ..Watched::real()
        };
        let spoiled = outcome(&spoiling, Opening::CALLS, verified.clone(), at);
        let failure = spoiled.result.expect_err("a wrong byte");
        assert_eq!(failure.kind, FailureKind::Verification);
        let message = "does not hold what was written to it";
        assert!(failure.message.contains(message), "{}", failure.message);
        assert!(is_empty(at));
    }
    let unlooked = Watched {
        spoils: Some(700),
        ..Watched::real()
    };
    check_done(&outcome(&unlooked, Opening::CALLS, small(), at));
}

#[test]
fn each_of_several_threads_has_a_pool_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let alone = outcome(Sync, Opening::CALLS, small(), at);
    let mut several = small();
    several["threads"] = 3.into();
    let together = outcome(Sync, Opening::CALLS, several.clone(), at);
    check_done(&together);
    assert!(is_empty(at));
    assert_eq!(together.tally.transactions, 3 * alone.tally.transactions);
    // The first has PostMark's sequence; other seeds decide otherwise.
    let params: Params = serde_json::from_value(several.clone()).expect("valid parameters");
    assert_eq!(rehearse(&params.of_thread(0)), Ok(alone.tally));
    assert_ne!(together.tally.read, 3 * alone.tally.read);
    check_done(&outcome(
        Null,
        Opening::CALLS,
        several,
        Path::new("/nowhere"),
    ));
}

#[test]
fn what_one_thread_meets_ends_all_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut several = small();
    several["threads"] = 2.into();
    let watched = Watched {
        fail_at: Some(300),
        ..Watched::real()
    };
    let failed = outcome(&watched, Opening::CALLS, several, directory.path());
    let failure = failed.result.as_ref().expect_err("no space");
    assert_eq!(failure.kind, FailureKind::NoSpace, "{}", failure.message);
    assert!(failed.samples().is_empty());
    assert!(is_empty(directory.path()));
}

/// A backend that counts its calls and may fail.
#[derive(Default)]
struct Watched {
    /// Whether files are really made.
    real: bool,
    /// Reads and writes, and those of zero bytes.
    calls: AtomicU32,
    empty_calls: AtomicU32,
    /// The write from which on the device is full.
    fail_at: Option<u32>,
    /// Whether writes say that they were done and are not.
    loses_data: bool,
    /// The read or write from which on the last byte of what is read is another one.
    spoils: Option<u32>,
}

impl Watched {
    fn real() -> Self {
        Self {
            real: true,
            ..Self::default()
        }
    }

    fn count(&self, bytes: usize) {
        self.calls.fetch_add(1, Relaxed);
        self.empty_calls.fetch_add((bytes == 0).into(), Relaxed);
    }
}

struct WatchedFile<'a> {
    file: Option<backend::sync::SyncFile>,
    watched: &'a Watched,
}

impl<'a> Backend for &'a Watched {
    type File = WatchedFile<'a>;

    fn open(&self, path: &CStr, flags: OFlags, mode: Mode) -> io::Result<WatchedFile<'a>> {
        let file = if self.real {
            Some(Sync.open(path, flags, mode)?)
        } else {
            None
        };
        Ok(WatchedFile {
            file,
            watched: self,
        })
    }

    fn unlink(&self, path: &CStr) -> io::Result<()> {
        if self.real {
            Sync.unlink(path)
        } else {
            Ok(())
        }
    }

    fn mkdir(&self, path: &CStr, mode: Mode) -> io::Result<()> {
        Sync.mkdir(path, mode)
    }

    fn rmdir(&self, path: &CStr) -> io::Result<()> {
        Sync.rmdir(path)
    }
}

impl backend::File for WatchedFile<'_> {
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        self.watched.count(record.len());
        match &mut self.file {
            Some(file) => {
                let moved = file.read(record)?;
                let spoils = self.watched.spoils;
                if spoils.is_some_and(|at| self.watched.calls.load(Relaxed) >= at) && moved > 0 {
                    record[moved - 1] ^= 1;
                }
                Ok(moved)
            }
            None => Ok(record.len()),
        }
    }

    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.watched.count(record.len());
        if self
            .watched
            .fail_at
            .is_some_and(|at| self.watched.calls.load(Relaxed) >= at)
        {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        match &mut self.file {
            Some(file) if !self.watched.loses_data => file.write(record),
            _ => Ok(record.len()),
        }
    }

    fn seek(&mut self, _: SeekFrom) -> io::Result<()> {
        unreachable!("PostMark never seeks")
    }

    fn resize(&mut self, _: u64) -> io::Result<()> {
        unreachable!("PostMark never truncates what it has opened")
    }

    fn flush(&mut self) -> io::Result<()> {
        unreachable!("PostMark never flushes")
    }

    fn sync(&mut self) -> io::Result<()> {
        unreachable!("PostMark never syncs")
    }

    fn close(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |file| file.close())
    }
}
