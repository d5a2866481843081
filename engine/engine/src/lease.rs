//! Verbs that serve requests on standard input: the lease that they are given, and how they end.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use kit::failure::failure;
use kit::requests::Ending;
use wire::{Failure, FailureKind};

#[derive(Debug, Args)]
pub struct LeaseArguments {
    /// End when no request has come for so many seconds [default: wait for ever]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    lease: Option<u32>,
}

#[derive(Debug, Args)]
pub struct AgentArguments {
    #[command(flatten)]
    pub lease: LeaseArguments,
    /// Remove this program at once from a directory "tiltyard-…-agent" that was made for it alone, with
    /// the directory: nothing of it stays, however the agent ends
    #[arg(long, value_name = "DIRECTORY")]
    pub remove_copy: Option<PathBuf>,
    /// At the end, wait until nobody has this pipe open for reading, for 20 s at most, before anything is
    /// taken back: those that whoever asks has started
    #[arg(long, value_name = "DESCRIPTOR", value_parser = clap::value_parser!(i32).range(3..))]
    pub after: Option<i32>,
}

impl LeaseArguments {
    /// How long nobody needs to ask for anything, if there is an end to it.
    pub fn time(&self) -> Option<Duration> {
        self.lease.map(|s| Duration::from_secs(s.into()))
    }
}

/// Why one cannot serve.
pub fn lacks(what: &str, error: &io::Error) -> Failure {
    failure(FailureKind::HostLacks, format!("cannot be {what}: {error}"))
}

pub fn code_of(why: Ending) -> ExitCode {
    match why {
        Ending::NoMoreRequests => return ExitCode::SUCCESS,
        Ending::Signal => {}
        Ending::Lease => {
            let message = "nobody has asked for anything as long as the lease lasts".to_owned();
            crate::output::complain(&failure(FailureKind::Interrupted, message));
        }
    }
    crate::exit::code(FailureKind::Interrupted)
}
