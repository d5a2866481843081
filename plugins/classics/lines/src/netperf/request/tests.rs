use std::time::Duration;

use netperf::client::{Burst, End};

use super::*;
use crate::netperf::confidence::Level;

fn read(line: &str) -> Result<Request, Failure> {
    Request::read(line.split_whitespace().map(OsString::from).collect())
}

fn request(line: &str) -> Request {
    read(line).unwrap_or_else(|failure| panic!("{line}: {}", failure.message))
}

#[test]
fn a_line_that_says_nothing_is_ten_seconds_of_tcp_stream() {
    let nothing = request("");
    assert_eq!(
        nothing.test,
        Test::new(Kind::TcpStream, Extent::Seconds(10))
    );
    assert_eq!(nothing.control.port, 12_865);
    assert_eq!(nothing.unit(), Unit::MEGABITS);
    assert_eq!((nothing.goal, nothing.output.headers), (None, true));
}

#[test]
fn both_sides_of_the_dashes_have_letters_of_their_own() {
    let request = request("-t tcp_rr -b 4,5 -D 0.2 -s 2 -- -b 7 -D -s 64K,8k -S ,1M -r 100,200");
    let test = request.test;
    assert_eq!(test.kind, Kind::TcpRr);
    let every = Duration::from_millis(1);
    let burst = |operations| Some(Burst { operations, every });
    assert_eq!((test.local.pace, test.remote.pace), (burst(4), burst(5)));
    assert_eq!((test.burst, test.no_delay), (7, true));
    assert_eq!(test.interim, Some(Duration::from_millis(200)));
    assert_eq!(test.wait, Duration::from_secs(2));
    assert_eq!(test.local.send_buffer, Some(65_536));
    assert_eq!(test.local.receive_buffer, Some(8_000));
    assert_eq!(test.remote.send_buffer, None);
    assert_eq!(test.remote.receive_buffer, Some(1 << 20));
    assert_eq!((test.request_size, test.response_size), (100, 200));
}

/// As in the original: 10 ms between what number of sends?
#[test]
fn an_interval_alone_paces_nothing() {
    let paces = |line| {
        let request = request(line);
        let pace = |end: &End| {
            end.pace
                .map(|pace| (pace.operations, pace.every.as_micros()))
        };
        let paces = [pace(&request.test.local), pace(&request.test.remote)];
        (paces, request.remarks.len())
    };
    assert_eq!(paces("-w 10"), ([None, None], 1));
    assert_eq!(paces("-b 3 -w ,5ms"), ([Some((3, 1_000)), None], 1));
    assert_eq!(paces("-w 10ms -b ,2"), ([None, Some((2, 1_000))], 1));
    assert_eq!(paces("-w 10 -b 3"), ([Some((3, 10_000)), None], 0));
    assert_eq!(paces("-b 0"), ([None, None], 0));
}

#[test]
fn a_length_is_seconds_or_a_count() {
    let extent = |line| request(line).test.extent;
    assert_eq!(extent("-l 120"), Extent::Seconds(120));
    assert_eq!(extent("-l 10s"), Extent::Seconds(10));
    assert_eq!(extent("-l -10G"), Extent::Count(10 << 30));
    assert_eq!(extent("-l 0"), Extent::Endless);
}

#[test]
fn the_goal_of_repetitions_is_read_in_any_order() {
    let goal = |line| request(line).goal.unwrap();
    for line in ["-i 30,3 -I 99,5", "-I 99,5 -i 30,3"] {
        let goal = goal(line);
        assert_eq!((goal.level, goal.width), (Level::Percent99, 0.05));
        assert_eq!((goal.most, goal.fewest), (30, 3));
    }
    // The most are raised to the fewest, and both stay in their limits.
    assert_eq!((goal("-i 3,10").most, goal("-i 3,10").fewest), (10, 10));
    assert_eq!((goal("-i 99,1").most, goal("-i 99,1").fewest), (30, 3));
    assert_eq!(
        goal("-I 95"),
        Goal {
            level: Level::Percent95,
            ..Goal::default()
        }
    );
    assert_eq!(goal("-I 95,2.5 -r").width, 0.025);
    assert!(goal("-r -i 5").result_only);
}

#[test]
fn sizes_of_the_far_end_stand_where_the_original_has_them() {
    let test = request("-t TCP_MAERTS -- -m 4096,8192 -M 100,200").test;
    assert_eq!(
        (test.local.send.size, test.remote.send.size),
        (Some(4096), Some(8192))
    );
    assert_eq!(
        (test.remote.receive.size, test.local.receive.size),
        (Some(100), Some(200))
    );
    let test = request("-- -m 0 -M 0").test;
    assert_eq!(
        (test.local.send.size, test.remote.receive.size),
        (None, None)
    );
    let test = request("-c -C 50 -T 1,0 -W 3 -a 4096 -A ,64 -o 8").test;
    assert!(test.local.measure_cpu && test.remote.measure_cpu);
    assert_eq!((test.local.send.align, test.remote.send.align), (4096, 8));
    assert_eq!(
        (test.remote.receive.align, test.local.receive.offset),
        (64, 8)
    );
    assert_eq!(
        (test.remote.cpu, test.remote.send.width),
        (Some(0), Some(3))
    );
}

#[test]
fn only_streams_of_datagrams_stay_on_the_link_unless_told_otherwise() {
    for (line, routing) in [
        ("-t UDP_STREAM", false),
        ("-t UDP_STREAM -- -R 1", true),
        ("-t UDP_RR", true),
        ("-t TCP_STREAM -- -R 0", false),
        ("-t OMNI -- -T udp -m 100", false),
    ] {
        assert_eq!(request(line).test.routing, routing, "{line}");
    }
}

#[test]
fn an_omni_test_is_what_its_options_make_of_it() {
    let kind = |line: &str| request(&format!("-t omni -- {line}")).test.kind;
    assert_eq!(kind(""), Kind::TcpStream);
    assert_eq!(kind("-m ,100"), Kind::TcpMaerts);
    assert_eq!(kind("-d recv -T udp"), Kind::UdpMaerts);
    assert_eq!(kind("-r 1"), Kind::TcpRr);
    assert_eq!(kind("-d send|recv -t dgram"), Kind::UdpRr);
    assert_eq!(kind("-c"), Kind::TcpCc);
    assert_eq!(kind("-c -d 6"), Kind::TcpCrr);
    assert!(read("-t omni -- -c -T udp").is_err());
}

#[test]
fn units_follow_the_test() {
    let name = |line| request(line).unit().name();
    assert_eq!(name("-t TCP_RR"), "Trans");
    assert_eq!(name("-t TCP_RR -f k"), "10^3bits");
    assert_eq!(name("-t TCP_STREAM -f x"), "10^6bits");
    assert_eq!(name("-t TCP_CC -f m"), "Trans");
    assert_eq!(name("-t omni -- -d rr"), "Trans");
}

#[test]
fn families_and_ports_of_both_connections() {
    let line =
        "-H host,6 -L ::1 -p 22865,1234 -Z word -t UDP_STREAM -- -H 10.0.0.2,inet -P 5001,5002";
    let request = request(line);
    assert_eq!(request.control.remote.name.as_deref(), Some("host"));
    assert_eq!(request.control.remote.family, Family::V6);
    assert_eq!(
        (request.control.port, request.control.local_port),
        (22_865, 1234)
    );
    assert_eq!(request.remote_data.family, Family::V4);
    assert_eq!(
        (request.test.local.port, request.test.remote.port),
        (5001, 5002)
    );
    let v6 = self::request("-4 -6 -- -4");
    assert_eq!(
        (v6.control.local.family, v6.local_data.family),
        (Family::V6, Family::V4)
    );
}

#[test]
fn the_lines_of_those_who_use_it_are_understood() {
    for line in [
        "-P0 -l 1 -H 127.0.0.1 -t TCP_STREAM -B text -- -m 4096",
        "-P 0 -v 0 -D -0.20 -4 -Y af11,af11 -H h -p 12865 -t UDP_RR -l 10 -F /dev/urandom -f m \
         -- -e 2 -H h -k THROUGHPUT,LOCAL_CONG_CONTROL",
        "-p 20000 -j -v2 -t TCP_CRR -H 10.0.0.2 -l 60 -I 99,5 -- -P ,20001 -o \
         THROUGHPUT,P50_LATENCY,CONFIDENCE_ITERATION",
        "-t UDP_STREAM -i 3,3 -I 95,5 -f k -D 1 -H h -- -m 1024 -M 1024",
        "-t TCP_RR -c -C -l 30 -- -r 1,1 -k rt_latency,p99_latency,throughput,throughput_units",
    ] {
        request(line);
    }
}

#[test]
fn what_is_wrong_names_the_option() {
    for (line, words) in [
        ("-q", "\"-q\" is not an option here"),
        (
            "-N",
            "option -N is left out here: without a control connection",
        ),
        ("-t TCP_STRAEM", "Did you mean \"TCP_STREAM\"?"),
        (
            "-t SCTP_RR",
            "option -t: SCTP_RR is left out here: only TCP and UDP",
        ),
        ("-t TCP_MSS", "-o TRANSPORT_MSS"),
        ("-l ten", "option -l: \"ten\" is not a number"),
        ("-I 90", "option -I: \"90\" is not a level; use 95 or 99"),
        ("-f z", "option -f: \"z\" is not a unit"),
        ("-a 3", "option -a: 3 is not a power of two"),
        ("-D 0", "option -D: \"0\" is not a number above zero"),
        ("-w 3h", "option -w: \"3h\" is not a time"),
        (
            "--release 2.5",
            "option --release: \"2.5\" is not a release that differs",
        ),
        ("-H h,7", "option -H: \"7\" is not a family"),
        ("word", "\"word\" belongs to no option"),
        ("-- -Q", "behind --: \"-Q\" is not an option here"),
        ("-- -V", "behind --: option -V is left out here"),
        ("-- -d rr", "behind --: option -d: only -t OMNI takes it"),
        ("-- -r 1", "behind --: option -r: a stream has no requests"),
        (
            "-- -H h/24",
            "behind --: option -H: addresses are not made up",
        ),
        ("-- -K a_name_that_is_too_long", "behind --: option -K: "),
    ] {
        let failure = read(line).unwrap_err();
        assert!(
            failure.message.contains(words),
            "{line}: {}",
            failure.message
        );
    }
}

#[test]
fn what_has_no_effect_is_said() {
    assert_eq!(request("-k 1 -d").remarks.len(), 2);
    assert!(request("-n 4 -c 100 -C").remarks.is_empty());
}
