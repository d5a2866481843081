//! Verbs that serve requests on standard input: the lease that they are given, and how they end.

use std::io;
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
    /// Remove the program's own file at once, with its directory if nothing else is in it: it was
    /// copied here for this agent alone, and nothing of it stays, however it ends
    #[arg(long)]
    pub remove_copy: bool,
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
