use kit::histogram::Histogram;
use netperf::client::Outcome;

use super::*;
use crate::netperf::figures::Figures;
use crate::netperf::request::Request;
use crate::netperf::specimen::{ends, exchange, request, stream, with_cpu};

/// What `selectors` are printed as for `line`, when `outcome` came of it.
fn printed(line: &str, selectors: &str, outcome: Outcome) -> String {
    let mut request = request(line);
    request.output.brand = Some("a brand".to_owned());
    of_request(&request, selectors, outcome)
}

fn of_request(request: &Request, selectors: &str, mut outcome: Outcome) -> String {
    let selection = Selection::read(selectors, &request.test).ok().unwrap();
    let mut latencies = Histogram::new();
    if let Some(kept) = outcome.latencies.take() {
        latencies.merge(&kept);
    }
    let figures = Figures::of(
        request.test.kind,
        request.test.burst,
        request.unit(),
        &outcome,
    );
    let ends = ends();
    let report = Report::of(request, &ends, &[figures], &latencies, outcome);
    print(&report, &selection)
}

fn wrong(selectors: &str) -> String {
    let test = request("").test;
    let failure = Selection::read(selectors, &test).err().unwrap();
    failure.message
}

#[test]
fn there_are_173_with_a_name_each() {
    let mut names: Vec<&str> = BLOCKS
        .iter()
        .flat_map(|block| block.iter().map(|selector| selector.name))
        .collect();
    assert_eq!(names.len(), 173);
    assert!(self::names(Mode::Csv).starts_with("SOCKET_TYPE,PROTOCOL,"));
    assert_eq!(self::names(Mode::Human).lines().count(), 173);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 173);
    for selector in BLOCKS.iter().flat_map(|block| block.iter()) {
        assert!(
            selector.heading.split('|').count() <= 4,
            "{}",
            selector.name
        );
    }
}

#[test]
fn a_line_of_headings_and_one_of_values() {
    let selectors = "throughput,THROUGHPUT_UNITS,min_latency;CONFIDENCE_ITERATION,RESULT_BRAND";
    let line = "-t TCP_RR -- -o";
    assert_eq!(
        printed(line, selectors, exchange(20_790)),
        "Throughput,Throughput Units,Minimum Latency Microseconds,Confidence Iterations Run,\
         Result Tag\n20790.00,Trans/s,,1,\"a brand\"\n"
    );
    let line = "-P 0 -t TCP_RR -- -o";
    assert_eq!(
        printed(line, selectors, exchange(20_790)),
        "20790.00,Trans/s,,1,\"a brand\"\n"
    );
}

#[test]
fn a_name_before_each_value() {
    let selectors = "elapsed_time,rt_latency p99_latency,local_socket_tos";
    assert_eq!(
        printed("-t UDP_RR -- -b 1 -k", selectors, exchange(20_000)),
        "ELAPSED_TIME=1.00\nRT_LATENCY=100.000\nLOCAL_SOCKET_TOS=0xffffffff\n"
    );
}

#[test]
fn columns_as_wide_as_their_widest_cell() {
    let table = printed("-- -O", "", stream(1_000, 16_384));
    // The original makes room for the end of the line in a column of values.
    let expected = "\
Local       Remote      Local  Elapsed Throughput Throughput  |
Send Socket Recv Socket Send   Time               Units       |
Size        Size        Size   (sec)                          |
Final       Final                                             |
4194304     376021      16384  1.00    131.07     10^6bits/s  |
"
    .replace('|', "");
    assert_eq!(table, expected);
    let blocks = printed(
        "-t TCP_RR -P 0 -- -O",
        "throughput;rt_latency",
        exchange(64_433),
    );
    assert_eq!(blocks, "64433.00   \n\n15.520    \n");
}

#[test]
fn durations_are_told_in_microseconds() {
    let mut outcome = exchange(3);
    let mut latencies = Histogram::new();
    for duration_ns in [37_900, 42_000, 90_100] {
        latencies.record(duration_ns);
    }
    outcome.latencies = Some(latencies);
    let selectors = "MIN_LATENCY,P50_LATENCY,MAX_LATENCY,MEAN_LATENCY";
    let printed = |selectors| printed("-t TCP_RR -P 0 -- -o", selectors, outcome.clone());
    assert_eq!(printed(selectors), "37,42,90,56.67\n");
    // Of 37.9, 42.0 and 90.1, to within the width of a bucket.
    let deviation: f64 = printed("STDDEV_LATENCY").trim().parse().unwrap();
    assert!((deviation - 29.03).abs() < 0.5, "{deviation}");
}

#[test]
fn use_of_cpus_is_told_when_it_was_measured() {
    let selectors = "LOCAL_CPU_UTIL,LOCAL_CPU_METHOD,LOCAL_SD,LOCAL_CPU_COUNT,REMOTE_CPU_UTIL,\
                     REMOTE_CPU_METHOD,REMOTE_SD,REMOTE_CPU_PERCENT_SYSTEM,SD_UNITS";
    let loaded = with_cpu(exchange(10_000), 0.25, 0.5);
    assert_eq!(
        printed("-t TCP_RR -P 0 -c -C -- -o", selectors, loaded),
        "25.00,S,50.000,2,50.00,S,100.000,25.00,usec/Tran\n"
    );
    assert_eq!(
        printed("-P 0 -- -o", selectors, stream(10, 1024)),
        "-1.00,U,-1.000,0,-1.00,U,-1.000,0.00,usec/KB\n"
    );
}

#[test]
fn all_come_in_four_blocks() {
    let mut request = request("-t TCP_CRR -- -O");
    request.output.command = "netperf -t TCP_CRR".to_owned();
    let table = of_request(&request, "all", exchange(1));
    assert_eq!(table.split("\n\n").count(), 4);
    assert!(table.trim_end().ends_with("\"netperf -t TCP_CRR\""));
    let keyval = self::request("-t TCP_CRR -- -k");
    let lines = of_request(&keyval, "ALL", exchange(1));
    // All but the brand, the UUID and seven durations.
    assert_eq!(lines.lines().count(), 164);
    assert!(lines.contains("\nDIRECTION=Connect|Send|Recv\n"));
    assert!(lines.contains("\nDEST_FAMILY=2\n"));
}

#[test]
fn a_file_has_a_block_in_each_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "THROUGHPUT,\nELAPSED_TIME\n").unwrap();
    let name = file.path().to_str().unwrap();
    let table = printed("-P 0 -- -O", name, stream(1_000, 16_384));
    assert_eq!(table.split("\n\n").count(), 2);
}

#[test]
fn durations_are_kept_for_those_who_choose_them() {
    let chooses = |text: &str| {
        let test = request("-t TCP_RR").test;
        Selection::read(text, &test).ok().unwrap().has_latencies()
    };
    assert!(chooses("THROUGHPUT,P99_LATENCY") && chooses("all"));
    assert!(!chooses("RT_LATENCY") && !chooses(""));
}

#[test]
fn what_is_not_there_is_named() {
    assert!(wrong("THROUGHPUT,P999_LATENCY").starts_with("\"P999_LATENCY\" is neither a selector"));
    assert!(wrong("no/such/file").contains("? lists them"));
    assert!(wrong("UUID;UUID;UUID;UUID;UUID").starts_with("5 blocks"));
}
