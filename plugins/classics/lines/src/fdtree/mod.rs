//! `fdtree`: its options and its report.
//!
//! Differences from the original: what is no number is refused; -R removes the tree that --root
//! names, where the original looks for one that bears its own process number and finds none; the
//! programs are not started by a shell; everything behind the first lines is printed at the end.

mod report;

use std::{fs, process};

use kit::failure::bad_parameter;
use serde_json::{json, Value};
use wire::Failure;

use self::report::Report;
use crate::options::Literal::Word;
use crate::options::{table, Choice, Given};
use crate::tool::{number, text, Settings, Target, WorkloadTool};

const BLOCK_BYTES: u64 = 4_096;

const OPTIONS: &[Choice] = table![
    value("-l", "N", "levels of directories below the root").sets("levels", number).or("4");
    value("-d", "N", "directories in each directory that is not at the bottom")
        .sets("directories", number).or("10");
    value("-f", "N", "files in each directory").sets("files", number).or("10");
    value("-s", "N", "size of a file in blocks of 4096 bytes").sets("size", blocks).or("10");
    value("-o", "DIR", "make the tree in DIR").or(".");
    flag("-C", "make the tree, and leave it behind");
    flag("-R", "remove the tree that --root names");
    value("--root", "NAME", "name of the tree (LEVEL0, host and process number)")
        .sets("root", text);
    flag("--in-process",
         "make system calls instead of starting programs; times are no whole seconds then")
        .switches(&[("mode", Word("in-process"))]);
    left_out("-D", "there are no messages for debugging; --json tells everything");
];

/// The tool.
pub static TOOL: WorkloadTool = WorkloadTool {
    names: &["fdtree", "fdtree.bash"],
    about: "a tree of directories and files is made and taken down",
    operands: "",
    options: OPTIONS,
    workload: "fdtree",
    target,
    printer: |settings, target| Box::new(Report::new(settings, target)),
};

fn target(settings: &mut Settings) -> Result<Target, Failure> {
    let directory = settings.directory(&["-o"])?;
    // As in the original, both options are as good as none.
    let phases = match (settings.has("-C"), settings.has("-R")) {
        (true, false) => "create",
        (false, true) => "remove",
        _ => "all",
    };
    if phases == "remove" && !settings.has("--root") {
        let message = "option -R: name the tree that -C has left behind with --root";
        return Err(bad_parameter("-R", message));
    }
    settings.fill(json!({
        "write_block": BLOCK_BYTES,
        "phases": phases,
        "root": usual_root(),
        "mode": "spawn",
    }));
    let root = directory.join(settings.word("root"));
    let overwritten = (phases != "remove").then_some(root);
    Ok(Target::existing(directory, overwritten.into_iter()))
}

fn usual_root() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().split('.').next().unwrap_or_default();
    format!("LEVEL0.{host}.{}", process::id())
}

fn blocks(given: &Given) -> Result<Option<Value>, Failure> {
    let blocks = given.value::<u32>()?;
    Ok(Some(json!(u64::from(blocks) * BLOCK_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_the_parameters_are_those_of_the_original() {
        let parameters = TOOL.parameters_of("");
        let counts = ["levels", "directories", "files", "size"].map(|name| &parameters[name]);
        assert_eq!(counts, [4, 10, 10, 40_960]);
        let words = ["phases", "mode"].map(|name| parameters[name].clone());
        assert_eq!(words, ["all", "spawn"]);
        let name = parameters["root"].as_str().unwrap();
        assert!(name.ends_with(&format!(".{}", process::id())), "{name}");
    }

    #[test]
    fn creating_and_removing_together_is_all() {
        for (line, phases) in [
            ("-C", "create"),
            ("-R --root old", "remove"),
            ("-CR", "all"),
            ("-f 3 -d5", "all"),
        ] {
            assert_eq!(TOOL.parameters_of(line)["phases"], phases, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        TOOL.assert_refusals_name(&[
            ("-R", "-R"),
            ("-l -1", "-l"),
            ("-s ten", "-s"),
            ("-D", "-D"),
            ("here", "-o"),
        ]);
    }
}
