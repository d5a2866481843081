//! One value of those of all clients.

use kit::histogram::Histogram;
use wire::{Latency, Sample, Unit};

use super::stream::Timed;

/// How the metric ends that is a rate while all clients were at work.
const STONEWALL: &str = "_stonewall";
/// Numbers that differ by this share are of the same formula.
const SAME: f64 = 1e-9;

/// Samples of one metric, one of each client.
pub type Row<'a> = Vec<&'a Sample>;

/// One value of those of all clients, and of a rate the one while all were at work; none where
/// there is no such value.
///
/// # Errors
/// The place of the client whose histogram is none.
pub fn pooled(row: &Row, regions: &[&Timed], rows: &[Row]) -> Result<Vec<Sample>, usize> {
    let first = row[0];
    let is_whole = is_each(row, regions, |sample, own| {
        is_close(sample.elapsed_s, own.region.elapsed_s, 0.0)
    });
    let span_s = match is_whole {
        true => latest(regions.iter().map(|own| own.ended_s())),
        false => latest(row.iter().map(|sample| sample.elapsed_s)),
    };
    let mut both = Sample {
        operations: row.iter().map(|sample| sample.operations).sum(),
        bytes: row.iter().map(|sample| sample.bytes).sum(),
        elapsed_s: span_s,
        native: None,
        latency_ns: histogram(row)?.to_wire(),
        ..first.clone()
    };
    let value = match first.unit {
        Unit::BytesPerSecond | Unit::PerSecond => {
            let is_of_all = row.iter().all(|one| is_close(one.value, rate(one), 0.0));
            // Of another formula, as of IOzone's children, whose rates are added up too.
            let added = || row.iter().map(|sample| sample.value).sum();
            Some(if is_of_all { rate(&both) } else { added() })
        }
        Unit::One => sent(row, rows).map(|sent| 1.0 - both.bytes as f64 / sent.max(1) as f64),
        Unit::Second => match &both.latency_ns {
            Some(latency) => Some(latency.mean / 1e9),
            None => of_histogram(row, rows)?.or_else(|| {
                let is_time = |sample: &&Sample| is_close(sample.value, sample.elapsed_s, 0.0);
                row.iter().all(is_time).then_some(span_s)
            }),
        },
        _ => None,
    };
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    both.value = value;
    let is_rate = matches!(first.unit, Unit::BytesPerSecond | Unit::PerSecond);
    let inside = (is_rate && is_whole).then(|| stonewall(&both, row, regions));
    Ok([both].into_iter().chain(inside).collect())
}

/// The histograms of all that have one, as one.
fn histogram(row: &Row) -> Result<Histogram, usize> {
    let mut pooled = Histogram::new();
    for (place, sample) in row.iter().enumerate() {
        if let Some(told) = &sample.latency_ns {
            pooled.merge(&Histogram::from_wire(told).ok_or(place)?);
        }
    }
    Ok(pooled)
}

/// A mean, percentile or extreme of the pooled histogram, where each client's is of its own.
///
/// Which one is in the name, `…_p99`; whose it is shows in that each client's value is just it.
fn of_histogram(row: &Row, rows: &[Row]) -> Result<Option<f64>, usize> {
    let name = row[0].metric.rsplit('_').next().unwrap_or_default();
    let of = |sample: &Sample| {
        let latency = sample.latency_ns.as_ref()?;
        figure(latency, name).map(|value| value / 1e9)
    };
    let is_of = |other: &&Row| {
        is_each(row, other, |sample, its| {
            of(its).is_some_and(|value| is_close(sample.value, value, 0.0))
        })
    };
    let Some(source) = rows.iter().find(is_of) else {
        return Ok(None);
    };
    let pooled = histogram(source)?.to_wire();
    Ok(pooled.and_then(|latency| Some(figure(&latency, name)? / 1e9)))
}

fn figure(latency: &Latency, name: &str) -> Option<f64> {
    let whole = match name {
        "mean" => return Some(latency.mean),
        "min" => Some(latency.min),
        "max" => Some(latency.max),
        "p50" => Some(latency.p50),
        "p90" => Some(latency.p90),
        "p99" => Some(latency.p99),
        "p999" => latency.p999,
        "p9999" => latency.p9999,
        _ => None,
    };
    whole.map(|ns| ns as f64)
}

/// Bytes that were sent, of all, where each client's value is the share that did not arrive.
fn sent(row: &Row, rows: &[Row]) -> Option<u64> {
    let is_of = |other: &&Row| {
        other[0].unit == Unit::BytesPerSecond
            && other[0].bytes > 0
            && is_each(row, other, |one, sent| {
                let lost = 1.0 - one.bytes as f64 / sent.bytes.max(1) as f64;
                is_close(one.value, lost, SAME)
            })
    };
    let sent: u64 = rows.iter().find(is_of)?.iter().map(|one| one.bytes).sum();
    (sent > 0).then_some(sent)
}

fn rate(sample: &Sample) -> f64 {
    let amount = match sample.unit {
        Unit::BytesPerSecond => sample.bytes,
        _ => sample.operations,
    };
    match sample.elapsed_s > 0.0 {
        true => amount as f64 / sample.elapsed_s,
        false => 0.0,
    }
}

/// The rate from when the last client began until the first one was done.
fn stonewall(both: &Sample, row: &Row, regions: &[&Timed]) -> Sample {
    let from_s = latest(regions.iter().map(|own| own.began_s));
    let first_s = regions.iter().map(|own| own.ended_s());
    let until_s = first_s.fold(f64::INFINITY, f64::min).max(from_s + 1e-9);
    let inside = |amount: fn(&Sample) -> u64| {
        let of_each = row.iter().zip(regions).map(|(sample, own)| {
            let until = share(own, until_s - own.began_s);
            amount(sample) as f64 * (until - share(own, from_s - own.began_s))
        });
        of_each.sum::<f64>().round_ties_even() as u64
    };
    let mut inside = Sample {
        metric: format!("{}{STONEWALL}", both.metric),
        operations: inside(|sample| sample.operations),
        bytes: inside(|sample| sample.bytes),
        elapsed_s: until_s - from_s,
        latency_ns: None,
        ..both.clone()
    };
    inside.value = rate(&inside);
    inside
}

/// Share of a region's work that was done by then; even within a time slice.
fn share(own: &Timed, until_s: f64) -> f64 {
    let is_of_bytes = own.region.bytes > 0;
    let total = match is_of_bytes {
        true => own.region.bytes,
        false => own.region.operations,
    };
    let (mut done, mut begin_s) = (0.0, 0.0);
    for interval in &own.intervals {
        let end_s = interval.t_s - own.origin_s();
        let amount = if is_of_bytes {
            interval.bytes
        } else {
            interval.operations
        };
        let inside_s = until_s.min(end_s) - begin_s;
        if inside_s > 0.0 {
            done += amount as f64 * (inside_s / (end_s - begin_s));
        }
        begin_s = end_s;
    }
    (done / total.max(1) as f64).clamp(0.0, 1.0)
}

/// Whether something holds of each client.
fn is_each<T>(row: &Row, others: &[&T], holds: impl Fn(&Sample, &T) -> bool) -> bool {
    row.iter().zip(others).all(|(one, other)| holds(one, other))
}

fn is_close(one: f64, other: f64, at_least: f64) -> bool {
    (one - other).abs() <= (SAME * one.abs().max(other.abs())).max(at_least)
}

/// The largest; of nothing the first instant.
pub fn latest(times_s: impl Iterator<Item = f64>) -> f64 {
    times_s.reduce(f64::max).unwrap_or_default()
}
