//! Virtual machines as verbs: the two ends of a channel, what boots, and what that begins with.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use guest::archive;
use guest::boot::Boot;
use guest::into::Guest;
use guest::kernel::Kernel;
use guest::message::Ask;
use guest::modules::Modules;
use guest::server::Server;
use kit::failure::failure;
use kit::gauges::Gauges;
use rustix::process::Pid;
use serde::Deserialize;
use wire::{End, Event, Failure, FailureKind};

use crate::lease::LeaseArguments;
use crate::output::{complain, Output};
use crate::runner;
use crate::{exit, job, registry, session};

/// How long a guest may take for an answer.
const ANSWERS: Duration = Duration::from_secs(60);
/// An `end` begins so.
const LAST: &[u8] = b"{\"type\":\"end\"";

/// A guest, as it is reached from its host.
#[derive(Debug, Args)]
pub struct GuestArguments {
    /// Path of the pipes into the guest and out of it, without .in and .out
    pub channel: PathBuf,
    /// File with what the guest's kernel has said, for the last words of one that died
    #[arg(long, value_name = "FILE")]
    pub console: Option<PathBuf>,
    /// Process that is the machine: when it ends, so does this
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub machine: Option<i32>,
}

impl GuestArguments {
    fn guest(&self) -> Guest {
        Guest {
            channel: self.channel.clone(),
            console: self.console.clone(),
            machine: self.machine.and_then(Pid::from_raw),
        }
    }
}

#[derive(Debug, Args)]
pub struct GuestAskArguments {
    #[command(flatten)]
    pub guest: GuestArguments,
    /// Requests, as the guest's own messages have them
    #[arg(required = true, value_parser = request)]
    pub requests: Vec<Ask>,
}

fn request(text: &str) -> Result<Ask, serde_json::Error> {
    serde_json::from_str(text)
}

#[derive(Debug, Args)]
pub struct GuestBootArguments {
    /// Path of the pipes into the guest and out of it, without .in and .out: they are made
    pub channel: PathBuf,
    /// File that what the machine prints is added to
    pub console: PathBuf,
    /// How long the guest may take until it is ready, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    pub within: f64,
    /// Program and arguments of the machine, which has the pipes as descriptors 3 and 4
    #[arg(required = true, last = true)]
    pub argv: Vec<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let found = text.parse().ok();
    let found = found.filter(|&seconds| Duration::try_from_secs_f64(seconds).is_ok());
    found.ok_or_else(|| "not a number of seconds".to_owned())
}

#[derive(Debug, Args)]
pub struct GuestExecArguments {
    #[command(flatten)]
    pub guest: GuestArguments,
    /// Count what others use of this host's processors, and tell it in the last line: in the
    /// guest there are no others
    #[arg(long)]
    pub watch_host: bool,
    /// What to do there
    pub verb: GuestVerb,
    #[command(flatten)]
    pub lease: LeaseArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum GuestVerb {
    /// Execute a job
    Run,
    /// Execute job after job, as a runner
    Runner,
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

/// Executes a job in a guest, or job after job.
///
/// # Errors
/// `Far`, when there is no guest any more.
pub fn exec(arguments: &GuestExecArguments, output: &mut Output) -> Result<ExitCode, Failure> {
    match arguments.verb {
        GuestVerb::Run => {
            session::heed_signals()?;
            exec_job(arguments, &job::text(None)?, output).map(ExitCode::from)
        }
        GuestVerb::Runner => {
            let execute = |job: &str, output: &mut Output| {
                exec_job(arguments, job, output).unwrap_or_else(|failure| {
                    complain(&failure);
                    exit::number(failure.kind)
                })
            };
            runner::serve(&arguments.lease, &execute, output)
        }
    }
}

/// The exit code is that of the engine there.
fn exec_job(arguments: &GuestExecArguments, job: &str, output: &mut Output) -> Result<u8, Failure> {
    let guest = arguments.guest.guest();
    let gauges = arguments.watch_host.then(|| Gauges::read(None, true));
    let mut pass_on = |line: &[u8]| {
        let seen = gauges.as_ref().and_then(|gauges| with_others(line, gauges));
        match seen {
            Some(end) => output.event(&end),
            None => output.text(&String::from_utf8_lossy(line)),
        }
    };
    let ended = guest.run(job, &mut pass_on)?;
    // People read the same as if the engine had written to them here.
    let _ = io::stderr().write_all(ended.said.as_bytes());
    match u8::try_from(ended.status) {
        Ok(status) => Ok(status),
        Err(_) => {
            let message = format!("in the guest, signal {} killed it", -ended.status);
            Err(failure(FailureKind::Far, message))
        }
    }
}

/// Asks a guest for one thing after the other.
///
/// # Errors
/// `Far`, when there is no guest any more; `Io`, when it refuses.
pub fn ask(arguments: &GuestAskArguments, output: &mut Output) -> Result<(), Failure> {
    session::heed_signals()?;
    let found = arguments.guest.guest().ask(&arguments.requests, ANSWERS)?;
    output.line(&found);
    Ok(())
}

/// Starts a machine, and is there as long as that is.
///
/// # Errors
/// `HostLacks`, when it cannot be started.
pub fn boot(arguments: GuestBootArguments, output: &mut Output) -> Result<(), Failure> {
    let machine = Boot {
        channel: arguments.channel,
        console: arguments.console,
        within: Duration::from_secs_f64(arguments.within),
        argv: arguments.argv,
    };
    let ran = machine.run(&mut |said| output.line(said));
    ran.map_err(|error| failure(FailureKind::HostLacks, error.to_string()))
}

/// Writes what a kernel begins with.
///
/// # Errors
/// `HostLacks`, when a module cannot be read; others, when the archive cannot be written.
pub fn initramfs(archive: &Path, modules: &[PathBuf]) -> Result<(), Failure> {
    let written = archive::write(archive, Path::new("/proc/self/exe"), modules);
    written.map_err(|error| failure(FailureKind::HostLacks, error.to_string()))
}

/// Prints what a file is that is to be booted.
///
/// # Errors
/// `HostLacks`, when it cannot be read.
pub fn kernel(file: &Path, output: &mut Output) -> Result<(), Failure> {
    output.line(&Kernel::at(file).map_err(|error| unreadable(file, &error))?);
    Ok(())
}

/// Prints which files a guest must load.
///
/// # Errors
/// `HostLacks`, when there are no tables of what needs what.
pub fn modules(directory: &Path, names: &[String], output: &mut Output) -> Result<(), Failure> {
    let table = directory.join("modules.dep");
    let modules = Modules::of(directory).map_err(|error| {
        let text = format!("{}: no table ({error}). Fix: depmod", table.display());
        failure(FailureKind::HostLacks, text)
    })?;
    let wanted = modules.wanted(names);
    output.line(&wanted.map_err(|error| failure(FailureKind::HostLacks, error.to_string()))?);
    Ok(())
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    failure(
        FailureKind::HostLacks,
        format!("{}: {error}", file.display()),
    )
}

/// The last line of a trial. No other line is ever read here.
#[derive(Deserialize)]
struct Told {
    data: Box<End>,
}

/// The last line of a trial, with what others on this host used meanwhile; `None` for any other
/// line. What the machine itself used is among it: whoever started it knows its processes.
fn with_others(line: &[u8], gauges: &Gauges) -> Option<Event> {
    if !line.starts_with(LAST) {
        return None;
    }
    let Told { data: mut end } = serde_json::from_slice(line).ok()?;
    let seen = gauges.usage_until_now();
    let both = end.usage.foreign_s.zip(seen.foreign_s);
    end.usage.foreign_s = both.map(|(there_s, here_s)| there_s + here_s);
    end.usage.steal_s = seen.steal_s;
    Some(Event::End(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = r#"{"type":"end","data":{"outcome":"done","operations":1,"bytes":2,"elapsed_s":0.5,"checksum":"0","floor":{"clock_ns":1.5,"clock_step_ns":1.0,"operation_ns":2.5},"usage":{"user_s":0.1,"system_s":0.2,"parent_s":0.0,"kernel_threads_s":0.0,"foreign_s":100.0,"voluntary_switches":3,"involuntary_switches":4,"minor_faults":5,"major_faults":6,"peak_memory_bytes":7}}}"#;

    #[test]
    fn the_last_line_tells_of_others_on_this_host_and_is_else_as_it_was() {
        let gauges = Gauges::read(None, true);
        let Some(Event::End(end)) = with_others(END.as_bytes(), &gauges) else {
            panic!("not an end");
        };
        assert!(end.usage.foreign_s >= Some(100.0));
        let mut seen = serde_json::to_value(Event::End(end)).unwrap();
        let mut told: serde_json::Value = serde_json::from_str(END).unwrap();
        for event in [&mut seen, &mut told] {
            let usage = event["data"]["usage"].as_object_mut().unwrap();
            usage.retain(|key, _| key != "foreign_s" && key != "steal_s");
        }
        assert_eq!(seen, told);
    }

    #[test]
    fn other_lines_pass_as_they_are() {
        let gauges = Gauges::read(None, true);
        for line in ["{\"type\":\"sample\"}\n", "{\"type\":\"end\", torn\n", ""] {
            assert!(with_others(line.as_bytes(), &gauges).is_none(), "{line}");
        }
    }
}
