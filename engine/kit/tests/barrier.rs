//! The barrier in a process of its own: from then on each of its regions is held.

use std::thread;

use kit::{barrier, clock};
use rustix::io::{read, write};
use rustix::pipe::pipe;
use wire::Held;

#[test]
fn a_region_begins_at_the_instant_that_is_told() {
    barrier::begin_ns();
    assert_eq!(barrier::began_ns(), None);
    let (ready, says_ready) = pipe().unwrap();
    let (go, says_go) = pipe().unwrap();
    barrier::hold(Held::Regions, says_ready, go);
    let at_ns = clock::now_ns() + 20_000_000;
    let lab = thread::spawn(move || {
        let mut byte = [0];
        read(&ready, &mut byte).unwrap();
        write(&says_go, &at_ns.to_ne_bytes()).unwrap();
        (ready, says_go)
    });
    let began_ns = barrier::begin_ns();
    let (ready, says_go) = lab.join().unwrap();
    assert!(began_ns >= at_ns, "{began_ns} {at_ns}");
    assert_eq!(barrier::began_ns(), Some(began_ns));
    // Of a region that is met for ahead nobody asks twice, and of the next one again.
    for ahead in [true, false] {
        write(&says_go, &at_ns.to_ne_bytes()).unwrap();
        if ahead {
            barrier::pass_ahead();
        }
        barrier::begin_ns();
        assert_eq!(read(&ready, &mut [0; 2]).unwrap(), 1);
    }
    // What is held at its regions takes no turns.
    barrier::await_turn();
}
