//! IOzone's lines of the printed studies, at smaller sizes, and its table.

use wire::Event;

use crate::common::{masked, names_in, Bench};

const HEADING: &str = "
                                                                    random    random      bkwd     record     stride
              kB  reclen     write   rewrite      read    reread      read     write      read    rewrite       read    fwrite  frewrite     fread   freread
";

fn bench() -> Bench {
    Bench::new("iozone")
}

/// The figures of the row that begins with these sizes.
fn row(text: &str, file_kb: u64, record_kb: u64) -> Vec<u64> {
    let sizes = format!("{file_kb:>16}{record_kb:>8}");
    let row = text.lines().find_map(|line| line.strip_prefix(&sizes));
    let figures = row.unwrap_or_else(|| panic!("no row {sizes} in {text}"));
    let figures = figures.split_whitespace();
    figures.map(|figure| figure.parse().unwrap()).collect()
}

#[test]
fn a_file_that_is_kept_fills_thirteen_columns() {
    let bench = bench();
    let text = bench.text("-s 2m -r 64k -C -c -e -w -x -f FILE", "");
    let heading = text.find(HEADING).expect("the heading");
    assert!(text[..heading].contains("\tCommand line used: iozone -s 2m -r 64k -C -c -e -w -x"));
    assert!(text[..heading].contains("\tOutput is in kBytes/sec\n"));
    assert!(
        text[..heading].contains("\tTime Resolution = 0.0"),
        "{text}"
    );
    let figures = row(&text, 2048, 64);
    assert_eq!(figures.len(), 13);
    assert!(figures.iter().all(|&figure| figure > 0), "{text}");
    assert!(text.ends_with("\n\niozone test complete.\n"), "{text}");
    assert_eq!(names_in(&bench.work()), ["FILE"]);
    // What was kept is read, and stays.
    let read = bench.text("-s 2m -r 64k -i 1 -f FILE", "");
    assert_eq!(row(&read, 2048, 64).len(), 2);
    assert!(bench
        .complaint("-s 2m -i 0 -f FILE", "", 4)
        .contains("--force"));
    bench.text("-s 2m -i 0 -f FILE --force", "");
    assert!(names_in(&bench.work()).is_empty());
}

/// In the places where programs that read the original's output look for them.
#[test]
fn the_version_and_what_it_was_built_for_are_on_lines_of_their_own() {
    let bench = bench();
    let version = bench.text("-v", "");
    let lines: Vec<&str> = version.lines().map(str::trim).collect();
    assert!(lines.contains(&"Version $Revision: 3.498 $"), "{version}");
    assert!(lines.contains(&"Compiled for 64 bit mode."), "{version}");
    let build = lines.iter().find_map(|line| line.strip_prefix("Build: "));
    assert!(build.is_some_and(|build| build.starts_with("linux-")));
    let text = bench.text("-s 64k -r 16k -i 0", "");
    assert!(text.starts_with(&version), "{text}");
}

#[test]
fn auto_mode_sweeps_and_prints_matrices() {
    let bench = bench();
    let text = bench.text("-n 128 -g 256 -y 8 -q 16 -a -R -i 0 -i 1 -f FILE", "");
    for (file, record) in [(128, 8), (128, 16), (256, 8), (256, 16)] {
        assert_eq!(row(&text, file, record).len(), 4);
    }
    let (_, matrices) = text.split_once("Excel output is below:\n").unwrap();
    let titles = ["Writer", "Re-writer", "Reader", "Re-Reader"];
    for (column, title) in titles.into_iter().enumerate() {
        let figure = |file, record| row(&text, file, record)[column];
        let matrix = format!(
            "\n\"{title} report\"\n        \"8\"  \"16\"\n\"128\"   {}  {} \n\"256\"   {}  {} \n",
            figure(128, 8),
            figure(128, 16),
            figure(256, 8),
            figure(256, 16)
        );
        assert!(matrices.contains(&matrix), "{matrices}");
    }
    assert!(names_in(&bench.work()).is_empty());
}

/// Where the file system does no direct I/O, or says so only, that is told instead.
#[test]
fn direct_io_is_verified_and_streams_are_said_not_to_be() {
    let bench = bench();
    let line = "-n 64 -g 128 -y 16 -q 64 -a -R -I -f FILE";
    let output = bench.call(line, "");
    let words = String::from_utf8(output.stderr).unwrap();
    match output.status.code() {
        Some(0) => {
            let text = String::from_utf8(output.stdout).unwrap();
            for (file, record) in [(64, 16), (64, 64), (128, 16), (128, 32), (128, 64)] {
                let figures = row(&text, file, record);
                assert_eq!(figures.len(), 13, "{text}");
                assert!(figures.iter().all(|&figure| figure > 0), "{text}");
            }
            assert_eq!(text.matches("kB  reclen").count(), 1, "{text}");
            assert_eq!(
                text.matches("page cache: fwrite, frewrite, fread, freread.")
                    .count(),
                1,
                "{text}"
            );
            assert_eq!(text.matches(" report\"\n").count(), 13, "{text}");
            // Told once, not for every row.
            assert_eq!(words.matches("record 0 only").count(), 1, "{words}");
            assert_eq!(words.lines().count(), 1, "{words}");
        }
        code => {
            assert_eq!(code, Some(5), "{words}");
            assert!(
                words.contains("access was declared direct, but "),
                "{words}"
            );
        }
    }
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn mappings_and_queues_fill_nine_columns_and_leave_the_others_blank() {
    let bench = bench();
    for options in ["-B", "-B -e -c", "-D", "-G", "-H 1", "-k 1 -c"] {
        let text = bench.text(&format!("-s 256k -r 4k {options} -f FILE"), "");
        let figures = row(&text, 256, 4);
        assert_eq!(figures.len(), 9, "{text}");
        assert!(figures.iter().all(|&figure| figure > 0), "{text}");
    }
    for options in ["-B", "-k 1"] {
        let text = bench.text(
            &format!("-t 2 -s 256k -r 4k -x {options} -i 0 -i 2 -i 8"),
            "",
        );
        assert_eq!(text.matches("Parent sees").count(), 5, "{text}");
    }
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn the_line_of_the_spreadsheet_writes_one_that_is_not_overwritten() {
    let bench = bench();
    let line = "-Rb spreadsheet_output_1M.wks -s 2M -r 64k -i 0 -i 1";
    bench.text(line, "");
    let sheet = std::fs::read(bench.work().join("spreadsheet_output_1M.wks")).unwrap();
    assert_eq!(sheet[..8], [9, 0, 4, 0, 2, 0, 16, 0]);
    assert_eq!(sheet[sheet.len() - 4..], [10, 0, 0, 0]);
    assert!(bench
        .complaint(line, "", 4)
        .contains("spreadsheet_output_1M.wks"));
    bench.text(&format!("{line} --force"), "");
    assert_eq!(names_in(&bench.work()), ["spreadsheet_output_1M.wks"]);
}

#[test]
fn the_invocations_of_the_result_page_give_the_figure_after_the_heading() {
    let bench = bench();
    for (line, column, columns) in [
        ("-e -r 64k -s 2M -i0", 2, 2),
        ("-e -o -r 1m -s 2M -i0", 2, 2),
        ("-e -r 4k -s 1M -i0 -i1", 4, 4),
    ] {
        let text = bench.text(line, "");
        let mut lines = text.lines().skip_while(|line| !line.contains("reclen"));
        let row = lines.nth(1).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words.len(), 2 + columns, "{line}: {row}");
        assert!(words[column].parse::<u64>().unwrap() > 0, "{line}: {row}");
    }
}

const BLOCK: &str = "
\tChildren see throughput for  # initial writers \t= # kB/sec
\tParent sees throughput for  # initial writers \t= # kB/sec
\tMin throughput per process \t\t\t= # kB/sec\x20
\tMax throughput per process \t\t\t= # kB/sec
\tAvg throughput per process \t\t\t= # kB/sec
\tMin xfer \t\t\t\t\t= # kB
\tChild[#] xfer count = # kB, Throughput = # kB/sec
\tChild[#] xfer count = # kB, Throughput = # kB/sec
";

/// `text` with `#` for every number and the blanks that pad it.
fn numbers_masked(text: &str) -> String {
    let shape = masked(text);
    let mut words = shape.replace("=  ", "= ");
    while words.contains("=  ") || words.contains("##") {
        words = words.replace("=  ", "= ").replace("##", "#");
    }
    words
}

#[test]
fn many_children_have_a_block_for_each_phase_and_a_matrix() {
    let bench = bench();
    let text = bench.text("-t 2 -s 256k -r 16k -i 0 -i 1 -x -C -R", "");
    for who in ["Children see", "Parent sees"] {
        let line = format!("\t{who} throughput for  2 readers \t\t=");
        assert!(text.contains(&line), "{text}");
    }
    let shape = numbers_masked(&text);
    assert!(shape.contains(BLOCK), "{shape}");
    assert!(shape.contains("# rewriters"), "{shape}");
    assert!(
        text.contains("\tThroughput test with 2 processes\n"),
        "{text}"
    );
    assert!(text.contains("\tEach process writes a 256 kByte file in 16 kByte records\n"));
    assert!(text.contains("\"  Initial write \" "), "{text}");
    assert!(
        text.contains("Child[1] xfer count =     256.00 kB"),
        "{text}"
    );
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn children_keep_the_files_that_they_were_given() {
    let bench = bench();
    let text = bench.text("-l 1 -u 2 -T -s 256k -r 16k -i 0 -x -O -w -F a b", "");
    let heading =
        "\tMin thread = 1 \n\tMax thread = 2 \n\tThroughput test with 1 thread\n\tEach thread";
    assert!(text.contains(heading), "{text}");
    assert_eq!(text.matches("Throughput test with").count(), 1, "{text}");
    assert_eq!(text.matches("\tEach thread writes").count(), 2, "{text}");
    assert!(text.contains(" ops\n\n\n\tEach thread writes"), "{text}");
    assert!(
        text.contains("Min xfer \t\t\t\t\t=      16.00 ops\n"),
        "{text}"
    );
    assert_eq!(names_in(&bench.work()), ["a", "b"]);
    assert!(bench
        .complaint("-t 2 -s 256k -F a b", "", 4)
        .contains("--force"));
}

#[test]
fn json_gives_the_stream_and_no_table() {
    let text = bench().text("-i 0 -s 128k --json", "");
    let events: Vec<Event> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(matches!(events[0], Event::Hello(_)));
    assert!(matches!(events[events.len() - 1], Event::End(_)));
}

#[test]
fn what_is_left_out_or_unknown_is_refused_by_name() {
    let bench = bench();
    for (line, words) in [
        ("-a -Z", "option -Z is left out"),
        ("-s 64k -B -I", "a mapping is made of the page cache"),
        ("-a -+m hosts", "option -+m is left out"),
        ("-a -G -i 6", "option -i 6"),
        ("-?", "\"-?\" is not an option"),
        ("-s big", "option -s: \"big\""),
        ("-s 4k -r 64k", "larger than every file"),
        ("-f nowhere/FILE", "nowhere is not a directory"),
        ("-+E -i 1 -f FILE", "FILE is not a file"),
    ] {
        let complaint = bench.complaint(line, "", 2);
        assert!(complaint.contains(words), "{complaint}");
    }
    assert!(bench.text("-h", "").contains("-+k"));
}

#[test]
fn operations_are_logged_in_the_words_of_the_original_and_old_logs_stay() {
    let bench = bench();
    let line = "-s 64k -r 16k -r 32k -i 0 -i 1 -Q -f FILE";
    bench.text(line, "");
    let logs = ["rol.dat", "rrol.dat", "rwol.dat", "wol.dat"];
    assert_eq!(names_in(&bench.work()), logs);
    let log = || std::fs::read_to_string(bench.work().join("wol.dat")).unwrap();
    let written = log();
    let heading = "Offset in kBytes   Latency in microseconds  Transfer size in bytes";
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[5]), (8, heading, heading));
    assert_eq!(&lines[2][..11], "        16 ");
    assert_eq!(&lines[7][lines[7].len() - 11..], "      32768");
    let words = bench.complaint(line, "", 4);
    assert!(
        words.contains("option -Q: ./wol.dat already exists"),
        "{words}"
    );
    assert!(!words.contains("removes"), "{words}");
    assert_eq!(log(), written);
    bench.text(&format!("{line} --force"), "");
    assert!(log().starts_with(&written) && log().lines().count() == 16);
}

#[test]
fn each_child_logs_its_operations() {
    for (kind, children) in [("", 2), ("-T", 3)] {
        let bench = bench();
        bench.text(
            &format!("-t {children} {kind} -s 64k -r 4k -x -i 0 -i 3 -Q"),
            "",
        );
        let names = names_in(&bench.work());
        assert_eq!(names.len(), children * 3, "{names:?}");
        let log = bench.work().join("Child_1_revol.dat");
        let text = std::fs::read_to_string(log).unwrap();
        assert_eq!(text.lines().count(), 17);
        assert!(text.lines().nth(1).unwrap().starts_with("        60 "));
    }
}

/// As for a single stream: where there is no direct I/O, that is told instead.
#[test]
fn streams_of_direct_children_are_measured_and_said_not_to_be_direct() {
    let bench = bench();
    let output = bench.call("-t 2 -T -s 64k -r 16k -x -I -C -R -i 0 -i 6 -i 7", "");
    let words = String::from_utf8(output.stderr).unwrap();
    match output.status.code() {
        Some(0) => {
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.matches("Throughput test with 2 threads").count(), 1);
            for who in ["initial writers", "rewriters", "fwriters", "freaders"] {
                let line = format!("Children see throughput for  2 {who}");
                assert_eq!(text.matches(&line).count(), 1, "{who}: {text}");
            }
            assert_eq!(text.matches("Child[1] xfer count").count(), 4, "{text}");
            assert!(text.contains("\tNot direct, but through the page cache: fwrite, fread.\n"));
            assert!(text.contains("\"          Fread \""), "{text}");
            assert!(words.is_empty(), "{words}");
        }
        code => {
            assert_eq!(code, Some(5), "{words}");
            assert!(
                words.contains("access was declared direct, but "),
                "{words}"
            );
        }
    }
    assert!(names_in(&bench.work()).is_empty());
}

#[test]
fn a_device_is_named_as_one_and_nobody_is_told_to_remove_it() {
    let bench = bench();
    for line in ["-s 64k -f /dev/null", "--force -s 64k -f /dev/null"] {
        let complaint = bench.complaint(line, "", 4);
        assert!(complaint.contains("/dev/null is "), "{complaint}");
        assert!(!complaint.contains("remove it"), "{complaint}");
    }
}
