//! aio-stress's options and report.

use std::fs;

use crate::common::{names_in, outline, Bench};

const REPORT: &str = "\
adding stage random write
starting with random write
file size #MB, record size #KB, depth #, ios per iteration #
max io_submit #, buffer alignment set to #KB
threads # files # contexts # context offset #MB verification off
random write on aio-test-file (# MB/s) # MB in #s
thread # random write totals (# MB/s) # MB in #s
";

/// All that `line` counts, from ` 9 < 100 1 < 250 …`.
fn in_all_classes(line: &str) -> u64 {
    let counts = line.split_whitespace().step_by(3);
    counts.map(|count| count.parse::<u64>().unwrap()).sum()
}

const BOTH: &str = "\
file size 4MB, record size 64KB, depth 64, ios per iteration 8
max io_submit 16, buffer alignment set to 4KB
threads 2 files 2 contexts 1 context offset 2MB verification on
";

#[test]
fn the_line_of_the_phoronix_profile_runs_as_it_stands() {
    let bench = Bench::new("aio-stress-bin");
    // A smaller file, and no threads without work: those are told on standard error.
    let line = "-s 4m -r 64k -t 1 -o 2 aio-test-file";
    let report = bench.text(line, "");
    assert_eq!(outline(&report), REPORT);
    assert!(report
        .contains("depth 64, ios per iteration 8\nmax io_submit 8, buffer alignment set to 4KB\n"));
    let quoted = report.split("aio-test-file (").nth(1).unwrap();
    let before: f64 = quoted.split(' ').next().unwrap().parse().unwrap();
    let after: f64 = report
        .split("totals (")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(before >= after, "{report}");
    assert!(report.contains("MB/s) 4.00 MB in "), "{report}");
    assert_eq!(names_in(&bench.work()), ["aio-test-file"]);
    let complaint = bench.complaint(line, "", 4);
    assert!(complaint.contains("--force"), "{complaint}");
    bench.text(&format!("{line} --force -u"), "");
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn threads_without_work_are_told() {
    let bench = Bench::new("aio-stress");
    let output = bench.call("-s 4m -t 3 -o 0 -u f", "");
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("1 of 3 work"), "{words}");
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("\nthreads 1 files 1 "), "{report}");
}

#[test]
fn several_files_and_threads_have_their_sum_and_latencies() {
    let bench = Bench::new("aio-stress");
    let report = bench.text("-s 4 -t 2 -x -v -l -L one two", "");
    let stages = report.strip_prefix(BOTH).unwrap();
    let stage = "latency min # avg # max #\n\t # < # # < # # < # # < # # < # # < #\n";
    for (label, text) in ["write", "read", "random write", "random read"]
        .into_iter()
        .zip(outline(stages).split_inclusive("s\n"))
    {
        let throughput = format!("{label} throughput (# MB/s) # MB in #s\n");
        assert_eq!(text, format!("{stage}completion {stage}{throughput}"));
    }
    assert_eq!(stages.matches("8.00 MB in").count(), 4, "{stages}");
    // 64 requests of each of two files, in batches of eight; then all requests. How many of them
    // were slow is the machine's affair.
    let counts = stages.lines().filter(|line| line.contains(" < 250 "));
    let counts: Vec<u64> = counts.map(in_all_classes).collect();
    assert_eq!(counts, [[16, 128]; 4].concat(), "{stages}");
    let content = fs::read(bench.work().join("one")).unwrap();
    assert!(content.len() == 4 << 20 && content.iter().all(|&byte| byte == b'b'));
}

#[test]
fn what_is_wrong_names_the_option_and_leaves_nothing() {
    let bench = Bench::new("aio-stress");
    for (line, words) in [
        ("-o 2", "FILE: name the file"),
        ("-s 1m f", "option -s: parameter"),
        ("-d 0 f", "option -d: parameter"),
        ("-r 64x f", "option -r: \"64x\" is not a size"),
        ("-m shm f", "option -m is left out here"),
        ("f f", "is there twice"),
        ("nowhere/f", "there is no directory nowhere"),
    ] {
        let complaint = bench.complaint(line, "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    assert!(names_in(&bench.work()).is_empty());
}
