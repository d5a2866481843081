//! compilebench's options and summary.

use std::fs;

use crate::common::{names_in, outline, Bench};

const SUMMARY: &str = "
run complete:
==========================================================================
intial create total runs # avg # MB/s (user #s sys #s)
no runs for create
no runs for patch
compile total runs # avg # MB/s (user #s sys #s)
no runs for clean
no runs for read tree
read compiled tree total runs # avg # MB/s (user #s sys #s)
no runs for delete tree
delete compiled tree total runs # avg # seconds (user #s sys #s)
no runs for stat tree
no runs for stat compiled tree
";

/// As the Phoronix profile finds it.
fn quoted(summary: &str, hint: &str) -> f64 {
    let line = summary.lines().rfind(|line| line.contains(hint)).unwrap();
    let before = line.split("MB/s").next().unwrap();
    before.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn the_line_of_the_phoronix_profile_gives_the_summary() {
    let bench = Bench::new("compilebench");
    // -n added: without it the caches of the whole host are dropped.
    let summary = bench.text("-D t -i 10 --makej -n --files 20", "");
    assert_eq!(outline(&summary), SUMMARY);
    for (hint, runs) in [
        ("intial create total", 10),
        ("compile total", 10),
        ("read compiled tree total", 3),
    ] {
        assert!(
            summary.contains(&format!("\n{hint} runs {runs} avg ")),
            "{summary}"
        );
        assert!(quoted(&summary, hint) > 0.0, "{summary}");
    }
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn a_dataset_in_the_working_directory_is_used() {
    let bench = Bench::new("compilebench");
    let work = bench.work();
    for (name, lines) in [
        ("dataset-unpatched", "a/x 100\nb 50\n"),
        ("dataset-patched", "a/x 120\nb 50\n"),
        ("dataset-unpatched-compiled", "a/x 100\nb 50\na/x.o 300\n"),
        ("dataset-patched-compiled", "a/x 120\nb 50\na/x.o 310\n"),
    ] {
        fs::write(work.join(name), lines).unwrap();
    }
    let summary = bench.text("-D . -i 3 -m -n", "");
    assert!(summary.contains("\ncompile total runs 3 avg "), "{summary}");
    let complaint = bench.complaint("-D . -i 3 -m -n --files 20", "", 2);
    assert!(complaint.contains("option --files: "), "{complaint}");
    let stream = bench.text("-D . -i 3 -m -n --json", "");
    assert!(stream.contains("\"dataset\":\".\""), "{stream}");
    assert_eq!(names_in(&work).len(), 4);
}

#[test]
fn what_is_wrong_names_the_option() {
    let bench = Bench::new("compilebench");
    for (line, words) in [
        ("-i 0 -D .", "option -i: parameter"),
        ("--initial-dirs ten", "option --initial-dirs: \"ten\""),
        ("-s nowhere -D .", "nowhere"),
        ("--files 3 -D .", "option --files: parameter"),
        ("-t trace", "option -t is left out here: "),
    ] {
        let complaint = bench.complaint(line, "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    let complaint = bench.complaint("-D no/where", "", 5);
    assert!(complaint.contains("no/where"), "{complaint}");
    fs::create_dir(bench.work().join("kernel-1")).unwrap();
    assert!(bench
        .complaint("-D . -i 2 -m -n --files 20", "", 4)
        .contains("kernel-1"));
    assert_eq!(names_in(&bench.work()), ["kernel-1"]);
}
