//! `tiltyard-engine`: the measuring instrument. One job in, JSON Lines out.
//!
//! stdout carries the protocol and nothing else; what people should read goes to stderr.

mod cli;
mod exit;
mod hash;
mod job;
mod output;
mod registry;
mod session;

use std::process::ExitCode;

use clap::Parser;
use cli::{Cli, Command};
use kit::place::Place;
use output::Output;
use wire::{ConditionsWanted, Failure};

fn main() -> ExitCode {
    match execute(Cli::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            output::complain(&failure);
            exit::code(failure.kind)
        }
    }
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    let mut output = Output::stdout();
    match command {
        Command::Run { job } => return Ok(session::run(job.as_deref(), &mut output)),
        Command::Validate { job } => return Ok(session::validate(job.as_deref(), &mut output)),
        Command::Describe => output.document(&registry::catalogue()),
        Command::Schema => output.document(&wire::schema()),
        Command::Floor => {
            let _place = Place::take(&ConditionsWanted::default(), 1)?;
            output.document(&session::measure_floor());
        }
    }
    Ok(ExitCode::SUCCESS)
}
