//! What a command line asks for.

mod global;
mod name;
mod omni;
mod output;
mod place;
mod quality;
mod specific;
mod values;

use std::ffi::OsString;
use std::time::Duration;

use kit::failure::bad_parameter;
use network::netperf::client::{Extent, Kind, Test};
use network::netperf::message::Generation;
use wire::Failure;

pub use self::name::Name;
pub use self::output::{Mode, Output};
pub use self::place::{Family, Place};
pub use self::values::release;
use super::choices::{GLOBAL, SPECIFIC};
use super::confidence::Goal;
use super::units::Unit;
use crate::options::{self, Line};

/// The port of a netserver.
pub const CONTROL_PORT: u16 = 12_865;

/// How long a test takes that does not say it, in seconds.
const USUAL_SECONDS: u32 = 10;

/// A command line, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub name: Name,
    /// What is done; its addresses are filled in when names are resolved.
    pub test: Test,
    pub control: Control,
    /// Where the data connection begins and ends, if that is said apart.
    pub near_data: Place,
    pub far_data: Place,
    /// Until when the test is repeated; `None` for once.
    pub goal: Option<Goal>,
    result_only: bool,
    /// What -b and -w say, of the near end and the far end.
    paces: [SaidPace; 2],
    /// The CPU to run on.
    pub cpu: Option<u32>,
    /// The unit that was asked for.
    unit: Option<Unit>,
    pub output: Output,
    pub asks: Option<Asks>,
    /// What people are to be told of options that have no effect.
    pub remarks: Vec<String>,
}

/// Operations of an interval, and the interval, as far as they are said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SaidPace {
    burst: Option<u32>,
    interval: Option<Duration>,
}

/// The control connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    pub far: Place,
    pub near: Place,
    pub port: u16,
    pub near_port: u16,
    pub passphrase: Option<String>,
    /// The release of the netserver, as far as it matters.
    pub generation: Generation,
}

/// What is printed instead of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    Help,
    Version,
    /// The names of all selectors.
    Selectors(Mode),
}

impl Request {
    /// Reads a command line.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn read(arguments: Vec<OsString>) -> Result<Self, Failure> {
        let global = options::read(GLOBAL, arguments)?;
        let mut request = Self::of_test(&global)?;
        request.take_global(&global)?;
        request.check_alignment()?;
        if let Some(goal) = &mut request.goal {
            goal.result_only = request.result_only;
        }
        // What stands alone is what stands behind `--`; nothing else may.
        let specific = options::read(SPECIFIC, global.operands).map_err(behind_dashes)?;
        if let Some(operand) = specific.operands.first() {
            let operand = operand.to_string_lossy();
            let message = format!("\"{operand}\" belongs to no option; --help lists them");
            return Err(bad_parameter("options", message));
        }
        request.take_specific(&specific).map_err(behind_dashes)?;
        Ok(request)
    }

    /// The unit of the figures: that asked for, if the test has it.
    pub fn unit(&self) -> Unit {
        let counts_transactions = self.test.kind.counts_transactions();
        match self.unit {
            // The original prints connections whatever unit is asked for.
            _ if self.test.kind == Kind::TcpCc => Unit::Transactions,
            None if counts_transactions => Unit::Transactions,
            None => Unit::MEGABITS,
            Some(Unit::Transactions) if !counts_transactions => Unit::MEGABITS,
            Some(unit) => unit,
        }
    }

    /// What is done, in the words of the original.
    pub fn direction(&self) -> &'static str {
        let kind = self.test.kind;
        match (kind.is_connection_test(), kind.sends(), kind.receives()) {
            (true, true, true) => "Connect|Send|Recv",
            (true, ..) => "Connection",
            (false, true, true) => "Send|Recv",
            (false, true, false) => "Send",
            (false, ..) => "Receive",
        }
    }

    /// The request of a line that says nothing but its -t.
    fn of_test(global: &Line) -> Result<Self, Failure> {
        let given = global.options.iter().rev().find(|given| given.name == "-t");
        let name = given.map_or(Ok(Name::TcpStream), Name::read)?;
        let kind = name.kind().unwrap_or(Kind::TcpStream);
        Ok(Self {
            name,
            test: Test::new(kind, Extent::Seconds(USUAL_SECONDS)),
            control: Control {
                far: Place::default(),
                near: Place::default(),
                port: CONTROL_PORT,
                near_port: 0,
                passphrase: None,
                generation: Generation::default(),
            },
            near_data: Place::default(),
            far_data: Place::default(),
            goal: None,
            result_only: false,
            paces: Default::default(),
            cpu: None,
            unit: None,
            output: Output::default(),
            asks: None,
            remarks: Vec::new(),
        })
    }

    fn check_alignment(&self) -> Result<(), Failure> {
        for (option, end) in [("-a", &self.test.near), ("-A", &self.test.far)] {
            let aligns = [end.send.align, end.receive.align];
            if let Some(align) = aligns.iter().find(|align| !align.is_power_of_two()) {
                let message = format!("option {option}: {align} is not a power of two");
                return Err(bad_parameter(option, message));
            }
        }
        Ok(())
    }
}

fn behind_dashes(failure: Failure) -> Failure {
    Failure {
        message: format!("behind --: {}", failure.message),
        ..failure
    }
}

#[cfg(test)]
mod tests;
