//! fs_mark's options and table.

use std::fs;

use wire::Event;

use crate::common::{names_in, Bench};

/// As it is printed for [`LINE`], without the two lines that tell the time and the command line.
const HEAD: &str = "\
#\tSync method: NO SYNC: nothing is synced
#\tDirectories:  4 subdirectories, 180 seconds each, by the clock
#\tFile names: 40 bytes long: 16 with the time, 24 at random
#\tFiles info: size 4096 bytes, 16384 bytes per write
#\tApp overhead: microseconds outside of system calls on files, of all threads

FSUse%        Count         Size    Files/sec     App Overhead
";
const LINE: &str = "-d scratch -L 2 -s 4096 -n 10 -S 0 -D 4";

/// The rows below the head, in words.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let head = table.lines().position(|line| line.contains("Files/sec"));
    let rows = table.lines().skip(head.unwrap() + 1);
    rows.map(|row| row.split_whitespace().collect()).collect()
}

#[test]
fn a_line_of_the_phoronix_profiles_gives_the_table_and_keeps_the_files() {
    let bench = Bench::new("fs_mark");
    let table = bench.text(LINE, "");
    let [blank, call, version, rest] = table.splitn(4, '\n').collect::<Vec<_>>()[..] else {
        panic!("{table}");
    };
    assert_eq!(
        (blank, call),
        (
            "",
            "#  fs_mark  -d  scratch  -L  2  -s  4096  -n  10  -S  0  -D  4 "
        )
    );
    assert!(
        version.contains("Version 3.3, 1 thread(s) starting at "),
        "{version}"
    );
    assert!(rest.starts_with(HEAD), "{rest}");
    let rows = rows(&table);
    assert_eq!(rows.len(), 2);
    for (row, files) in rows.iter().zip(["10", "20"]) {
        assert_eq!((row.len(), row[1], row[2]), (5, files, "4096"));
        // What the profiles quote.
        assert!(row[3].parse::<f64>().unwrap() > 0.0, "{row:?}");
    }
    assert_eq!(rest.lines().last().unwrap().len(), 6 + 3 * 13 + 17);
    assert_eq!(names_in(&bench.work()), ["fs_log.txt", "scratch"]);
    let subdirectories = fs::read_dir(bench.work().join("scratch")).unwrap();
    let files = subdirectories.map(|entry| names_in(&entry.unwrap().path()).len());
    assert_eq!(files.sum::<usize>(), 20);
    assert_eq!(
        fs::read_to_string(bench.work().join("fs_log.txt")).unwrap(),
        table
    );
}

/// Names of the original with these options: 6J00WKL, P19SBRQ.
#[test]
fn names_that_are_to_be_shorter_than_their_random_characters_are_not() {
    let bench = Bench::new("fs_mark");
    let table = bench.text("-d scratch -p 5 -r 7 -n 3 -s 10 -k", "");
    assert!(
        table.contains("names: 7 bytes long: 0 with the time, 7 at random"),
        "{table}"
    );
    let names = names_in(&bench.work().join("scratch"));
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.len() == 7), "{names:?}");
}

#[test]
fn files_go_and_tables_are_added_to_the_log() {
    let bench = Bench::new("fs_mark");
    fs::write(bench.work().join("log"), "before\n").unwrap();
    let line = "-d one -d two -s100 -n 5 -t 4 -w 30 -S 2 -v -l log";
    let table = bench.text(line, "");
    assert_eq!(names_in(&bench.work()), ["log"]);
    let log = fs::read_to_string(bench.work().join("log")).unwrap();
    assert_eq!(log, format!("before\n{table}"));
    let [row] = &rows(&table)[..] else {
        panic!("{table}");
    };
    assert_eq!((row.len(), row[1]), (5 + 6 * 3, "20"));
    let us = |column: usize| row[5 + column].parse::<u64>().unwrap();
    for [min, max] in [[0, 2], [3, 5], [12, 14], [15, 17]] {
        assert!(us(min) <= us(max), "{row:?}");
    }
    let unknown_to_the_original = [6, 8, 9, 11].map(us);
    assert_eq!(unknown_to_the_original, [0; 4], "{row:?}");
    assert!(
        us(10) > 0,
        "the sync of all file systems took no time: {row:?}"
    );
}

#[test]
fn json_gives_the_stream() {
    let bench = Bench::new("fs_mark");
    let stream = bench.text("-d s -n 3 --json -s 0", "");
    let events = stream
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let files = events.filter_map(|event| match event {
        Event::Sample(sample) if sample.metric == "files" => Some(sample.operations),
        _ => None,
    });
    assert_eq!(files.collect::<Vec<_>>(), [3]);
}

#[test]
fn what_is_wrong_names_the_option_and_leaves_nothing() {
    let bench = Bench::new("fs_mark");
    for (line, words) in [
        ("-n 5", "option -d: name the directory"),
        ("-d s -S 9", "option -S: 9 is none of 0 to 6"),
        ("-d s -N 3", "option -N: parameter"),
        ("-d s -r 0", "option -r: without random characters"),
        ("-d a -d b -t 3", "option -t: parameter"),
        ("-d a -d a", "option -d: parameter"),
        (
            "-d no/where",
            "option -d: no/where: there is no directory no",
        ),
        ("-d s -q", "\"-q\" is not an option"),
    ] {
        let complaint = bench.complaint(line, "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    assert!(names_in(&bench.work()).is_empty());
}
