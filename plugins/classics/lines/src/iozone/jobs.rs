//! The jobs that a command line comes to.

mod many;
mod single;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::{Failure, Job};

pub use self::many::Many;
use super::columns::{LAST_MOTION, LAST_USUAL, PHASES};
use super::logs;
use super::request::{Figures, Request};

/// Begins the reasons for which options do not go with those of [`Request::has_own_backend`].
const MOVED_OTHERWISE: &str = "with -B, -D, -G, -H or -k";

/// Sizes outside auto mode.
const FILE_BYTES: u64 = 512 << 10;
const RECORD_BYTES: u64 = 4 << 10;

impl Request {
    /// Parameters that both workloads have.
    fn common_parameters(&self) -> Map<String, Value> {
        let mut parameters = self.parameters.clone();
        // The original declares no state of the cache, and measures what it finds.
        parameters
            .entry("access")
            .or_insert_with(|| json!("as-found"));
        parameters.insert("purge".to_owned(), json!(self.purge_bytes()));
        parameters.insert("classic".to_owned(), json!(true));
        if self.logs_operations {
            parameters.insert("log_directory".to_owned(), json!(logs::DIRECTORY));
            parameters.insert("log_append".to_owned(), json!(true));
        }
        parameters
    }

    /// The unit of the native figures, as both workloads call it.
    fn unit(&self) -> &'static str {
        match self.figures {
            Figures::Rate => "kB/s",
            Figures::Operations => "ops/s",
            Figures::Latency => "us/op",
        }
    }

    /// The job on the CPUs that -P asks for.
    fn placed(&self, mut job: Job) -> Job {
        if let Some(first) = self.first_cpu {
            let count = thread::available_parallelism().map_or(1, |count| count.get() as u32);
            job.conditions.cpus = (0..count).map(|child| (first + child) % count).collect();
        }
        job
    }
}

impl Request {
    /// Tests that are asked for and that are not there as things are, each with the reason. As in
    /// the original, the others are executed.
    ///
    /// # Errors
    /// `BadJob` where there are no others: the original prints a table without figures.
    pub fn left_out(&self) -> Result<BTreeMap<u32, String>, Failure> {
        let lacking = |&number: &u32| Some((number, self.lacks(number)?));
        let left_out: BTreeMap<_, _> = self.tests.iter().filter_map(lacking).collect();
        if let Some((number, why)) = left_out.first_key_value() {
            let is_all = left_out.len() == self.tests.len();
            refuse(is_all, &format!("-i {number}"), why)?;
        }
        Ok(left_out)
    }

    /// Tests that are asked for, without those left out; empty for those that are usual.
    fn tests_there(&self) -> Result<BTreeSet<u32>, Failure> {
        let left_out = self.left_out()?;
        let is_there = |number: &&u32| !left_out.contains_key(number);
        Ok(self.tests.iter().filter(is_there).copied().collect())
    }

    /// Why there is no such test.
    fn lacks(&self, number: u32) -> Option<String> {
        let is_moved_otherwise = self.has_own_backend();
        if self.is_throughput() {
            let mut phases = PHASES.iter();
            return match phases.find(|phase| phase.test == number) {
                None => Some("many children have no such test".to_owned()),
                Some(phase) if is_moved_otherwise && phase.is_stream() => {
                    Some(format!("{MOVED_OTHERWISE} nothing is moved by C streams"))
                }
                Some(_) => None,
            };
        }
        match number {
            8 => Some("the mixed workload needs many children: add -t".to_owned()),
            _ if is_moved_otherwise && number > LAST_MOTION => Some(format!(
                "{MOVED_OTHERWISE} there are tests 0 to {LAST_MOTION}"
            )),
            _ if number > LAST_USUAL && !self.with_positioned => {
                Some("a single stream needs -E for it".to_owned())
            }
            _ => None,
        }
    }
}

fn refuse(is_wrong: bool, option: &str, why: &str) -> Result<(), Failure> {
    match is_wrong {
        true => Err(bad_parameter(option, format!("option {option}: {why}"))),
        false => Ok(()),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was written as an object"),
    }
}

/// Directory and name of a test file.
fn split(path: &Path) -> Result<(PathBuf, String), Failure> {
    let wrong = |what| bad_parameter("-f", format!("{} is not {what}", path.display()));
    let name = path
        .file_name()
        .ok_or_else(|| wrong("the path of a file"))?;
    let name = name.to_str().ok_or_else(|| wrong("a name in UTF-8"))?;
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    Ok((
        directory.unwrap_or(Path::new(".")).to_owned(),
        name.to_owned(),
    ))
}

#[cfg(test)]
mod tests;
