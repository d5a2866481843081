//! PostMark's commands and report.

use wire::{Event, Outcome};

use crate::common::{names_in, Bench};

/// The defaults, with the counts that the original comes to; what depends on the clock is masked.
const REPORT: &str = "\
Creating files...Done
Performing transactions..........Done
Deleting files...Done
Time:
\t# seconds total
\t# seconds of transactions (#)

Files:
\t764 created (#)
\t\tCreation alone: 500 files (#)
\t\tMixed with transactions: 264 files (#)
\t243 read (#)
\t257 appended (#)
\t764 deleted (#)
\t\tDeletion alone: 528 files (#)
\t\tMixed with transactions: 236 files (#)

Data:
\t1.36 megabytes read (#)
\t4.45 megabytes written (#)
";

/// `report` with `#` for every number that depends on the clock.
fn timeless(report: &str) -> String {
    let mut is_time = false;
    let lines = report.lines().map(|line| {
        is_time |= line == "Time:";
        is_time &= line != "Files:";
        let (line, rate) = line
            .split_once(" (")
            .map_or((line, ""), |(line, _)| (line, " (#)"));
        let words = line.split_inclusive([' ', '\t']).map(|word| {
            let is_number = word.trim().parse::<u64>().is_ok();
            if is_time && is_number {
                "# "
            } else {
                word
            }
        });
        words.collect::<String>() + rate + "\n"
    });
    lines.collect()
}

/// What stands below the line that says whose report it is.
fn below_banner(text: &str) -> &str {
    let (banner, rest) = text.split_once('\n').unwrap();
    assert_eq!(banner, "PostMark v1.51 : 8/14/01 (by Tiltyard)");
    rest
}

#[test]
fn the_report_is_the_original_s() {
    let bench = Bench::new("postmark");
    let text = bench.text("", "run\nquit\n");
    assert_eq!(timeless(below_banner(&text)), REPORT);
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn subdirectories_are_told_of_where_the_original_does() {
    let bench = Bench::new("postmark");
    let text = bench.text("", "set subdirectories 2\nset transactions 505\nrun\n");
    let told = "Creating subdirectories...Done\n\
                Creating files...Done\n\
                Performing transactions...........Done\n\
                Deleting files...Done\n\
                Deleting subdirectories...Done\n\
                Time:\n";
    assert!(below_banner(&text).starts_with(told), "{text}");
}

#[test]
fn what_the_original_does_not_take_is_told_and_the_script_goes_on() {
    let bench = Bench::new("postmark");
    let script = "set seed 0\nset read 0\nset bias read 11\nset size big\nrun\n";
    let output = bench.call("", script);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    for (line, told) in (1..).zip(told.lines()) {
        assert!(
            told.contains(&format!("standard input:{line}: set ")),
            "{told}"
        );
    }
    assert_eq!(told.lines().count(), 4, "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(timeless(below_banner(&text)), REPORT);
}

#[test]
fn that_files_will_run_out_is_said_before_one_is_made() {
    let bench = Bench::new("postmark");
    for options in ["", "--json"] {
        let script = "set number 100\nset transactions 5000\nset bias create 0\nrun\n";
        let output = bench.call(options, script);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("reating files"), "{text}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("deleted after 100 of 5000"), "{told}");
    }
}

#[test]
fn a_report_that_cannot_be_added_to_its_file_is_printed() {
    let bench = Bench::new("postmark");
    for name in ["nowhere/report", ".", &"n".repeat(256)] {
        let output = bench.call("", &format!("run {name}\n"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("it is printed instead"), "{told}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(timeless(below_banner(&text)), REPORT);
        assert!(names_in(&bench.work()).is_empty());
    }
}

#[test]
fn the_commands_of_the_printed_study_run_from_a_file() {
    let bench = Bench::new("postmark");
    let script = "\
        set size 500 1000\nset directories 5\nset number 40\nset transactions 60\n\
        set read 4096\nset write 4096\nset buffering false\nset report verbose\nrun\nquit\n";
    std::fs::write(bench.work().join("study.pmrc"), script).unwrap();
    let text = bench.text("study.pmrc", "nothing that is read\n");
    let (before, _) = text.split_once(" seconds of transactions (").unwrap();
    let whole_s: u64 = before.lines().last().unwrap().trim().parse().unwrap();
    let rate = format!("seconds of transactions ({} per second)", 60 / whole_s);
    assert!(text.contains(&rate), "{text}");
    assert!(text.contains("Creation alone: 40 files"), "{text}");
    assert_eq!(names_in(&bench.work()), ["study.pmrc"]);
}

#[test]
fn what_is_set_is_shown_and_a_report_is_added_to_a_file() {
    let bench = Bench::new("postmark");
    let shown = bench.text("", "set seed 7\nset size 100\nshow\n");
    assert!(shown.contains("seed is 7\n") && shown.contains("Files are 100 bytes in size"));
    std::fs::write(bench.work().join("report"), "before\n").unwrap();
    bench.text("", "set report terse\nrun report\n");
    let report = std::fs::read_to_string(bench.work().join("report")).unwrap();
    let figures = report.strip_prefix("before\n").unwrap();
    assert_eq!(figures.split(' ').count(), 13, "{figures}");
}

#[test]
fn json_gives_the_stream_of_every_run() {
    let bench = Bench::new("postmark");
    let script = "set number 5\nset transactions 5\nshow\nrun\nrun\n";
    let events: Vec<Event> = bench
        .text("--json", script)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ends = events.iter().filter_map(|event| match event {
        Event::End(end) => Some(end.outcome),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [Outcome::Done, Outcome::Done]);
    assert!(matches!(events[0], Event::Hello(_)));
}

#[test]
fn a_fault_names_file_and_line_and_ends_the_script() {
    let bench = Bench::new("postmark");
    for (script, words) in [
        (
            "set number 5\nset nubmer 5\nrun\n",
            "input:2: \"set nubmer 5\"",
        ),
        ("set size 5k\nrun\n", "input:1: set size: \"5k\""),
        ("set number 10000001\nrun\n", "input:2: parameter \"files\""),
        ("load nowhere\nrun\n", "from nowhere: "),
        ("set location nowhere\nrun\n", "nowhere is not a directory"),
        ("set location +b 3\nrun\n", "several locations"),
    ] {
        let complaint = bench.complaint("", script, 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    let complaint = bench.complaint("-v", "", 2);
    assert!(complaint.contains("\"-v\" is not an option"), "{complaint}");
    assert!(bench.complaint("nowhere", "run\n", 2).contains("nowhere"));
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn files_in_the_way_are_refused_and_removed_only_when_told_to() {
    let bench = Bench::new("postmark");
    let file = bench.work().join("17");
    std::fs::write(&file, "precious").unwrap();
    assert!(bench.complaint("", "run\n", 4).contains("--force"));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    assert_eq!(
        timeless(below_banner(&bench.text("--force", "run\n"))),
        REPORT
    );
    assert!(names_in(&bench.work()).is_empty());
}
