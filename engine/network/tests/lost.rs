//! Datagrams that do not come: a server of the test's own loses some, and answers others late or
//! twice.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use kit::team::{self, Finish, Outcome};
use kit::{OperationProbe, PassProbe, Probe};
use network::control::message::Exchange;
use network::control::message::Limit;
use network::flow::exchange::{request, Rate, Requests, LOST};
use network::flow::{Flow, Notes};
use network::socket::Transport;
use socket2::Socket;

const BYTES: usize = 8;

/// Longer than an answer takes on a machine that stands still for seconds.
const LOST_AFTER: Duration = Duration::from_secs(5);

/// A flow, and the socket at its other end.
fn pair() -> (Flow, UdpSocket) {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    (Flow::new(0, Socket::from(near)), far)
}

/// Answers requests in its own way until one is empty; tells how many it heard.
fn heard(far: &UdpSocket, mut answer: impl FnMut(u64, &[u8])) -> u64 {
    let mut message = [0; BYTES];
    let mut count = 0;
    while far.recv(&mut message).unwrap() > 0 {
        answer(count, &message);
        count += 1;
    }
    count
}

fn requests(transactions: u64) -> Requests {
    Requests {
        exchange: Exchange {
            request: BYTES as u64,
            response: BYTES as u64,
        },
        burst: 0,
        limit: Limit::Operations(transactions),
        rate: None,
        lost_after: Some(LOST_AFTER),
    }
}

/// The client against a server that answers in its own way.
fn exchange<P: Probe + Default + Send>(
    part: &Requests,
    answer: impl FnMut(&UdpSocket, u64, &[u8]) + Send,
) -> (Outcome<Notes>, u64) {
    let (flow, far) = pair();
    let mut answer = answer;
    thread::scope(|scope| {
        let far = scope.spawn(move || heard(&far, |count, words| answer(&far, count, words)));
        let work = |flow: &mut Flow, member: &mut team::Member<P>| {
            request(part, Transport::Udp, std::slice::from_ref(flow), member)
        };
        let mut workers = [flow];
        let outcome = team::execute(&mut workers, Finish::Everyone, P::default, work).unwrap();
        (outcome, far.join().unwrap())
    })
}

fn lost(outcome: &Outcome<Notes>) -> u64 {
    outcome.shares[0].value[LOST]
}

#[test]
fn one_lost_transaction_is_counted_and_the_next_goes_on() {
    let (outcome, heard) = exchange::<PassProbe>(&requests(6), |far, count, words| {
        if count != 1 {
            far.send(words).unwrap();
        }
    });
    assert_eq!(
        (outcome.reading.operations, lost(&outcome), heard),
        (5, 1, 6)
    );
}

#[test]
fn with_a_burst_only_the_lost_one_waits() {
    let part = Requests {
        burst: 3,
        ..requests(1_000)
    };
    let (outcome, heard) = exchange::<OperationProbe>(&part, |far, count, words| {
        if count != 5 {
            far.send(words).unwrap();
        }
    });
    assert_eq!(
        (outcome.reading.operations, lost(&outcome), heard),
        (999, 1, 1_000)
    );
    // The others neither waited for it nor count its wait as theirs.
    assert!(outcome.reading.latency.unwrap().max < LOST_AFTER.as_nanos() as u64);
}

#[test]
fn what_comes_late_or_twice_or_is_none_of_ours_counts_for_nothing() {
    let mut late = None;
    let (outcome, heard) =
        exchange::<OperationProbe>(&requests(8), |far, count, words| match count {
            2 => late = Some(words.to_vec()),
            3 => {
                far.send(late.as_deref().unwrap()).unwrap();
                far.send(&words[1..]).unwrap();
                far.send(&[words, b"more"].concat()).unwrap();
                far.send(words).unwrap();
                far.send(words).unwrap();
            }
            _ => {
                far.send(words).unwrap();
            }
        });
    assert_eq!(
        (outcome.reading.operations, lost(&outcome), heard),
        (7, 1, 8)
    );
}

#[test]
fn at_a_pace_losses_hold_up_nothing() {
    let part = Requests {
        rate: Some(Rate {
            per_s: 1_000.0,
            flows: 1,
        }),
        ..requests(100)
    };
    // Responses come in the wrong order, and every tenth not at all.
    let mut held: Option<Vec<u8>> = None;
    let (outcome, heard) =
        exchange::<OperationProbe>(&part, |far, count, words| match (count % 10, held.take()) {
            (3, _) => {}
            (4, _) => held = Some(words.to_vec()),
            (_, Some(before)) => {
                far.send(words).unwrap();
                far.send(&before).unwrap();
            }
            (_, None) => {
                far.send(words).unwrap();
            }
        });
    assert_eq!(
        (outcome.reading.operations, lost(&outcome), heard),
        (90, 10, 100)
    );
    assert!(outcome.reading.elapsed_ns >= 100_000_000);
}
