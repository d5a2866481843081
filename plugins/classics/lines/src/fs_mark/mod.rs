//! `fs_mark`: its options and its table.
//!
//! Differences from the original: the lines before the table are ours, with the original's
//! labels; what is no number is refused; a directory given twice is refused; directories that
//! were not there before are removed with the files, unless these are kept; sizes may have a
//! suffix, and most limits are gone.

mod table;

use std::path::PathBuf;

use kit::failure::bad_parameter;
use serde_json::{json, Value};
use wire::Failure;

use self::table::Table;
use crate::options::{table, Choice, Given, Literal};
use crate::places::Places;
use crate::tool::{by_number, by_tool, number, positive, size, Settings, Target, WorkloadTool};

const OPTIONS: &[Choice] = table![
    value("-d", "DIR", "make files in DIR; give it once for each directory")
        .sets("directories", by_tool);
    value("-n", "N", "files of each thread in each pass").sets("files", number).or("1000");
    value("-s", "BYTES", "size of a file").sets("size", size).or("51200");
    value("-w", "BYTES", "bytes per write").sets("write_block", size).or("16384");
    value("-t", "N", "threads; they take the directories in turn").sets("threads", number).or("1");
    value("-S", "0..6", "sync nothing, each file, or in one of five ways after all")
        .sets("sync", method).or("1");
    value("-D", "N", "subdirectories of each directory").sets("subdirectories", number);
    value("-N", "N", "files in a subdirectory before the next one's turn")
        .sets("files_per_subdirectory", number);
    value("-p", "N", "characters of a file name").sets("name_length", number).or("40");
    value("-r", "N", "random ones among them, at the end")
        .sets("random_characters", random_characters).or("24");
    flag("-k", "keep the files").switches(KEPT);
    value("-L", "N", "passes, each with a row of its own; files are kept")
        .sets("loops", positive).switches(KEPT);
    flag("-F", "passes until the file system is full; files are kept").switches(KEPT);
    value("-l", "FILE", "add the table to FILE too").or("fs_log.txt");
    flag("-v", "show the times of system calls");
    flag("-h", "print this list");
];

const KEPT: &[(&str, Literal)] = &[("keep", Literal::Word("for-good"))];

/// The tool.
pub static TOOL: WorkloadTool = WorkloadTool {
    names: &["fs_mark"],
    about: "how fast files are created, with all that makes them durable",
    operands: "",
    options: OPTIONS,
    workload: "fs_mark",
    target,
    printer: |settings, target| Box::new(Table::new(settings, target)),
};

/// A way to sync.
#[derive(Debug, Clone, Copy)]
struct Method {
    /// As the workload calls it.
    name: &'static str,
    /// As the head of the table calls it.
    label: &'static str,
    about: &'static str,
}

/// By the number behind -S.
const METHODS: [Method; 7] = [
    method_of("none", "NO SYNC", "nothing is synced"),
    method_of(
        "inband",
        "INBAND FSYNC",
        "each file is synced before it is closed",
    ),
    method_of(
        "sync-first",
        "SYSTEM SYNC/SINGLE FSYNC",
        "all file systems are synced when all files are there, then one file of each thread",
    ),
    method_of(
        "post-reverse",
        "POST REVERSE",
        "files are synced when all are there, the last one first",
    ),
    method_of(
        "sync-post-reverse",
        "SYNC POST REVERSE",
        "all file systems are synced when all files are there, then each file, the last one first",
    ),
    method_of(
        "post",
        "POST",
        "files are synced in order when all are there",
    ),
    method_of(
        "sync-post",
        "SYNC POST",
        "all file systems are synced when all files are there, then each file in order",
    ),
];

const fn method_of(name: &'static str, label: &'static str, about: &'static str) -> Method {
    Method { name, label, about }
}

/// Names, places and syncs are those of the original.
fn target(settings: &mut Settings) -> Result<Target, Failure> {
    settings.directory(&["-d"])?;
    let paths: Vec<PathBuf> = settings
        .all("-d")
        .map(|given| given.text().into())
        .collect();
    if paths.is_empty() {
        let message = "option -d: name the directory in which files are to be made";
        return Err(bad_parameter("-d", message));
    }
    let places = Places::of("-d", &paths)?;
    if settings.has("-F") {
        // It prevails over -L wherever it stands.
        settings.parameters.insert("loops".to_owned(), json!(0));
    }
    // The original makes a name longer than -p says rather than leave out random characters.
    let [length, random] = ["name_length", "random_characters"].map(|name| settings.number(name));
    settings
        .parameters
        .insert("name_length".to_owned(), json!(length.max(random)));
    settings.fill(json!({
        "directories": places.names,
        "subdirectories": 0,
        "files_per_subdirectory": 0,
        "keep": "never",
        "loops": 1,
        "classic": true,
    }));
    Ok(Target::existing(places.directory, std::iter::empty()))
}

fn random_characters(given: &Given) -> Result<Option<Value>, Failure> {
    match number(given)? {
        Some(Value::Number(zero)) if zero.as_u64() == Some(0) => Err(given
            .wrong("without random characters all files of a second have one name; use 1 or more")),
        number => Ok(number),
    }
}

fn method(given: &Given) -> Result<Option<Value>, Failure> {
    Ok(Some(json!(by_number(given, &METHODS)?.name)))
}

#[cfg(test)]
mod tests {
    use kit::Size;

    use super::*;

    #[test]
    fn the_lines_of_the_phoronix_profiles_are_understood() {
        let parameters = TOOL.parameters_of("-d scratch -L 10 -s 1048576 -n 4000 -D 32");
        assert_eq!(parameters["directories"], json!(["scratch"]));
        assert_eq!(parameters["size"], json!(Size(1 << 20)));
        let counts = ["files", "subdirectories", "loops"].map(|name| &parameters[name]);
        assert_eq!(counts, [4_000, 32, 10]);
        let words = ["keep", "sync"].map(|name| parameters[name].clone());
        assert_eq!(words, ["for-good", "inband"]);
        let parameters = TOOL.parameters_of("-d scratch -s 1048576 -n 5000 -t 4 -S0");
        let words = ["keep", "sync"].map(|name| parameters[name].clone());
        assert_eq!(words, ["never", "none"]);
        assert_eq!(parameters["threads"], 4);
    }

    #[test]
    fn filling_up_prevails_over_a_number_of_passes() {
        for line in ["-d s -F -L 3", "-d s -L 3 -F"] {
            assert_eq!(TOOL.parameters_of(line)["loops"], 0, "{line}");
        }
    }

    #[test]
    fn a_name_is_as_long_as_its_random_characters() {
        for (line, length, random) in [
            ("-d s -p 5 -r 7", 7, 7),
            ("-d s -r 7 -p 0", 7, 7),
            ("-d s -p 12 -r 8", 12, 8),
            ("-d s -r 50", 50, 50),
        ] {
            let parameters = TOOL.parameters_of(line);
            let lengths = ["name_length", "random_characters"].map(|name| &parameters[name]);
            assert_eq!(lengths, [length, random], "{line}");
        }
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        TOOL.assert_refusals_name(&[
            ("", "-d"),
            ("scratch", "-d"),
            ("-d s -S 7", "-S"),
            ("-d s -n many", "-n"),
            ("-d s -L 0", "-L"),
            ("-d s -r 0", "-r"),
        ]);
    }
}
