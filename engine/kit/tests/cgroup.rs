//! A real memory group, in a process of its own, since all threads of a process enter together.

use std::fs::{self, File};
use std::io::{self, Write};
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
    let mut group = match MemoryGroup::create(8 * MIB) {
        Ok(group) => group,
        Err(failure) => {
            assert_eq!(failure.kind, FailureKind::HostLacks);
            eprintln!("not tested: {}", failure.message);
            return;
        }
    };
    assert_eq!(group.limit_bytes(), 8 * MIB);
    // Beside the build, since the temporary directory may have nothing under its cache.
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.write_all(&vec![1; 32 * MIB as usize]).unwrap();
    assert_eq!(cache::resident(file.path()).unwrap(), 1.0);
    cache::evict(file.path()).unwrap();

    group.enter().unwrap();
    let inside = own_groups();
    assert!(inside.contains("/tiltyard-"), "{inside}");
    let of_child = Command::new("cat")
        .arg("/proc/self/cgroup")
        .output()
        .unwrap();
    assert_eq!(of_child.stdout, inside.as_bytes());
    let mut reader = File::open(file.path()).unwrap();
    io::copy(&mut reader, &mut io::sink()).unwrap();
    assert!(cache::resident(file.path()).unwrap() <= 0.25);
    group.leave().unwrap();
    assert_eq!(own_groups(), outside);

    group.enter().unwrap();
    drop(group);
    assert_eq!(own_groups(), outside);
    // Its name is free again.
    drop(MemoryGroup::create(8 * MIB).unwrap());
}
