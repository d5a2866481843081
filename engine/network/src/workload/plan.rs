//! From parameters to a trial, for workloads that share parameters and the way they are executed.

use kit::params::Ranges;
use kit::trial::Planned;
use kit::{params, EventSink, Size, Trial};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Failure, FarEnd, Timing};

/// Most bytes of a message on a connection.
pub const MESSAGE_MAX: Size = Size(16 << 20);
/// Most flows at once.
pub const FLOWS_MAX: u32 = 1_024;
/// Longest time at a point of the grid.
pub const SECONDS_MAX: f64 = 86_400.0;
/// Code points of differentiated services have 6 bits.
pub const DSCP_MAX: u8 = 63;

/// A workload whose parameters are some of those that its relatives have too.
pub trait Family: Copy + 'static {
    /// The parameters of all of them.
    type Params: Serialize + DeserializeOwned + JsonSchema + Ranges + 'static;

    /// Names of parameters that mean nothing to this one.
    fn foreign(&self) -> Vec<&'static str>;

    /// Checks what goes together.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    fn check(&self, params: &Self::Params) -> Result<(), Failure>;

    /// See [`Trial::timing`].
    fn timing(params: &Self::Params) -> Timing;

    /// Threads of the client, at the point of the grid that has the most.
    fn most_threads(params: &Self::Params) -> u32;

    /// Executes the trial.
    ///
    /// # Errors
    /// See [`Trial::run`].
    fn run(
        &self,
        params: &Self::Params,
        far: &FarEnd,
        event_sink: &mut EventSink,
    ) -> Result<(), Failure>;
}

/// The schema of the parameters that mean something to `workload`.
pub fn schema<F: Family>(workload: &F) -> Value {
    let mut schema = params::schema::<F::Params>();
    if let Some(properties) = schema["properties"].as_object_mut() {
        retain_own(workload, properties);
    }
    schema
}

/// Reads and checks what is asked of `workload`.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn parse<F: Family>(
    workload: &F,
    parameters: &Map<String, Value>,
) -> Result<F::Params, Failure> {
    let foreign = workload.foreign();
    let is_own = |name: &String| !foreign.contains(&name.as_str());
    let read = || params::read(parameters);
    let params = match parameters.keys().all(is_own).then(read) {
        Some(Ok(params)) => params,
        // Names come first. Deriving them takes longer than a small run, so it is left to failures.
        failed => {
            let schema = schema(workload);
            let properties = schema["properties"].as_object().into_iter();
            let names: Vec<String> = properties.flat_map(Map::keys).cloned().collect();
            params::known(parameters, &names)?;
            failed.unwrap_or_else(read)?
        }
    };
    workload.check(&params)?;
    Ok(params)
}

/// A trial of `workload` ready to be executed.
///
/// # Errors
/// As [`parse`].
pub fn plan<F: Family>(workload: F, parameters: &Map<String, Value>, far: &FarEnd) -> Planned {
    Ok(Box::new(Plan {
        workload,
        params: parse(&workload, parameters)?,
        far: far.clone(),
    }))
}

struct Plan<F: Family> {
    workload: F,
    params: F::Params,
    far: FarEnd,
}

impl<F: Family> Trial for Plan<F> {
    fn effective(&self) -> Map<String, Value> {
        let mut effective = params::effective(&self.params);
        retain_own(&self.workload, &mut effective);
        effective
    }

    fn timing(&self) -> Timing {
        F::timing(&self.params)
    }

    fn threads(&self) -> usize {
        F::most_threads(&self.params) as usize
    }

    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure> {
        self.workload.run(&self.params, &self.far, event_sink)
    }
}

fn retain_own<F: Family>(workload: &F, named: &mut Map<String, Value>) {
    let foreign = workload.foreign();
    named.retain(|name, _| !foreign.contains(&name.as_str()));
}
