use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;

use super::*;

/// Hangs in read(2) until the alarm gets it out.
fn hang(alarm: &Alarm) -> u32 {
    let (local, _remote) = UnixStream::pair().unwrap();
    let mut interrupted = 0;
    // It may have rung before this thread came so far: it goes on until the loop has ended.
    loop {
        let read = rustix::io::read(&local, &mut [0]);
        assert_eq!(read, Err(rustix::io::Errno::INTR));
        interrupted += 1;
        if alarm.rang() {
            return interrupted;
        }
    }
}

#[test]
fn rings_in_time_and_ends_a_call_that_hangs() {
    let settings = Settings {
        at: Some(Duration::from_millis(30)),
        ..Settings::default()
    };
    let start_ns = clock::now_ns();
    let (interrupted, ending) = under(settings, hang).unwrap();
    assert!(clock::now_ns() - start_ns >= 30_000_000);
    assert!(interrupted >= 1);
    assert_eq!(ending.cause, Some(AbortReason::TimeUp));
}

#[test]
fn rings_when_the_other_end_vanishes() {
    let (control, other) = UnixStream::pair().unwrap();
    let settings = Settings {
        control: Some(control.as_fd()),
        ..Settings::default()
    };
    drop(other);
    let (_, ending) = under(settings, hang).unwrap();
    assert_eq!(ending.cause, Some(AbortReason::Vanished));
}

#[test]
fn silence_counts_only_after_a_sign_of_life() {
    let settings = |at_ms| Settings {
        at: Some(Duration::from_millis(at_ms)),
        silence: Some(Silence {
            from: Duration::ZERO,
            lasts: Duration::from_millis(60),
            from_nothing: false,
        }),
        ..Settings::default()
    };
    let (_, ending) = under(settings(150), hang).unwrap();
    assert_eq!(ending.cause, Some(AbortReason::TimeUp));
    let (_, ending) = under(settings(300_000), |alarm| {
        alarm.count(1);
        hang(alarm)
    })
    .unwrap();
    assert_eq!(ending.cause, Some(AbortReason::Silence));
    assert!(ending.last_sign.is_some());
}

#[test]
fn interim_figures_add_up() {
    let (told, mut figures) = (AtomicUsize::new(0), Vec::new());
    let mut observer = |interim: Interim| {
        figures.push(interim);
        told.fetch_add(1, Ordering::Relaxed);
    };
    let settings = Settings {
        interims: Some(Interims {
            every: Duration::from_millis(20),
            observer: &mut observer,
        }),
        ..Settings::default()
    };
    let (done, ending) = under(settings, |alarm| {
        let mut units = 0;
        while told.load(Ordering::Relaxed) < 2 {
            units += 1;
            alarm.count(units);
            thread::sleep(Duration::from_millis(1));
        }
        units
    })
    .unwrap();
    assert_eq!(ending.cause, None);
    // Two on the way, and the rest at the end.
    assert!(figures.len() >= 3, "{figures:?}");
    assert_eq!(figures.iter().map(|figure| figure.units).sum::<u64>(), done);
}
