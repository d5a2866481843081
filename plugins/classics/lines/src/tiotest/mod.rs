//! `tiotest`: its options and its two tables, of three versions.
//!
//! Differences from the original: files have other names, and one in the way is refused; files
//! that no write phase makes are laid out before they are read, where 0.3.3 stops and the later
//! versions read holes;
//! random blocks are the same each time; CPU time is that of the whole process in each version,
//! and where 0.3.3 counts it once for each thread, so does its table. Where the version of 2017
//! credits bytes that were not moved, its table does too, and a remark says so.

mod table;

use std::num::NonZeroU32;

use kit::failure::bad_parameter;
use serde_json::{json, Value};
use wire::Failure;

use self::table::Table;
use crate::options::Literal::{Is, Word};
use crate::options::{table, Choice, Given};
use crate::tool::{by_number, by_tool, number, Settings, Target, WorkloadTool};

const MIB: u64 = 1 << 20;
const RAW: &str = "it places threads on raw devices, which are not written to";

const OPTIONS: &[Choice] = table![
    value("-f", "N", "MiB of the file of each thread").sets("file", mebibytes).or("10");
    value("-b", "BYTES", "size of a block").sets("block", number).or("4096");
    value("-d", "DIR", "make the files in DIR (.); only one can be given");
    value("-t", "N", "threads").sets("threads", number).or("4");
    value("-r", "N", "operations of each thread in each random phase (100000; 1000 before 2023)")
        .sets("random_operations", number);
    value("-k", "0..3",
          "leave out the write, random write, read or random read phase; give it once for each")
        .sets("phases", by_tool);
    flag("-L", "print no table of latencies");
    flag("-T", "print terse lines instead of tables");
    flag("-W", "in the write phase, let threads work one after another")
        .switches(&[("in_turn", Is(true))]);
    flag("-S", "open files with O_SYNC").switches(&[("sync", Is(true))]);
    flag("-X", "open files with O_DIRECT").switches(&[("access", Word("direct"))]);
    flag("-c", "write random bytes, and compare what is read")
        .switches(&[("content", Word("random")), ("verify", Is(true))]);
    value("--version", "VERSION",
          "be the tiotest of 0.3.3, 20170504 (Phoronix profile 1.3) or 20241028")
        .sets("version", version).or("20241028");
    flag("-h", "print this list");
    left_out("-R", "raw devices are not written to; make a file system on them");
    left_out("-o", RAW);
    left_out("-O", RAW);
    left_out("-M", "blocks are moved by system calls only; iozone -B maps files");
    left_out("-F", "emptying all caches inside the timed region measures that; use the workload \
                    tiobench with access out-of-cache");
    left_out("-D", "there are no messages for debugging; --json tells everything");
];

/// The tool.
pub static TOOL: WorkloadTool = WorkloadTool {
    names: &["tiotest"],
    about: "threads that write and read a large file each, in order and at random",
    operands: "",
    options: OPTIONS,
    workload: "tiobench",
    target,
    printer: |settings, _| Box::new(Table::new(settings)),
};

/// A phase, by its number behind -k.
#[derive(Debug)]
struct Phase {
    /// As the workload's parameter calls it.
    name: &'static str,
    /// Its rate, and the start of its other metrics and counters.
    metric: &'static str,
    /// In the tables.
    label: &'static str,
    /// In terse lines.
    terse: &'static str,
}

/// In the order in which they are executed.
const PHASES: [Phase; 4] = [
    phase("write", "write", "Write", "write"),
    phase("random-write", "random_write", "Random Write", "rwrite"),
    phase("read", "read", "Read", "read"),
    phase("random-read", "random_read", "Random Read", "rread"),
];

const fn phase(
    name: &'static str,
    metric: &'static str,
    label: &'static str,
    terse: &'static str,
) -> Phase {
    Phase {
        name,
        metric,
        label,
        terse,
    }
}

/// The first release, whose threads each count the CPU time of all.
const FIRST: &str = "0.3.3";
/// As the workload calls them.
const VERSIONS: [&str; 3] = [FIRST, "20170504", "20241028"];

fn target(settings: &mut Settings) -> Result<Target, Failure> {
    let directory = settings.directory(&["-d"])?;
    if settings.all("-d").count() > 1 {
        let message = "option -d: all files are made in one directory; name only that";
        return Err(bad_parameter("-d", message));
    }
    let mut phases: Vec<_> = PHASES.iter().map(|phase| phase.name).collect();
    for given in settings.all("-k") {
        let left_out = by_number(given, &PHASES)?;
        phases.retain(|name| *name != left_out.name);
    }
    if phases.is_empty() {
        let message = "option -k: nothing is left to do; leave a phase";
        return Err(bad_parameter("-k", message));
    }
    let usual_operations = match settings.word("version") {
        "20241028" => 100_000,
        _ => 1_000,
    };
    settings.fill(json!({
        "phases": phases,
        "random_operations": usual_operations,
        "sync": false,
        "in_turn": false,
        "access": "as-found",
        "content": "zeroes",
        "verify": false,
    }));
    let path = directory.clone();
    let file = move |thread| path.join(format!("tiotest.{thread}"));
    let files = (0..settings.number("threads")).map(file);
    Ok(Target::existing(directory, files))
}

fn mebibytes(given: &Given) -> Result<Option<Value>, Failure> {
    let mebibytes = given.value::<NonZeroU32>()?;
    Ok(Some(json!(u64::from(mebibytes.get()) * MIB)))
}

fn version(given: &Given) -> Result<Option<Value>, Failure> {
    let text = given.text().to_string_lossy();
    if VERSIONS.contains(&&*text) {
        return Ok(Some(json!(text)));
    }
    let names = VERSIONS.map(str::to_owned);
    Err(given.wrong(kit::params::unknown_name("version", &text, &names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_phoronix_profiles_are_understood() {
        for (tests, phases) in [
            ("-k3 -k2 -k1", json!(["write"])),
            ("-k3 -k2", json!(["write", "random-write"])),
            ("-k3 -k1", json!(["write", "read"])),
            ("-k2 -k1", json!(["write", "random-read"])),
        ] {
            let line = format!("-S {tests} -f 64 -t 32");
            let parameters = TOOL.parameters_of(&line);
            assert_eq!(parameters["phases"], phases, "{line}");
            let numbers = ["file", "threads"].map(|name| &parameters[name]);
            assert_eq!(numbers, [64 << 20, 32]);
            assert_eq!(parameters["sync"], true);
        }
    }

    #[test]
    fn the_number_of_random_operations_depends_on_the_version() {
        for (line, operations) in [
            ("", 100_000),
            ("--version 0.3.3", 1_000),
            ("--version=20170504", 1_000),
            ("--version 20170504 -r 7", 7),
        ] {
            let parameters = TOOL.parameters_of(line);
            assert_eq!(parameters["random_operations"], operations, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        TOOL.assert_refusals_name(&[
            ("-k 4", "-k"),
            ("-k0 -k1 -k2 -k3", "-k"),
            ("-f 0", "-f"),
            ("-d a -d b", "-d"),
            ("-M", "-M"),
            ("--version 0.4", "--version"),
            ("here", "-d"),
        ]);
    }
}
