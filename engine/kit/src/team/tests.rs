//! What a team promises, without any I/O.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use wire::ConditionsWanted;

use super::*;
use crate::place::Place;
use crate::{OperationProbe, PassProbe};

/// Each member counts as many operations of its own size as its state says.
fn count<P: Probe>(operations: &mut u64, member: &mut Member<P>) -> Result<u64, Failure> {
    member.start()?;
    let bytes = 1 + member.index as u64;
    for _ in 0..*operations {
        if !member.goes_on() {
            break;
        }
        member.probe.operation(bytes);
    }
    Ok(bytes)
}

fn assert_adds_up(outcome: &Outcome<u64>) {
    let reading = &outcome.reading;
    assert_eq!((reading.operations, reading.bytes), (600, 1_400));
    let slices: u64 = reading.slices.iter().map(|slice| slice.operations).sum();
    assert_eq!(slices, 600);
    let of_members: Vec<_> = outcome.shares.iter().map(|share| &share.reading).collect();
    let each: Vec<_> = of_members.iter().map(|r| (r.operations, r.bytes)).collect();
    assert_eq!(each, [(100, 100), (200, 400), (300, 900)]);
    let dones_ns = || of_members.iter().map(|reading| reading.elapsed_ns);
    assert_eq!(dones_ns().max(), Some(reading.elapsed_ns));
    assert_eq!(dones_ns().min(), Some(outcome.first_done_ns.max(1)));
    for share in &outcome.shares {
        assert!(share.begun_ns <= share.reading.elapsed_ns);
    }
}

#[test]
fn the_members_add_up_to_the_team() {
    let mut workers = [100, 200, 300];
    let pass = execute(&mut workers, Finish::Everyone, PassProbe::new, count).unwrap();
    assert_adds_up(&pass);
    assert!(pass.reading.latency.is_none());
    let fine = execute(&mut workers, Finish::Everyone, OperationProbe::new, count).unwrap();
    assert_adds_up(&fine);
    assert_eq!(fine.reading.latency.unwrap().count, 600);
}

#[test]
fn nobody_starts_before_all_are_here() {
    let here = AtomicUsize::new(0);
    let work = |late_ms: &mut u64, member: &mut Member<PassProbe>| {
        std::thread::sleep(Duration::from_millis(*late_ms));
        here.fetch_add(1, Ordering::SeqCst);
        let came_ns = clock::now_ns();
        member.start()?;
        assert_eq!(here.load(Ordering::SeqCst), 3);
        Ok(came_ns)
    };
    let outcome = execute(&mut [0, 100, 5], Finish::Everyone, PassProbe::new, work).unwrap();
    let came_ns = outcome.shares.iter().map(|share| share.value).max();
    let since_then_ns = clock::now_ns() - came_ns.unwrap();
    assert!(
        outcome.reading.elapsed_ns <= since_then_ns,
        "waiting was timed"
    );
}

#[test]
fn a_stonewall_ends_the_work_of_the_others() {
    let work = |operations: &mut u64, member: &mut Member<PassProbe>| {
        count(operations, member)?;
        member.done();
        Ok(())
    };
    let mut workers = [10, u64::MAX];
    let outcome = execute(&mut workers, Finish::Stonewall, PassProbe::new, work).unwrap();
    let [first, second] = &outcome.shares[..] else {
        panic!("two members")
    };
    assert!(first.reading.operations <= 10 && second.reading.operations < u64::MAX);
    assert!(outcome.first_done_ns <= outcome.reading.elapsed_ns);
}

#[test]
fn what_follows_done_is_not_timed() {
    let work = |_: &mut (), member: &mut Member<PassProbe>| {
        member.start()?;
        member.done();
        let done_ns = clock::now_ns();
        std::thread::sleep(Duration::from_millis(100));
        Ok(done_ns)
    };
    let began_ns = clock::now_ns();
    let outcome = execute(&mut [()], Finish::Everyone, PassProbe::new, work).unwrap();
    assert!(outcome.reading.elapsed_ns <= outcome.shares[0].value - began_ns);
}

/// One member fails, before the gate or behind it; the others neither wait nor work for ever.
#[test]
fn the_first_failure_ends_the_team() {
    for starts in [false, true] {
        let work = |fails: &mut bool, member: &mut Member<PassProbe>| {
            if *fails && !starts {
                return Err(failure(FailureKind::NoSpace, "full"));
            }
            member.start()?;
            if *fails {
                return Err(failure(FailureKind::NoSpace, "full"));
            }
            while member.goes_on() {
                std::thread::yield_now();
            }
            Ok(())
        };
        let mut workers = [false, true, false];
        let outcome = execute(&mut workers, Finish::Everyone, PassProbe::new, work);
        let failure = outcome.unwrap_err();
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (FailureKind::NoSpace, "full")
        );
    }
}

#[test]
fn a_member_that_never_starts_is_a_defect() {
    let work = |starts: &mut bool, member: &mut Member<PassProbe>| {
        if *starts {
            member.start()?;
        }
        Ok(())
    };
    let failure = execute(&mut [true, false], Finish::Everyone, PassProbe::new, work).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Internal);
}

#[test]
#[should_panic(expected = "a defect of its own")]
fn a_panic_reaches_the_caller() {
    let work = |panics: &mut bool, member: &mut Member<PassProbe>| {
        assert!(!*panics, "a defect of its own");
        member.start()
    };
    let _ = execute(&mut [false, true], Finish::Everyone, PassProbe::new, work);
}

/// In a separate thread, since pinning lasts as long as the thread.
#[test]
fn members_are_pinned_in_turn_to_what_was_granted() {
    let check = || {
        let place = Place::take(&ConditionsWanted::default(), 3).unwrap();
        let granted = &place.granted.cpus;
        let work = |_: &mut (), member: &mut Member<PassProbe>| {
            member.start()?;
            let set = rustix::thread::sched_getaffinity(None).unwrap();
            let allowed = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
            Ok(allowed.map(|cpu| cpu as u32).collect::<Vec<_>>())
        };
        let outcome = execute(&mut [(); 3], Finish::Everyone, PassProbe::new, work).unwrap();
        for (index, share) in outcome.shares.iter().enumerate() {
            assert_eq!(share.value, [granted[index % granted.len()]]);
        }
    };
    std::thread::spawn(check).join().unwrap();
}

#[test]
fn time_ends_what_has_no_other_end() {
    let count_on = |_: &mut (), member: &mut Member<PassProbe>| {
        member.start()?;
        while member.goes_on() {
            member.probe.operation(1);
        }
        Ok(())
    };
    let time = Duration::from_millis(30);
    let outcome = execute(&mut [(), ()], Finish::After(time), PassProbe::new, count_on).unwrap();
    assert!(outcome.reading.elapsed_ns >= 30_000_000);
    assert!(outcome.first_done_ns >= 30_000_000);
}

#[test]
fn nobody_waits_for_the_time_when_all_are_done_or_one_has_failed() {
    let began = std::time::Instant::now();
    let long = Finish::After(Duration::from_secs(3_600));
    execute(&mut [1], long, PassProbe::new, count).unwrap();
    let fail = |_: &mut u64, _: &mut Member<PassProbe>| -> Result<(), Failure> {
        Err(failure(FailureKind::Io, "broken"))
    };
    assert!(execute(&mut [1, 2], long, PassProbe::new, fail).is_err());
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_is_to_be_said_when_all_are_ready_is_said_before_the_gate_opens() {
    let (prepared, said_at_ns) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let ready = || {
        assert_eq!(prepared.load(Ordering::SeqCst), 3);
        said_at_ns.store(clock::now_ns() as usize, Ordering::SeqCst);
        Ok(())
    };
    let work = |_: &mut (), member: &mut Member<PassProbe>| {
        prepared.fetch_add(1, Ordering::SeqCst);
        member.start()?;
        Ok(member.opened_ns())
    };
    let workers = &mut [(); 3];
    let outcome =
        execute_when_ready(workers, Finish::Everyone, PassProbe::new, &ready, work).unwrap();
    let said_at_ns = said_at_ns.load(Ordering::SeqCst) as u64;
    assert!(outcome.shares.iter().all(|share| share.value >= said_at_ns));
}

#[test]
fn a_gate_that_may_not_open_lets_nobody_pass() {
    let ready = || Err(failure(FailureKind::Far, "nobody listens"));
    let work = |_: &mut (), member: &mut Member<PassProbe>| -> Result<(), Failure> {
        member.start()?;
        panic!("passed")
    };
    let workers = &mut [(); 2];
    let after = Finish::After(Duration::from_secs(60));
    let result = execute_when_ready(workers, after, PassProbe::new, &ready, work);
    assert_eq!(result.unwrap_err().message, "nobody listens");
}
