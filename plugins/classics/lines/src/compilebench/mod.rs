//! `compilebench`: its options and its summary.
//!
//! Differences from the original: where its four files `dataset-*` are not there, trees are made
//! up; the lines for each tree on standard error are left out; trees are removed at the end;
//! deletions are booked by what the tree was.

mod summary;

use std::path::Path;

use kit::failure::bad_parameter;
use serde_json::{json, Value};
use wire::Failure;

use self::summary::Summary;
use crate::options::Literal::{Is, Word};
use crate::options::{table, Choice, Literal};
use crate::tool::{number, size, text, Settings, Target, WorkloadTool};

/// One of the four files that the original comes with.
const DATASET: &str = "dataset-unpatched";
const TRACE: &str = "block traces are not taken; start blktrace beside it";
const NO_SYNC: &[(&str, Literal)] = &[("sync", Is(false)), ("cold", Is(false))];
const MAKE_J: &[(&str, Literal)] = &[("scenario", Word("make-j"))];

const OPTIONS: &[Choice] = table![
    value("-b", "BYTES", "bytes per read and write").sets("buffer", size).or("262144");
    value("--buffer-size", "BYTES", "as -b").sets("buffer", size);
    value("-i", "N", "source trees that are created at first").sets("trees", number).or("30");
    value("--initial-dirs", "N", "as -i").sets("trees", number);
    value("-r", "N", "operations on trees chosen at random").sets("operations", number).or("100");
    value("--runs", "N", "as -r").sets("operations", number);
    value("-D", "DIR", "make the trees in DIR").or("/mnt/default");
    value("--directory", "DIR", "as -D");
    value("-s", "DIR", "take the files dataset-* from DIR (.)").sets("dataset", text);
    value("--sources", "DIR", "as -s").sets("dataset", text);
    flag("-m", "compile all trees, read three, delete all; as make -j would").switches(MAKE_J);
    flag("--makej", "as -m").switches(MAKE_J);
    flag("-n", "sync nothing, and drop no caches").switches(NO_SYNC);
    flag("--no-sync", "as -n").switches(NO_SYNC);
    flag("-h", "print this list");
    value("--files", "N", "files of a source tree that is made up (21280)").sets("files", number);
    left_out("-t", TRACE);
    left_out("--trace", TRACE);
    left_out("-d", TRACE);
    left_out("--device", TRACE);
];

/// The tool.
pub static TOOL: WorkloadTool = WorkloadTool {
    names: &["compilebench"],
    about: "source trees are created, patched, compiled, read and deleted",
    operands: "",
    options: OPTIONS,
    workload: "compilebench",
    target,
    printer: |_, _| Box::new(Summary::default()),
};

/// The workload measures and chooses as the original does.
fn target(settings: &mut Settings) -> Result<Target, Failure> {
    let directory = settings.directory(&["-D", "--directory"])?;
    let is_here = Path::new(DATASET).is_file();
    settings.fill(json!({
        "scenario": "random",
        "dataset": is_here.then_some("."),
        "sync": true,
        "cold": true,
        "content": "classic",
        "classic": true,
    }));
    if settings.has("--files") && settings.parameters["dataset"] != Value::Null {
        let message = "option --files: the files are those of the dataset; leave out one of them";
        return Err(bad_parameter("--files", message));
    }
    let path = directory.clone();
    let tree = move |tree| path.join(format!("kernel-{tree}"));
    let trees = (0..settings.number("trees")).map(tree);
    let is_made = true;
    Ok(Target {
        is_made,
        ..Target::existing(directory, trees)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_phoronix_profile_is_understood() {
        let (settings, target) = TOOL.request_of("-D t -i 10 --makej").unwrap();
        assert_eq!(target.directory, Path::new("t"));
        let parameters = settings.parameters;
        assert_eq!(parameters["scenario"], "make-j");
        assert_eq!(parameters["trees"], 10);
        assert_eq!([&parameters["classic"], &parameters["cold"]], [true, true]);
        assert_eq!(parameters["dataset"], Value::Null);
    }

    #[test]
    fn long_and_short_options_are_the_same() {
        let short = "-b 4096 -i 3 -r 7 -D d -s data -n";
        let long = "--buffer-size=4096 --initial-dirs 3 --runs=7 --directory d --sources data \
                    --no-sync";
        let [short, long] = [short, long].map(|line| TOOL.request_of(line).unwrap());
        assert_eq!(short.0.parameters, long.0.parameters);
        assert_eq!(short.1.directory, long.1.directory);
        let parameters = short.0.parameters;
        assert_eq!([&parameters["sync"], &parameters["cold"]], [false, false]);
        assert_eq!(parameters["dataset"], "data");
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        TOOL.assert_refusals_name(&[
            ("-i many", "-i"),
            ("--trace t", "--trace"),
            ("-s data --files 20", "--files"),
            ("here", "-D"),
        ]);
    }
}
