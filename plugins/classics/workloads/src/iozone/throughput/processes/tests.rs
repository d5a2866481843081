//! What a team of processes promises, without any I/O.

use super::*;

/// Each process counts as many operations of its own size as its state says.
fn count(operations: &mut u64, worker: &mut WorkerProcess) -> Result<Part, Failure> {
    worker.start()?;
    let bytes = 1 + u64::from(worker.index);
    for _ in 0..*operations {
        if !worker.goes_on() {
            break;
        }
        worker.operation(bytes);
    }
    worker.stop();
    Ok(Part {
        checksum: 7 * bytes,
        ..Part::default()
    })
}

#[test]
fn the_processes_add_up_to_the_team() {
    let outcome = execute(&mut [100, 200, 300], Finish::Everyone, count).unwrap();
    let reading = &outcome.reading;
    assert_eq!((reading.operations, reading.bytes), (600, 1_400));
    let shares = outcome.shares.iter();
    let each: Vec<_> = shares
        .map(|share| (share.reading.operations, share.value.checksum))
        .collect();
    assert_eq!(each, [(100, 7), (200, 14), (300, 21)]);
    for share in &outcome.shares {
        assert!(share.begun_ns <= share.reading.elapsed_ns);
        assert!(share.reading.elapsed_ns <= reading.elapsed_ns);
    }
}

#[test]
fn the_first_to_be_done_stops_the_others() {
    let endless = |operations: &mut u64, worker: &mut WorkerProcess| {
        worker.start()?;
        while worker.operations < *operations && worker.goes_on() {
            worker.operation(1);
        }
        worker.stop();
        Ok(Part::default())
    };
    let outcome = execute(&mut [u64::MAX, 1_000], Finish::Stonewall, endless).unwrap();
    assert_eq!(outcome.shares[1].reading.operations, 1_000);
    assert!(outcome.first_done_ns <= outcome.reading.elapsed_ns);
}

#[test]
fn the_failure_of_one_ends_all_and_is_told() {
    let work = |fails: &mut bool, worker: &mut WorkerProcess| {
        if *fails {
            return Err(failure(FailureKind::NoSpace, "no space is left"));
        }
        worker.start()?;
        Ok(Part::default())
    };
    let failed = execute(&mut [false, true, false], Finish::Everyone, work).unwrap_err();
    assert_eq!(failed.kind, FailureKind::NoSpace);
    assert_eq!(failed.message, "no space is left");
}

#[test]
fn a_process_that_dies_leaves_nobody_waiting() {
    let work = |dies: &mut bool, worker: &mut WorkerProcess| {
        if *dies {
            // SAFETY: ends this process, without a result.
            unsafe { libc::_exit(9) };
        }
        worker.start()?;
        Ok(Part::default())
    };
    let failed = execute(&mut [false, true], Finish::Everyone, work).unwrap_err();
    assert_eq!(failed.kind, FailureKind::Internal);
    assert!(failed.message.contains("exit status 9"), "{failed:?}");
}
