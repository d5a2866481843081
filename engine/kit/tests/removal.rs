//! Trees as programs leave them, removed.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{stderr, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kit::removal::{remove, remove_beneath};
use rustix::fs::{
    mkdirat, mkfifoat, open, openat, renameat, renameat_with, symlinkat, Mode, OFlags, RenameFlags,
    CWD,
};
use tempfile::{tempdir, TempDir};

/// A directory with one in it, `tree`, that is to go.
fn made() -> (TempDir, PathBuf) {
    let above = tempdir().unwrap();
    let tree = above.path().join("tree");
    fs::create_dir(&tree).unwrap();
    (above, tree)
}

fn directory(path: &Path) -> OwnedFd {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

/// Directories one in the other, each with a file in it and as many empty ones beside it.
fn chain(top: &Path, levels: usize, beside: usize) {
    let mut at = directory(top);
    for _ in 0..levels {
        let flags = OFlags::CREATE | OFlags::WRONLY;
        openat(&at, "file", flags, Mode::RUSR).unwrap();
        for number in 0..beside {
            mkdirat(&at, format!("empty-{number}"), Mode::RWXU).unwrap();
        }
        mkdirat(&at, "below", Mode::RWXU).unwrap();
        at = openat(&at, "below", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
}

fn assert_gone(above: &TempDir) {
    assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
}

#[test]
fn a_tree_of_any_depth_goes() {
    for (levels, beside) in [(0, 0), (1, 1), (15, 2), (16, 2), (17, 2), (1_500, 0)] {
        let (above, tree) = made();
        chain(&tree, levels, beside);
        remove(&tree).unwrap();
        assert_gone(&above);
    }
}

#[test]
fn many_deep_trees_in_one_go_and_names_that_are_taken_are_no_hindrance() {
    let (above, tree) = made();
    for name in [".removed-1", "a", ".removed-3", "b", "c"] {
        fs::create_dir(tree.join(name)).unwrap();
        chain(&tree.join(name), 40, 2);
    }
    fs::write(tree.join(".removed-2"), "").unwrap();
    symlink("a", tree.join(".removed-4")).unwrap();
    fs::create_dir(tree.join(".removed-5")).unwrap();
    remove(&tree).unwrap();
    assert_gone(&above);
}

#[test]
fn what_is_not_there_is_gone_and_what_is_no_directory_goes_too() {
    let (above, tree) = made();
    fs::write(tree.join("file"), "kept").unwrap();
    symlink("tree", above.path().join("link")).unwrap();
    remove(&above.path().join("link")).unwrap();
    remove(&above.path().join("absent")).unwrap();
    remove(&above.path().join("absent/below")).unwrap();
    assert_eq!(fs::read_to_string(tree.join("file")).unwrap(), "kept");
    remove(&tree.join("file")).unwrap();
    let parent = directory(above.path());
    remove_beneath(parent.as_fd(), OsStr::new("tree")).unwrap();
    assert_gone(&above);
    for none in ["/", "..", "a/.."] {
        remove(Path::new(none)).unwrap_err();
    }
}

#[test]
fn entries_of_every_kind_go_and_no_link_is_followed() {
    let (above, tree) = made();
    let outside = tempdir().unwrap();
    fs::write(outside.path().join("file"), "kept").unwrap();
    symlink(outside.path(), tree.join("link")).unwrap();
    symlink("nowhere", tree.join("dangling")).unwrap();
    fs::hard_link(outside.path().join("file"), tree.join("other-name")).unwrap();
    mkfifoat(CWD, tree.join("pipe"), Mode::RUSR).unwrap();
    let listening = UnixListener::bind(tree.join("socket")).unwrap();
    let sparse = File::create(tree.join("sparse")).unwrap();
    sparse.set_len(1 << 43).unwrap();
    for name in [
        &b"\xff\xfe"[..],
        b"new\nline",
        b"\x1b[31m",
        b" ",
        b"-r",
        &[b'x'; 255],
    ] {
        let below = tree.join(OsStr::from_bytes(name));
        fs::create_dir(&below).unwrap();
        fs::write(below.join(OsStr::from_bytes(name)), "").unwrap();
    }
    remove(&tree).unwrap();
    drop(listening);
    assert_gone(&above);
    let kept = fs::read_to_string(outside.path().join("file")).unwrap();
    assert_eq!(kept, "kept");
}

#[test]
fn directories_without_permissions_are_opened_up() {
    let (above, tree) = made();
    chain(&tree, 40, 1);
    let mut path = tree.clone();
    let mut paths = vec![path.clone()];
    while path.join("below").is_dir() {
        path.push("below");
        paths.push(path.clone());
    }
    for (path, mode) in paths
        .iter()
        .rev()
        .zip([0, 0o400, 0o100, 0o500, 0o600].iter().cycle())
    {
        fs::set_permissions(path, Permissions::from_mode(*mode)).unwrap();
    }
    as_nobody(above.path(), &tree, || {
        remove(&tree).unwrap();
    });
    assert_gone(&above);
}

/// As the user 65534 where we are root, whom permissions do not stop: on this thread alone.
fn as_nobody(above: &Path, tree: &Path, act: impl FnOnce() + Send) {
    if !rustix::process::geteuid().is_root() {
        return act();
    }
    let nobody = 65_534;
    let given = Command::new("chown")
        .args(["-R", "65534"])
        .args([above, tree])
        .status();
    assert!(given.unwrap().success());
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: a plain system call; glibc's would change all threads.
            let set = unsafe { libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody) };
            assert_eq!(set, 0);
            act();
        });
    });
}

#[test]
fn what_an_attribute_holds_stays_and_is_named_once_and_all_else_goes() {
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(stderr(), "not tried: only root can make a file immutable");
        return;
    }
    // Beside the build: file systems in memory may know no attributes.
    let above = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tree = above.path().join("tree");
    fs::create_dir(&tree).unwrap();
    chain(&tree, 60, 1);
    fs::create_dir(tree.join("held")).unwrap();
    fs::write(tree.join("held/file"), "").unwrap();
    fs::write(tree.join("held/other"), "").unwrap();
    let chattr = |how: &str, path: &Path| {
        let done = Command::new("chattr").arg(how).arg(path).status().unwrap();
        assert!(done.success(), "chattr {how} {}", path.display());
    };
    chattr("+i", &tree.join("held/file"));
    fs::create_dir(tree.join("appended")).unwrap();
    fs::write(tree.join("appended/file"), "").unwrap();
    chattr("+a", &tree.join("appended"));
    let below: PathBuf = ["below"; 40].iter().collect();
    chattr("+i", &tree.join(&below).join("file"));

    let remains = remove(&tree).unwrap_err();
    let mut left = Command::new("find");
    let found = left
        .arg(&tree)
        .args(["-type", "f"])
        .output()
        .unwrap()
        .stdout;
    chattr("-a", &tree.join("appended"));
    let mut opened = Command::new("chattr");
    assert!(opened
        .args(["-R", "-f", "-i"])
        .arg(&tree)
        .status()
        .unwrap()
        .success());
    assert_eq!(String::from_utf8(found).unwrap().lines().count(), 3);
    assert!(remains.path.starts_with(&tree), "{remains}");
    assert_eq!(
        (remains.error.raw_os_error(), remains.others),
        (Some(libc::EPERM), 2)
    );
    let fix = format!("chattr -R -f -i -a {}", tree.display());
    assert_eq!(remains.fix(&tree), fix);
    let odd = remains.fix(Path::new("/it's\n"));
    assert_eq!(odd, r"chattr -R -f -i -a '/it'\''s\n'");
    remove(&tree).unwrap();
    assert_gone(&above);
}

#[test]
fn a_directory_that_a_process_stands_in_goes() {
    let (above, tree) = made();
    chain(&tree, 30, 0);
    let mut stands = Command::new("sleep")
        .arg("60")
        .current_dir(tree.join("below/below"))
        .spawn()
        .unwrap();
    let removed = remove(&tree);
    stands.kill().unwrap();
    stands.wait().unwrap();
    removed.unwrap();
    assert_gone(&above);
}

/// Somebody else exchanges directories for links, and takes others out of the tree, all the time;
/// what lies outside of it stays whatever he does.
#[test]
fn whoever_exchanges_directories_meanwhile_leads_nowhere_else() {
    let outside = tempdir().unwrap();
    let kept = outside.path().join("kept");
    fs::create_dir_all(kept.join("inside")).unwrap();
    fs::write(kept.join("inside/file"), "kept").unwrap();
    let mut levels = Vec::new();
    for round in 0..20 {
        let (above, tree) = made();
        let aside = outside.path().join("aside");
        fs::create_dir(&aside).unwrap();
        levels.clear();
        levels.push(directory(&tree));
        for at in 0..40 {
            symlinkat(&kept, &levels[at], "link").unwrap();
            mkdirat(&levels[at], "below", Mode::RWXU).unwrap();
            let flags = OFlags::DIRECTORY;
            levels.push(openat(&levels[at], "below", flags, Mode::empty()).unwrap());
        }
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut turns = (0..40).cycle();
                while !ends.load(Ordering::Relaxed) {
                    let at = &levels[turns.next().unwrap()];
                    let _ = renameat_with(at, "below", at, "link", RenameFlags::EXCHANGE);
                }
                let _ = renameat(&levels[round % 40], "below", CWD, aside.join("taken"));
            });
            let _ = remove(&tree);
            ends.store(true, Ordering::Relaxed);
        });
        let still = fs::read_to_string(kept.join("inside/file"));
        assert_eq!(still.unwrap(), "kept", "round {round}");
        for each in [&tree, &aside] {
            remove(each).unwrap();
        }
        assert_gone(&above);
    }
}
