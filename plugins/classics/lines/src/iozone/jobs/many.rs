//! The jobs of many children.

use std::path::{Path, PathBuf};

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::{Failure, Job};

use super::super::columns::{Phase, PHASES};
use super::super::request::{Figures, Readers, Request};
use super::{object, refuse, split, FILE_BYTES, RECORD_BYTES};
use crate::bench::job;

const FILE_NAME: &str = "iozone.DUMMY";

/// What so many children are to do.
pub struct Many {
    /// In their order: one, or another one for the phases on C streams.
    pub jobs: Vec<Job>,
    pub phases: Vec<&'static Phase>,
    /// Whether access is direct but for phases on C streams.
    pub has_streams_apart: bool,
    pub children: u32,
    pub file_bytes: u64,
    pub record_bytes: u64,
    pub paths: Vec<PathBuf>,
}

impl Request {
    /// The jobs of many children, one for each number of them.
    ///
    /// # Errors
    /// `BadJob`, naming the option that has no meaning here.
    pub fn throughput(&self) -> Result<Vec<Many>, Failure> {
        let is_auto = self.is_auto || !self.bounds.is_empty();
        refuse(
            is_auto,
            "-a",
            "auto mode is of a single stream; give -s and -r, or leave out -t",
        )?;
        refuse(
            self.path.is_some(),
            "-f",
            "it names the file of a single stream; use -F",
        )?;
        refuse(
            self.is_foreign,
            "-+E",
            "children make files of their own; leave out -t",
        )?;
        let latency = self.figures == Figures::Latency;
        refuse(
            latency,
            "-N",
            "many children are counted in kB/sec, or in ops/sec with -O",
        )?;
        for (option, sizes) in [("-s", &self.files), ("-r", &self.records)] {
            refuse(
                sizes.len() > 1,
                option,
                "many children take one size; call once for each",
            )?;
        }
        let phases = self.phases()?;
        let counts = self.counts();
        refuse(counts.is_empty(), "-u", "it is less than -l")?;
        let last = counts.len() - 1;
        let counts = counts.into_iter().enumerate();
        counts
            .map(|(at, children)| self.many(children, at == last, &phases))
            .collect()
    }

    fn many(
        &self,
        children: u32,
        is_last: bool,
        phases: &[&'static Phase],
    ) -> Result<Many, Failure> {
        let whole_bytes = self.files.first().copied().unwrap_or(FILE_BYTES);
        let parts = if self.divided { children.max(1) } else { 1 };
        let file_bytes = whole_bytes / u64::from(parts);
        let record_bytes = self.records.first().copied().unwrap_or(RECORD_BYTES);
        let (directory, names) = self.files_of_children(children)?;
        let mut parameters = self.common_parameters();
        parameters.extend(object(json!({
            "file": file_bytes,
            "record": record_bytes,
            "children": children,
            "children_kind": if self.threads { "threads" } else { "processes" },
            "stonewall": !self.no_stonewall,
            "release_pause_us": self.release_pause_us,
            "mixed_order": if self.sequential_mix { "sequential" } else { "random" },
            "child_counters": self.each_child,
            "names": names,
            "native": self.unit(),
        })));
        let readers = self.readers.map(|readers| match readers {
            Readers::Number(number) => number,
            Readers::Percent(percent) => children * percent.min(100) / 100,
        });
        parameters.insert("mixed_readers".to_owned(), json!(readers));
        // Files that stay would be in the way of the next number of children.
        if !is_last {
            parameters.remove("keep");
        }
        let is_direct = parameters["access"] == "direct";
        let has_streams_apart = is_direct && phases.iter().any(|phase| phase.is_stream());
        Ok(Many {
            jobs: self.jobs_of_children(&parameters, phases, &directory),
            phases: phases.to_vec(),
            has_streams_apart,
            children,
            file_bytes,
            record_bytes,
            paths: names.iter().map(|name| directory.join(name)).collect(),
        })
    }

    /// C streams go through the page cache whatever is asked for: with direct access they are a job
    /// of their own. It comes last, as their phases do, and finds the files that the phases before
    /// them kept.
    fn jobs_of_children(
        &self,
        parameters: &Map<String, Value>,
        phases: &[&'static Phase],
        directory: &Path,
    ) -> Vec<Job> {
        let is_apart = parameters["access"] == "direct";
        let runs: Vec<_> = phases
            .chunk_by(|one, next| !is_apart || one.is_stream() == next.is_stream())
            .collect();
        let mut jobs = Vec::new();
        for (nth, run) in runs.iter().enumerate() {
            let mut own = parameters.clone();
            let names: Vec<_> = run.iter().map(|phase| phase.name).collect();
            own.insert("phases".to_owned(), json!(names));
            if is_apart && run[0].is_stream() {
                own.insert("access".to_owned(), json!("as-found"));
            }
            if nth > 0 {
                own.insert("existing".to_owned(), json!("take_over"));
            }
            if nth + 1 < runs.len() {
                own.insert("keep".to_owned(), json!(true));
            }
            jobs.push(self.placed(job("iozone_throughput", own, directory)));
        }
        jobs
    }

    fn phases(&self) -> Result<Vec<&'static Phase>, Failure> {
        let asked = self.tests_there()?;
        let has_streams = !self.has_own_backend();
        let is_wanted = |phase: &&Phase| {
            let is_named = asked.is_empty() || asked.contains(&phase.test);
            is_named && !(self.no_retest && phase.is_retest) && (has_streams || !phase.is_stream())
        };
        Ok(PHASES.iter().filter(is_wanted).collect())
    }

    /// How many children, each number in turn.
    fn counts(&self) -> Vec<u32> {
        let range = match (self.fewest, self.most) {
            (Some(fewest), Some(most)) => fewest..=most,
            (Some(only), None) => only..=only,
            (None, Some(most)) => 1..=most,
            (None, None) => return self.children.clone(),
        };
        self.children.iter().copied().chain(range).collect()
    }

    /// The directory of the children's files, and their names.
    fn files_of_children(&self, children: u32) -> Result<(PathBuf, Vec<String>), Failure> {
        if self.paths.is_empty() {
            let names = (0..children).map(|child| format!("{FILE_NAME}.{child}"));
            return Ok((PathBuf::from("."), names.collect()));
        }
        let split: Vec<_> = self
            .paths
            .iter()
            .map(|path| split(path))
            .collect::<Result<_, _>>()?;
        let directory = split[0].0.clone();
        if let Some((other, _)) = split.iter().find(|(other, _)| *other != directory) {
            let (one, other) = (directory.display(), other.display());
            let message = format!("all files lie in one directory here, not in {one} and {other}");
            return Err(bad_parameter("-F", format!("option -F: {message}")));
        }
        if split.len() < children as usize {
            let message = format!(
                "option -F: {} files for {children} children; name one for each",
                split.len()
            );
            return Err(bad_parameter("-F", message));
        }
        let names = split.into_iter().map(|(_, name)| name);
        Ok((directory, names.take(children as usize).collect()))
    }
}
