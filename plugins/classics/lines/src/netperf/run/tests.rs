use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use engine::tool::Host;
use kit::failure::failure;
use netperf::client::Interim;
use wire::{Event, FailureKind, Job};

use super::*;
use crate::common::Common;
use crate::netperf::specimen::{exchange, request, stream};

/// A host that keeps what is printed.
#[derive(Default)]
struct Prepared {
    printed: String,
}

/// A netserver that plays what is written down, and keeps what it was asked.
struct Player {
    outcomes: Rc<RefCell<VecDeque<Outcome>>>,
    asked: Rc<RefCell<Vec<Test>>>,
}

impl Netserver for Player {
    fn run(
        &mut self,
        test: &Test,
        _: Option<u32>,
        observer: &mut dyn FnMut(Interim),
    ) -> Result<Outcome, Failure> {
        self.asked.borrow_mut().push(test.clone());
        if let Some(every) = test.interim {
            observer(Interim {
                units: 1_000,
                elapsed_s: every.as_secs_f64(),
                end: UNIX_EPOCH + Duration::from_secs(1_000_000_000),
            });
        }
        let outcome = self.outcomes.borrow_mut().pop_front();
        outcome.ok_or_else(|| failure(FailureKind::Far, "the play is over"))
    }
}

impl Host for Prepared {
    fn print(&mut self, text: &str) {
        self.printed += text;
    }

    fn remark(&mut self, _: &str) {}

    fn record(&mut self, _: &Event) {}

    fn execute(
        &mut self,
        _: &Job,
        _: bool,
        _: &mut dyn FnMut(&mut dyn Host, &Event),
    ) -> Result<(), Failure> {
        Err(failure(FailureKind::Internal, "netperf has no jobs"))
    }

    fn stay(&mut self, _: bool) -> Result<bool, Failure> {
        Err(failure(FailureKind::Internal, "netperf serves nobody"))
    }
}

/// What is printed for `line` while `outcomes` come in, and what was asked for them.
fn play(line: &str, outcomes: Vec<Outcome>) -> (String, Vec<Test>) {
    let outcomes = Rc::new(RefCell::new(VecDeque::from(outcomes)));
    let asked = Rc::new(RefCell::new(Vec::new()));
    let mut prepared = Prepared::default();
    let mut bench = Bench::new(&mut prepared, Common::default()).calling(|site| {
        assert_eq!(site.remote.to_string(), "127.0.0.1:12865");
        Ok(Box::new(Player {
            outcomes: Rc::clone(&outcomes),
            asked: Rc::clone(&asked),
        }))
    });
    run(request(&format!("-H 127.0.0.1 {line}")), &mut bench).unwrap();
    drop(bench);
    (prepared.printed, asked.take())
}

fn rates(rates: &[u64]) -> Vec<Outcome> {
    rates.iter().map(|&rate| exchange(rate)).collect()
}

#[test]
fn a_banner_then_a_table() {
    let (printed, asked) = play("-l 3", vec![stream(100, 16_384)]);
    assert!(printed.starts_with(
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 \
         AF_INET : histogram : interval : demo\nRecv   Send "
    ));
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].latencies);
    let (printed, _) = play("-P 0 -v 0 -t TCP_RR", rates(&[5]));
    assert_eq!(printed, "   5.00 \n");
}

#[test]
fn a_goal_that_is_reached_ends_the_repetitions() {
    let line = "-P 0 -t TCP_RR -i 30,3 -I 95,5 -- -o THROUGHPUT,CONFIDENCE_ITERATION,\
                THROUGHPUT_CONFID";
    let (printed, _) = play(line, rates(&[1_000, 1_000, 1_000, 1]));
    assert_eq!(printed, "1000.00,3,0.000\n");
    // 2·t(95 %, 3)·√(s²/4)/mean of 1000, 1000, 1000, 1010: 0.795 % wide.
    let line = line.replace("-i 30,3", "-i 30,4");
    let (printed, _) = play(&line, rates(&[1_000, 1_000, 1_000, 1_010]));
    assert_eq!(printed, "1002.50,4,1.587\n");
}

#[test]
fn a_goal_that_is_missed_is_warned_of_after_the_last_repetition() {
    let outcomes = rates(&[1_000, 2_000, 1_000, 2_000, 1_000]);
    let (printed, asked) = play("-P 0 -t TCP_RR -i 5,3 -I 99,2", outcomes);
    assert_eq!(asked.len(), 5);
    assert_eq!(
        printed,
        "!!! WARNING\n\
         !!! Desired confidence was not achieved within the specified iterations.\n\
         !!! This implies that there was variability in the test environment that\n\
         !!! must be investigated before going further.\n\
         !!! Confidence intervals: Throughput      : 161.106%\n\
         !!!                       Local CPU util  : 0.000%\n\
         !!!                       Remote CPU util : 0.000%\n\n\
         16384  131072 1        1       1.00     1400.00   \n\
         16384  131072\n"
    );
}

#[test]
fn a_stop_ends_the_repetitions_and_what_was_found_is_printed() {
    let mut stopped = exchange(10);
    stopped.was_stopped = true;
    let (printed, asked) = play("-P 0 -v 0 -t TCP_RR -i 9,9", vec![exchange(20), stopped]);
    assert_eq!(asked.len(), 2);
    assert!(printed.ends_with("  15.00 \n"), "{printed}");
}

#[test]
fn interim_results_are_counted_through_all_repetitions() {
    let line = "-P 0 -t TCP_RR -D 0.5 -i 3,3 -- -k THROUGHPUT";
    let (printed, _) = play(line, rates(&[7, 7, 7]));
    let interim = "NETPERF_INTERIM_RESULT[2]=2000.00\nNETPERF_UNITS[2]=Trans/s\n\
                   NETPERF_INTERVAL[2]=0.500\nNETPERF_ENDING[2]=1000000000.000\nTHROUGHPUT=7.00\n";
    assert!(printed.ends_with(interim), "{printed}");
    // As bytes, a transaction is its request and its response.
    let (printed, _) = play("-P 0 -v 0 -t TCP_RR -f k -D 1 -- -r 100,25", rates(&[7]));
    assert!(printed.starts_with("Interim result: 1000.00 10^3bits/s over 1.000 seconds"));
}

#[test]
fn durations_are_kept_when_they_are_to_be_shown() {
    for (line, kept) in [
        ("-t TCP_RR", false),
        ("-t TCP_RR -j", true),
        ("-t TCP_RR -v 2", true),
        ("-t TCP_RR -- -o P99_LATENCY", true),
        ("-t TCP_RR -- -o RT_LATENCY", false),
    ] {
        let (_, asked) = play(line, rates(&[1]));
        assert_eq!(asked[0].latencies, kept, "{line}");
    }
}

#[test]
fn what_is_special_stands_in_the_banner() {
    let line = "-t TCP_RR -T 1,0 -i 3 -r -- -D -b 4";
    let banner = |line: &str, outcomes| {
        let (printed, _) = play(line, outcomes);
        printed.lines().next().unwrap_or_default().to_owned()
    };
    assert!(banner(line, rates(&[1, 1, 1])).ends_with(
        "AF_INET : +/-2.500% @ 99% conf.  on result only : nodelay : histogram : interval : demo \
         : first burst 4 : cpu bind"
    ));
    let omni = banner("-t OMNI -- -d recv", vec![stream(1, 1)]);
    assert!(omni.starts_with("OMNI Receive TEST from 0.0.0.0"), "{omni}");
}
