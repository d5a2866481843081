//! The jobs of a single stream.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use classic_workloads::iozone::grid;
use classic_workloads::iozone::grid::Grid;
use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::{Failure, Job};

use super::super::columns::{Test, LAST_MOTION, LAST_USUAL, POSITIONED, TESTS};
use super::super::request::Request;
use super::{object, refuse, split, FILE_BYTES, MOVED_OTHERWISE, RECORD_BYTES};
use crate::bench::job;

const FILE_NAME: &str = "iozone.tmp";

/// What a single stream is to do.
pub struct Single {
    /// In their order.
    pub jobs: Vec<Job>,
    /// What they go through.
    pub grid: Grid,
    /// The tests asked for, in the order of their columns.
    pub tests: Vec<&'static Test>,
    /// Whether access is direct but for tests on C streams.
    pub has_streams_apart: bool,
    /// Files that it will write; --force removes them first.
    pub paths: Vec<PathBuf>,
}

impl Request {
    /// The jobs of a single stream.
    ///
    /// # Errors
    /// `BadJob`, naming the option that has no meaning here.
    pub fn single(&self) -> Result<Single, Failure> {
        refuse(
            !self.paths.is_empty(),
            "-F",
            "it names files of many children; use -f, or add -t",
        )?;
        let tests = self.single_tests()?;
        let mut parameters = self.common_parameters();
        self.add_sizes(&mut parameters)?;
        let grid = grid(&parameters)?;
        let path = self.path.clone().unwrap_or_else(|| FILE_NAME.into());
        let (directory, name) = split(&path)?;
        parameters.extend(object(json!({
            "tests": names(&tests), "name": name, "retest": !self.no_retest, "native": self.unit(),
        })));
        let only_reads = tests.iter().all(|test| test.only_reads);
        let is_found = self.is_foreign || (only_reads && path.exists());
        if is_found {
            parameters.insert("existing".to_owned(), json!("read"));
        }
        if self.is_foreign {
            parameters.insert("verify".to_owned(), json!(false));
        }
        let is_direct = parameters["access"] == "direct";
        let has_streams_apart = is_direct && tests.iter().any(|test| test.is_stream);
        let jobs = match has_streams_apart {
            true => self.jobs_apart(&parameters, &grid, &tests, &directory),
            false => vec![self.placed(job("iozone", parameters, &directory))],
        };
        Ok(Single {
            jobs,
            grid,
            tests,
            has_streams_apart,
            paths: if is_found { Vec::new() } else { vec![path] },
        })
    }

    /// C streams go through the page cache whatever is asked for, and nothing is to be called
    /// direct that was not: in each row they are jobs of their own. They find the file that the
    /// tests before them kept.
    fn jobs_apart(
        &self,
        parameters: &Map<String, Value>,
        grid: &Grid,
        tests: &[&'static Test],
        directory: &Path,
    ) -> Vec<Job> {
        let runs: Vec<_> = tests
            .chunk_by(|one, next| one.is_stream == next.is_stream)
            .collect();
        let (last_cell, last_run) = (grid.cells.len() - 1, runs.len() - 1);
        let mut jobs = Vec::new();
        for (at, cell) in grid.cells.iter().enumerate() {
            for (nth, run) in runs.iter().enumerate() {
                let mut own = parameters.clone();
                own.shift_remove("auto");
                own.extend(object(json!({
                    "file": cell.file, "record": cell.record, "tests": names(run),
                    "crossover": false,
                })));
                if run[0].is_stream {
                    own.insert("access".to_owned(), json!("as-found"));
                }
                if nth > 0 && !own.contains_key("existing") {
                    own.insert("existing".to_owned(), json!("take_over"));
                }
                let is_handed_on = nth < last_run;
                let stays = at == last_cell && own.contains_key("keep");
                own.insert("keep".to_owned(), json!(is_handed_on || stays));
                jobs.push(self.placed(job("iozone", own, directory)));
            }
        }
        jobs
    }

    fn single_tests(&self) -> Result<Vec<&'static Test>, Failure> {
        let has_own_backend = self.has_own_backend();
        let why = format!("{MOVED_OTHERWISE} nothing is moved by pwrite and pread");
        refuse(has_own_backend && self.with_positioned, "-E", &why)?;
        let asked = self.tests_there()?;
        let is_wanted = |test: &&Test| match asked.is_empty() {
            // The original has only the first tests for mappings and queues.
            true if has_own_backend => test.number <= LAST_MOTION,
            true if self.with_positioned && POSITIONED.contains(&test.number) => true,
            true => test.number <= LAST_USUAL,
            false => asked.contains(&test.number),
        };
        Ok(TESTS.iter().filter(is_wanted).collect())
    }

    fn add_sizes(&self, parameters: &mut Map<String, Value>) -> Result<(), Failure> {
        let (files, records) = (&self.files, &self.records);
        let sweeps = self.is_auto || files.len() > 1 || records.len() > 1;
        let bound = self.bounds.keys().next();
        if let Some(bound) = bound.filter(|_| !sweeps) {
            let message = format!("-n, -g, -y, -q and -+x ({bound}) are for auto mode: add -a");
            return Err(bad_parameter("-a", message));
        }
        for (name, sizes, usual) in [
            ("file", files, FILE_BYTES),
            ("record", records, RECORD_BYTES),
        ] {
            if !sizes.is_empty() {
                parameters.insert(name.to_owned(), json!(sizes));
            } else if !sweeps {
                parameters.insert(name.to_owned(), json!(BTreeSet::from([usual])));
            }
        }
        if sweeps {
            parameters.insert("auto".to_owned(), Value::Object(self.bounds.clone()));
        }
        if self.no_crossover {
            parameters.insert("crossover".to_owned(), json!(false));
        }
        Ok(())
    }
}

fn names(tests: &[&'static Test]) -> Vec<&'static str> {
    tests.iter().map(|test| test.name).collect()
}
