//! Any program as a workload: started, timed, counted with all that it starts, and ended.
//!
//! Timing, with t read from CLOCK_MONOTONIC:
//! ```text
//! time = t(its end is seen) - t(before execve in the new process)
//! ```
//! Inside: loading the program, all that it does, and its exit. Outside: making the process,
//! joining its group, changing the user; preparing and concluding; what it leaves behind.

mod account;
mod ancestor;
mod execute;
mod group;
mod growing;
pub mod keeper;
mod measures;
mod output;
mod params;
mod plan;
mod prepare;
mod reap;
mod reason;
mod run;
mod servers;
mod signals;
mod spawn;
mod step;
mod trial_dir;
mod watchdog;
mod words;

pub use ancestor::{end_descendants, reap_orphans, stand_above, stay, without_orphans};
pub use plan::plan;
use serde_json::json;
use wire::{Card, TargetKind};

use params::Params;

/// What it is asked for by.
pub const NAME: &str = "program";

/// What help, documentation and the lab need to know.
pub fn card() -> Card {
    Card {
        name: NAME.to_owned(),
        title: String::new(),
        target: TargetKind::Directory,
        about: "any program: your own command, timed with all that it starts".to_owned(),
        lineage: LINEAGE.to_owned(),
        timing: TIMING.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: kit::params::schema::<Params>(),
        metrics: measures::cards(),
        grid: Vec::new(),
        usual: json!({"at_least": 1.0}),
        smoke: json!({"command": ["true"], "executions": 3}),
    }
}

const LINEAGE: &str = "\
D. Peter, hyperfine (2018): executions of commands, their preparation, and the shell that is \
subtracted. Steady state: A. Georges, D. Buytaert and L. Eeckhout, \"Statistically rigorous Java \
performance evaluation\", OOPSLA 2007. Layout of memory: T. Mytkowicz, A. Diwan, M. Hauswirth and \
P. F. Sweeney, \"Producing wrong data without doing anything obviously wrong!\", ASPLOS 2009.";

const TIMING: &str = "\
time = t(its end is seen) - t(before execve in the new process), by CLOCK_MONOTONIC; with \
`shell`, less the median start of an empty shell, never below 0. Inside: loading the program, all \
that it does, its exit. Outside: making the process, joining its control group, changing the \
user, `prepare` and `conclude`, and whatever it leaves running.";

const DESCRIPTION: &str = "\
Executes a command as often as is asked for and gives the mean of each metric over the \
executions; every execution's own values are in the trial, with what it printed. A command is a \
list of words that no shell reads, unless `shell` says so. It finds a fresh directory `{dir}`, \
which is its working directory unless `where` names another one, a clean environment, and empty \
standard input.\n\n\
What it starts is counted and ends with it: a process that is left running is ended, and the trial \
has failed; what must stay is one of the `servers`. It has failed, too, with an unexpected exit \
code, a signal, a timeout, a flood of output, or a file system that is nearly full. `cleanup` is \
executed all the same.\n\n\
Placeholders: only a name in braces is one. `{{name}}` writes `{name}`; `${name}` is the shell's; \
braces of JSON, awk and regular expressions stay as they are.\n\n\
With `steady`, executions are thrown away until the times of ten in a row have a coefficient of \
variation of at most 2 %, a hundred at most. With `layout` \"varied\", a variable \
TILTYARD_PADDING of 16 to 4096 bytes and up to 80 more slashes in the path that execve is given \
move the stack, otherwise in each execution; arguments stay as they are, and a script, which is \
told its path, has no more slashes. Addresses are randomised as the host does it, which the last \
line of the trial names. The engine reads what is printed through pipes of 1 MiB, unless `stdout` \
names a file: a program sees no terminal, and /dev/null only where that is asked for.";
