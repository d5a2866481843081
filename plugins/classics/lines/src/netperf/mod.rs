//! `netperf`: its options, its tables and its selectors, over the control connection of netperf's
//! own wire.
//!
//! It has no job: a test is what one netperf asks of one netserver, stock or ours, and is repeated
//! while both hold their connection.
//!
//! Differences from the original: an option or a selector that is not known is an error; -I 99 is
//! a level, and leaves the width at 5 %; every test has the options and selectors of the omni
//! tests, and is repeated as often as -i says; the rates of UDP_STREAM and of the selectors are
//! means over the repetitions; -f b prints bits; nothing wraps at 2³²; TCP_MAERTS with CPUs names
//! the same sockets as without; alignments are printed where the original prints an offset.

mod banner;
mod confidence;
mod ends;
mod figures;
mod interim;
mod report;
mod request;
mod run;
mod selectors;
#[cfg(test)]
mod specimen;
mod table;
mod units;

use std::ffi::{OsStr, OsString};

use kit::failure::bad_parameter;
use wire::Failure;

pub use self::request::{fitting, release, Family, Host, CONTROL_PORT};
use self::request::{Asks, Request, GLOBAL, SPECIFIC};
use crate::bench::Bench;
use crate::blame::blame;
use crate::options::Choice;
use crate::{help, Tool};

/// Parts of a test, and the options that set them.
const PARAMETERS: &[(&str, &str)] = &[
    ("burst", "-b"),
    ("client_ports", "-p"),
    ("count", "-l"),
    ("data_port", "-P"),
    ("remote align", "-A"),
    ("remote offset", "-O"),
    ("remote size", "-m or -M"),
    ("remote width", "-W"),
    ("remote.fill", "-F"),
    ("remote.receive_buffer", "-S"),
    ("remote.send_buffer", "-S"),
    ("local", "-a, -m, -M or -W"),
    ("local.address", "-L"),
    ("local.fill", "-F"),
    ("request_size", "-r"),
    ("response_size", "-r"),
    ("seconds", "-l"),
];

/// The release whose tables these are.
const RELEASE: &str = "2.7.1";

/// The tool.
pub struct Netperf;

impl Tool for Netperf {
    fn names(&self) -> &'static [&'static str] {
        &["netperf"]
    }

    fn about(&self) -> &'static str {
        "streams, requests and connections over TCP and UDP, against a netserver"
    }

    fn operands(&self) -> &'static str {
        "[-- TEST-OPTIONS]"
    }

    fn choices(&self) -> &'static [Choice] {
        GLOBAL
    }

    fn further_choices(&self) -> &'static [(&'static str, &'static [Choice])] {
        &[("Options of the test, behind --", SPECIFIC)]
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        refuse_json(bench)?;
        let command = command_line(self.names()[0], &arguments);
        let mut request = Request::read(arguments)?;
        request.output.command = command;
        match request.asks {
            Some(Asks::Help) => bench.print(&help::of(self)),
            Some(Asks::Version) => bench.print(&version("Netperf")),
            Some(Asks::Selectors(mode)) => bench.print(&selectors::names(mode)),
            None => {
                for remark in &request.remarks {
                    bench.remark(remark);
                }
                run::run(request, bench).map_err(|failure| blame(failure, PARAMETERS))?;
            }
        }
        Ok(())
    }
}

/// What -V prints: one version, for those who look for one.
pub fn version(name: &str) -> String {
    format!("{name} version {RELEASE} (Tiltyard)\n")
}

/// There is no job whose events could be written.
///
/// # Errors
/// `BadJob` when JSON is wanted.
pub fn refuse_json(bench: &Bench) -> Result<(), Failure> {
    if bench.wants_json() {
        let message = "option --json: netperf's wire has no events; for machines there are \
                       -- -k and -- -o, and the workloads tcp_stream, tcp_rr and others";
        return Err(bad_parameter("--json", message));
    }
    Ok(())
}

fn command_line(name: &str, arguments: &[OsString]) -> String {
    let words = arguments.iter().map(|word| OsStr::to_string_lossy(word));
    let words: Vec<_> = [name.into()].into_iter().chain(words).collect();
    words.join(" ")
}
