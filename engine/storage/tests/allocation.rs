//! Nothing is allocated in a timed region: a counting allocator looks on while every motion is
//! executed over every backend with both probes.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use kit::pattern::Stride;
use kit::{Content, Ledger, OperationProbe, PassProbe, Probe};
use rustix::fs::{Mode, OFlags};
use rustix::mm::MsyncFlags;
use serde_json::{json, Value};
use storage::backend::{Backend, File, Mmap, Null, Positioned, Stdio, Sync};
use storage::workload::compilebench::Compilebench;
use storage::workload::iozone::conduct::Plain;
use storage::workload::iozone::loops::{Drive, Mover};
use storage::workload::iozone::pattern::{Groups, Motion, Placement, Work};
use storage::workload::iozone::Iozone;
use storage::workload::postmark::Postmark;
use storage::workload::watch::Alone;
use storage::workload::Workload;
use testing::{allocations, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RECORD_BYTES: usize = 4_096;
const RECORDS: u64 = 64;
const GROUP_RECORDS: u64 = 16;
const MOTIONS: [Motion; 7] = [
    Motion::SequentialWrite,
    Motion::SequentialRead,
    Motion::RandomRead,
    Motion::RandomWrite,
    Motion::BackwardRead,
    Motion::RecordRewrite,
    Motion::StrideRead,
];
const PLACEMENTS: [Placement; 4] = [
    Placement::Write,
    Placement::Read,
    Placement::VectorWrite,
    Placement::VectorRead,
];

/// What the loops of one file need.
struct Stage {
    _directory: tempfile::TempDir,
    path: CString,
    content: Content,
    order: Vec<u64>,
    group_order: Vec<u64>,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        Self {
            _directory: directory,
            path: CString::new(path.as_os_str().as_bytes()).unwrap(),
            content: Content::random(RECORD_BYTES).unwrap(),
            order: kit::pattern::random(RECORDS),
            group_order: kit::pattern::random(RECORDS / GROUP_RECORDS),
        }
    }

    fn file<B: Backend>(&self, backend: &B) -> B::File {
        let made = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        let permissions = Mode::RUSR | Mode::WUSR;
        backend.open(&self.path, made, permissions).unwrap()
    }

    /// Allocations between the two instants of `how`.
    fn allocations<F: File, P: Probe>(
        &self,
        how: impl Drive<F>,
        file: &mut F,
        probe: &mut P,
    ) -> u64 {
        file.seek(std::io::SeekFrom::Start(0)).unwrap();
        let mut buffer = [0; RECORD_BYTES * GROUP_RECORDS as usize];
        let before = allocations::of_this_thread();
        probe.start();
        let mut mover = Mover {
            file,
            watch: &mut Alone(probe),
            conduct: &mut Plain {
                content: &self.content,
                verify: true,
            },
            work: Work {
                records: RECORDS,
                record_bytes: RECORD_BYTES,
                first: 0,
                order: &self.order,
                stride: Stride::new(RECORDS, 17),
                groups: Groups {
                    order: &self.group_order,
                    length: GROUP_RECORDS,
                },
            },
            buffer: &mut buffer,
            checksum: 0,
        };
        how.drive(&mut mover).unwrap();
        let counted = allocations::of_this_thread() - before;
        assert_eq!(probe.finish().bytes, RECORDS * RECORD_BYTES as u64);
        counted
    }
}

fn along<B: Backend, P: Probe>(backend: &B, mut probe: P) -> u64 {
    let stage = Stage::new();
    let mut file = stage.file(backend);
    let counts = MOTIONS.map(|motion| stage.allocations(motion, &mut file, &mut probe));
    counts.iter().sum()
}

fn placed<B: Backend<File: Positioned>, P: Probe>(backend: &B, mut probe: P) -> u64 {
    let stage = Stage::new();
    let mut file = stage.file(backend);
    let counts = PLACEMENTS.map(|placement| stage.allocations(placement, &mut file, &mut probe));
    counts.iter().sum()
}

#[test]
fn no_loop_allocates() {
    let stdio = Stdio {
        buffer_bytes: Some(RECORD_BYTES),
    };
    let mapped = Mmap {
        msync_each: Some(MsyncFlags::ASYNC),
    };
    for counted in [
        along(&Null, PassProbe::new()),
        along(&Null, OperationProbe::new()),
        along(&Sync, PassProbe::new()),
        along(&Sync, OperationProbe::new()),
        along(&stdio, PassProbe::new()),
        along(&stdio, OperationProbe::new()),
        along(&mapped, PassProbe::new()),
        along(&mapped, OperationProbe::new()),
        placed(&mapped, PassProbe::new()),
        placed(&Null, PassProbe::new()),
        placed(&Null, OperationProbe::new()),
        placed(&Sync, PassProbe::new()),
        placed(&Sync, OperationProbe::new()),
    ] {
        assert_eq!(counted, 0);
    }
}

/// Allocations of a whole trial without I/O.
fn allocations_of_a_trial(workload: &dyn Workload, parameters: &Value) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let trial = workload.plan(parameters.as_object().unwrap(), directory.path());
    let trial = trial.unwrap();
    let mut emit = drop;
    let before = allocations::of_this_thread();
    trial.run(&mut Ledger::new(&mut emit)).unwrap();
    allocations::of_this_thread() - before
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

/// Every file is written, found, read and removed in timed regions.
#[test]
fn ten_times_the_files_of_trees_allocate_no_more() {
    for backend in ["null", "stdio"] {
        let with = |files: u32| {
            let parameters = json!({
                "scenario": "make-j", "trees": 1, "files": files, "backend": backend,
                "sync": false, "cold": false,
            });
            allocations_of_a_trial(&Compilebench, &parameters)
        };
        let (few, many) = (with(20), with(200));
        assert!(
            many < few + 50,
            "{backend}: {few} allocations became {many}"
        );
    }
}

#[test]
fn ten_times_the_records_allocate_no_more() {
    let options = json!({
        "backend": "null", "record": "4k", "locks": "record", "jitter": true, "purge": "64k",
        "content": "diagnostic", "verify_every_byte": true,
    });
    let closed = json!({"include_close": true, "record": "4k", "retest": false});
    let with_backend = |backend: &str, depth: u32| {
        let mut chosen = closed.clone();
        (chosen["backend"], chosen["depth"]) = (backend.into(), depth.into());
        chosen
    };
    let logs = tempfile::tempdir().unwrap();
    let logged = json!({
        "backend": "null", "record": "4k", "log_directory": logs.path(), "log_append": true,
    });
    for chosen in [
        json!({"backend": "null", "record": "4k"}),
        logged,
        options,
        with_backend("mmap", 1),
        with_backend("libaio", 8),
    ] {
        let with = |file: &str| {
            let mut parameters = chosen.clone();
            parameters["file"] = file.into();
            allocations_of_a_trial(&Iozone, &parameters)
        };
        let (few, many) = (with("100k"), with("1000k"));
        assert!(many < few + 50, "{few} allocations became {many}");
    }
}

#[test]
fn the_counter_counts() {
    allocations::assert_counted();
}
