use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::*;

/// What is in flight, and what each wait for one of it gives.
fn reap_with(results: &[Result<(), i32>]) -> usize {
    let mut calls = 0;
    let mut in_flight = results.iter().filter(|result| result.is_ok()).count();
    let mut queue = (&mut in_flight, &mut calls);
    reap_all(
        &mut queue,
        |queue| *queue.0,
        |queue| {
            let result = results[*queue.1];
            *queue.1 += 1;
            result.map_err(io::Error::from_raw_os_error)?;
            *queue.0 -= 1;
            Ok(())
        },
    );
    assert_eq!(in_flight, 0);
    calls
}

#[test]
fn what_is_refused_for_a_moment_is_asked_again() {
    assert_eq!(reap_with(&[]), 0);
    let momentary = [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ENOMEM].map(Err);
    let results = [&[Ok(())], &momentary[..], &[Ok(())]].concat();
    assert_eq!(reap_with(&results), 6);
}

/// In a separate process, which it ends.
#[test]
fn the_process_ends_before_memory_that_may_be_written_is_freed() {
    const INSIDE: &str = "TILTYARD_TEST_REAPS_IN_VAIN";
    const NAME: &str =
        "backend::queue::tests::the_process_ends_before_memory_that_may_be_written_is_freed";
    if env::var_os(INSIDE).is_some() {
        reap_with(&[Err(libc::EBADF), Ok(())]);
        return;
    }
    let test = env::current_exe().unwrap();
    let output = Command::new(test)
        .args(["--exact", NAME, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{words}");
    assert!(words.contains("transfers in flight"), "{words}");
}
