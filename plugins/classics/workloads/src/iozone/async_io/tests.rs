//! With several records in flight, the order is that of one at a time.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use kit::pattern::Stride;
use kit::{Content, OperationProbe, PassProbe, Probe};

use super::super::pattern::Groups;
use super::*;
use storage::backend::queue::refusals;
use storage::io::watch::Alone;
use storage::io::{Check, NoHooks};

const RECORD_BYTES: usize = 4_096;
const RECORDS: u64 = 40;
const DEPTH: u32 = 7;
const PATTERNS: [Pattern; 7] = [
    Pattern::SequentialWrite,
    Pattern::SequentialRead,
    Pattern::RandomRead,
    Pattern::RandomWrite,
    Pattern::BackwardRead,
    Pattern::RecordRewrite,
    Pattern::StrideRead,
];

/// No hooks but a note of which record was begun and which one ended.
struct Noted<'a> {
    hooks: NoHooks<'a>,
    notes: Vec<(char, u64)>,
}

impl<F: File> RecordHooks<F> for Noted<'_> {
    fn before(&mut self, _: &mut F, range: Range, _: bool) -> io::Result<()> {
        self.notes.push(('b', range.offset / RECORD_BYTES as u64));
        Ok(())
    }

    fn after(&mut self, _: &mut F, range: Range) -> io::Result<()> {
        self.notes.push(('e', range.offset / RECORD_BYTES as u64));
        Ok(())
    }

    fn outgoing<'b>(&'b self, index: u64, spare: &'b mut [u8]) -> &'b [u8] {
        RecordHooks::<F>::outgoing(&self.hooks, index, spare)
    }

    fn check(&self, index: u64, found: &[u8]) -> Result<u64, usize> {
        RecordHooks::<F>::check(&self.hooks, index, found)
    }
}

struct Notes {
    begun: Vec<u64>,
    ended: Vec<u64>,
    /// Most records in flight at once.
    deepest: usize,
    done: u64,
    checksum: u64,
}

/// Executes `pattern` from step `first` on, on a separate file.
fn work(first: u64, order: &[u64]) -> Work<'_> {
    Work {
        records: RECORDS,
        record_bytes: RECORD_BYTES,
        first,
        order,
        stride: Stride::new(RECORDS, 17),
        groups: Groups::default(),
    }
}

fn executed<B: Backend<File: Dispatch>>(backend: &B, pattern: Pattern, first: u64) -> Notes {
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
    let mut hooks = Noted {
        hooks: NoHooks::new(&content, Check::Pages),
        notes: Vec::new(),
    };
    let mut probe = OperationProbe::new();
    probe.start();
    let mut pump = Pump {
        file: &mut file,
        watch: &mut Alone(&mut probe),
        hooks: &mut hooks,
        record_bytes: RECORD_BYTES,
        buffer: &mut [0; (DEPTH as usize + 1) * RECORD_BYTES],
        times_seeks: true,
        checksum: 0,
    };
    let done = B::File::drive(&mut pump, pattern, work(first, &order)).unwrap();
    let checksum = pump.checksum;
    assert_eq!(probe.finish().operations, RECORDS - first);
    file.close().unwrap();
    let of = |what: char| {
        let notes = hooks.notes.iter().filter(|note| note.0 == what);
        notes.map(|note| note.1).collect::<Vec<_>>()
    };
    let mut under_way = 0_usize;
    let depths = hooks.notes.iter().map(|note| {
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
        done,
        checksum,
    }
}

#[test]
fn records_come_in_the_order_of_one_at_a_time() {
    for copies in [false, true] {
        let queueing = AsyncIo::new(DEPTH, copies, 1).unwrap();
        for pattern in PATTERNS {
            let alone = executed(&Sync, pattern, 0);
            let ahead = executed(&queueing, pattern, 0);
            assert_eq!(ahead.begun, alone.begun, "{pattern:?}");
            assert_eq!(ahead.ended, alone.ended, "{pattern:?}");
            assert_eq!(ahead.checksum, alone.checksum, "{pattern:?}");
            assert_eq!((alone.deepest, ahead.deepest), (1, DEPTH as usize));
            assert_eq!(ahead.done, RECORDS);
        }
    }
}

#[test]
fn a_pass_that_is_completed_begins_where_it_stopped() {
    let queueing = AsyncIo::new(DEPTH, false, 1).unwrap();
    for pattern in [Pattern::SequentialWrite, Pattern::RandomWrite] {
        let rest = executed(&queueing, pattern, RECORDS - 3);
        assert_eq!(
            rest.begun[..],
            executed(&Sync, pattern, 0).begun[RECORDS as usize - 3..]
        );
        assert_eq!(rest.deepest, 3);
    }
}

/// The fault is reported when its record is waited for, and nothing stays in flight.
#[test]
fn a_record_that_is_missing_or_wrong_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let content = Content::random(RECORD_BYTES).unwrap();
    for (size_bytes, is_short) in [(10 * RECORD_BYTES + 100, true), (40 * RECORD_BYTES, false)] {
        std::fs::write(&path, vec![0; size_bytes]).unwrap();
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let queueing = AsyncIo::new(DEPTH, false, 1).unwrap();
        let mut file = queueing.open(&name, OFlags::RDONLY, Mode::empty()).unwrap();
        let mut probe = PassProbe::new();
        probe.start();
        let check = Check::pages_if(!is_short, Check::Nothing);
        let mut pump = Pump {
            file: &mut file,
            watch: &mut Alone(&mut probe),
            hooks: &mut NoHooks::new(&content, check),
            record_bytes: RECORD_BYTES,
            buffer: &mut [0; (DEPTH as usize + 1) * RECORD_BYTES],
            times_seeks: true,
            checksum: 0,
        };
        let fault = AsyncFile::drive(&mut pump, Pattern::SequentialRead, work(0, &[])).unwrap_err();
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

/// A wait that fails leaves records in flight. They are waited for although that is refused for a
/// moment: the kernel would write to a buffer that was given back, and their completions be taken
/// for those of the next records.
#[test]
fn what_a_failed_wait_left_in_flight_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, [1; 2 * RECORD_BYTES]).unwrap();
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    let queueing = AsyncIo::new(2, false, 1).unwrap();
    let mut file = queueing.open(&name, OFlags::RDONLY, Mode::empty()).unwrap();
    let content = Content::random(RECORD_BYTES).unwrap();
    let mut read = |first| {
        let mut probe = PassProbe::new();
        probe.start();
        let mut pump = Pump {
            file: &mut file,
            watch: &mut Alone(&mut probe),
            hooks: &mut NoHooks::new(&content, Check::Nothing),
            record_bytes: RECORD_BYTES,
            buffer: &mut [0; 2 * RECORD_BYTES],
            times_seeks: true,
            checksum: 0,
        };
        AsyncFile::drive(&mut pump, Pattern::SequentialRead, work(first, &[])).unwrap_err()
    };
    refusals::arm(&[libc::EIO, libc::EAGAIN, libc::EBUSY]);
    let Fault::Io { record: 0, error } = read(0) else {
        panic!("the wait was refused");
    };
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    assert_eq!(refusals::left(), 0);
    let behind_the_end = read(2);
    assert!(
        matches!(
            behind_the_end,
            Fault::Short {
                record: 2,
                moved: 0
            }
        ),
        "{behind_the_end:?}"
    );
}
