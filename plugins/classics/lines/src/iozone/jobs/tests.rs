use std::ffi::OsString;

use serde_json::{json, Map, Value};

use super::super::request::Request;
use super::{FILE_BYTES, RECORD_BYTES};

fn request(line: &str) -> Request {
    Request::read(line.split_whitespace().map(OsString::from).collect()).unwrap()
}

fn single(line: &str) -> Map<String, Value> {
    jobs(line).remove(0)
}

fn jobs(line: &str) -> Vec<Map<String, Value>> {
    let jobs = request(line).single().unwrap().jobs;
    jobs.into_iter().map(|job| job.parameters).collect()
}

#[test]
fn the_lines_of_the_printed_studies_become_jobs() {
    let printed = single("-n 1024 -g 4096000 -y 8 -q 1024 -a -R -f /mnt/FILE");
    let bounds = json!({
        "file_min": 1 << 20, "file_max": 4_096_000_u64 << 10,
        "record_min": 8 << 10, "record_max": 1 << 20,
    });
    assert_eq!(printed["auto"], bounds);
    assert_eq!(printed["classic"], true);
    assert_eq!(printed["name"], "FILE");
    assert!(!printed.contains_key("file") && !printed.contains_key("record"));
    let printed = single("-s 32g -r 64k -C -c -e -w -x -f FILE");
    assert_eq!(printed["file"], json!([32_u64 << 30]));
    assert_eq!(printed["access"], "as-found");
    assert_eq!(
        (&printed["keep"], &printed["include_fsync"]),
        (&json!(true), &json!(true))
    );
    assert!(!printed.contains_key("auto"));
    let printed = single("-e -o -r 64k -s 8192M -i0");
    assert_eq!(printed["tests"], json!(["write"]));
    assert_eq!(printed["open_sync"], "sync");
}

/// Files of 1 MB to 2 GB, all with eight sizes of records; on each the same file in turn.
#[test]
fn direct_rows_have_jobs_of_their_own_for_streams() {
    let jobs = jobs("-n 1024 -g 4096000 -y 8 -q 1024 -a -R -I -E -w -f /mnt/FILE");
    assert_eq!(jobs.len(), 12 * 8 * 3);
    let last = &jobs[jobs.len() - 3..];
    let of = |name: &str| [0, 1, 2].map(|nth: usize| last[nth][name].clone());
    assert_eq!(of("access"), ["direct", "as-found", "direct"]);
    assert_eq!(of("file"), [2_u64 << 30; 3]);
    assert_eq!(of("keep"), [true; 3]);
    assert_eq!(
        jobs[2]["keep"], false,
        "a row begins with a file of its own"
    );
    assert!(!last[0].contains_key("existing"));
    assert_eq!(
        (&last[1]["existing"], &last[2]["existing"]),
        (&json!("take_over"), &json!("take_over"))
    );
    assert_eq!(last[1]["tests"], json!(["fwrite", "fread"]));
    assert_eq!(last[2]["tests"], json!(["pwrite", "pread"]));
    assert_eq!(single("-I -i 0").get("crossover"), None, "nothing to part");
    assert_eq!(single("-I -i 6")["access"], "as-found");
}

#[test]
fn sizes_are_fixed_swept_or_listed_as_in_the_original() {
    let sizes = |line: &str| {
        let all = single(line);
        ["file", "record", "auto"].map(|name| all.get(name).cloned().unwrap_or_default())
    };
    assert_eq!(
        sizes(""),
        [json!([FILE_BYTES]), json!([RECORD_BYTES]), Value::Null]
    );
    assert_eq!(sizes("-a"), [Value::Null, Value::Null, json!({})]);
    assert_eq!(
        sizes("-a -s 1m"),
        [json!([1 << 20]), Value::Null, json!({})]
    );
    let listed = [json!([64 << 10, 128 << 10]), Value::Null, json!({})];
    assert_eq!(sizes("-s 128k -s 64k"), listed);
    assert_eq!(single("-az")["crossover"], json!(false));
    assert!(request("-n 64").single().is_err());
}

#[test]
fn tests_are_chosen_by_number_and_the_positioned_by_e() {
    let names = |line: &str| single(line)["tests"].as_array().unwrap().len();
    assert_eq!(
        (
            names(""),
            names("-E"),
            names("-i 2 -i 0"),
            names("-E -i 11")
        ),
        (8, 10, 2, 1)
    );
    for line in ["-i 8", "-i 9", "-i 8 -i 12"] {
        assert!(request(line).single().is_err(), "{line}");
    }
}

#[test]
fn tests_that_are_not_there_are_left_out_beside_others() {
    for (line, names, left_out) in [
        ("-i 0 -i 8 -i 9", json!(["write"]), &[8, 9][..]),
        ("-i 0 -i 8 -i 9 -E", json!(["write", "pwrite"]), &[8]),
        ("-i 0 -i 6 -B", json!(["write"]), &[6]),
        ("-i 0 -i 1", json!(["write", "read"]), &[]),
    ] {
        assert_eq!(single(line)["tests"], names, "{line}");
        let told = request(line).left_out().unwrap();
        assert_eq!(told.into_keys().collect::<Vec<_>>(), left_out, "{line}");
    }
    for line in ["-t 2 -i 4 -i 8", "-t 2 -i 6 -i 8 -B"] {
        let jobs = request(line).throughput().unwrap();
        let phases = &jobs[0].jobs[0].parameters["phases"];
        assert_eq!(phases, &json!(["mixed"]), "{line}");
    }
}

#[test]
fn children_are_counted_and_have_files() {
    let jobs = request("-l 2 -u 4 -s 12m -+k -+p 50 -w")
        .throughput()
        .unwrap();
    let counts: Vec<u32> = jobs.iter().map(|many| many.children).collect();
    assert_eq!(counts, [2, 3, 4]);
    let last = &jobs[2].jobs[0].parameters;
    assert_eq!(
        (&last["file"], &last["mixed_readers"]),
        (&json!(3 << 20), &json!(2))
    );
    assert!(last.contains_key("keep") && !jobs[0].jobs[0].parameters.contains_key("keep"));
    let named = request("-t 2 -F /mnt/a /mnt/b").throughput().unwrap();
    assert_eq!(named[0].jobs[0].parameters["names"], json!(["a", "b"]));
    assert_eq!(named[0].jobs[0].target, wire::Target::directory("/mnt"));
}

#[test]
fn phases_follow_the_numbers_of_tests() {
    let names = |line: &str| {
        let jobs = request(line).throughput().unwrap();
        jobs[0].jobs[0].parameters["phases"].clone()
    };
    assert_eq!(
        names("-t 1 -i 0 -i 2"),
        json!(["write", "rewrite", "random-read", "random-write"])
    );
    assert_eq!(names("-t 1 -i 1 -+n"), json!(["read"]));
}

#[test]
fn mapped_files_have_six_tests_and_are_synced_in_one_way() {
    let of = |line: &str| {
        let all = single(line);
        ["backend", "msync", "tests"].map(|name| all.get(name).cloned().unwrap_or_default())
    };
    let tests = json!([
        "write",
        "read",
        "random",
        "backward",
        "record-rewrite",
        "stride"
    ]);
    assert_eq!(of("-B"), [json!("mmap"), Value::Null, tests]);
    assert_eq!(of("-D -B -i 0")[..2], [json!("mmap"), json!("async")]);
    assert_eq!(of("-G -i 0")[..2], [json!("mmap"), json!("sync")]);
    let jobs = request("-B -t 1").throughput().unwrap();
    let phases = jobs[0].jobs[0].parameters["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 11, "all but those of C streams");
    for line in ["-B -i 6", "-B -i 9 -E", "-B -E", "-B -I"] {
        assert!(request(line).single().is_err(), "{line}");
    }
    assert!(request("-t 2 -B -i 7").throughput().is_err());
}

#[test]
fn queues_have_a_depth_and_records_are_moved_in_one_way() {
    let of = |line: &str| {
        let all = single(line);
        ["backend", "depth", "copies"].map(|name| all[name].clone())
    };
    assert_eq!(of("-H 8"), [json!("libaio"), json!(8), json!(true)]);
    assert_eq!(of("-k 0 -I"), [json!("libaio"), json!(1), json!(false)]);
    for (line, option) in [
        ("-D -G", "-G"),
        ("-H 2 -k 2", "-k"),
        ("-k 2 -B", "-B"),
        ("-G -H 2", "-H"),
    ] {
        let both = Request::read(line.split(' ').map(OsString::from).collect());
        assert_eq!(
            both.unwrap_err().parameter.as_deref(),
            Some(option),
            "{line}"
        );
    }
}

#[test]
fn what_has_no_meaning_together_is_refused_by_name() {
    for (line, option) in [
        ("-t 2 -a", "-a"),
        ("-t 2 -f x", "-f"),
        ("-t 2 -N", "-N"),
        ("-t 2 -i 4", "-i 4"),
        ("-t 2 -s 1m -s 2m", "-s"),
        ("-t 2 -F a", "-F"),
        ("-t 2 -F /x/a /y/b", "-F"),
        ("-l 3 -u 1", "-u"),
    ] {
        let failure = request(line).throughput().err().unwrap();
        assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
    }
    assert!(request("-F a").single().is_err());
}

#[test]
fn direct_children_have_a_job_of_their_own_for_streams() {
    let jobs = request("-t 2 -I -s 64k -i 0 -i 6 -i 7")
        .throughput()
        .unwrap();
    let parts: Vec<_> = jobs[0].jobs.iter().map(|job| &job.parameters).collect();
    let of = |name: &str| -> Vec<_> { parts.iter().map(|part| part.get(name).cloned()).collect() };
    let phases = [json!(["write", "rewrite"]), json!(["fwrite", "fread"])];
    assert_eq!(of("phases"), phases.map(Some));
    assert_eq!(of("access"), [json!("direct"), json!("as-found")].map(Some));
    assert_eq!(of("existing"), [None, Some(json!("take_over"))]);
    assert_eq!(of("keep"), [Some(json!(true)), None]);
    assert!(jobs[0].has_streams_apart);
    let kept = request("-t 2 -I -w -i 7").throughput().unwrap();
    let [only] = &kept[0].jobs[..] else {
        panic!("one run of streams is one job");
    };
    assert_eq!(only.parameters["keep"], json!(true));
    assert!(!only.parameters.contains_key("existing"));
    assert_eq!(request("-t 2").throughput().unwrap()[0].jobs.len(), 1);
}
