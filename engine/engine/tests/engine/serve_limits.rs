//! What a server lets others ask for, and take.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{json, Value};

use crate::common::end;
use crate::serve::{Far, SOON};

/// Why the server did not do it.
fn refusal(far: &Far, parameters: Value) -> String {
    let output = far.run(parameters);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(words.lines().count(), 1, "{words}");
    let message = end(&output).failure.unwrap().message;
    assert!(words.contains(&message), "{words}");
    let reason = message.split_once(" refused: ");
    reason.unwrap_or_else(|| panic!("{message}")).1.to_owned()
}

#[test]
fn limits_are_kept_and_named() {
    let far = Far::start(&[
        "--time-limit",
        "60",
        "--connections",
        "2",
        "--byte-limit",
        "1M",
    ]);
    let reason = refusal(&far, json!({"seconds": 61}));
    assert_eq!(
        reason,
        "seconds: 61 is out of range; more than 0 and up to 60 are allowed (serve --time-limit)"
    );
    let reason = refusal(&far, json!({"seconds": 1, "flows": 3}));
    assert_eq!(
        reason,
        "flows: 3 is out of range; 1 to 2 are allowed (serve --connections)"
    );
    let began = Instant::now();
    let reason = refusal(&far, json!({"seconds": 30}));
    assert!(reason.ends_with("(serve --byte-limit)"), "{reason}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let output = far.run(json!({"seconds": 0.05, "message": 1}));
    assert!(output.status.success(), "{output:?}");
}

/// The most memory that a process has ever used, in bytes.
fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() << 10
}

#[test]
fn strangers_cost_no_memory() {
    let far = Far::start(&[]);
    far.assert_serves();
    let before = peak_memory(far.child.id());
    let mut strangers = Vec::new();
    for _ in 0..300 {
        let mut stranger = TcpStream::connect(("127.0.0.1", far.port)).unwrap();
        // An announcement of 4 GiB, and some of it; whoever is disconnected meanwhile need not
        // hear it all.
        let _ = stranger.write_all(&[0xff; 32 << 10]);
        strangers.push(stranger);
    }
    far.assert_serves();
    let grown = peak_memory(far.child.id()) - before;
    assert!(grown < 8 << 20, "{grown} bytes more");
}

/// 16 flows would take 8 MiB each.
#[test]
fn memory_has_a_limit_that_rings_keep_to() {
    let far = Far::start(&["--memory-limit", "8M"]);
    far.assert_serves();
    let before = peak_memory(far.child.id());
    let output = far.run(json!({"bytes": "4k", "receive": 1, "flows": 16}));
    assert!(output.status.success(), "{output:?}");
    let grown = peak_memory(far.child.id()) - before;
    assert!(grown < 40 << 20, "{grown} bytes more");
    let reason = refusal(&far, json!({"bytes": "1M", "receive": "1M", "flows": 16}));
    assert!(reason.contains("serve --memory-limit"), "{reason}");
}
