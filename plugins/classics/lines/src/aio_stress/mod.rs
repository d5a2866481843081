//! `aio-stress`: its options, and what it prints of each stage.
//!
//! Differences from the original: everything is printed to standard output; a file in the way is
//! refused; files that are read and were not written are laid out first; -C sets the offset and
//! nothing else; the rate of a single file is printed where there is only one, and that of a
//! single thread likewise: of several, the sum is known.

mod report;

use std::path::PathBuf;

use kit::failure::bad_parameter;
use kit::Size;
use serde_json::{json, Value};
use wire::Failure;

use self::report::Report;
use crate::options::Literal::{Is, Word};
use crate::options::{table, Choice, Given};
use crate::places::Places;
use crate::tool::{by_number, by_tool, number, Settings, Target, WorkloadTool};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const OPTIONS: &[Choice] = table![
    value("-s", "SIZE", "size of each file, in MiB or with a suffix")
        .sets("file", mebibytes).or("1024m");
    value("-r", "SIZE", "size of a record, in KiB or with a suffix")
        .sets("record", kibibytes).or("64k");
    value("-a", "SIZE", "alignment, in KiB or with a suffix").sets("alignment", kibibytes).or("4k");
    value("-d", "N", "requests in flight for each file").sets("depth", number).or("64");
    value("-i", "N", "requests built for a file before the next one's turn")
        .sets("batch", number).or("8");
    value("-b", "N", "requests in one io_submit, at most").sets("submit_max", number);
    value("-c", "N", "places of each file that are worked on at once")
        .sets("contexts", number).or("1");
    value("-C", "SIZE", "distance of these places, in MiB or with a suffix")
        .sets("context_offset", mebibytes).or("2m");
    value("-t", "N", "threads").sets("threads", number).or("1");
    value("-o", "0..3", "do write, read, random write or random read; give it once for each (all)")
        .sets("stages", by_tool);
    flag("-O", "open files with O_DIRECT").switches(&[("access", Word("direct"))]);
    flag("-S", "open files with O_SYNC").switches(&[("sync", Is(true))]);
    flag("-n", "no fsync at the end of a stage").switches(&[("fsync", Is(false))]);
    flag("-l", "print how long calls of io_submit took");
    flag("-L", "print how long completions took");
    flag("-v", "write the letter b, and compare what is read")
        .switches(&[("content", Word("letter")), ("verify", Is(true))]);
    flag("-x", "go on when the first thread is done").switches(&[("stonewall", Is(false))]);
    flag("-u", "remove the files at the end").switches(&[("keep", Is(false))]);
    flag("-h", "print this list");
    left_out("-I", "a stage is always done in full; use smaller files");
    left_out("-m", "buffers are always private memory; leave it away");
];

/// The tool.
pub static TOOL: WorkloadTool = WorkloadTool {
    names: &["aio-stress", "aio-stress-bin"],
    about: "many asynchronous requests in flight on one or more files",
    operands: "FILE…",
    options: OPTIONS,
    workload: "aio_stress",
    target,
    printer: |settings, _| Box::new(Report::new(settings)),
};

/// A stage, by its number behind -o.
#[derive(Debug)]
struct Stage {
    /// As the workload's parameter calls it.
    name: &'static str,
    /// Its rate, and the start of its other metrics.
    metric: &'static str,
    /// In the report.
    label: &'static str,
}

/// In the order in which they are executed.
const STAGES: [Stage; 4] = [
    stage("write", "write", "write"),
    stage("read", "read", "read"),
    stage("random-write", "random_write", "random write"),
    stage("random-read", "random_read", "random read"),
];

const fn stage(name: &'static str, metric: &'static str, label: &'static str) -> Stage {
    Stage {
        name,
        metric,
        label,
    }
}

/// Random offsets are those of the original.
fn target(settings: &mut Settings) -> Result<Target, Failure> {
    let files: Vec<PathBuf> = settings.operands().collect();
    if files.is_empty() {
        let message = "FILE: name the file, or several, that requests are made of";
        return Err(bad_parameter("FILE", message));
    }
    let places = Places::of("FILE", &files)?;
    if places.names.iter().any(|name| name.contains('/')) {
        let message = "FILE: all files must lie in one directory";
        return Err(bad_parameter("FILE", message));
    }
    let asked = asked_stages(settings)?;
    let stages = if asked.is_empty() {
        STAGES.iter().collect()
    } else {
        asked
    };
    settings.fill(json!({
        "files": files.len(),
        "names": places.names,
        "keep": true,
        "submit_max": 0,
        "stages": stages.iter().map(|stage| stage.name).collect::<Vec<_>>(),
        "access": "as-found",
        "sync": false,
        "fsync": true,
        "stonewall": true,
        "content": "zeroes",
        "verify": false,
        "classic": true,
    }));
    let paths: Vec<_> = places.paths().collect();
    Ok(Target::existing(places.directory, paths.into_iter()))
}

/// The stages after -o, as they were asked for.
fn asked_stages(settings: &Settings) -> Result<Vec<&'static Stage>, Failure> {
    settings
        .all("-o")
        .map(|given| by_number(given, &STAGES))
        .collect()
}

fn kibibytes(given: &Given) -> Result<Option<Value>, Failure> {
    bytes(given, KIB)
}

fn mebibytes(given: &Given) -> Result<Option<Value>, Failure> {
    bytes(given, MIB)
}

/// A whole number with a suffix, or else of `bare_bytes`.
fn bytes(given: &Given, bare_bytes: u64) -> Result<Option<Value>, Failure> {
    let text = given.text().to_string_lossy();
    let (digits, unit_bytes) = match text.char_indices().next_back() {
        Some((at, 'g' | 'G')) => (&text[..at], GIB),
        Some((at, 'm' | 'M')) => (&text[..at], MIB),
        Some((at, 'k' | 'K')) => (&text[..at], KIB),
        Some((at, 'b' | 'B')) => (&text[..at], 1),
        _ => (&*text, bare_bytes),
    };
    let count = digits.parse::<u64>().ok();
    let bytes = count.and_then(|count| count.checked_mul(unit_bytes));
    bytes.map(|bytes| Some(json!(Size(bytes)))).ok_or_else(|| {
        given.wrong(format!(
            "\"{text}\" is not a size; use a whole number, with g, m, k or b behind it"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_phoronix_profile_is_understood() {
        let parameters = TOOL.parameters_of("-s 2g -r 64k -t 3 -o 2 aio-test-file");
        assert_eq!(parameters["file"], json!(Size(2 * GIB)));
        assert_eq!(parameters["record"], json!(Size(64 * KIB)));
        assert_eq!(parameters["stages"], json!(["random-write"]));
        assert_eq!(parameters["names"], json!(["aio-test-file"]));
        assert_eq!([&parameters["keep"], &parameters["fsync"]], [true, true]);
        assert_eq!(parameters["threads"], 3);
    }

    #[test]
    fn sizes_without_a_suffix_are_those_of_the_option() {
        let parameters = TOOL.parameters_of("-s 3 -r 16 -a 512b -C 1M f");
        let sizes = ["file", "record", "alignment", "context_offset"].map(|name| &parameters[name]);
        assert_eq!(sizes, [3 * MIB, 16 * KIB, 512, MIB]);
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        TOOL.assert_refusals_name(&[
            ("", "FILE"),
            ("a /dev/null", "FILE"),
            ("-s 1.5g f", "-s"),
            ("-r k f", "-r"),
            ("-o 4 f", "-o"),
            ("-I 5 f", "-I"),
            ("-m shm f", "-m"),
        ]);
    }
}
