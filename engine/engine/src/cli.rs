//! The command line, from which help is derived.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::guests::{GuestAskArguments, GuestBootArguments, GuestExecArguments};
use crate::lease::{AgentArguments, LeaseArguments};
use crate::serve::ServeArguments;

const EXAMPLES: &str = r#"Examples:
  echo '{"protocol":1,"workload":"postmark","target":{"directory":"."}}' | tiltyard-engine run
  tiltyard-engine run --job job.json > trial.jsonl
  tiltyard-engine validate --job job.json
  tiltyard-engine describe
  tiltyard-engine serve --bind 10.0.0.2 --secret-file far.secret

Exit codes:
  0 done · 1 internal · 2 usage or job · 3 host lacks something · 4 refused for safety
  5 the trial failed, or something that is to be removed stays · 130 interrupted"#;

/// The measuring instrument of Tiltyard: executes one trial and writes what it found as JSON
/// Lines.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Execute a job: hello, progress, intervals, samples, warnings, end
    Run {
        /// File with the job; standard input when left out
        #[arg(long, value_name = "FILE")]
        job: Option<PathBuf>,
    },
    /// Execute job after job: requests on standard input, answers and trials on standard output
    Runner(LeaseArguments),
    /// Read this host and execute commands on it: requests on standard input, answers on standard
    /// output
    Agent(AgentArguments),
    /// Check a job and print its hello line, without doing anything
    Validate {
        /// File with the job; standard input when left out
        #[arg(long, value_name = "FILE")]
        job: Option<PathBuf>,
    },
    /// Make one stream of those of several clients: whose they are on standard input, the common one on
    /// standard output
    #[command(hide = true)]
    Pool,
    /// Print what this engine can do: backends, and workloads with parameters and metrics
    Describe,
    /// Print the JSON Schema of all that passes between engine and lab
    Schema,
    /// Measure the engine itself: the cost of a clock read and of an operation without I/O
    Floor,
    /// Be the server of network trials: listen until a signal comes
    Serve(ServeArguments),
    /// Serve in a virtual machine: requests on standard input, answers on standard output
    ///
    /// As /init of a machine it makes the machine ready first, and switches it off last.
    Guest,
    /// Execute jobs in a virtual machine: what `run` or `runner` reads on standard input, the
    /// engine's lines on standard output
    GuestExec(GuestExecArguments),
    /// Ask a virtual machine for one thing after the other, and print what was found as a list
    #[command(hide = true)]
    GuestAsk(GuestAskArguments),
    /// Start a virtual machine, say in a line when its guest is ready, and switch it off at a signal
    #[command(hide = true)]
    GuestBoot(GuestBootArguments),
    /// Write the initial file system of a guest: this engine, and modules of its kernel
    #[command(hide = true)]
    Initramfs {
        /// A file that is not there
        archive: PathBuf,
        /// Files of modules, in the order in which they are loaded
        modules: Vec<PathBuf>,
    },
    /// Print what a file is that is to be booted
    #[command(hide = true)]
    Kernel {
        /// An image, or a program
        file: PathBuf,
    },
    /// Print which files a guest must load for what it needs of its kernel
    #[command(hide = true)]
    Modules {
        /// Of one kernel, as depmod leaves it
        directory: PathBuf,
        /// Modules, or their aliases
        names: Vec<String>,
    },
    /// Be a classic tool, with its own command line and table: `classic postmark FILE`
    ///
    /// A link to the engine that bears the name of a classic tool does the same.
    Classic {
        /// Name of the tool, then what it is called with
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "NAME [ARGUMENTS]"
        )]
        line: Vec<OsString>,
    },
    /// Be above a process that an agent has started, as its standard input says: the process ends with it
    #[command(hide = true)]
    Keep {
        /// By which both are known
        mark: String,
    },
    /// Remove files and directories with all that is in them, whatever programs have made of them:
    /// a line of each that stays says why, and what to do; what is mounted there is left alone
    #[command(hide = true)]
    Remove {
        /// What is to go; done if it is not there
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
