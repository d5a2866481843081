//! Whether contents are what was asked for: a sample is compressed, and its duplicates counted.

use std::collections::HashSet;
use std::io;

use wire::{Failure, FailureKind};

use super::{Content, Shares, PAGE_BYTES};
use crate::failure::{failure, no_memory};
use crate::EventSink;

/// Two periods and more, so that what repeats is seen.
const SAMPLE_BYTES: usize = 8 << 20;
/// What btrfs compresses at once.
const EXTENT_BYTES: usize = 128 << 10;
/// How far a measured share may be from the one asked for. LZ4 needs some bytes of its own; and
/// the first of each duplicate is none.
const TOLERANCE: f64 = 0.03;

/// Measures the shares of `content`, hands them to the event sink, and holds them against `asked`.
///
/// # Errors
/// `HostLacks` memory; `Verification`, naming the share that is off.
pub fn check(
    content: &Content,
    asked: Shares,
    record_bytes: usize,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let found = measure(&sample(content, record_bytes).map_err(no_memory)?);
    for (name, asked, found) in [
        ("compressible", asked.compressible, found.compressible),
        ("dedupable", asked.dedupable, found.dedupable),
    ] {
        let counter = format!("content_{name}_permille");
        let permille = (found * 1_000.0).round() as u64;
        event_sink.totals.counters.insert(counter, permille);
        if (found - asked).abs() > TOLERANCE {
            let message = format!(
                "parameter \"content\": of what would be written, {found:.3} is {name}, not \
                 {asked}; that is a defect of the engine"
            );
            return Err(failure(FailureKind::Verification, message));
        }
    }
    Ok(())
}

/// The start of a file, as a workload would write it.
fn sample(content: &Content, record_bytes: usize) -> io::Result<Vec<u8>> {
    let mut sample = Vec::with_capacity(SAMPLE_BYTES + record_bytes);
    let mut stamped = content.stamped(0)?;
    while sample.len() < SAMPLE_BYTES {
        let offset = sample.len() as u64;
        let record = content.outgoing(&mut stamped, offset / record_bytes as u64);
        sample.extend_from_slice(record);
    }
    Ok(sample)
}

/// What LZ4 saves of a sample in extents, and deduplication in blocks.
fn measure(sample: &[u8]) -> Shares {
    let compressed: usize = sample
        .chunks(EXTENT_BYTES)
        .map(|extent| lz4_flex::block::compress(extent).len())
        .sum();
    let blocks = sample.chunks_exact(PAGE_BYTES);
    let count = blocks.len();
    let different = blocks.collect::<HashSet<_>>().len();
    let saved = |left: usize, all: usize| 1.0 - (left as f64 / all as f64).min(1.0);
    Shares {
        compressible: saved(compressed, sample.len()),
        dedupable: saved(different, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(content: &Content, record_bytes: usize) -> Shares {
        measure(&sample(content, record_bytes).unwrap())
    }

    #[test]
    fn shares_are_as_asked_for_at_their_limits_and_between() {
        for (compressible, dedupable, record_bytes) in [
            (0.0, 0.0, 4_096),
            (0.5, 0.2, 65_536),
            (1.0, 0.0, 1_000),
            (0.25, 1.0, 8_192),
            (0.7, 0.75, 3 << 20),
        ] {
            let asked = Shares {
                compressible,
                dedupable,
            };
            let content = Content::mixed(record_bytes, asked).unwrap();
            let mut emit = |_| {};
            let mut event_sink = EventSink::new(&mut emit);
            check(&content, asked, record_bytes, &mut event_sink).unwrap_or_else(|failure| {
                panic!("{asked:?}: {}", failure.message);
            });
            assert_eq!(event_sink.totals.counters.len(), 2);
        }
    }

    #[test]
    fn contents_that_are_something_else_are_found_out() {
        let asked = Shares {
            compressible: 0.0,
            dedupable: 0.5,
        };
        for (content, share) in [
            (Content::uniform(4_096, 0).unwrap(), "compressible"),
            (
                Content::mixed(4_096, Shares::default()).unwrap(),
                "dedupable",
            ),
        ] {
            let mut emit = |_| {};
            let failure =
                check(&content, asked, 4_096, &mut EventSink::new(&mut emit)).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Verification);
            assert!(failure.message.contains(share), "{}", failure.message);
        }
    }

    /// The plain random content repeats with its pool, which is why it cannot promise a share.
    #[test]
    fn plain_random_is_incompressible() {
        let content = Content::random(65_536).unwrap();
        assert!(found(&content, 65_536).compressible < 0.01);
    }
}
