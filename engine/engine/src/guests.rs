//! The two ends of a virtual machine's channel, as verbs.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use guest::into::Guest;
use guest::server::Server;
use kit::failure::failure;
use rustix::process::Pid;
use wire::{Failure, FailureKind};

use crate::output::Output;
use crate::{job, registry, session};

#[derive(Debug, Args)]
pub struct IntoArguments {
    /// Path of the pipes into the guest and out of it, without .in and .out
    pub channel: PathBuf,
    /// File with what the guest's kernel has said, for the last words of one that died
    #[arg(long, value_name = "FILE")]
    pub console: Option<PathBuf>,
    /// Process that is the machine: when it ends, so does this
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub machine: Option<i32>,
    /// What to do there
    pub verb: IntoVerb,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum IntoVerb {
    /// Execute a job
    Run,
}

/// Serves on standard input and output.
///
/// # Errors
/// `Io`, when the channel breaks.
pub fn serve() -> Result<(), Failure> {
    let broken = |error: io::Error| failure(FailureKind::Io, format!("the channel: {error}"));
    let owned = |descriptor: io::Result<_>| descriptor.map(File::from).map_err(broken);
    let input = owned(io::stdin().as_fd().try_clone_to_owned())?;
    let output = owned(io::stdout().as_fd().try_clone_to_owned())?;
    let engine = std::env::current_exe().map_err(broken)?;
    let mut server = Server::new(input, output, &engine);
    server.serve(registry::VERSION, Vec::new()).map_err(broken)
}

/// Executes a job in a guest; its exit code is that of the engine there.
///
/// # Errors
/// `Far`, when there is no guest any more.
pub fn go_into(arguments: &IntoArguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let IntoVerb::Run = arguments.verb;
    session::heed_signals()?;
    let job = job::text(None)?;
    let guest = Guest {
        channel: arguments.channel.clone(),
        console: arguments.console.clone(),
        machine: arguments.machine.and_then(Pid::from_raw),
    };
    let mut pass_on = |line: &[u8]| output.text(&String::from_utf8_lossy(line));
    let ended = guest.run(&job, &mut pass_on)?;
    // People read the same as if the engine had written to them here.
    let _ = io::stderr().write_all(ended.said.as_bytes());
    match u8::try_from(ended.status) {
        Ok(status) => Ok(ExitCode::from(status)),
        Err(_) => {
            let message = format!("in the guest, signal {} killed it", -ended.status);
            Err(failure(FailureKind::Far, message))
        }
    }
}

/// Becomes a User-Mode Linux, or says why not.
pub fn not_become(line: &[OsString]) -> Failure {
    let error = guest::uml::become_one(line);
    let kernel = line.first().map(PathBuf::from).unwrap_or_default();
    failure(
        FailureKind::HostLacks,
        format!("cannot start {}: {error}", kernel.display()),
    )
}
