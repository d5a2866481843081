use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kit::team::{self, Finish};
use kit::{Content, PassProbe};

use super::*;
use crate::backend::queue::{Completion, Transfer};
use crate::workload::blocks::{Mix, Sequential};
use testing::scratch_directory;

static DRAINS: AtomicUsize = AtomicUsize::new(0);

/// Takes what it is given, and completes none of it.
struct Broken;

impl Queue for Broken {
    fn setup(_: BorrowedFd, _: [&[u8]; 2], _: u32) -> io::Result<Self> {
        Ok(Self)
    }

    unsafe fn push(&mut self, _: Transfer) {}

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn exchange(&mut self, _: usize) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    fn drain(&mut self) {
        DRAINS.fetch_add(1, Relaxed);
    }

    fn completion(&mut self) -> Option<Completion> {
        None
    }

    fn lacks(_: &io::Error) -> Option<&'static str> {
        None
    }
}

/// The content that the kernel writes from is not the queue's, whose drop would be too late.
#[test]
fn a_queue_that_fails_is_drained_before_its_memory_is_given_back() {
    let directory = scratch_directory();
    let scratch = Scratch::create(&Sync, directory.path().join("file")).unwrap();
    let content = Content::random(4_096).unwrap();
    let work = Work {
        content: &content,
        block_bytes: 4_096,
        depth: 2,
        verify: false,
        pace: None,
        operations: 4,
        runtime_ns: u64::MAX,
    };
    let mut seats = [()];
    let probe = Directed::<PassProbe>::default;
    let outcome = team::execute(&mut seats, Finish::Everyone, probe, |(), member| {
        let mut channel = Queued::<Broken>::open(&scratch, OFlags::RDWR, &work, 0)?;
        member.start()?;
        let steps = Mix::Writes.of_blocks(Sequential::new(4));
        let fault = channel.execute(&work, steps, member);
        assert!(matches!(fault, Err(Fault::Io { .. })));
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(DRAINS.load(Relaxed), 1);
}
