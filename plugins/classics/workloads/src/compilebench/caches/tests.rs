use wire::Event;

use super::super::schedule::{Action, State};
use super::super::stage::Stage;
use super::*;

const READ: Step = Step {
    tree: 3,
    action: Action::Read,
    state: State::Source,
    stage: Stage::ReadTree,
    settle: Settle::DropCaches,
    is_synced: true,
};

fn caches(is_tolerant: bool, is_compressible: bool) -> Caches {
    Caches {
        directory: None,
        device: None,
        is_dropping: true,
        is_tolerant,
        is_compressible,
        dropped: 0,
        reads: Reads::default(),
    }
}

/// What is found when the device delivered so much of 1000 bytes: outcome, counters (dropped,
/// device, cache, unverified) and codes of warnings.
fn weighed(caches: Caches, step: &Step, delivered: Option<u64>) -> (bool, Vec<u64>, Vec<String>) {
    let mut codes = Vec::new();
    let mut emit = |event| {
        if let Event::Warning(warning) = event {
            codes.push(warning.code);
        }
    };
    let mut event_sink = EventSink::new(&mut emit);
    let mut caches = caches;
    let at = |read_bytes| Counters {
        read_bytes,
        written_bytes: 0,
    };
    let around = [delivered.map(|_| at(7)), delivered.map(|read| at(7 + read))];
    let outcome = caches.weigh(step, 1_000, around, &mut event_sink);
    caches.report(&mut event_sink);
    let counters = event_sink.totals.counters.into_values().collect();
    (outcome.is_ok(), counters, codes)
}

#[test]
fn a_cold_read_must_come_from_the_device() {
    let found = |is_tolerant, is_compressible, delivered| {
        weighed(caches(is_tolerant, is_compressible), &READ, delivered)
    };
    let warned = |code: &str| vec![code.to_owned()];
    // In alphabetical order: dropped, from cache, from device, unverified.
    assert_eq!(
        found(false, false, Some(900)),
        (true, vec![0, 0, 1, 0], vec![])
    );
    assert_eq!(
        found(false, false, Some(899)),
        (false, vec![0, 1, 0, 0], vec![])
    );
    assert_eq!(
        found(true, false, Some(0)),
        (true, vec![0, 1, 0, 0], warned("warm_read"))
    );
    assert_eq!(
        found(false, true, Some(0)),
        (true, vec![0, 0, 0, 1], warned("cold_read_unverified"))
    );
    assert_eq!(
        found(false, false, None),
        (true, vec![0, 0, 0, 1], warned("cold_read_unverified"))
    );
}

#[test]
fn a_read_that_was_not_declared_cold_is_counted_only() {
    let warm = Step {
        settle: Settle::AsIs,
        ..READ
    };
    let found = weighed(caches(false, false), &warm, Some(0));
    assert_eq!(found, (true, vec![0, 1, 0, 0], vec![]));
}

#[test]
fn caches_that_cannot_be_dropped_are_never_passed_over() {
    let mut warnings = 0;
    let mut emit = |event| warnings += u32::from(matches!(event, Event::Warning(_)));
    let mut event_sink = EventSink::new(&mut emit);
    let error = io::Error::from_raw_os_error(libc::EACCES);
    let strict = caches(false, false)
        .refused(&error, &mut event_sink)
        .unwrap_err();
    assert_eq!(strict.kind, FailureKind::HostLacks);
    assert_eq!(strict.parameter.as_deref(), Some("cold"));
    let mut tolerant = caches(true, false);
    tolerant.refused(&error, &mut event_sink).unwrap();
    assert!(!tolerant.is_dropping);
    assert_eq!(warnings, 1);
}
