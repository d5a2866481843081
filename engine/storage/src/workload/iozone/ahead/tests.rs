//! With several records under way, the order is that of one at a time.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use kit::pattern::Stride;
use kit::{Content, OperationProbe, PassProbe, Probe};
use rustix::fs::{Mode, OFlags};

use super::super::conduct::Plain;
use super::super::locks::Range;
use super::super::pattern::{Groups, Work};
use super::*;
use crate::backend::queue::refusals;
use crate::backend::{Backend, File, Sync};
use crate::workload::watch::Alone;

const RECORD_BYTES: usize = 4_096;
const RECORDS: u64 = 40;
const DEPTH: u32 = 7;
const MOTIONS: [Motion; 7] = [
    Motion::SequentialWrite,
    Motion::SequentialRead,
    Motion::RandomRead,
    Motion::RandomWrite,
    Motion::BackwardRead,
    Motion::RecordRewrite,
    Motion::StrideRead,
];

/// The plain conduct, with a note of which record was begun and which one ended.
struct Noted<'a> {
    plain: Plain<'a>,
    notes: Vec<(char, u64)>,
}

impl<F: File> Conduct<F> for Noted<'_> {
    fn think(&mut self) -> bool {
        false
    }

    fn thought_ns(&self) -> u64 {
        0
    }

    fn before(&mut self, _: &mut F, range: Range) -> io::Result<()> {
        self.notes.push(('b', range.offset / RECORD_BYTES as u64));
        Ok(())
    }

    fn after(&mut self, _: &mut F, range: Range) -> io::Result<()> {
        self.notes.push(('e', range.offset / RECORD_BYTES as u64));
        Ok(())
    }

    fn jitter(&mut self, _: &mut F, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn outgoing<'b>(&'b self, index: u64, spare: &'b mut [u8]) -> &'b [u8] {
        Conduct::<F>::outgoing(&self.plain, index, spare)
    }

    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize> {
        Conduct::<F>::check(&self.plain, index, found)
    }
}

struct Notes {
    begun: Vec<u64>,
    ended: Vec<u64>,
    /// Most records under way at once.
    deepest: usize,
    next: u64,
    checksum: u64,
}

/// Executes `motion` from step `first` on, on a file of its own.
fn executed<B: Backend<File: Driven>>(backend: &B, motion: Motion, first: u64) -> Notes {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let content = Content::random(RECORD_BYTES).unwrap();
    let laid_out: Vec<u8> = (0..RECORDS)
        .flat_map(|index| content.record(index))
        .copied()
        .collect();
    std::fs::write(&path, laid_out).unwrap();
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut file = backend.open(&path, OFlags::RDWR, Mode::empty()).unwrap();
    let order = kit::pattern::random(RECORDS);
    let plain = Plain {
        content: &content,
        verify: true,
    };
    let mut conduct = Noted {
        plain,
        notes: Vec::new(),
    };
    let mut probe = OperationProbe::new();
    probe.start();
    let mut mover = Mover {
        file: &mut file,
        watch: &mut Alone(&mut probe),
        conduct: &mut conduct,
        work: Work {
            records: RECORDS,
            record_bytes: RECORD_BYTES,
            first,
            order: &order,
            stride: Stride::new(RECORDS, 17),
            groups: Groups::default(),
        },
        buffer: &mut [0; (DEPTH as usize + 1) * RECORD_BYTES],
        checksum: 0,
    };
    let next = B::File::along(motion).drive(&mut mover).unwrap();
    let checksum = mover.checksum;
    assert_eq!(probe.finish().operations, RECORDS - first);
    file.close().unwrap();
    let of = |what: char| {
        let notes = conduct.notes.iter().filter(|note| note.0 == what);
        notes.map(|note| note.1).collect::<Vec<_>>()
    };
    let mut under_way = 0_usize;
    let depths = conduct.notes.iter().map(|note| {
        under_way = if note.0 == 'b' {
            under_way + 1
        } else {
            under_way - 1
        };
        under_way
    });
    let deepest = depths.max().unwrap_or(0);
    Notes {
        begun: of('b'),
        ended: of('e'),
        deepest,
        next,
        checksum,
    }
}

#[test]
fn records_come_in_the_order_of_one_at_a_time() {
    for copies in [false, true] {
        let queueing = Queueing::new(DEPTH, copies, 1).unwrap();
        for motion in MOTIONS {
            let alone = executed(&Sync, motion, 0);
            let ahead = executed(&queueing, motion, 0);
            assert_eq!(ahead.begun, alone.begun, "{motion:?}");
            assert_eq!(ahead.ended, alone.ended, "{motion:?}");
            assert_eq!(ahead.checksum, alone.checksum, "{motion:?}");
            assert_eq!((alone.deepest, ahead.deepest), (1, DEPTH as usize));
            assert_eq!(ahead.next, RECORDS);
        }
    }
}

#[test]
fn a_pass_that_is_completed_begins_where_it_stopped() {
    let queueing = Queueing::new(DEPTH, false, 1).unwrap();
    for motion in [Motion::SequentialWrite, Motion::RandomWrite] {
        let rest = executed(&queueing, motion, RECORDS - 3);
        assert_eq!(
            rest.begun[..],
            executed(&Sync, motion, 0).begun[RECORDS as usize - 3..]
        );
        assert_eq!(rest.deepest, 3);
    }
}

/// The fault is told when its record is waited for, and nothing stays under way.
#[test]
fn a_record_that_is_missing_or_wrong_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let content = Content::random(RECORD_BYTES).unwrap();
    for (size_bytes, is_short) in [(10 * RECORD_BYTES + 100, true), (40 * RECORD_BYTES, false)] {
        std::fs::write(&path, vec![0; size_bytes]).unwrap();
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let queueing = Queueing::new(DEPTH, false, 1).unwrap();
        let mut file = queueing.open(&name, OFlags::RDONLY, Mode::empty()).unwrap();
        let mut probe = PassProbe::new();
        probe.start();
        let mut mover = Mover {
            file: &mut file,
            watch: &mut Alone(&mut probe),
            conduct: &mut Plain {
                content: &content,
                verify: !is_short,
            },
            work: Work {
                records: RECORDS,
                record_bytes: RECORD_BYTES,
                first: 0,
                order: &[],
                stride: Stride::new(RECORDS, 17),
                groups: Groups::default(),
            },
            buffer: &mut [0; (DEPTH as usize + 1) * RECORD_BYTES],
            checksum: 0,
        };
        let fault = QueuedFile::along(Motion::SequentialRead)
            .drive(&mut mover)
            .unwrap_err();
        let is_expected = match fault {
            Fault::Short {
                record: 10,
                moved: 100,
            } => is_short,
            Fault::Differs { record: 0, page: 0 } => !is_short,
            _ => false,
        };
        assert!(is_expected, "{fault:?}");
    }
}

/// A wait that fails leaves records under way. They are waited for although that is refused for a
/// moment: the kernel would write to a buffer that was given back, and their completions be taken
/// for those of the next records.
#[test]
fn what_a_failed_wait_left_under_way_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, [1; 2 * RECORD_BYTES]).unwrap();
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    let queueing = Queueing::new(2, false, 1).unwrap();
    let mut file = queueing.open(&name, OFlags::RDONLY, Mode::empty()).unwrap();
    let mut buffer = [0; RECORD_BYTES];
    let mut begin = |file: &mut QueuedFile, record: u64| {
        let offset = record * RECORD_BYTES as u64;
        // SAFETY: the buffer lives to the end, and is not looked at.
        unsafe { file.begin_read(0, Slot::begun(record, 0), &mut buffer, offset) };
    };
    begin(&mut file, 0);
    refusals::arm(&[libc::EIO, libc::EAGAIN, libc::EBUSY]);
    let error = file.wait_for(0).moved.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    file.drain();
    assert_eq!(refusals::left(), 0);
    let behind_the_end = 2;
    begin(&mut file, behind_the_end);
    assert_eq!(file.wait_for(0).moved.unwrap(), 0);
    file.close().unwrap();
}
