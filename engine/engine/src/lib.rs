//! The measuring instrument as a library: a program hands [`main`] the parts that it is made of. One
//! job in, JSON Lines out. Called by the name of a tool among its parts, it is that tool.
//!
//! stdout carries the protocol and nothing else; what people should read goes to stderr.
//!
//! An engine with one workload of one's own:
//!
//! ```no_run
//! # struct Mine;
//! # impl storage::workload::Workload for Mine {
//! #     fn name(&self) -> &'static str { "mine" }
//! #     fn card(&self) -> wire::Card { unimplemented!() }
//! #     fn plan(
//! #         &self,
//! #         _: &serde_json::Map<String, serde_json::Value>,
//! #         _: &std::path::Path,
//! #     ) -> kit::trial::Planned { unimplemented!() }
//! # }
//! fn main() -> std::process::ExitCode {
//!     engine::main(engine::Parts {
//!         storage: vec![&Mine],
//!         ..engine::Parts::default()
//!     })
//! }
//! ```

mod background;
mod cli;
mod exit;
mod guests;
mod hash;
pub mod job;
mod lease;
mod output;
pub mod pool;
mod registry;
mod runner;
mod serve;
mod session;
mod stage;
pub mod tool;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Parser;
use cli::{Cli, Command};
use kit::place::Place;
use kit::removal;
use lease::AgentArguments;
use output::Output;
use wire::{ConditionsWanted, Failure, FailureKind, HostLine};

pub use registry::{Parts, Protocol};
pub use tool::Tool;

/// Is the engine that is made of `parts`, as its command line says. Called once.
///
/// # Panics
/// If it is called again.
pub fn main(parts: Parts) -> ExitCode {
    parts.take();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if guest::init::called_as(&name) {
        guest::init::run(registry::VERSION);
    }
    if let Some(tool) = called_as(&name) {
        return stage::run(tool, arguments.collect(), Output::stdout());
    }
    match execute(Cli::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            output::complain(&failure);
            exit::code(failure.kind)
        }
    }
}

/// The tool whose name `program` (argv\[0\]) ends in, if it is one.
fn called_as(program: &OsStr) -> Option<&'static dyn Tool> {
    let name = Path::new(program).file_name()?.to_str()?;
    registry::tool(name)
}

/// Is the tool that the first word names, called with the others.
fn be_tool(line: Vec<OsString>, output: Output) -> Result<ExitCode, Failure> {
    let mut arguments = line.into_iter();
    let name = arguments.next().unwrap_or_default();
    let tool = registry::tool_named(&name.to_string_lossy())?;
    Ok(stage::run(tool, arguments.collect(), output))
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    let mut output = Output::stdout();
    match command {
        Command::Run { job } => return Ok(session::run(job.as_deref(), &mut output)),
        Command::Runner(arguments) => {
            // Of an agent's own file it would be "exe".
            let _ = rustix::thread::set_name(c"tiltyard-engine");
            let code = runner::serve(&arguments, &session::run_text, &mut output)?;
            return output.check().map(|()| code);
        }
        Command::Agent(arguments) => {
            let code = serve_host(&arguments, &mut output)?;
            return output.check().map(|()| code);
        }
        Command::Validate { job } => return Ok(session::validate(job.as_deref(), &mut output)),
        Command::Pool => return Ok(session::pool(&mut output)),
        Command::Classic { line } => return be_tool(line, output),
        Command::Serve(arguments) => {
            let _ = rustix::thread::set_name(c"tiltyard-engine");
            serve::run(&arguments, &mut output)?;
        }
        Command::Guest => guests::serve()?,
        Command::GuestExec(arguments) => {
            let code = guests::exec(&arguments, &mut output)?;
            return output.check().map(|()| code);
        }
        Command::GuestAsk(arguments) => guests::ask(&arguments, &mut output)?,
        Command::GuestBoot(arguments) => {
            // Of an agent's own file it would be "exe".
            let _ = rustix::thread::set_name(c"tiltyard-engine");
            guests::boot(arguments, &mut output)?;
        }
        Command::Initramfs { archive, modules } => guests::initramfs(&archive, &modules)?,
        Command::Kernel { file } => guests::kernel(&file, &mut output)?,
        Command::Modules { directory, names } => guests::modules(&directory, &names, &mut output)?,
        Command::Keep { mark: _ } => {
            // Of an agent's own file it would be "exe".
            let _ = rustix::thread::set_name(c"tiltyard-engine");
            program::keeper::serve().map_err(|error| lease::lacks("a keeper", &error))?;
        }
        Command::Remove { paths } => return Ok(remove(&paths)),
        Command::Describe => output.document(&registry::catalogue()),
        Command::Schema => output.text(wire::SCHEMA),
        Command::Floor => {
            let _place = Place::take(&ConditionsWanted::default(), 1)?;
            output.document(&session::measure_floor());
        }
    }
    output.check().map(|()| ExitCode::SUCCESS)
}

/// Serves requests about this host.
fn serve_host(arguments: &AgentArguments, output: &mut Output) -> Result<ExitCode, Failure> {
    if let Some(directory) = &arguments.remove_copy {
        remove_copy(directory).map_err(|error| lease::lacks("removed", &error))?;
    }
    let mut say = |line: &HostLine| output.record(line);
    let ended = agent::serve(
        registry::VERSION,
        arguments.lease.time(),
        arguments
            .after
            .map(passed)
            .transpose()
            .map_err(|error| lease::lacks("an agent", &error))?,
        &mut say,
    );
    let (why, left) = ended.map_err(|error| lease::lacks("an agent", &error))?;
    if left.is_empty() {
        return Ok(lease::code_of(why));
    }
    let text = format!("not taken back, and still recorded: {}", left.join("; "));
    Err(kit::failure::failure(FailureKind::Refused, text))
}

/// A descriptor that whoever has started this process has left open for it.
fn passed(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: nothing else here has it: it was open before this process began.
    let passed = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::io::fcntl_setfd(&passed, rustix::io::FdFlags::CLOEXEC)?;
    Ok(passed)
}

/// Removes the copy of this program in a directory that was made for an agent; the kernel keeps what
/// runs. What else is in the directory stays, with it.
fn remove_copy(directory: &Path) -> io::Result<()> {
    let name = directory.file_name().and_then(OsStr::to_str);
    if !name.is_some_and(is_for_an_agent) {
        let text = format!("{} was not made for an agent", directory.display());
        return Err(io::Error::other(text));
    }
    fs::remove_file(directory.join("tiltyard-agent"))?;
    let _ = fs::remove_dir(directory);
    // A name alone has a parent without a name.
    let home = directory
        .parent()
        .filter(|home| !home.as_os_str().is_empty());
    remove_older_copies(home.unwrap_or(Path::new(".")));
    Ok(())
}

/// Those that were cut off in the middle an hour ago, and those of an earlier boot of this host, whose power
/// was cut before they were gone.
fn remove_older_copies(home: &Path) {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let up_s = uptime.split('.').next().and_then(|text| text.parse().ok());
    let oldest = Duration::from_secs(up_s.unwrap_or(u64::MAX)).min(Duration::from_secs(3600));
    let Some(since) = SystemTime::now().checked_sub(oldest) else {
        return;
    };
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(is_for_an_agent);
        let made = entry.metadata().and_then(|found| found.modified());
        if is_ours && made.is_ok_and(|made| made < since) {
            let _ = removal::remove(&entry.path());
        }
    }
}

fn is_for_an_agent(name: &str) -> bool {
    name.starts_with("tiltyard-") && name.ends_with("-agent")
}

/// Removes all of them; says of each that stays why.
fn remove(paths: &[PathBuf]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in paths {
        if let Err(remains) = removal::remove(path) {
            let fix = remains.fix(path);
            output::remark("not removed", &format!("{remains}. Fix: {fix}"));
            code = exit::code(FailureKind::Io);
        }
    }
    code
}
