//! Mounting, as mount(8) would, in a guest that has no mount(8).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use rustix::io::Errno;
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};

use crate::message::Mount;

/// Trials work in a directory of that name: a file system may come with something in its root.
const WORK: &str = "tiltyard";
/// Devices are found in the background.
const DEVICE_COMES: Duration = Duration::from_secs(10);
/// What was stopped lets go of its files a moment later.
const BUSY_ENDS: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// Options of mount(8) that mount(2) takes as flags; all others are the file system's own.
const FLAGS: [(&str, MountFlags); 13] = [
    ("ro", MountFlags::RDONLY),
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("strictatime", MountFlags::STRICTATIME),
    ("lazytime", MountFlags::LAZYTIME),
    ("sync", MountFlags::SYNCHRONOUS),
    ("dirsync", MountFlags::DIRSYNC),
    ("nodev", MountFlags::NODEV),
    ("noexec", MountFlags::NOEXEC),
    ("nosuid", MountFlags::NOSUID),
    ("silent", MountFlags::SILENT),
    ("mand", MountFlags::PERMIT_MANDATORY_FILE_LOCKING),
];
/// Options that say what is so anyway.
const DEFAULTS: [&str; 7] = ["defaults", "rw", "atime", "async", "dev", "exec", "suid"];

/// Mounts, and makes the directory that trials work in.
///
/// # Errors
/// One sentence: what the kernel refused.
pub fn mount_as_asked(ask: &Mount) -> Result<BTreeMap<String, String>, String> {
    let Mount {
        device,
        directory,
        filesystem,
        options,
    } = ask;
    let what = format!("cannot mount {filesystem} from {}", device.display());
    if device.is_absolute() {
        wait_for(device).map_err(|error| format!("{what}: {error}"))?;
    }
    let (flags, data) = split(options);
    let data = CString::new(data).map_err(|_| format!("{what}: an option has a NUL in it"))?;
    fs::create_dir_all(directory).map_err(|error| format!("{what}: {error}"))?;
    mount(
        device,
        directory,
        filesystem.as_str(),
        flags,
        data.as_c_str(),
    )
    .map_err(|error| format!("{what}: {}", why(error, filesystem)))?;
    let work = directory.join(WORK);
    made_and_seen(&work).map_err(|error| format!("cannot make {}: {error}", work.display()))
}

/// Unmounts; what is busy gets a few seconds.
///
/// # Errors
/// One sentence.
pub fn unmount_patiently(directory: &Path) -> Result<(), String> {
    let give_up = Instant::now() + BUSY_ENDS;
    loop {
        match unmount(directory, UnmountFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) if Instant::now() < give_up => thread::sleep(PAUSE),
            Err(error) => return Err(format!("cannot unmount {}: {error}", directory.display())),
        }
    }
}

/// Waits until a device is there.
///
/// # Errors
/// `NotFound`, when it does not come.
pub fn wait_for(device: &Path) -> io::Result<()> {
    when_there(device, || fs::metadata(device).map(drop))
}

/// Opens a device, or whatever `open` does with it, as soon as it can be: its node may be missing
/// yet, or be there before the driver has what is behind it.
///
/// # Errors
/// `NotFound`, when it does not come; that of `open`, where waiting would not help, or has not.
pub fn when_there<T>(device: &Path, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let give_up = Instant::now() + DEVICE_COMES;
    loop {
        let error = match open() {
            Err(error) if is_not_yet(&error) => error,
            other => return other,
        };
        if Instant::now() > give_up {
            let what = match error.kind() {
                io::ErrorKind::NotFound => format!("this machine has no {}", device.display()),
                _ => format!("{}: {error}", device.display()),
            };
            return Err(io::Error::new(error.kind(), what));
        }
        thread::sleep(PAUSE);
    }
}

/// What a device answers that comes in a moment: no node, no port behind it, in use.
fn is_not_yet(error: &io::Error) -> bool {
    let told = error.raw_os_error();
    [Errno::NOENT, Errno::NODEV, Errno::NXIO, Errno::BUSY]
        .iter()
        .any(|errno| told == Some(errno.raw_os_error()))
}

/// Flags and the file system's own options.
fn split(options: &[String]) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut own = Vec::new();
    for option in options.iter().flat_map(|option| option.split(',')) {
        match FLAGS.iter().find(|(name, _)| *name == option) {
            Some((_, flag)) => flags |= *flag,
            None if DEFAULTS.contains(&option) || option.is_empty() => {}
            None => own.push(option),
        }
    }
    (flags, own.join(","))
}

/// The kernel's answer in words that say what would be right.
fn why(error: Errno, filesystem: &str) -> String {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    match error {
        Errno::NODEV if !known.split_whitespace().any(|name| name == filesystem) => {
            format!("this kernel has no driver for {filesystem}")
        }
        Errno::INVAL => {
            format!("{error}: an option that it does not take, or no such file system there")
        }
        _ => error.to_string(),
    }
}

/// The directory for trials, and what the file system says of its size.
fn made_and_seen(work: &PathBuf) -> io::Result<BTreeMap<String, String>> {
    fs::create_dir_all(work)?;
    let status = statvfs(work)?;
    let bytes = |blocks: u64| (blocks * status.f_frsize).to_string();
    Ok(BTreeMap::from([
        ("work".to_owned(), work.display().to_string()),
        ("block_bytes".to_owned(), status.f_bsize.to_string()),
        ("size_bytes".to_owned(), bytes(status.f_blocks)),
        ("free_bytes".to_owned(), bytes(status.f_bavail)),
    ]))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    #[test]
    fn flags_are_told_from_the_file_systems_own_options() {
        let options = ["noatime,ro", "data=journal", "rw", "commit=60"].map(str::to_owned);
        let (flags, own) = split(&options);
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::RDONLY);
        assert_eq!(own, "data=journal,commit=60");
    }

    #[test]
    fn a_device_that_says_not_yet_is_asked_again() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("port");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let listen = pipe.clone();
        let mut tries = 0;
        let mut port = None;
        // A pipe is made at the second try, and nobody reads it before the fourth: ENOENT, ENXIO.
        let opened = when_there(&pipe, || {
            tries += 1;
            match tries {
                2 => rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &pipe,
                    rustix::fs::FileType::Fifo,
                    mode,
                    0,
                )?,
                4 => {
                    port = Some(
                        fs::OpenOptions::new()
                            .read(true)
                            .custom_flags(nonblock())
                            .open(&listen)?,
                    );
                }
                _ => {}
            }
            fs::OpenOptions::new()
                .write(true)
                .custom_flags(nonblock())
                .open(&pipe)
        });
        assert!(opened.is_ok(), "{opened:?}");
        assert_eq!(tries, 4);
        assert!(port.is_some());
    }

    #[test]
    fn what_waiting_does_not_help_is_told_at_once() {
        let mut tries = 0;
        let error = when_there(Path::new("/dev/none"), || -> io::Result<()> {
            tries += 1;
            Err(Errno::ACCESS.into())
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(tries, 1);
    }

    fn nonblock() -> i32 {
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed()
    }

    #[test]
    fn a_driver_that_is_missing_is_told_from_a_device_that_is_missing() {
        assert!(why(Errno::NODEV, "no-such-fs").contains("no driver for no-such-fs"));
        assert!(!why(Errno::NODEV, "proc").contains("driver"));
    }
}
