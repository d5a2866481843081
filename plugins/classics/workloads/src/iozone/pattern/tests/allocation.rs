//! Nothing is allocated between the two instants, whatever the pattern, backend and probe.

use kit::{Content, OperationProbe, PassProbe, Probe};
use rustix::fs::{Mode, OFlags};
use rustix::mm::MsyncFlags;
use testing::allocations;

use super::*;
use storage::backend::{Backend, Mmap, Null, Stdio, Sync};

const PATTERNS: [Pattern; 11] = [
    Pattern::SequentialWrite,
    Pattern::SequentialRead,
    Pattern::RandomRead,
    Pattern::RandomWrite,
    Pattern::BackwardRead,
    Pattern::RecordRewrite,
    Pattern::StrideRead,
    Pattern::PositionalWrite,
    Pattern::PositionalRead,
    Pattern::VectorWrite,
    Pattern::VectorRead,
];

/// Allocations between the two instants of each of `patterns`, on a file of 64 records.
fn allocations_of<B, P>(backend: &B, mut probe: P, patterns: &[Pattern]) -> u64
where
    B: Backend<File: Dispatch>,
    P: Probe,
{
    let directory = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(directory.path().join("file").to_str().unwrap()).unwrap();
    let made = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
    let mut file = backend.open(&path, made, Mode::RWXU).unwrap();
    let content = Content::random(RECORD_BYTES).unwrap();
    let (order, groups) = orders(64);
    let mut counted = 0;
    for &pattern in patterns {
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut buffer = [0; GROUP * RECORD_BYTES];
        let before = allocations::of_this_thread();
        probe.start();
        let mut pump = Pump {
            file: &mut file,
            watch: &mut Alone(&mut probe),
            hooks: &mut NoHooks::new(&content, Check::Pages),
            record_bytes: RECORD_BYTES,
            buffer: &mut buffer,
            times_seeks: true,
            checksum: 0,
        };
        B::File::drive(&mut pump, pattern, work(64, &order, &groups)).unwrap();
        counted += allocations::of_this_thread() - before;
        assert_eq!(probe.finish().bytes, 64 * RECORD_BYTES as u64);
    }
    counted
}

#[test]
fn no_loop_allocates() {
    allocations::assert_counted();
    let stdio = Stdio {
        buffer_bytes: Some(RECORD_BYTES),
    };
    let mapped = Mmap {
        msync_each: Some(MsyncFlags::ASYNC),
    };
    let along = &PATTERNS[..7];
    for counted in [
        allocations_of(&Null, PassProbe::new(), &PATTERNS),
        allocations_of(&Null, OperationProbe::new(), &PATTERNS),
        allocations_of(&Sync, PassProbe::new(), &PATTERNS),
        allocations_of(&Sync, OperationProbe::new(), &PATTERNS),
        allocations_of(&stdio, PassProbe::new(), along),
        allocations_of(&stdio, OperationProbe::new(), along),
        allocations_of(&mapped, PassProbe::new(), &PATTERNS),
        allocations_of(&mapped, OperationProbe::new(), &PATTERNS),
    ] {
        assert_eq!(counted, 0);
    }
}
