//! The jobs that a command line comes to.

mod many;
mod single;

use std::path::{Path, PathBuf};
use std::thread;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::{Failure, Job};

pub use self::many::Many;
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
