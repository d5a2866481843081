//! tiotest's options and tables.

use std::fs;

use wire::{Event, FailureKind, Outcome};

use crate::common::{names_in, outline, Bench};

const TABLES: &str = "\
Tiotest results for # concurrent io threads:
,----------------------------------------------------------------------.
| Item | Time | Rate | Usr CPU | Sys CPU |
+-----------------------+----------+--------------+----------+---------+
| Write # MBs | # s | # MB/s | # % | # % |
| Random Write # MBs | # s | # MB/s | # % | # % |
`----------------------------------------------------------------------'
Tiotest latency results:
,-------------------------------------------------------------------------.
| Item | Average latency | Maximum latency | % ># sec | % ># sec |
+--------------+-----------------+-----------------+----------+-----------+
| Write | # ms | # ms | # | # |
| Random Write | # ms | # ms | # | # |
|--------------+-----------------+-----------------+----------+-----------|
| Total | # ms | # ms | # | # |
`--------------+-----------------+-----------------+----------+-----------'

";

/// The word before `unit` in the last line that has "MBs" in it, as the Phoronix profiles find it.
fn last_rate(tables: &str) -> f64 {
    let line = tables.lines().rfind(|line| line.contains("MBs")).unwrap();
    let before = line.split("MB/s").next().unwrap();
    before.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn a_line_of_the_phoronix_profiles_gives_both_tables() {
    let bench = Bench::new("tiotest");
    let tables = bench.text("-S -k3 -k2 -f 1 -t 2 -b 65536 -r 40 --version 0.3.3", "");
    assert_eq!(outline(&tables), TABLES);
    // As wide as the original's, and the amounts are those that were moved.
    assert!(tables.contains("\n| Write           2 MBs |"), "{tables}");
    assert!(tables.contains("\n| Random Write    5 MBs |"), "{tables}");
    assert!(last_rate(&tables) > 0.0);
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn the_version_of_2017_credits_whole_files_and_says_so() {
    let bench = Bench::new("tiotest");
    let output = bench.call("-k2 -k3 -f1 -t2 -r 32 --version 20170504 -L", "");
    let tables = String::from_utf8(output.stdout).unwrap();
    assert!(tables.contains("\n| Random Write    2 MBs |"), "{tables}");
    assert!(!tables.contains("latency"), "{tables}");
    let words = String::from_utf8(output.stderr).unwrap();
    let told =
        words.strip_prefix("tiotest: Random Write: the version of 2017 credits whole files, ");
    // 256 blocks of a file, of which 32 were written.
    let told = told.and_then(|told| told.strip_prefix("8.000 times what was moved; that was "));
    let moved: f64 = told
        .unwrap()
        .trim_end()
        .trim_end_matches(" MB/s")
        .parse()
        .unwrap();
    // Both have three decimals.
    assert!(
        (last_rate(&tables) - 8.0 * moved).abs() <= 0.0046,
        "{tables}{words}"
    );
}

#[test]
fn terse_lines_have_zeroes_for_what_was_not_done() {
    let bench = Bench::new("tiotest");
    let text = bench.text("-T -k0 -k1 -k3 -f 1 -t 3 -c", "");
    let lines: Vec<(&str, Vec<f64>)> = text
        .lines()
        .map(|line| {
            let (name, fields) = line.split_once(':').unwrap();
            (
                name,
                fields
                    .split(',')
                    .map(|field| field.parse().unwrap())
                    .collect(),
            )
        })
        .collect();
    let shape: Vec<_> = lines
        .iter()
        .map(|(name, fields)| (*name, fields.len()))
        .collect();
    let wanted = [
        ("write", 8),
        ("rwrite", 8),
        ("read", 8),
        ("rread", 8),
        ("total", 4),
    ];
    assert_eq!(shape, wanted);
    assert_eq!(lines[0].1, [0.0; 8]);
    assert_eq!(lines[2].1[0], 3.0, "MiB that were read");
    assert_eq!(
        lines[2].1[4..],
        lines[4].1[..],
        "the only phase is the total"
    );
}

#[test]
fn the_version_of_2017_tells_where_it_credits_less_than_was_moved() {
    let bench = Bench::new("tiotest");
    let output = bench.call("-k2 -k3 -f1 -t2 -r 512 --version 20170504", "");
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains(" 0.500 times what was moved"), "{words}");
}

#[test]
fn files_in_the_way_are_refused_and_removed_only_when_told_to() {
    let bench = Bench::new("tiotest");
    let file = bench.work().join("tiotest.1");
    fs::write(&file, "precious").unwrap();
    let line = "-k1 -k2 -k3 -f 1 -t 2";
    assert!(bench.complaint(line, "", 4).contains("--force"));
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    bench.text(&format!("{line} --force"), "");
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn what_is_wrong_names_the_option() {
    let bench = Bench::new("tiotest");
    for (line, words) in [
        ("-M", "option -M is left out here: "),
        ("-F", "access out-of-cache"),
        ("-f ten", "option -f: \"ten\""),
        ("-b 2000000 -f 1", "option -b: parameter"),
        ("-t 0", "option -t: parameter"),
        ("-d nowhere", "nowhere"),
        ("--version 0.3.2", "Did you mean \"0.3.3\"?"),
    ] {
        let complaint = bench.complaint(line, "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    let stream = bench.call("--json -t 0", "").stdout;
    let end = String::from_utf8(stream).unwrap();
    let Event::End(end) = serde_json::from_str(end.trim_end()).unwrap() else {
        panic!("{end}");
    };
    assert_eq!(end.outcome, Outcome::Failed);
    assert_eq!(end.failure.unwrap().kind, FailureKind::BadJob);
}
