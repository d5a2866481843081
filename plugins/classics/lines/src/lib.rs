//! The classic tools' own command lines and printed tables, over the engine's workloads.
//!
//! A tool translates its command line into jobs, and the events of a job into the table that its
//! users know. It measures nothing itself, and it does not print itself: the engine does, through
//! [`Bench`]. `netperf` and `netserver` have no jobs: they meet others of their kind.
//!
//! To add a tool: a file or folder beside this one with everything in it, and one line in
//! the list of them.

mod aio_stress;
pub mod bench;
mod blame;
pub mod common;
mod compilebench;
mod date;
mod fdtree;
mod fs_mark;
pub mod help;
mod iozone;
mod netperf;
mod netserver;
pub mod options;
pub mod overwrite;
mod places;
mod postmark;
mod sheet;
mod tiotest;
mod tool;

use std::ffi::OsString;

use engine::tool::Host;
use wire::{Failure, FailureKind};

use self::bench::Bench;
use self::common::Common;
use self::options::Choice;

pub use self::netserver::PROTOCOL as NETPERF;

/// The list of tools, and the same as an engine takes them.
macro_rules! tools {
    ($($tool:expr),* $(,)?) => {
        #[cfg(test)]
        static LIST: &[&dyn Tool] = &[$(&$tool),*];

        /// All tools, in the order in which help lists them.
        pub static TOOLS: &[&dyn engine::Tool] = &[$(&Called(&$tool)),*];
    };
}

tools![
    iozone::Iozone,
    postmark::Postmark,
    tiotest::TOOL,
    fs_mark::TOOL,
    aio_stress::TOOL,
    fdtree::TOOL,
    compilebench::TOOL,
    netperf::Netperf,
    netserver::Netserver,
];

/// A tool that can be called by its name.
pub trait Tool: Sync {
    /// The names it goes by, its usual one first.
    fn names(&self) -> &'static [&'static str];

    /// One line: what it is.
    fn about(&self) -> &'static str;

    /// What may stand behind its options, as help shows it: `[FILE]`; empty when nothing may.
    fn operands(&self) -> &'static str {
        ""
    }

    /// Its options, from which help and the reading of the command line are derived.
    fn choices(&self) -> &'static [Choice];

    /// Tables of options that may stand in places of their own, and what help calls each.
    fn further_choices(&self) -> &'static [(&'static str, &'static [Choice])] {
        &[]
    }

    /// Does what the command line asks for.
    ///
    /// # Errors
    /// `BadJob` for a command line that is not understood; else those of the jobs.
    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure>;
}

/// A tool, as the engine calls it.
struct Called(&'static dyn Tool);

impl engine::Tool for Called {
    fn names(&self) -> &'static [&'static str] {
        self.0.names()
    }

    fn run(&self, arguments: Vec<OsString>, host: &mut dyn Host) -> Result<(), Failure> {
        run(self.0, arguments, host)
    }
}

/// Is `tool`, called with `arguments`.
fn run(tool: &dyn Tool, arguments: Vec<OsString>, host: &mut dyn Host) -> Result<(), Failure> {
    let (common, arguments) = Common::split(arguments.into_iter());
    if common.help {
        host.print(&help::of(tool));
        return Ok(());
    }
    let mut bench = Bench::new(host, common);
    tool.run(arguments, &mut bench).map_err(|failure| {
        // One that has a parameter has said itself what that is good for.
        let is_in_the_way = failure.kind == FailureKind::Refused && failure.parameter.is_none();
        if is_in_the_way && !common.force {
            let message = format!("{} (--force removes regular files first)", failure.message);
            return Failure { message, ..failure };
        }
        failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nothing is ever done.
    struct Nowhere;

    impl Host for Nowhere {
        fn print(&mut self, _: &str) {}
        fn remark(&mut self, _: &str) {}
        fn record(&mut self, _: &wire::Event) {}
        fn execute(
            &mut self,
            _: &wire::Job,
            _: bool,
            _: &mut dyn FnMut(&mut dyn Host, &wire::Event),
        ) -> Result<(), Failure> {
            Err(kit::failure::interrupted())
        }
        fn stay(&mut self, _: bool) -> Result<bool, Failure> {
            Err(kit::failure::interrupted())
        }
    }

    #[test]
    fn no_tool_forgets_an_option_of_its_table() {
        for tool in LIST {
            for choice in tool.choices() {
                let value = matches!(choice.takes, options::Takes::Value(_)).then_some("1");
                let operand = (!tool.operands().is_empty()).then_some("x");
                let words = [Some(choice.name), value, operand].into_iter().flatten();
                // It may well be refused; it must not be unknown to the tool itself.
                let mut host = Nowhere;
                let mut bench = Bench::new(&mut host, Common::default())
                    .calling(|_| Err(kit::failure::interrupted()));
                let _ = tool.run(words.map(OsString::from).collect(), &mut bench);
            }
        }
    }

    #[test]
    fn no_two_tools_share_a_name_and_no_tool_has_an_option_twice() {
        let mut names: Vec<_> = LIST.iter().flat_map(|tool| tool.names()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        for tool in LIST {
            let choices = tool.choices();
            for (at, choice) in choices.iter().enumerate() {
                let twice = choices[..at].iter().any(|other| other.name == choice.name);
                assert!(!twice, "{} {}", tool.names()[0], choice.name);
            }
        }
    }
}
