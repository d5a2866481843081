use kit::histogram::Histogram;
use netperf::client::Outcome;

use super::*;
use crate::netperf::figures::Figures;
use crate::netperf::specimen::{ends, exchange, nothing, request, reversed, stream, with_cpu};

/// What is printed for `line` when `outcome` came of it.
fn printed(line: &str, mut outcome: Outcome) -> String {
    let request = request(line);
    let mut latencies = Histogram::new();
    if let Some(kept) = outcome.latencies.take() {
        latencies.merge(&kept);
    }
    let (kind, burst) = (request.test.kind, request.test.burst);
    let figures = Figures::of(kind, burst, request.unit(), &outcome);
    let ends = ends();
    table(&Report::of(
        &request,
        &ends,
        &[figures],
        &latencies,
        outcome,
    ))
}

/// `lines` with bars for the ends of lines that end in blanks.
fn text(lines: &str) -> String {
    lines.replace('|', "")
}

#[test]
fn a_stream() {
    let outcome = || stream(125_270, 16_384);
    let table = "\
Recv   Send    Send                          |
Socket Socket  Message  Elapsed              |
Size   Size    Size     Time     Throughput  |
bytes  bytes   bytes    secs.    10^6bits/sec  |

131072  16384  16384    1.00     16419.39   |
";
    assert_eq!(printed("", outcome()), text(table));
    let received = reversed(outcome());
    assert_eq!(printed("-t TCP_MAERTS", received), text(table));
    let row = text("131072  16384  16384    1.00     1957.34   a brand\n");
    let mut branded = request("-P 0 -f M");
    branded.output.brand = Some("a brand".to_owned());
    assert_eq!(of_request(&branded, outcome()), row);
    assert_eq!(printed("-v 0 -P 0 -f g", outcome()), "  16.42 \n");
}

/// As [`printed`], for a request that cannot be written in words without blanks.
fn of_request(request: &crate::netperf::request::Request, outcome: Outcome) -> String {
    let figures = Figures::of(request.test.kind, 0, request.unit(), &outcome);
    let ends = ends();
    let none = Histogram::new();
    table(&Report::of(request, &ends, &[figures], &none, outcome))
}

#[test]
fn a_stream_with_cpus() {
    let outcome = || with_cpu(stream(125_000, 16_384), 1.0, 0.505);
    let table = "\
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

131072  16384  16384    1.00       16384.00   100.00   50.50    1.000   0.505  |
";
    assert_eq!(printed("-c -C", outcome()), text(table));
    assert_eq!(printed("-c -C -v 0", outcome()), " 1.000 S \n");
    assert_eq!(printed("-C -v 0", outcome()), " 0.505 S \n");
    let mut one_end = outcome();
    one_end.remote.cpu = None;
    let maerts = printed("-t TCP_MAERTS -c", reversed(one_end));
    assert!(maerts.contains("Elapsed              Recv     Send     Recv    Send\n"));
    assert!(maerts.contains("% U      % S      us/KB   us/KB\n\n"));
    assert!(
        maerts.ends_with(" -1.00    100.00   -1.000  1.000  \n"),
        "{maerts}"
    );
}

#[test]
fn more_of_a_stream() {
    let mut outcome = stream(6_104, 16_384);
    outcome.remote.receives = 1_504;
    let all = printed("-v 2", outcome);
    let more = "
Alignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs
Local  Remote  Local  Remote  Xfered   Per                 Per
Send   Recv    Send   Recv             Send (avg)          Recv (avg)
    8       8      0       0 100007936  16384.00      6104   66494.64   1504

Maximum
Segment
Size (bytes)
 65483
";
    assert!(all.ends_with(more), "{all}");
    let received = reversed(stream(6_104, 16_384));
    let all = printed("-t TCP_MAERTS -v 3", received);
    assert!(all.starts_with(
        "\nAlignment      Offset         Bytes    Bytes       Recvs   Bytes    Sends\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         Recv   Send    Recv   Send             Recv (avg)          Send (avg)\n"
    ));
}

#[test]
fn datagrams_have_a_line_for_each_end() {
    let datagrams = || {
        let mut outcome = stream(177_097, 1_472);
        outcome.local.send_buffer.initial = Some(212_992);
        outcome.remote.receive_buffer.initial = Some(212_992);
        outcome.remote.receives = 93_873;
        outcome.remote.received_bytes = 93_873 * 1_472;
        outcome
    };
    let table = "\
Socket  Message  Elapsed      Messages                |
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1472   1.00       177097      0    2085.49
212992           1.00        93873           1105.45

";
    assert_eq!(printed("-t UDP_STREAM", datagrams()), text(table));
    assert_eq!(
        printed("-t UDP_STREAM -v 0 -B brand -P 0", datagrams()),
        "2085.49\n"
    );
    let table = "\
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

212992    1472   1.00       177097      0     2085.5     50.00    3.928 |
212992           1.00        93873            1105.4     25.00    1.964 |

";
    let loaded = with_cpu(datagrams(), 0.5, 0.25);
    assert_eq!(printed("-t UDP_STREAM -c -C", loaded), text(table));
}

#[test]
fn requests_and_responses() {
    let table = "\
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate         |
bytes  Bytes  bytes    bytes   secs.    per sec   |

16384  131072 1        1       1.00     53751.00   |
16384  131072
";
    for test in ["TCP_RR", "UDP_RR"] {
        let printed = printed(&format!("-t {test}"), exchange(53_751));
        assert_eq!(printed, text(table));
    }
    // Without room for a brand there are other blanks at the end.
    for test in ["TCP_CRR", "TCP_CC"] {
        let printed = printed(&format!("-t {test} -B brand -P 0"), exchange(53_751));
        assert_eq!(
            printed.lines().next(),
            Some("16384  131072 1        1       1.00     53751.00   ")
        );
    }
    assert_eq!(
        printed("-t TCP_RR -v 0 -P 0 -B brand", exchange(53_751)),
        "53751.00 brand\n"
    );
    assert_eq!(
        printed("-t TCP_CRR -v 0 -P 0 -B brand", exchange(53_751)),
        "53751.00\n"
    );
    let in_bytes = printed("-t TCP_RR -f k", exchange(65_832));
    assert_eq!(
        in_bytes,
        text(
            "\
Local /Remote
Socket Size   Request  Resp.   Elapsed  |
Send   Recv   Size     Size    Time     Throughput |
bytes  Bytes  bytes    bytes   secs.    10^3bits/sec   |

16384  131072 1        1       1.00     1053.31   |
16384  131072
"
        )
    );
}

#[test]
fn requests_and_responses_with_cpus() {
    let outcome = || with_cpu(exchange(27_328), 0.9899, 0.9899);
    let table = "\
Local /Remote
Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem
Send   Recv   Size    Size   Time    Rate     local  remote local   remote
bytes  bytes  bytes   bytes  secs.   per sec  % S    % S    us/Tr   us/Tr

16384  131072 1       1      1.00    27328.00  98.99  98.99  72.446  72.446 |
16384  131072
";
    assert_eq!(printed("-t TCP_RR -c -C", outcome()), text(table));
    let with_connections = printed("-t TCP_CRR -c -C", outcome());
    assert!(with_connections.contains("per sec  %      %      us/Tr   us/Tr\n\n"));
    assert!(with_connections.contains(" 98.99  98.99  72.446  72.446\n"));
    let in_bytes = printed("-t UDP_RR -c -C -f m", outcome());
    assert!(in_bytes.contains("Elapsed Tput     CPU    CPU    S.dem   S.dem\n"));
    assert!(in_bytes.contains("Time    10^6bits local  remote local   remote\n"));
    assert!(in_bytes.contains("per sec  % S    % S    us/KB   us/KB\n\n"));
}

#[test]
fn more_of_requests_and_responses() {
    let mut outcome = exchange(100);
    outcome.elapsed_s = 0.000_472;
    let more = printed("-t TCP_RR -v 3 -- -b 4", outcome.clone());
    let table = "\
Alignment      Offset         RoundTrip  Trans    Throughput
Local  Remote  Local  Remote  Latency    Rate     10^6bits/s
Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound
    8      8       0      0   23.600   211864.407 1.695     1.695 |
";
    assert_eq!(more, text(table));
    assert_eq!(printed("-t UDP_RR -v 3", outcome.clone()), "");
    let table = "
Alignment      Offset
Local  Remote  Local  Remote
Send   Recv    Send   Recv
    8      8       0      0
";
    assert_eq!(printed("-t TCP_CRR -v 3", outcome), table);
}

#[test]
fn durations_stand_in_decades() {
    let mut outcome = nothing();
    let mut latencies = Histogram::new();
    let us = 1_000;
    for duration_ns in [
        0,
        7 * us,
        10 * us,
        19 * us,
        999 * us,
        1_500 * us,
        12_000_000 * us,
        120_000_000 * us,
    ] {
        latencies.record(duration_ns);
    }
    outcome.latencies = Some(latencies);
    assert_eq!(
        printed("-t UDP_RR -v 3", outcome),
        "
Histogram of request/reponse times.
UNIT_USEC     :    1:    0:    0:    0:    0:    0:    0:    1:    0:    0
TEN_USEC      :    0:    2:    0:    0:    0:    0:    0:    0:    0:    0
HUNDRED_USEC  :    0:    0:    0:    0:    0:    0:    0:    0:    0:    1
UNIT_MSEC     :    0:    1:    0:    0:    0:    0:    0:    0:    0:    0
TEN_MSEC      :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
HUNDRED_MSEC  :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
UNIT_SEC      :    0:    0:    0:    0:    0:    0:    0:    0:    0:    0
TEN_SEC       :    0:    1:    0:    0:    0:    0:    0:    0:    0:    0
>100_SECS: 1
HIST_TOTAL:      8
"
    );
}
