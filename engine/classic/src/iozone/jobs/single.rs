//! The job of a single stream.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kit::failure::bad_parameter;
use serde_json::{json, Map, Value};
use wire::{Failure, Job};

use super::super::columns::{Test, LAST_USUAL, POSITIONED, TESTS};
use super::super::request::Request;
use super::{object, refuse, split, FILE_BYTES, RECORD_BYTES};
use crate::bench::job;

const FILE_NAME: &str = "iozone.tmp";

/// What a single stream is to do.
pub struct Single {
    pub job: Job,
    /// The tests asked for, in the order of their columns.
    pub tests: Vec<&'static Test>,
    /// Files that it will write, and may be told to remove first.
    pub paths: Vec<PathBuf>,
}

impl Request {
    /// The job of a single stream.
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
        let path = self.path.clone().unwrap_or_else(|| FILE_NAME.into());
        let (directory, name) = split(&path)?;
        let names: Vec<_> = tests.iter().map(|test| test.name).collect();
        parameters.extend(object(json!({
            "tests": names, "name": name, "retest": !self.no_retest, "native": self.unit(),
        })));
        let only_reads = tests.iter().all(|test| test.only_reads);
        let is_found = self.is_foreign || (only_reads && path.exists());
        if is_found {
            parameters.insert("existing".to_owned(), json!("read"));
        }
        if self.is_foreign {
            parameters.insert("verify".to_owned(), json!(false));
        }
        let paths = if is_found { Vec::new() } else { vec![path] };
        let job = self.placed(job("iozone", parameters, &directory));
        Ok(Single { job, tests, paths })
    }

    fn single_tests(&self) -> Result<Vec<&'static Test>, Failure> {
        refuse(
            self.tests.contains(&8),
            "-i 8",
            "the mixed workload needs many children: add -t",
        )?;
        if let Some(number) = self.tests.iter().find(|&&number| number > LAST_USUAL) {
            let option = format!("-i {number}");
            refuse(
                !self.with_positioned,
                &option,
                "a single stream needs -E for it",
            )?;
        }
        let is_wanted = |test: &&Test| match self.tests.is_empty() {
            true if self.with_positioned && POSITIONED.contains(&test.number) => true,
            true => test.number <= LAST_USUAL,
            false => self.tests.contains(&test.number),
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
