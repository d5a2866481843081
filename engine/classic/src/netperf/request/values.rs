//! Values that are not sizes: lengths, levels, times.

use std::time::Duration;

use network::netperf::client::Extent;
use network::netperf::message::Generation;
use wire::Failure;

use crate::netperf::confidence::Level;
use crate::netperf::words::number;
use crate::options::Given;

/// Seconds, with or without an s; a negative number counts bytes or transactions.
pub fn extent(given: &Given, text: &str) -> Result<Extent, Failure> {
    let length = number(given, text.strip_suffix('s').unwrap_or(text))?;
    match length {
        0 => Ok(Extent::Endless),
        ..0 => Ok(Extent::Count(length.unsigned_abs())),
        _ => match u32::try_from(length) {
            Ok(seconds) => Ok(Extent::Seconds(seconds)),
            Err(_) => Err(given.wrong(format!("{length} seconds are more than a test can take"))),
        },
    }
}

pub fn level_of(given: &Given, text: &str) -> Result<Level, Failure> {
    match text {
        "95" => Ok(Level::Percent95),
        "99" => Ok(Level::Percent99),
        _ => Err(given.wrong(format!("\"{text}\" is not a level; use 95 or 99"))),
    }
}

pub fn positive(given: &Given, text: &str) -> Result<f64, Failure> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1e9 => Ok(number),
        _ => Err(given.wrong(format!("\"{text}\" is not a number above zero"))),
    }
}

/// The generation that a release belongs to.
pub fn release(given: &Given) -> Result<Generation, Failure> {
    let text = given.text().to_string_lossy();
    let releases = [
        ("2.4", Generation::V2_4),
        ("2.6", Generation::V2_6),
        ("2.7", Generation::V2_7),
    ];
    let found = releases.iter().find(|(name, _)| *name == text);
    found.map(|(_, generation)| *generation).ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a release that differs; use 2.4, 2.6 or 2.7"
        ))
    })
}

/// `10`, `10ms`, `500us` or `1s`; a number alone is one of milliseconds.
pub fn interval(given: &Given, text: &str) -> Result<Duration, Failure> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let micros = match &text[digits.len()..] {
        "s" => 1_000_000,
        "" | "m" | "ms" => 1_000,
        "u" | "us" => 1,
        _ => 0,
    };
    match digits.parse::<u32>() {
        Ok(number) if number > 0 && micros > 0 => {
            Ok(Duration::from_micros(u64::from(number) * micros))
        }
        _ => Err(given.wrong(format!(
            "\"{text}\" is not a time; write 10, 10ms, 500us or 1s"
        ))),
    }
}
