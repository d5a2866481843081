//! The engine as another tool: its jobs are executed, and what it prints is printed.

use std::ffi::OsString;
use std::process::ExitCode;

use kit::Trial;
use wire::{Event, Failure, Job};

use crate::background::{self, Side};
use crate::exit;
use crate::output::{self, Output};
use crate::session::{self, Record};
use crate::tool::{Host, Tool};

/// Is `tool`, called with `arguments`.
pub fn run(tool: &dyn Tool, arguments: Vec<OsString>, output: Output) -> ExitCode {
    let name = tool.names()[0];
    let mut stage = Stage { name, output };
    let done = session::heed_signals().and_then(|()| tool.run(arguments, &mut stage));
    match stage.output.check().and(done) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::remark(name, &failure.message);
            exit::code(failure.kind)
        }
    }
}

/// Where a tool appears.
struct Stage {
    name: &'static str,
    output: Output,
}

impl Host for Stage {
    fn print(&mut self, text: &str) {
        self.output.text(text);
    }

    fn remark(&mut self, text: &str) {
        output::remark(self.name, text);
    }

    fn record(&mut self, event: &Event) {
        self.output.event(event);
    }

    fn execute(
        &mut self,
        job: &Job,
        is_recorded: bool,
        listener: &mut dyn FnMut(&mut dyn Host, &Event),
    ) -> Result<(), Failure> {
        let record = if is_recorded {
            Record::Full
        } else {
            Record::None
        };
        let look = |trial: &dyn Trial| trial.foresee();
        session::carry_out(job, record, look, &mut |event| listener(self, event))
    }

    fn stay(&mut self, in_background: bool) -> Result<bool, Failure> {
        if in_background && background::go()? == Side::Left {
            return Ok(false);
        }
        background::outlive_parent();
        Ok(true)
    }
}
