//! Reading what one client said: as far as its host can be believed, which is a stranger's.

use serde_json::{from_value, Value};
use wire::{End, Interval, Outcome, Region, Sample, Warning};

/// Larger than any amount, time or rate of a machine; the sum of a hundred is still a number.
const MOST: f64 = (1_u64 << 56) as f64;

/// What is pooled of a client's stream.
pub struct Stream {
    /// Its first line, as it was said.
    pub hello: String,
    pub regions: Vec<Timed>,
    pub warnings: Vec<Warning>,
    pub end: End,
}

/// A timed region of one client, with what was computed from it.
pub struct Timed {
    pub region: Region,
    pub intervals: Vec<Interval>,
    pub samples: Vec<Sample>,
    /// Since the first client began it.
    pub began_s: f64,
    pub uncertainty_s: f64,
}

impl Timed {
    fn new(region: Region) -> Self {
        Self {
            region,
            intervals: Vec::new(),
            samples: Vec::new(),
            began_s: 0.0,
            uncertainty_s: 0.0,
        }
    }

    /// Since the first client began it.
    pub fn ended_s(&self) -> f64 {
        self.began_s + self.region.elapsed_s
    }

    /// What its slices count from, by their own times: slices of several regions go on.
    pub fn origin_s(&self) -> f64 {
        let last = self.intervals.last();
        last.map_or(0.0, |last| last.t_s - self.region.elapsed_s)
    }
}

/// Reads a stream that is whole; else says what is wrong with it.
pub fn read(text: &str) -> Result<Stream, String> {
    let (mut hello, mut end) = (None, None);
    let (mut regions, mut warnings) = (Vec::<Timed>::new(), Vec::new());
    for (line, number) in text.lines().zip(1..) {
        let at = |why: String| format!("line {number} {why}");
        let wrong = |error| at(no_event(error));
        let (kind, data) = event(line).map_err(at)?;
        match (kind.as_str(), regions.last_mut()) {
            ("hello", _) => hello = hello.or(Some(line)),
            ("region", _) => regions.push(Timed::new(from_value(data).map_err(wrong)?)),
            ("interval", Some(own)) => own.intervals.push(from_value(data).map_err(wrong)?),
            ("sample", Some(own)) => own.samples.push(from_value(data).map_err(wrong)?),
            ("warning", _) => warnings.push(from_value(data).map_err(wrong)?),
            ("end", _) => end = end.or(Some(from_value::<End>(data).map_err(wrong)?)),
            _ => {}
        }
    }
    match (hello, end) {
        (Some(hello), Some(end)) if end.outcome == Outcome::Done && text.ends_with('\n') => {
            Ok(Stream {
                hello: hello.to_owned(),
                regions,
                warnings,
                end,
            })
        }
        _ => Err("is not whole: it has no first line, no last one, or was not done".to_owned()),
    }
}

/// What it is, and what it says. (A reader of whole events would be compiled for what is never pooled, too.)
fn event(line: &str) -> Result<(String, Value), String> {
    let mut value: Value = serde_json::from_str(line).map_err(no_event)?;
    let data = value.get_mut("data").map(Value::take).unwrap_or_default();
    let kind = value["type"].as_str().unwrap_or_default().to_owned();
    // A parameter may be any number.
    if kind != "hello" && !is_bounded(&data) {
        return Err(format!("has a number beyond {MOST:e}"));
    }
    Ok((kind, data))
}

fn no_event(error: serde_json::Error) -> String {
    format!("is not an event: {error}")
}

fn is_bounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(|number| number.abs() <= MOST),
        Value::Array(list) => list.iter().all(is_bounded),
        // A clock that began with the host is no amount: it may go for years.
        Value::Object(table) => table
            .iter()
            .all(|(key, value)| key == "began_ns" || is_bounded(value)),
        _ => true,
    }
}
