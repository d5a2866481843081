//! The loops, and what they give.

use std::path::Path;

use kit::failure::failure;
use kit::team::{self, Finish, Outcome};
use kit::{Content, EventSink, OperationProbe, Reading};
use wire::{Failure, FailureKind};

use super::measures::{self, Loop};
use super::params::{BackendName, Fill, Keep, Params};
use super::site::Site;
use storage::backend::{self, Backend, Null};

/// Executes the trial below `target`.
///
/// # Errors
/// See [`storage::workload::Trial::run`].
pub fn run(params: &Params, target: &Path, event_sink: &mut EventSink) -> Result<(), Failure> {
    match params.backend {
        BackendName::Sync => walk(&backend::Sync, params, target, event_sink),
        BackendName::Null => walk(&Null, params, target, event_sink),
    }
}

fn walk<B: Backend + Sync>(
    backend: &B,
    params: &Params,
    target: &Path,
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let block_bytes = params.write_block.bytes() as usize;
    let content = params
        .content
        .content(block_bytes, event_sink, |fill| match fill {
            Fill::Zeroes => Content::uniform(block_bytes, 0),
            Fill::Random => Content::random(block_bytes),
        })?;
    let mut rates = Vec::new();
    let mut site = Site::make(backend, params, &content, target)?;
    for number in 1.. {
        if params.loops > 0 && number > params.loops {
            break;
        }
        let is_done = |done: u32| f64::from(done) / f64::from(params.loops.max(done + 1));
        event_sink.progress(is_done(number - 1), format!("loop {number}"));
        match perform(&mut site, params, number, event_sink) {
            Ok(rate) => rates.push(rate),
            // Filling the file system up was asked for.
            Err(end) if params.loops == 0 && number > 1 && end.kind == FailureKind::NoSpace => {
                break
            }
            Err(failure) => return Err(failure),
        }
    }
    count(&site, params, &rates, event_sink)?;
    match params.keep {
        Keep::Never | Keep::UntilEnd => site.clear(),
        Keep::ForGood => {
            site.leave();
            Ok(())
        }
    }
}

/// One loop, with its samples; gives the rate as the original computes it.
fn perform<B: Backend + Sync>(
    site: &mut Site<B>,
    params: &Params,
    number: u32,
    event_sink: &mut EventSink,
) -> Result<f64, Failure> {
    if params.backend == BackendName::Sync && !site.has_room()? {
        let message = format!(
            "not enough space for {} files of {} in the file system of the target; \
             use fewer or smaller files, or another target",
            params.files_per_loop(),
            params.size
        );
        return Err(failure(FailureKind::NoSpace, message));
    }
    let creation = team::execute(
        &mut site.workers,
        Finish::Everyone,
        OperationProbe::new,
        |worker, member| worker.create_all(member, number),
    )?;
    hand_over(&creation, params, "files_created", event_sink);
    let removal = remove(site, params, event_sink)?;
    let done = Loop {
        number,
        creation: &creation,
        removal: removal.as_ref(),
        calls: site.workers.iter().map(|worker| &worker.calls).collect(),
    };
    for sample in measures::samples(&done) {
        event_sink.sample(sample);
    }
    Ok(measures::classic_rate(&creation))
}

fn remove<B: Backend + Sync>(
    site: &mut Site<B>,
    params: &Params,
    event_sink: &mut EventSink,
) -> Result<Option<Reading>, Failure> {
    if params.keep != Keep::Never {
        return Ok(None);
    }
    let removal = team::execute(
        &mut site.workers,
        Finish::Everyone,
        OperationProbe::new,
        |worker, member| worker.remove_all(member),
    )?;
    hand_over(&removal, params, "files_removed", event_sink);
    Ok(Some(removal.reading))
}

/// Adds a region to the sums, all files of the loop having been worked on.
fn hand_over(outcome: &Outcome<()>, params: &Params, counter: &str, event_sink: &mut EventSink) {
    assert_eq!(outcome.reading.operations, params.files_per_loop());
    event_sink.add(&outcome.reading);
    let counters = &mut event_sink.totals.counters;
    *counters.entry(counter.to_owned()).or_default() += outcome.reading.operations;
}

/// The counters that describe the trial as a whole: how full the file system has become, and
/// the original's percentiles over loops. Its rates are whole numbers in descending order, so
/// that `p90` is a rate which nine loops of ten have reached.
fn count<B: Backend>(
    site: &Site<B>,
    params: &Params,
    rates: &[f64],
    event_sink: &mut EventSink,
) -> Result<(), Failure> {
    let counters = &mut event_sink.totals.counters;
    if params.backend == BackendName::Sync {
        counters.insert("used_percent".to_owned(), site.used_percent()?);
    }
    if params.loops != 1 {
        for (name, rate) in ["p50", "p90", "p99"].into_iter().zip(percentiles(rates)) {
            counters.insert(format!("files_per_s_{name}"), rate);
        }
    }
    Ok(())
}

fn percentiles(rates: &[f64]) -> [u64; 3] {
    let mut whole: Vec<u64> = rates.iter().map(|&rate| rate as u64).collect();
    whole.sort_unstable_by(|left, right| right.cmp(left));
    let count = whole.len();
    [count / 2, count * 9 / 10, count * 99 / 100].map(|index| whole[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_original() {
        let rates: Vec<f64> = (1..=10).map(|rate| f64::from(rate) + 0.9).collect();
        assert_eq!(percentiles(&rates), [5, 1, 1]);
        assert_eq!(percentiles(&[7.5]), [7, 7, 7]);
    }
}
