//! The engine as a classic tool: its jobs are executed, and its table is printed.

use std::ffi::OsString;
use std::net::TcpListener;
use std::process::ExitCode;

use classic::bench::{Host, Netserver};
use classic::Tool;
use kit::Trial;
use netperf::client::{self, Site};
use netperf::server::{self, Limits};
use wire::{Event, Failure, Job};

use crate::background::{self, Side};
use crate::exit;
use crate::output::{self, Output};
use crate::session::{self, Record};

/// Is `tool`, called with `arguments`.
pub fn run(tool: &dyn Tool, arguments: impl Iterator<Item = OsString>, output: Output) -> ExitCode {
    let name = tool.names()[0];
    let mut stage = Stage { name, output };
    let done = session::heed_signals().and_then(|()| classic::run(tool, arguments, &mut stage));
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

    fn call_netserver(&mut self, site: Site) -> Result<Box<dyn Netserver>, Failure> {
        Ok(Box::new(client::Netserver::connect(site)?))
    }

    fn serve_netperf(
        &mut self,
        listeners: &[TcpListener],
        limits: &Limits,
        in_background: bool,
    ) -> Result<(), Failure> {
        if in_background && background::go()? == Side::Left {
            return Ok(());
        }
        background::outlive_parent();
        server::serve(listeners, limits)
    }
}
