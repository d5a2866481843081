//! A real memory group, in a process of its own, since all threads of a process enter together.

use std::fs;
use std::io::Write;
use std::process::Command;

use kit::{cache, MemoryGroup};
use wire::FailureKind;

const MIB: u64 = 1 << 20;

fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap()
}

#[test]
#[allow(clippy::print_stderr)]
fn what_is_touched_inside_is_bounded_and_the_group_goes() {
    let outside = own_groups();
    let group = match MemoryGroup::enter(8 * MIB) {
        Ok(group) => group,
        Err(failure) => {
            assert_eq!(failure.kind, FailureKind::HostLacks);
            eprintln!("not tested: {}", failure.message);
            return;
        }
    };
    assert_eq!(group.limit_bytes(), 8 * MIB);
    let inside = own_groups();
    assert!(inside.contains("/tiltyard-"), "{inside}");
    let of_child = Command::new("cat")
        .arg("/proc/self/cgroup")
        .output()
        .unwrap();
    assert_eq!(of_child.stdout, inside.as_bytes());

    // Beside the build, since the temporary directory may have nothing under its cache.
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for _ in 0..32 {
        file.write_all(&[1; MIB as usize]).unwrap();
    }
    assert!(cache::resident(file.path()).unwrap() <= 0.25);

    drop(group);
    assert_eq!(own_groups(), outside);
    // Its name is free again.
    drop(MemoryGroup::enter(8 * MIB).unwrap());
}
