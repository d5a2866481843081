//! Options of every test.

use std::time::Duration;

use network::netperf::client::Burst;
use wire::Failure;

use super::values::{extent, interval, level_of, positive, release};
use super::{quality, Asks, Family, Request};
use crate::netperf::units::Unit;
use crate::netperf::words::{fitting, number, Pair};
use crate::options::{Given, Line};

/// Repetitions are not fewer and not more.
const REPETITIONS: std::ops::RangeInclusive<usize> = 3..=30;

/// The interval of -b without -w.
const USUAL_INTERVAL: Duration = Duration::from_millis(1);

impl Request {
    /// Takes what stands before `--`.
    pub(super) fn take_global(&mut self, line: &Line) -> Result<(), Failure> {
        for given in &line.options {
            let is_taken = self.take_connection(given)?
                || self.take_repetitions(given)?
                || self.take_output(given)?
                || self.take_buffers(given)?
                || self.take_conduct(given)?
                || self.take_without_effect(given);
            assert!(is_taken, "{} is in the table and nowhere else", given.name);
        }
        self.set_paces();
        Ok(())
    }

    /// As in the original an interval paces nothing unless operations are given for it.
    fn set_paces(&mut self) {
        let ends = [&mut self.test.near, &mut self.test.far];
        for (said, end) in self.paces.iter().zip(ends) {
            let operations = said.burst.filter(|&operations| operations > 0);
            end.pace = operations.map(|operations| Burst {
                operations,
                every: said.interval.unwrap_or(USUAL_INTERVAL),
            });
            if operations.is_none() && said.interval.is_some() {
                self.remarks
                    .push("option -w: paces nothing without -b for the same end".into());
            }
        }
    }

    fn take_connection(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        match given.name {
            "-H" => self.control.far.take(given)?,
            "-L" => self.control.near.take(given)?,
            "-4" | "-6" => {
                let family = match given.name {
                    "-4" => Family::V4,
                    _ => Family::V6,
                };
                self.control.far.family = family;
                self.control.near.family = family;
            }
            "-p" => Pair::separate(&text).store(
                given,
                &mut self.control.port,
                &mut self.control.near_port,
            )?,
            "--release" => self.control.generation = release(given)?,
            "-Z" => self.control.passphrase = Some(text.into_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_repetitions(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        match given.name {
            // Read before all others.
            "-t" => {}
            "-l" => self.test.extent = extent(given, &text)?,
            "-i" => {
                let goal = self.goal.get_or_insert_default();
                Pair::shared(&text).store(given, &mut goal.most, &mut goal.fewest)?;
                let (least, limit) = (*REPETITIONS.start(), *REPETITIONS.end());
                goal.fewest = goal.fewest.clamp(least, limit);
                goal.most = goal.most.clamp(goal.fewest, limit);
            }
            "-I" => {
                let goal = self.goal.get_or_insert_default();
                let pair = Pair::separate(&text);
                if let Some(level) = pair.first {
                    goal.level = level_of(given, level)?;
                }
                if let Some(width) = pair.second {
                    goal.width = positive(given, width)? / 100.0;
                }
            }
            "-r" => self.result_only = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_output(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        match given.name {
            "-P" => self.output.headers = number(given, &text)? != 0,
            "-v" => self.output.verbosity = fitting(given, &text)?,
            "-f" => {
                let unit = Unit::of(&text).ok_or_else(|| {
                    given.wrong(format!(
                        "\"{text}\" is not a unit; write one of b, k, m, g (bits), B, K, M, G \
                         (bytes), x (transactions)"
                    ))
                })?;
                self.unit = Some(unit);
            }
            "-B" => self.output.brand = Some(text.into_owned()),
            "-D" => {
                // A sign asks the original to read the clock for each operation, as is done here
                // anyway; units are its first guess.
                let seconds = Pair::separate(&text).first.unwrap_or("1");
                let seconds = positive(given, seconds.trim_start_matches('-'))?;
                self.test.interim = Some(Duration::from_secs_f64(seconds));
            }
            "-j" => self.test.latencies = true,
            "-V" => self.asks = self.asks.or(Some(Asks::Version)),
            "-h" => self.asks = Some(Asks::Help),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_buffers(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        let pair = Pair::shared(&text);
        let near = &mut self.test.near;
        let far = &mut self.test.far;
        match given.name {
            "-a" => pair.store(given, &mut near.send.align, &mut near.receive.align)?,
            "-A" => pair.store(given, &mut far.send.align, &mut far.receive.align)?,
            "-o" => pair.store(given, &mut near.send.offset, &mut near.receive.offset)?,
            "-O" => pair.store(given, &mut far.send.offset, &mut far.receive.offset)?,
            "-W" => {
                for end in [near, far] {
                    pair.store_known(given, &mut end.send.width, &mut end.receive.width)?;
                }
            }
            "-F" => {
                let pair = Pair::separate(&text);
                near.fill = pair.first.map(str::to_owned).or(near.fill.take());
                far.fill = pair.second.map(str::to_owned).or(far.fill.take());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_conduct(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        let near = &mut self.test.near;
        let far = &mut self.test.far;
        match given.name {
            "-c" => near.measure_cpu = true,
            "-C" => far.measure_cpu = true,
            "-T" => Pair::shared(&text).store_known(given, &mut self.cpu, &mut far.cpu)?,
            "-y" => {
                Pair::shared(&text).store_known(given, &mut near.priority, &mut far.priority)?;
            }
            "-Y" => {
                let pair = Pair::shared(&text);
                for (text, tos) in [(pair.first, &mut near.tos), (pair.second, &mut far.tos)] {
                    if let Some(text) = text {
                        *tos = Some(quality::read(given, text)?);
                    }
                }
            }
            "-s" => self.test.wait = Duration::from_secs(fitting::<u32>(given, &text)?.into()),
            "-S" => self.test.keep_alive = true,
            "-b" => {
                let pair = Pair::separate(&text);
                for (text, end) in [pair.first, pair.second].into_iter().zip(&mut self.paces) {
                    if let Some(text) = text {
                        end.burst = Some(fitting(given, text)?);
                    }
                }
            }
            "-w" => {
                let pair = Pair::separate(&text);
                for (text, end) in [pair.first, pair.second].into_iter().zip(&mut self.paces) {
                    if let Some(text) = text {
                        end.interval = Some(interval(given, text)?);
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_without_effect(&mut self, given: &Given) -> bool {
        match given.name {
            "-k" | "-K" => self.remarks.push(format!(
                "option {}: contents of the buffers are neither dirtied nor read",
                given.name
            )),
            "-d" => self
                .remarks
                .push("option -d: there are no messages for debugging".into()),
            // Found out by both; of no effect in the original on Linux either.
            "-n" => {}
            _ => return false,
        }
        true
    }
}
