//! fdtree's options and report.

use std::fs;

use crate::common::{names_in, outline, Bench};

/// As in a run of the original with these options, but for the dates, the name and the times.
const HEAD: &str = "\
\tcreating/deleting 3 directory levels with 4 directories at each level
\tfor a total of 85 directories
\twith 5 files of size 8KiB per directory
\tfor a total of 425 files and 3400KiB
";
const PHASES: [&str; 4] = [
    "DIRECTORY CREATE TIME IN, OUT, TOTAL = #, #, #\n\tDirectory creates per second = #\n",
    "FILE CREATE TIME IN, OUT, TOTAL = #, #, #\n\tFile creates per second = #\n\
     \tKiB per second = #\n",
    "FILE REMOVE TIME IN, OUT, TOTAL = #, #, #\n\tFile removals per second = #\n",
    "DIRECTORY REMOVE TIME IN, OUT, TOTAL = #, #, #\n\tDirectory removals per second = #\n",
];

/// The lines between the head and the end that are no dates.
fn without_dates(report: &str) -> String {
    let is_date = |line: &&str| line.contains(':');
    let lines = report.lines().skip(5).filter(|line| !is_date(line));
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// The whole number behind `label`.
fn figure(report: &str, label: &str) -> u64 {
    let behind = report.split(&format!("\t{label}")).nth(1).unwrap();
    let behind = behind.trim_start_matches([' ', '=']);
    behind.lines().next().unwrap().parse().unwrap()
}

#[test]
fn the_report_of_system_calls_has_exact_rates() {
    let bench = Bench::new("fdtree");
    let report = bench.text("-l 3 -d 4 -f 5 -s 2 --in-process --root tree", "");
    let (first, rest) = report.split_once('\n').unwrap();
    assert_eq!(first, "fdtree-1.0.2: starting at ./tree/");
    assert!(rest.starts_with(HEAD), "{rest}");
    assert_eq!(outline(&without_dates(&report)), PHASES.concat());
    assert_eq!(
        report
            .lines()
            .filter(|line| line.matches(':').count() == 2)
            .count(),
        8
    );
    let files = figure(&report, "File creates per second");
    let kib = figure(&report, "KiB per second");
    assert!(files > 0 && kib.abs_diff(8 * files) <= 8, "{report}");
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn programs_are_counted_by_whole_seconds_as_in_the_original() {
    let bench = Bench::new("fdtree.bash");
    let report = bench.text("-l1 -d2 -f2 -s1", "");
    assert!(
        report.starts_with("fdtree-1.0.2: starting at ./LEVEL0."),
        "{report}"
    );
    assert!(
        report.contains("\tfor a total of 6 files and 24KiB\n"),
        "{report}"
    );
    assert_eq!(outline(&without_dates(&report)), PHASES.concat());
    let (_, times) = report
        .split_once("FILE CREATE TIME IN, OUT, TOTAL      = ")
        .unwrap();
    let times: Vec<u64> = times
        .lines()
        .next()
        .unwrap()
        .split(", ")
        .map(|s| s.parse().unwrap())
        .collect();
    assert_eq!(times[2], times[1] - times[0]);
    let rate = 6_u64.checked_div(times[2]).unwrap_or(0);
    assert_eq!(figure(&report, "File creates per second"), rate);
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn files_without_bytes_have_a_rate_of_data_too() {
    for shape in ["-l 1 -d 1 -f 0", "-l 1 -d 1 -f 2 -s 0"] {
        for mode in ["", "--in-process"] {
            let bench = Bench::new("fdtree");
            let report = bench.text(&format!("{shape} {mode}"), "");
            assert_eq!(outline(&without_dates(&report)), PHASES.concat(), "{shape}");
            assert_eq!(figure(&report, "KiB per second"), 0);
        }
    }
}

#[test]
fn a_tree_left_behind_is_removed_by_its_name() {
    let bench = Bench::new("fdtree");
    let shape = "-l 1 -d 2 -f 2 -s 1 --in-process --root old";
    let made = bench.text(&format!("{shape} -C"), "");
    assert!(!made.contains("REMOVE"), "{made}");
    let root = bench.work().join("old");
    assert_eq!(names_in(&root), ["L1D1", "L1D2", "L1F1", "L1F2"]);
    let complaint = bench.complaint(&format!("{shape} -C"), "", 4);
    assert!(complaint.contains("already exists"), "{complaint}");
    let removed = bench.text(&format!("{shape} -R"), "");
    assert!(!removed.contains("CREATE"), "{removed}");
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn what_is_wrong_names_the_option() {
    let bench = Bench::new("fdtree");
    for (line, words) in [
        ("-R", "with --root"),
        ("-R --root gone", "option --root: parameter"),
        ("-l 20", "option -l: parameter"),
        ("--root a/b", "option --root: parameter"),
        ("-f x", "option -f: \"x\""),
        ("-o nowhere", "nowhere"),
        ("-D", "option -D is left out here"),
    ] {
        let complaint = bench.complaint(line, "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    fs::create_dir(bench.work().join("t")).unwrap();
    let complaint = bench.complaint("--root t --force", "", 4);
    assert!(complaint.contains("is not a regular file"), "{complaint}");
}
