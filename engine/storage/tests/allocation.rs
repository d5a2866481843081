//! Nothing is allocated in a timed region: a counting allocator looks on while every motion is
//! executed over every backend with both probes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use kit::{Content, Ledger, OperationProbe, PassProbe, Probe};
use rustix::fs::{Mode, OFlags};
use serde_json::{json, Value};
use storage::backend::{Backend, File, Null, Stdio, Sync};
use storage::workload::iozone::loops::{execute, Motion, Work};
use storage::workload::postmark::Postmark;
use storage::workload::Workload;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        System.dealloc(start, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RECORD_BYTES: usize = 4_096;
const RECORDS: u64 = 64;
const MOTIONS: [Motion; 7] = [
    Motion::SequentialWrite,
    Motion::SequentialRead,
    Motion::RandomRead,
    Motion::RandomWrite,
    Motion::BackwardRead,
    Motion::RecordRewrite,
    Motion::StrideRead,
];

/// Allocations between the two instants of each motion.
fn allocations<B: Backend, P: Probe>(backend: &B, mut probe: P) -> [u64; MOTIONS.len()] {
    let directory = tempfile::tempdir().unwrap();
    let path = CString::new(directory.path().join("file").as_os_str().as_bytes()).unwrap();
    let made = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
    let mut file = backend.open(&path, made, Mode::RUSR | Mode::WUSR).unwrap();
    let content = Content::random(RECORD_BYTES).unwrap();
    let order = kit::pattern::random(RECORDS);
    let work = Work {
        records: RECORDS,
        order: &order,
        stride: 17,
        verify: true,
        content: &content,
    };
    let mut buffer = [0; RECORD_BYTES];
    MOTIONS.map(|motion| {
        file.seek(std::io::SeekFrom::Start(0)).unwrap();
        let before = ALLOCATIONS.get();
        probe.start();
        execute(motion, &mut file, &mut probe, &work, &mut buffer).unwrap();
        let counted = ALLOCATIONS.get() - before;
        assert_eq!(probe.finish().operations, RECORDS);
        counted
    })
}

#[test]
fn no_loop_allocates() {
    let stdio = Stdio {
        buffer_bytes: Some(RECORD_BYTES),
    };
    for counted in [
        allocations(&Null, PassProbe::new()),
        allocations(&Null, OperationProbe::new()),
        allocations(&Sync, PassProbe::new()),
        allocations(&Sync, OperationProbe::new()),
        allocations(&stdio, PassProbe::new()),
        allocations(&stdio, OperationProbe::new()),
    ] {
        assert_eq!(counted, [0; MOTIONS.len()], "for {MOTIONS:?}");
    }
}

/// Allocations of a whole trial without I/O.
fn allocations_of_a_trial(workload: &dyn Workload, parameters: &Value) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let trial = workload.plan(parameters.as_object().unwrap(), directory.path());
    let trial = trial.unwrap();
    let mut emit = drop;
    let before = ALLOCATIONS.get();
    trial.run(&mut Ledger::new(&mut emit)).unwrap();
    ALLOCATIONS.get() - before
}

/// The preparation may allocate a little more for more work, a timed operation may not.
#[test]
fn ten_times_the_transactions_allocate_no_more() {
    for backend in ["null", "real"] {
        let with = |transactions: u64| {
            let parameters = json!({"transactions": transactions, "backend": backend});
            allocations_of_a_trial(&Postmark, &parameters)
        };
        let (few, many) = (with(500), with(5_000));
        assert!(
            many < few + 50,
            "{backend}: {few} allocations became {many}"
        );
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(7_u64)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
