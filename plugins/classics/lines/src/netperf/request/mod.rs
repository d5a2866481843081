//! What a command line asks for.

mod host;
mod name;
mod options;
mod values;

use std::ffi::OsString;
use std::time::Duration;

use kit::failure::bad_parameter;
use netperf::client::{Extent, Kind, Test};
use netperf::message::Generation;
use wire::Failure;

pub use self::host::{Family, Host};
pub use self::name::Name;
use self::name::Omni;
pub use self::options::{GLOBAL, SPECIFIC};
pub use self::values::{fitting, release};
use super::confidence::Goal;
use super::units::Unit;
use crate::options::{read, Line};

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
    pub local_data: Host,
    pub remote_data: Host,
    /// Until when the test is repeated; `None` for once.
    pub goal: Option<Goal>,
    result_only: bool,
    /// What -b and -w say, of the local end and the remote end.
    paces: [GivenPace; 2],
    /// The choices of an omni test, while its options are read.
    omni: Option<Omni>,
    /// The CPU to run on.
    pub cpu: Option<u32>,
    /// The unit that was asked for.
    unit: Option<Unit>,
    pub output: Output,
    pub asks: Option<Asks>,
    /// Remarks about options that have no effect.
    pub remarks: Vec<String>,
}

/// Operations of an interval, and the interval, as far as they are given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct GivenPace {
    burst: Option<u32>,
    interval: Option<Duration>,
}

/// The control connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    pub remote: Host,
    pub local: Host,
    pub port: u16,
    pub local_port: u16,
    pub passphrase: Option<String>,
    /// The release of the netserver, as far as it matters.
    pub generation: Generation,
}

impl Control {
    fn set_family(&mut self, family: Family) {
        self.remote.family = family;
        self.local.family = family;
    }
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
        let global = read(GLOBAL, arguments)?;
        let mut request = Self::of_test(&global)?;
        request.take_global(&global)?;
        if let Some(goal) = &mut request.goal {
            goal.result_only = request.result_only;
        }
        // What stands alone is what stands behind `--`; nothing else may.
        let specific = read(SPECIFIC, global.operands).map_err(behind_dashes)?;
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
                remote: Host::default(),
                local: Host::default(),
                port: CONTROL_PORT,
                local_port: 0,
                passphrase: None,
                generation: Generation::default(),
            },
            local_data: Host::default(),
            remote_data: Host::default(),
            goal: None,
            result_only: false,
            paces: Default::default(),
            omni: None,
            cpu: None,
            unit: None,
            output: Output::default(),
            asks: None,
            remarks: Vec::new(),
        })
    }
}

/// The form in which they come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The table of the test.
    #[default]
    Classic,
    /// Chosen figures, separated by commas.
    Csv,
    /// … in columns.
    Human,
    /// … one in each line, with its name.
    Keyval,
}

/// What the command line says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Whether the banner and headings are printed.
    pub headers: bool,
    /// 0: one figure, 1: the table, 2: more, 3: only that.
    pub verbosity: u32,
    /// What is printed behind the figures.
    pub brand: Option<String>,
    pub mode: Mode,
    /// What follows -o, -O or -k.
    pub selectors: String,
    pub uuid: Option<String>,
    /// The command line, as one text.
    pub command: String,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            headers: true,
            verbosity: 1,
            brand: None,
            mode: Mode::default(),
            selectors: String::new(),
            uuid: None,
            command: String::new(),
        }
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
