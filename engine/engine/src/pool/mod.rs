//! One stream of several clients' streams.
//!
//! Amounts are added up; a rate is their sum over the time from the first start to the last end;
//! times of single operations are pooled bucket by bucket, and percentiles are read from what that
//! gives: a mean of percentiles is a percentile of nothing. What cannot be pooled so is left out,
//! and stays in each client's own stream.

mod end;
mod sample;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

use kit::params::read_value;
use sample::{latest, Row};
use stream::{Stream, Timed};
use wire::{Client, ClientRegion, Event, Interval, Pool, PoolClient, Warning};

/// More clients a study cannot name.
const MOST_CLIENTS: usize = 100;
/// The lab takes no longer stream of a trial.
const STREAM_BYTES: u64 = 256 << 20;

/// The common stream: its first line as the first client said it, and the others.
pub type Pooled = (String, Vec<Event>);

/// Reads what is to be pooled, and the files that it names.
///
/// # Errors
/// One sentence: what is wrong with which, or why they make no common stream.
pub fn read(text: &str) -> Result<Pooled, String> {
    let value = serde_json::from_str(text).map_err(|error| format!("clients: {error}"))?;
    let request: Pool =
        read_value(&value).map_err(|(path, wrong)| format!("clients: {path}: {wrong}"))?;
    let texts = request.clients.iter().map(|client| {
        let told = |error| format!("client {}: {}: {error}", client.name, client.path.display());
        text_of(client).map_err(told)
    });
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    pool(&request, &texts)
}

fn text_of(client: &PoolClient) -> io::Result<String> {
    let mut text = String::new();
    let mut file = File::open(&client.path)?.take(STREAM_BYTES + 1);
    if file.read_to_string(&mut text)? as u64 > STREAM_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Pools what clients said.
///
/// # Errors
/// One sentence, as [`read`].
pub fn pool(request: &Pool, texts: &[String]) -> Result<Pooled, String> {
    let clients = &request.clients;
    if !(1..=MOST_CLIENTS).contains(&clients.len()) {
        return Err(format!(
            "{} clients; 1 to {MOST_CLIENTS} are pooled",
            clients.len()
        ));
    }
    let named = |place: usize, wrong: &str| format!("client {}: {wrong}", clients[place].name);
    let mut streams = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        let stream =
            stream::read(text).map_err(|wrong| named(place, &format!("its stream {wrong}")));
        streams.push(stream?);
    }
    let counts = Vec::from_iter(streams.iter().map(|stream| stream.regions.len()));
    if counts[0] == 0 || counts.iter().any(|count| *count != counts[0]) {
        let each = clients
            .iter()
            .zip(&counts)
            .map(|(one, count)| format!("{}: {count}", one.name));
        let each = Vec::from_iter(each).join(", ");
        return Err(format!(
            "the clients did not time the same regions ({each})"
        ));
    }
    let (mut measured, mut left_out, mut before_s) = (Vec::new(), BTreeSet::new(), 0.0);
    for number in 0..counts[0] {
        begin(request, &mut streams, number)?;
        let regions = Vec::from_iter(streams.iter().map(|stream| &stream.regions[number]));
        require_together(request, &regions)?;
        measured.extend(intervals(&regions, before_s));
        before_s += latest(regions.iter().map(|own| own.ended_s()));
        let rows = Vec::from_iter(
            (0..regions[0].samples.len())
                .map(|metric| Row::from_iter(regions.iter().map(|own| &own.samples[metric]))),
        );
        for row in &rows {
            let of_all = sample::pooled(row, &regions, &rows).map_err(|place| {
                let text = format!("the latencies of {} do not add up", row[0].metric);
                named(place, &text)
            })?;
            if of_all.is_empty() {
                left_out.insert(row[0].metric.clone());
            }
            if of_all.iter().any(|sample| !sample.value.is_finite()) {
                return Err(format!("{}: the sum is not a number", row[0].metric));
            }
            measured.extend(of_all.into_iter().map(Event::Sample));
        }
    }
    let ends = Vec::from_iter(
        clients
            .iter()
            .zip(&streams)
            .map(|(one, s)| (one.name.as_str(), &s.end)),
    );
    let end = end::pooled(&ends).map_err(|place| named(place, "its checksum is not one"))?;
    let mut events = Vec::from_iter(clients.iter().zip(&streams).map(line));
    events.extend(measured);
    events.extend(warnings(clients, &streams));
    events.extend(not_pooled(left_out));
    events.push(Event::End(Box::new(end)));
    Ok((streams.swap_remove(0).hello, events))
}

/// Sets when each client began a region, by the clock of the lab.
fn begin(request: &Pool, streams: &mut [Stream], number: usize) -> Result<(), String> {
    let mut began_ns = Vec::new();
    for (client, stream) in request.clients.iter().zip(&mut *streams) {
        let own = &mut stream.regions[number];
        let there_ns = i128::from(own.region.began_ns);
        let told = client
            .starts
            .iter()
            .filter(|start| i128::from(start.at_ns) + i128::from(start.ahead_ns) <= there_ns);
        let Some(start) = told.max_by_key(|start| start.at_ns) else {
            let name = &client.name;
            return Err(format!(
                "client {name} began region {} before it was told to",
                number + 1
            ));
        };
        began_ns.push(there_ns - i128::from(start.ahead_ns));
        own.uncertainty_s = start.uncertainty_ns as f64 / 1e9;
    }
    let first_ns = began_ns.iter().min().copied().unwrap_or_default();
    for (stream, at_ns) in streams.iter_mut().zip(began_ns) {
        stream.regions[number].began_s = (at_ns - first_ns) as f64 / 1e9;
    }
    Ok(())
}

/// Refuses clients that did not measure the same, or not at the same time.
fn require_together(request: &Pool, regions: &[&Timed]) -> Result<(), String> {
    let names = |own: &Timed| {
        Vec::from_iter(
            own.samples
                .iter()
                .map(|one| (one.metric.clone(), one.at.clone(), one.unit)),
        )
    };
    if regions.iter().any(|own| names(own) != names(regions[0])) {
        return Err("the clients did not measure the same".to_owned());
    }
    let shortest_s = regions
        .iter()
        .map(|own| own.region.elapsed_s)
        .fold(f64::INFINITY, f64::min);
    let limit_s = request.late_s.max(request.late_share * shortest_s);
    let began_s = latest(regions.iter().map(|own| own.began_s));
    let late_s = began_s + latest(regions.iter().map(|own| own.uncertainty_s));
    let last = regions.iter().position(|own| own.began_s == began_s);
    match last {
        Some(last) if late_s > limit_s => Err(format!(
            "client {} began {:.1} ms after the first one (limit {:.0} ms): the clients did not load \
             the system together",
            request.clients[last].name,
            1e3 * late_s,
            1e3 * limit_s,
        )),
        _ => Ok(()),
    }
}

/// Slices of the same number together: they are equally long, but for the last ones.
fn intervals<'a>(regions: &'a [&Timed], before_s: f64) -> impl Iterator<Item = Event> + 'a {
    let most = regions.iter().map(|own| own.intervals.len()).max();
    (0..most.unwrap_or_default()).map(move |number| {
        let own = regions
            .iter()
            .filter_map(|own| Some((own, own.intervals.get(number)?)));
        let ends_s = own
            .clone()
            .map(|(own, slice)| own.began_s + slice.t_s - own.origin_s());
        Event::Interval(Interval {
            t_s: before_s + latest(ends_s),
            operations: own.clone().map(|(_, slice)| slice.operations).sum(),
            bytes: own.map(|(_, slice)| slice.bytes).sum(),
        })
    })
}

fn line((client, stream): (&PoolClient, &Stream)) -> Event {
    let ahead_ns = client.starts.last().map_or(0, |start| start.ahead_ns);
    let regions = stream.regions.iter().map(|own| ClientRegion {
        began_s: own.began_s,
        uncertainty_s: own.uncertainty_s,
        elapsed_s: own.region.elapsed_s,
        operations: own.region.operations,
        bytes: own.region.bytes,
    });
    Event::Client(Client {
        name: client.name.clone(),
        file: client.file.clone(),
        sha256: client.sha256.clone(),
        clock_ahead_s: ahead_ns as f64 / 1e9,
        regions: regions.collect(),
    })
}

/// Each once, with the clients that gave it.
fn warnings(clients: &[PoolClient], streams: &[Stream]) -> Vec<Event> {
    let mut found: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for (client, stream) in clients.iter().zip(streams) {
        for note in &stream.warnings {
            let key = (&note.code, &note.message);
            match found
                .iter_mut()
                .find(|(one, _)| (&one.code, &one.message) == key)
            {
                Some((_, names)) => names.push(&client.name),
                None => found.push((note, vec![&client.name])),
            }
        }
    }
    let named = found.into_iter().map(|(note, names)| {
        Event::Warning(Warning {
            message: format!("client {}: {}", names.join(", "), note.message),
            ..note.clone()
        })
    });
    named.collect()
}

fn not_pooled(metrics: BTreeSet<String>) -> Option<Event> {
    let names = Vec::from_iter(metrics).join(", ");
    (!names.is_empty()).then(|| {
        Event::Warning(Warning {
            code: "not-pooled".to_owned(),
            message: format!("{names}: a value of all clients cannot be made of theirs"),
            advice: Some("look at each client's own stream".to_owned()),
        })
    })
}
