use std::os::fd::AsFd;

use kit::Buffer;

use super::queue::refusals;
use super::*;

const WORD_BYTES: usize = 4;

fn transfer(is_write: bool, memory: &[u8], number: usize) -> Transfer {
    Transfer {
        is_write,
        start: memory[number * WORD_BYTES..].as_ptr(),
        size_bytes: WORD_BYTES as u32,
        offset: (number * WORD_BYTES) as u64,
        tag: number as u64,
    }
}

/// Tags and bytes moved of all that was queued.
fn ended(ring: &mut Uring, count: usize) -> Vec<(u64, usize)> {
    let mut ended = Vec::new();
    while ended.len() < count {
        ring.exchange(1).unwrap();
        while let Some(completion) = ring.completion() {
            ended.push((completion.tag, completion.moved().unwrap()));
        }
    }
    ended.sort_unstable();
    ended
}

fn round_trip(forget: fn(&mut Uring, RawFd)) {
    let file = tempfile::tempfile().unwrap();
    let (found, mut written) = (Buffer::new(16).unwrap(), Buffer::new(12).unwrap());
    written.copy_from_slice(b"one two six ");
    let mut ring = Uring::setup(file.as_fd(), [&found, &written], 4).unwrap();
    forget(&mut ring, file.as_raw_fd());
    for number in 0..3 {
        // SAFETY: both buffers live to the end, and are not touched before.
        unsafe { ring.push(transfer(true, &written, number)) };
    }
    // Handed over already: the exchange has only to wait.
    ring.submit().unwrap();
    assert_eq!(ring.queued, 0);
    assert_eq!(ended(&mut ring, 3), [(0, 4), (1, 4), (2, 4)]);
    for number in 0..4 {
        // SAFETY: as above.
        unsafe { ring.push(transfer(false, &found, number)) };
    }
    let behind_the_end = (3, 0);
    let moved = [(0, 4), (1, 4), (2, 4), behind_the_end];
    assert_eq!(ended(&mut ring, 4), moved);
    assert_eq!(&found[..12], b"one two six ");
}

#[test]
fn what_a_batch_wrote_a_batch_reads_back() {
    round_trip(|_, _| {});
}

/// As on a host that grants nothing.
#[test]
fn nothing_needs_to_be_registered() {
    round_trip(|ring, file| {
        ring.has_buffers = false;
        (ring.file, ring.entry_flags) = (file, Flags::empty());
        ring.entrance = ring.ring.as_raw_fd();
        ring.by_number = EnterFlags::empty();
    });
}

fn drop_in_flight(last_words: fn(&mut Uring, &Buffer)) {
    let (reader, writer) = std::io::pipe().unwrap();
    let (found, written) = (Buffer::new(8).unwrap(), Buffer::new(4).unwrap());
    let mut ring = Uring::setup(reader.as_fd(), [&found, &written], 2).unwrap();
    // SAFETY: the buffers live to the end.
    unsafe { ring.push(transfer(false, &found, 0)) };
    ring.exchange(0).unwrap();
    assert!(ring.completion().is_none(), "an empty pipe");
    last_words(&mut ring, &found);
    let written = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::io::Write::write_all(&mut { writer }, b"word more").unwrap();
    });
    drop(ring);
    assert_eq!(&found[..], b"word\0\0\0\0");
    written.join().unwrap();
}

#[test]
fn a_ring_that_is_dropped_has_waited() {
    drop_in_flight(|_, _| {});
}

#[test]
fn a_ring_waits_on_when_waiting_is_refused_for_a_moment() {
    drop_in_flight(|_, _| refusals::arm(&[libc::EAGAIN, libc::EBUSY, libc::EINTR]));
    assert_eq!(refusals::left(), 0);
}

/// What could not be handed over is not waited for, and does not keep what was from being so.
#[test]
fn a_ring_waits_for_what_was_taken_when_the_rest_is_refused() {
    drop_in_flight(|ring, found| {
        // SAFETY: the buffers live to the end.
        unsafe { ring.push(transfer(false, found, 1)) };
        refusals::arm(&[libc::EIO]);
        assert_eq!(
            ring.exchange(1).unwrap_err().raw_os_error(),
            Some(libc::EIO)
        );
    });
}

#[test]
fn what_a_host_lacks_is_said() {
    for (code, word) in [
        (libc::ENOSYS, "seccomp"),
        (libc::EPERM, "kernel.io_uring_disabled"),
        (libc::ENOMEM, "ulimit"),
    ] {
        let lacking = Uring::lacks(&io::Error::from_raw_os_error(code)).unwrap();
        assert!(lacking.contains(word), "{lacking}");
    }
    assert!(Uring::lacks(&io::Error::from_raw_os_error(libc::EINVAL)).is_none());
}
