//! What the engine executes, whatever it works on.

use serde::Serialize;
use serde_json::{Map, Value};
use wire::{Failure, Timing};

use crate::{params, EventSink};

/// What a workload makes of parameters: a trial, or why there is none.
pub type Planned = Result<Box<dyn Trial>, Failure>;

/// A workload with its parameters resolved, ready to be executed once.
pub trait Trial {
    /// Every parameter with its resolved value.
    fn effective(&self) -> Map<String, Value>;

    /// How often the clock is read.
    fn timing(&self) -> Timing;

    /// How many threads measure at once, each on its own CPU while there are enough.
    fn threads(&self) -> usize {
        1
    }

    /// The CPUs that the work is done on, where other processes than this one do it.
    fn cpus(&self) -> Option<Vec<u32>> {
        None
    }

    /// Looks, as long as a person would wait for it, whether the work can be done to its end; for
    /// those who validate, and for people at a classic tool. The run finds out by itself.
    ///
    /// # Errors
    /// Those of the run that can be foreseen.
    fn foresee(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Prepares, executes and checks. Timed regions lie inside; the event sink is used between
    /// them. All files made are removed again and all connections closed, however it ends.
    ///
    /// # Errors
    /// Whatever kept the work from being done as declared. What was measured until then is in
    /// the event sink.
    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure>;
}

/// A point of a workload's grid, as samples name it.
pub fn point<const N: usize>(place: [(&str, Value); N]) -> Map<String, Value> {
    let named = place.map(|(name, value)| (name.to_owned(), value));
    named.into_iter().collect()
}

/// A trial that reads the clock for each operation, in so many threads: `run` gets `params` as they
/// are shown, and cleans up after itself.
pub fn ready<P: Serialize + 'static>(
    params: P,
    threads: u32,
    run: impl FnOnce(&P, &mut EventSink) -> Result<(), Failure> + 'static,
) -> Box<dyn Trial> {
    Box::new(Ready {
        params,
        threads,
        run,
    })
}

struct Ready<P, R> {
    params: P,
    threads: u32,
    run: R,
}

impl<P, R> Trial for Ready<P, R>
where
    P: Serialize,
    R: FnOnce(&P, &mut EventSink) -> Result<(), Failure>,
{
    fn effective(&self) -> Map<String, Value> {
        params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        Timing::Operation
    }

    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn run(self: Box<Self>, event_sink: &mut EventSink) -> Result<(), Failure> {
        (self.run)(&self.params, event_sink)
    }
}
