//! What every workload on a directory is held to; each list of them is tested by these functions.

use std::fs;
use std::path::Path;

use kit::trial::Planned;
use serde_json::{json, Map, Value};
use wire::{AccessVerdict, Card, Failure, FailureKind};

use crate::subject::smoke_with;
use crate::{allocations, scratch_directory, Parameter, Subject, Taken};

type Plan<'a> = dyn Fn(&Map<String, Value>, &Path) -> Planned + 'a;

/// A workload that works in a directory.
pub struct OnDirectory<'a> {
    /// What the workload says of itself.
    pub card: Card,
    plan: Box<Plan<'a>>,
}

impl<'a> OnDirectory<'a> {
    /// `plan` is the workload's own.
    pub fn new(card: Card, plan: impl Fn(&Map<String, Value>, &Path) -> Planned + 'a) -> Self {
        Self {
            card,
            plan: Box::new(plan),
        }
    }

    /// What the workload makes of parameters.
    ///
    /// # Errors
    /// Those of its plan.
    pub fn plan(&self, parameters: &Map<String, Value>, directory: &Path) -> Planned {
        (self.plan)(parameters, directory)
    }

    /// What a trial with these parameters says.
    ///
    /// # Errors
    /// Those of plan and trial.
    pub fn take(
        &self,
        parameters: &Map<String, Value>,
        directory: &Path,
    ) -> Result<Taken, Failure> {
        Taken::of(self.plan(parameters, directory)?)
    }

    /// A trial at the smoke size, changed so: sums add up, every metric is given at every point of
    /// the grid, and nothing is left behind.
    pub fn taken_with(&self, changes: &Value) -> Taken {
        let directory = scratch_directory();
        let parameters = smoke_with(&self.card, changes);
        let taken = self.take(&parameters, directory.path()).unwrap();
        let left = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 0, "files are left behind");
        taken.assert_sums();
        taken.assert_metrics(&self.card);
        for sample in taken.samples() {
            assert!(sample.value > 0.0, "{sample:?}");
        }
        taken
    }

    /// Allocations of a whole trial in this thread, in a directory of its own.
    pub fn allocations(&self, parameters: &Value) -> u64 {
        let directory = tempfile::tempdir().unwrap();
        let trial = self.plan(parameters.as_object().unwrap(), directory.path());
        let trial = trial.unwrap();
        let mut emit = drop;
        let before = allocations::of_this_thread();
        trial.run(&mut kit::EventSink::new(&mut emit)).unwrap();
        allocations::of_this_thread() - before
    }

    /// Allocations of a whole trial in all threads. A trial that others disturbed is made again:
    /// what they read from the device counts against its cache.
    pub fn allocations_of_threads(&self, parameters: &Value) -> u64 {
        for _ in 0..50 {
            let directory = crate::directory_on_disk();
            let trial = self.plan(parameters.as_object().unwrap(), directory.path());
            let trial = trial.unwrap();
            let mut emit = drop;
            let before = allocations::of_all_threads();
            match trial.run(&mut kit::EventSink::new(&mut emit)) {
                Err(failure) if failure.kind == FailureKind::Access => {}
                done => {
                    done.unwrap();
                    return allocations::of_all_threads() - before;
                }
            }
        }
        panic!("each of 50 trials was disturbed");
    }

    /// The preparation may allocate a little more for more work, a timed operation may not.
    /// `parameters` are those for so much work: files of so many KiB, or so many files.
    pub fn assert_ten_times_as_large_allocates_no_more(
        &self,
        backend: &str,
        parameters: impl Fn(u64) -> Value,
    ) {
        let with = |size_kib| {
            let mut parameters = parameters(size_kib);
            parameters["backend"] = json!(backend);
            self.allocations_of_threads(&parameters)
        };
        let (few, many) = (with(400), with(4_000));
        let name = &self.card.name;
        assert!(
            many < few + 50,
            "{name}, {backend}: {few} allocations became {many}"
        );
    }

    /// On an empty directory, which a plan leaves empty.
    fn subject(&'a self, directory: &'a Path) -> Subject<'a> {
        Subject::new(self.card.clone(), move |parameters| {
            let planned = self.plan(parameters, directory);
            assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
            planned
        })
    }

    /// The parameter that says how large a transfer is, where files have many.
    fn transfer(&self) -> Option<&'static str> {
        let is_there = |name: &&str| self.card.parameters["properties"].get(*name).is_some();
        let has_file = is_there(&"file");
        ["record", "block"]
            .into_iter()
            .find(|name| has_file && is_there(name))
    }

    /// The failure of a plan with `parameters`, and of the parameter of [`Self::transfer`] a value.
    fn refused_transfer(&self, parameters: Value, value: Value) -> Option<(&'static str, Failure)> {
        let name = self.transfer()?;
        let mut parameters = parameters;
        parameters[name] = value;
        let directory = tempfile::tempdir().unwrap();
        let failure = self.plan(parameters.as_object().unwrap(), directory.path());
        Some((name, failure.err().unwrap()))
    }
}

/// Every parameter has help, and the default that is in effect.
pub fn cards_tell_the_truth(all: &[OnDirectory]) {
    let directory = tempfile::tempdir().unwrap();
    for one in all {
        one.subject(directory.path()).assert_documented();
    }
}

/// Each runs at the smoke size of its card and adds up, with and without I/O.
pub fn run_at_their_smoke_size(all: &[OnDirectory]) {
    for one in all {
        if let Some(access) = &one.taken_with(&json!({})).totals.access {
            assert_eq!(access.verdict, AccessVerdict::Confirmed, "{access:?}");
        }
        let without = one.taken_with(&json!({"backend": "null"}));
        assert!(without.totals.access.is_none());
    }
}

/// Parameters that cannot be are refused before anything is done, and the one to blame is named.
/// What is tried follows from the schemas of the cards.
pub fn refuse_what_cannot_be(all: &[OnDirectory]) {
    let directory = tempfile::tempdir().unwrap();
    let subjects: Vec<_> = all
        .iter()
        .map(|one| one.subject(directory.path()))
        .collect();
    let long = "x".repeat(256);
    let mut amounts = 0;
    for parameter in Parameter::of(&subjects) {
        parameter.assert_refuses_nonsense();
        if parameter.is_amount() {
            amounts += 1;
            parameter.assert_refuses_beyond_limits();
        }
        if parameter.is_free_text() {
            // Names stay names in the target.
            for name in ["", ".", "..", "../up", "/etc", "nul\0", &long] {
                let is_list = parameter.is_list();
                parameter.assert_refuses(&if is_list { json!([name]) } else { json!(name) });
            }
        }
    }
    assert!(amounts > 5 * all.len());
    for one in all {
        let larger = one.refused_transfer(json!({"file": "4k"}), json!("8k"));
        if let Some((name, failure)) = larger {
            assert_eq!(failure.kind, FailureKind::BadJob, "{failure:?}");
            let blamed = failure.parameter.as_deref().unwrap();
            assert!(["file", name].contains(&blamed), "{failure:?}");
        }
        let broken = json!({"file": "64k", "access": "direct"});
        if let Some((name, failure)) = one.refused_transfer(broken, json!(1_000)) {
            assert_eq!(failure.parameter.as_deref(), Some(name), "{failure:?}");
        }
    }
}

/// Those that take shares of contents measure them and find what they wrote; gives their names.
pub fn shares_are_found(all: &[OnDirectory]) -> Vec<String> {
    let takes_shares = |one: &&OnDirectory| one.card.parameters["$defs"].get("Shares").is_some();
    let mut taken = Vec::new();
    for one in all.iter().filter(takes_shares) {
        let mut changes = json!({"content": {"compressible": 0.5, "dedupable": 0.25}});
        if one.card.parameters["properties"].get("verify").is_some() {
            changes["verify"] = true.into();
        }
        let name = &one.card.name;
        let counters = one.taken_with(&changes).totals.counters;
        for (share, permille) in [("compressible", 500_u64), ("dedupable", 250)] {
            let found = counters[&format!("content_{share}_permille")];
            assert!(found.abs_diff(permille) <= 30, "{name}: {found}");
        }
        taken.push(name.clone());
    }
    taken
}
