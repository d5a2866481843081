//! What can be asked of many children, beside what can be asked of a single stream.

use std::path::PathBuf;
use std::time::Duration;

use kit::failure::bad_parameter;
use kit::limits::file_name;
use kit::params;
use kit::team::Finish;
use kit::List;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{AccessKind, Failure, Timing};

use super::super::grid::Cell;
use super::super::log::Place;
use super::super::options::{Existing, NativeUnit};
use super::super::params::Params as Shared;
use super::super::table::Pass;
use super::phase::{mixed, MixedOrder, Phase};

/// As many as the original can keep account of.
pub const CHILDREN_MAX: u32 = 1_024;

const PAUSE_US_MAX: u64 = 10_000_000;

/// Parameters of a single stream that have no meaning here.
const NOT_HERE: [&str; 4] = ["auto", "crossover", "tests", "retest"];

/// What a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChildKind {
    /// A thread (IOzone's -T).
    Threads,
    /// A process made with fork(2), as the original does by default. Operations are not timed
    /// one by one.
    Processes,
}

kit::parameters! {
/// Parameters of the children.
pub struct Own {
    /// Children that work at once, each on a file of its own (IOzone's -t, or -l to -u); several
    /// numbers make a grid.
    pub children: List<u32> = [2].into(), within 1..=CHILDREN_MAX;
    /// What a child is.
    pub children_kind: ChildKind = ChildKind::Threads;
    /// Phases to execute, always in the order in which they are listed here.
    pub phases: List<Phase> = Phase::ALL.into();
    /// Stop the others when the first child is done (off: IOzone's -x). What they moved until
    /// then counts.
    pub stonewall: bool = true;
    /// Release one child after the other, so many µs apart (IOzone's -d); 0 for all at once. What
    /// the parent sees is timed from when the first is released.
    pub release_pause_us: u64 = 0, in 0..=PAUSE_US_MAX;
    /// Children that read in the mixed phase, those with the lowest numbers (IOzone's -+K; -+p
    /// gives a share). Left out: every other one, beginning with the first.
    pub mixed_readers: Option<u32> = None, in 0..=CHILDREN_MAX;
    /// Order of records in the mixed phase.
    pub mixed_order: MixedOrder = MixedOrder::Random;
    /// What happens when files of the children are there already: `refuse`, or `take_over` what an
    /// earlier trial kept for this one.
    pub existing: Existing = Existing::Refuse;
    /// Count bytes and time of each child (IOzone's -C).
    pub child_counters: bool = false;
    /// What the names of files begin with; a dot and the child's number follow.
    pub name: String = "iozone.DUMMY".to_owned();
    /// Names of the files in the target directory, one for each child (IOzone's -F), in place of
    /// those made from `name`.
    pub names: Vec<String> = Vec::new();
}}

/// All parameters.
pub struct Params {
    /// Those that a single stream has too.
    pub shared: Shared,
    /// Those of the children.
    pub own: Own,
}

/// One point of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Sizes of each child's file and of its records.
    pub cell: Cell,
    /// Number of children.
    pub children: u32,
}

impl Point {
    /// Its place in the grid, as a sample names it.
    pub fn at(self) -> Map<String, Value> {
        let mut at = self.cell.point();
        at.insert("children".to_owned(), json!(self.children));
        at
    }
}

impl Params {
    /// The JSON Schema of all parameters.
    pub fn schema() -> Value {
        let (mut all, own) = (params::schema::<Shared>(), params::schema::<Own>());
        for part in ["properties", "$defs"] {
            let (Some(all), Some(own)) = (all[part].as_object_mut(), own[part].as_object()) else {
                continue;
            };
            all.retain(|name, _| part != "properties" || !NOT_HERE.contains(&name.as_str()));
            all.extend(own.clone());
        }
        all["description"] = own["description"].clone();
        all
    }

    /// Reads and checks. Also gives the phases that cannot be done under the declared access.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>) -> Result<(Self, Vec<Phase>), Failure> {
        let defaults = Self {
            shared: Shared::default(),
            own: Own::default(),
        };
        let names: Vec<String> = defaults.effective().keys().cloned().collect();
        params::known(parameters, &names)?;
        let of_children = params::effective(&defaults.own);
        let (own, shared): (Map<_, _>, Map<_, _>) = parameters
            .clone()
            .into_iter()
            .partition(|(name, _)| of_children.contains_key(name));
        let (shared, _) = Shared::parse(&shared)?;
        let mut params = Self {
            shared,
            own: params::read(&own)?,
        };
        params.check()?;
        let left_out = params.check_direct()?;
        params.own.phases = params.own.phases.sorted();
        Ok((params, left_out))
    }

    /// All parameters with their values.
    pub fn effective(&self) -> Map<String, Value> {
        let mut all = params::effective(&self.shared);
        all.retain(|name, _| !NOT_HERE.contains(&name.as_str()));
        all.extend(params::effective(&self.own));
        all
    }

    /// The grid: file sizes outermost, numbers of children innermost.
    pub fn points(&self) -> Vec<Point> {
        let of_cell = |cell| {
            let of_children = move |&children| Point { cell, children };
            self.own.children.iter().map(of_children)
        };
        self.shared.cells().into_iter().flat_map(of_cell).collect()
    }

    /// Name of a child's file in the target directory.
    pub fn file_name(&self, child: u32) -> String {
        match self.own.names.get(child as usize) {
            Some(name) => name.clone(),
            None => format!("{}.{child}", self.own.name),
        }
    }

    /// All logs that are written.
    pub fn logs(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let children = (0..self.children_max()).filter_map(|child| {
            let place = Place::of(&self.shared)?;
            let phases = self.own.phases.iter();
            Some(phases.map(move |phase| place.path(Some(child), phase.metric())))
        });
        children.flatten()
    }

    /// The most children that work at once.
    pub fn children_max(&self) -> u32 {
        self.own.children.iter().copied().max().unwrap_or(1)
    }

    /// When the children of a phase stop.
    pub fn finish(&self, phase: Phase) -> Finish {
        if self.own.stonewall && phase.has_stonewall() {
            Finish::Stonewall
        } else {
            Finish::Everyone
        }
    }

    /// How long `child` is held back when all are there.
    pub fn pause(&self, child: u32) -> Duration {
        Duration::from_micros(self.own.release_pause_us) * child
    }

    /// Whether a child reads in the mixed phase.
    pub fn is_reader(&self, child: u32) -> bool {
        match self.own.mixed_readers {
            Some(readers) => child < readers,
            None => child.is_multiple_of(2),
        }
    }

    /// What `child` does in `phase`.
    pub fn pass(&self, phase: Phase, child: u32) -> Pass {
        match phase {
            Phase::Mixed => mixed(self.is_reader(child), self.own.mixed_order),
            phase => *phase.pass(),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        self.check_names_of_files()?;
        self.check_existing()?;
        self.shared.check_log(self.children_max())?;
        let is_timed = self.shared.timing == Timing::Operation;
        if is_timed && self.own.children_kind == ChildKind::Processes {
            let message = "parameter \"timing\": operations are timed one by one in threads only; \
                           use children_kind \"threads\", or timing \"pass\"";
            return Err(bad_parameter("timing", message));
        }
        if self.shared.native == NativeUnit::Latency {
            let message = "parameter \"native\": the original has no \"us/op\" for many children; \
                           use \"kB/s\" or \"ops/s\"";
            return Err(bad_parameter("native", message));
        }
        Ok(())
    }

    fn check_existing(&self) -> Result<(), Failure> {
        let message = match self.own.existing {
            Existing::Read => {
                "parameter \"existing\": children read files that they made; use \"refuse\", or \
                 \"take_over\""
            }
            Existing::TakeOver if self.points().len() > 1 => {
                "parameter \"existing\": files can be taken over once; use one size of file, one of \
                 record and one number of children, or \"refuse\""
            }
            _ => return Ok(()),
        };
        Err(bad_parameter("existing", message))
    }

    fn check_names_of_files(&self) -> Result<(), Failure> {
        file_name("name", &self.own.name)?;
        let (names, children) = (&self.own.names, self.children_max() as usize);
        for (index, name) in names.iter().enumerate() {
            file_name("names", name)?;
            if names[..index].contains(name) {
                let message = format!(
                    "parameter \"names\": \"{name}\" is there twice; each child has a file of its own"
                );
                return Err(bad_parameter("names", message));
            }
        }
        if !names.is_empty() && names.len() < children {
            let message = format!(
                "parameter \"names\": {} for {children} children; name a file for each",
                names.len()
            );
            return Err(bad_parameter("names", message));
        }
        Ok(())
    }

    fn check_direct(&mut self) -> Result<Vec<Phase>, Failure> {
        if self.shared.access != AccessKind::Direct {
            return Ok(Vec::new());
        }
        let phases = || self.own.phases.clone();
        let streams = phases().filtered(|phase| phase.is_stream());
        let others = phases().filtered(|phase| !phase.is_stream());
        self.own.phases = others.ok_or_else(|| {
            bad_parameter(
                "phases",
                "parameter \"phases\": fwrite and fread use C streams, which ignore direct \
                 access; use access \"in-cache\" or another phase",
            )
        })?;
        Ok(streams.map_or(Vec::new(), |streams| streams.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::assert_refusals_name;

    fn parse(value: Value) -> Result<(Params, Vec<Phase>), Failure> {
        Params::parse(value.as_object().unwrap())
    }

    #[test]
    fn parameters_of_both_kinds_are_read_and_shown_together() {
        let job = json!({"children": [1, 3], "record": "4k", "file": "64k", "stonewall": false});
        let (params, _) = parse(job).unwrap();
        let points = params.points();
        assert_eq!(points.len(), 2);
        assert_eq!(points[1].children, 3);
        let effective = params.effective();
        let schema = Params::schema();
        let known = schema["properties"].as_object().unwrap();
        assert!(effective.keys().eq(known.keys()));
        assert_eq!(effective["name"], json!("iozone.DUMMY"));
        let (again, _) = Params::parse(&effective).unwrap();
        assert_eq!(again.effective(), effective);
    }

    #[test]
    fn the_schema_has_no_parameter_without_a_meaning_here() {
        let schema = Params::schema();
        let known = schema["properties"].as_object().unwrap();
        assert!(NOT_HERE.iter().all(|name| !known.contains_key(*name)));
        assert!(["children", "phases", "record", "verify"]
            .iter()
            .all(|name| known.contains_key(*name)));
    }

    #[test]
    fn readers_are_every_other_child_or_the_first_so_many() {
        let of = |job| {
            let (params, _) = parse(job).unwrap();
            [0, 1, 2, 3].map(|child| params.is_reader(child))
        };
        assert_eq!(of(json!({})), [true, false, true, false]);
        assert_eq!(of(json!({"mixed_readers": 3})), [true, true, true, false]);
        assert_eq!(of(json!({"mixed_readers": 0})), [false; 4]);
    }

    #[test]
    fn refusals_name_the_parameter() {
        assert_refusals_name(
            parse,
            [
                (json!({"children": 0}), "children"),
                (json!({"children": 2000}), "children"),
                (json!({"phases": ["rewite"]}), "phases[0]"),
                (json!({"tests": ["read"]}), "tests"),
                (json!({"auto": {}}), "auto"),
                (json!({"childs": 2}), "childs"),
                (json!({"native": "us/op"}), "native"),
                (json!({"name": "a/b"}), "name"),
                (json!({"names": ["a", "a"]}), "names"),
                (json!({"names": ["a"], "children": 2}), "names"),
                (
                    json!({"timing": "operation", "children_kind": "processes"}),
                    "timing",
                ),
                (json!({"access": "direct", "phases": "fread"}), "phases"),
                (json!({"existing": "read"}), "existing"),
                (json!({"release_pause_us": 10_000_001}), "release_pause_us"),
                (
                    json!({"existing": "take_over", "children": [1, 2]}),
                    "existing",
                ),
                (json!({"file": "4k", "record": "8k"}), "record"),
            ],
        );
    }

    #[test]
    fn streams_are_left_out_of_direct_trials() {
        let job = json!({"phases": ["fread", "read", "write"], "access": "direct"});
        let (params, left_out) = parse(job).unwrap();
        assert_eq!(&*params.own.phases, &[Phase::Write, Phase::Read]);
        assert_eq!(left_out, [Phase::Fread]);
    }
}
