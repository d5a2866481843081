use kit::content::Filling;
use kit::{Content, PassProbe, Probe, Size};
use wire::AccessKind;

use super::super::hooks::FullHooks;
use super::super::locks::Hold;
use super::super::options::{Fill, Locks};
use super::super::params::Params;
use super::*;
use storage::io::watch::Alone;
use storage::io::{Check, NoHooks, Range};

mod allocation;

const RECORD_BYTES: usize = 4_096;

/// A file in memory that notes what is asked of it.
#[derive(Default)]
struct Notebook {
    content: Vec<u8>,
    position: usize,
    notes: Vec<String>,
    /// Byte to flip in whatever is read.
    flipped: Option<usize>,
    /// Size at which the file system is full.
    full_at: Option<usize>,
}

impl File for Notebook {
    fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
        self.notes
            .push(format!("r{}", self.position / RECORD_BYTES));
        record.copy_from_slice(&self.content[self.position..][..record.len()]);
        self.position += record.len();
        if let Some(at) = self.flipped {
            record[at] ^= 1;
        }
        Ok(record.len())
    }

    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let room = self.full_at.map_or(usize::MAX, |full| full - self.position);
        if room == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let moved = record.len().min(room);
        self.notes
            .push(format!("w{}", self.position / RECORD_BYTES));
        let end = self.position + moved;
        self.content.resize(self.content.len().max(end), 0);
        self.content[self.position..end].copy_from_slice(&record[..moved]);
        self.position = end;
        Ok(moved)
    }

    fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        let (base, offset) = match to {
            SeekFrom::Start(offset) => (0, offset as i64),
            SeekFrom::Current(offset) => (self.position as i64, offset),
            SeekFrom::End(offset) => (self.content.len() as i64, offset),
        };
        let to = usize::try_from(base + offset);
        self.notes
            .push(to.map_or("s!".into(), |to| format!("s{}", to / RECORD_BYTES)));
        self.position = to.map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(())
    }

    fn resize(&mut self, size_bytes: u64) -> io::Result<()> {
        self.content.resize(size_bytes as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self) -> io::Result<()> {
        Ok(())
    }
}

impl Positioned for Notebook {
    fn read_at(&mut self, record: &mut [u8], offset: u64) -> io::Result<usize> {
        self.position = offset as usize;
        self.read(record)
    }

    fn write_at(&mut self, record: &[u8], offset: u64) -> io::Result<usize> {
        self.position = offset as usize;
        self.write(record)
    }
}

impl Lock for Notebook {
    fn lock(&mut self, hold: Hold, range: Range) -> io::Result<()> {
        let record = range.offset as usize / RECORD_BYTES;
        self.notes.push(format!("{hold:?}{record}"));
        Ok(())
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        let record = range.offset as usize / RECORD_BYTES;
        self.notes.push(format!("free{record}"));
        Ok(())
    }
}

any_pattern!(Notebook);

const GROUP: usize = 3;

/// Does a pass, and gives its checksum.
fn pass<H: RecordHooks<Notebook>>(
    pattern: Pattern,
    file: &mut Notebook,
    work: Work,
    hooks: &mut H,
) -> Result<u64, Fault> {
    let mut probe = PassProbe::new();
    probe.start();
    let mut pump = Pump {
        file,
        watch: &mut Alone(&mut probe),
        hooks,
        record_bytes: RECORD_BYTES,
        buffer: &mut [0; GROUP * RECORD_BYTES],
        times_seeks: true,
        checksum: 0,
    };
    Notebook::drive(&mut pump, pattern, work)?;
    Ok(pump.checksum)
}

fn executed(pattern: Pattern, file: &mut Notebook, records: u64) -> Result<u64, Fault> {
    let content = Content::random(RECORD_BYTES).unwrap();
    let mut hooks = NoHooks::new(&content, Check::Pages);
    let (order, groups) = orders(records);
    pass(pattern, file, work(records, &order, &groups), &mut hooks)
}

fn orders(records: u64) -> (Vec<u64>, Vec<u64>) {
    let groups = records.div_ceil(GROUP as u64);
    (kit::pattern::random(records), kit::pattern::random(groups))
}

fn work<'a>(records: u64, order: &'a [u64], groups: &'a [u64]) -> Work<'a> {
    Work {
        records,
        record_bytes: RECORD_BYTES,
        first: 0,
        order,
        stride: Stride::new(records, 17),
        groups: Groups {
            order: groups,
            length: GROUP as u64,
        },
    }
}

fn written(records: u64) -> Notebook {
    let mut file = Notebook::default();
    executed(Pattern::SequentialWrite, &mut file, records).unwrap();
    file.position = 0;
    file.notes.clear();
    file
}

#[test]
fn each_pattern_makes_the_calls_of_the_original() {
    for (pattern, calls) in [
        (Pattern::SequentialWrite, "w0 w1 w2 w3"),
        (Pattern::SequentialRead, "r0 r1 r2 r3"),
        (Pattern::RandomRead, "s1 r1 s2 r2 s0 r0 s3 r3"),
        (Pattern::RandomWrite, "s1 w1 s2 w2 s0 w0 s3 w3"),
        (Pattern::BackwardRead, "s3 r3 s2 r2 s1 r1 s0 r0 s!"),
        (Pattern::RecordRewrite, "w0 s0 w0 s0 w0 s0 w0 s0"),
        (Pattern::StrideRead, "r0 s0 r0 s0 r0 s0 r0 s0"),
    ] {
        let mut file = written(4);
        executed(pattern, &mut file, 4).unwrap();
        assert_eq!(file.notes.join(" "), calls, "{pattern:?}");
    }
}

#[test]
fn what_any_pattern_wrote_every_pattern_reads_back() {
    let mut file = written(40);
    for pattern in [
        Pattern::RandomWrite,
        Pattern::RecordRewrite,
        Pattern::BackwardRead,
        Pattern::StrideRead,
        Pattern::RandomRead,
    ] {
        file.position = 0;
        let checksum = executed(pattern, &mut file, 40).unwrap();
        assert_eq!(checksum != 0, pattern.is_read(), "{pattern:?}");
    }
}

#[test]
fn a_flipped_byte_is_found() {
    let mut file = written(4);
    file.flipped = Some(7);
    let fault = executed(Pattern::RandomRead, &mut file, 4).unwrap_err();
    assert!(matches!(fault, Fault::Differs { record: 1, page: 0 }));
}

#[test]
fn a_write_cut_short_by_a_full_file_system_says_so() {
    let mut file = Notebook {
        full_at: Some(2 * RECORD_BYTES + 100),
        ..Notebook::default()
    };
    let fault = executed(Pattern::SequentialWrite, &mut file, 4).unwrap_err();
    let Fault::Io { record: 2, error } = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn positional_calls_visit_every_record_and_groups_come_in_random_order() {
    for (pattern, calls) in [
        (
            Pattern::PositionalWrite,
            "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10",
        ),
        (Pattern::PositionalRead, "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"),
        (Pattern::VectorWrite, "w3 w4 w5 w6 w7 w8 w0 w1 w2 w9 w10"),
        (Pattern::VectorRead, "r3 r4 r5 r6 r7 r8 r0 r1 r2 r9 r10"),
    ] {
        let mut file = written(11);
        let checksum = executed(pattern, &mut file, 11).unwrap();
        assert_eq!(file.notes.join(" "), calls, "{pattern:?}");
        assert_eq!(checksum != 0, pattern.is_read(), "{pattern:?}");
    }
}

#[test]
fn a_group_cut_short_by_a_full_file_system_says_so() {
    let mut file = Notebook {
        content: vec![0; 9 * RECORD_BYTES],
        full_at: Some(4 * RECORD_BYTES + 100),
        ..Notebook::default()
    };
    let fault = executed(Pattern::VectorWrite, &mut file, 9).unwrap_err();
    let Fault::Io { record: 4, error } = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn a_pass_that_is_completed_begins_where_it_stopped() {
    let (order, groups) = orders(4);
    let content = Content::random(RECORD_BYTES).unwrap();
    let mut hooks = NoHooks::new(&content, Check::Pages);
    let rest = Work {
        first: 2,
        ..work(4, &order, &groups)
    };
    let mut file = written(4);
    pass(Pattern::RandomWrite, &mut file, rest, &mut hooks).unwrap();
    assert_eq!(file.notes.join(" "), "s0 w0 s3 w3");
}

/// The pass of `pattern` over `file` with options.
fn with_options(
    pattern: Pattern,
    file: &mut Notebook,
    records: u64,
    params: &Params,
) -> Result<u64, Fault> {
    let content = Content::random(RECORD_BYTES).unwrap();
    let mut hooks = FullHooks::new(params, (&content, true), pattern, 0).unwrap();
    let (order, groups) = orders(records);
    pass(pattern, file, work(records, &order, &groups), &mut hooks)
}

#[test]
fn options_surround_the_same_calls() {
    let locked = Params {
        locks: Locks::Record,
        purge: kit::Size(4_096),
        ..Params::default()
    };
    for (pattern, calls) in [
        (
            Pattern::SequentialWrite,
            "Exclusive0 w0 free0 Exclusive1 w1 free1",
        ),
        (Pattern::SequentialRead, "Shared0 r0 free0 Shared1 r1 free1"),
    ] {
        let mut file = written(2);
        with_options(pattern, &mut file, 2, &locked).unwrap();
        assert_eq!(file.notes.join(" "), calls);
    }
    let jittery = Params {
        jitter: true,
        access: AccessKind::Direct,
        ..Params::default()
    };
    let mut file = written(102);
    with_options(Pattern::SequentialRead, &mut file, 102, &jittery).unwrap();
    assert_eq!(file.notes[100..].join(" "), "s0 r0 s1 r1 s100 r100 r101");
}

#[test]
fn every_byte_is_compared_when_asked_for() {
    let thorough = Params {
        verify_every_byte: true,
        ..Params::default()
    };
    let mut file = written(4);
    file.flipped = Some(100);
    assert!(executed(Pattern::SequentialRead, &mut file, 4).is_ok());
    file.position = 0;
    let fault = with_options(Pattern::SequentialRead, &mut file, 4, &thorough).unwrap_err();
    assert!(matches!(fault, Fault::Differs { record: 0, page: 0 }));
}

#[test]
fn diagnostic_records_in_the_wrong_place_are_found() {
    let diagnostic = Params {
        content: Filling::Named(Fill::Diagnostic),
        ..Params::default()
    };
    let mut file = Notebook::default();
    for pattern in [Pattern::SequentialWrite, Pattern::SequentialRead] {
        file.position = 0;
        with_options(pattern, &mut file, 8, &diagnostic).unwrap();
    }
    with_options(Pattern::VectorWrite, &mut file, 8, &diagnostic).unwrap();
    with_options(Pattern::VectorRead, &mut file, 8, &diagnostic).unwrap();
    file.content.rotate_left(RECORD_BYTES);
    file.position = 0;
    let fault = with_options(Pattern::SequentialRead, &mut file, 8, &diagnostic).unwrap_err();
    assert!(matches!(fault, Fault::Differs { record: 0, page: 0 }));
}

#[test]
fn thinking_takes_its_time_and_is_told_apart() {
    let thoughtful = Params {
        think_ms: 1,
        ..Params::default()
    };
    let content = Content::random(RECORD_BYTES).unwrap();
    let pattern = Pattern::SequentialWrite;
    let mut hooks = FullHooks::new(&thoughtful, (&content, true), pattern, 0).unwrap();
    let mut file = Notebook::default();
    pass(pattern, &mut file, work(3, &[], &[]), &mut hooks).unwrap();
    let thought_ns = RecordHooks::<Notebook>::thought_ns(&hooks);
    assert!(thought_ns >= 3_000_000, "{thought_ns}");
}

fn cell(file: u64, record: u64) -> Cell {
    Cell {
        file: Size(file),
        record: Size(record),
    }
}

#[test]
fn groups_have_sixteen_records_unless_the_file_or_memory_has_fewer() {
    for (file, record, length, count) in [
        (1 << 20, 4 << 10, 16, 16),
        (100 << 10, 4 << 10, 16, 2),
        (12 << 10, 4 << 10, 3, 1),
        (64 << 20, 8 << 20, 2, 4),
        (64 << 20, 16 << 20, 1, 4),
    ] {
        let cell = cell(file, record);
        let found = (Groups::length_in(cell), Groups::count_in(cell));
        assert_eq!(found, (length, count), "{cell:?}");
    }
}
