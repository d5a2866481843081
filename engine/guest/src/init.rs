//! Process 1 of a guest: mounts what the engine needs, loads the modules that came along, opens
//! the channel, serves, and switches the machine off.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{sync, OFlags};
use rustix::io::Errno;
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};
use rustix::process::getpid;
use rustix::system::{finit_module, reboot, RebootCommand};
use rustix::termios::{isatty, tcgetattr, tcsetattr, OptionalActions};

use crate::mounts::when_there;
use crate::server::Server;

/// The name under which the kernel starts it.
const NAME: &str = "init";
/// Word of the kernel's command line that names the channel.
const CHANNEL: &str = "tiltyard.channel=";
/// Word that says for how many seconds the guest is idle before it is ready: what a kernel does
/// once after its boot is then done. Where instructions are counted, its clock leaps over them.
const SETTLE: &str = "tiltyard.settle=";
/// Modules, one path a line, each after those that it needs.
const MODULES: &str = "/modules/order";
/// Memory groups, for reads out of a bounded cache, are made below this one.
const GROUPS: &str = "/sys/fs/cgroup";

const MOUNTS: [(&str, &str); 5] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("cgroup2", GROUPS),
];

/// Whether a program called `name` is the init of this machine.
pub fn called_as(name: &std::ffi::OsStr) -> bool {
    getpid().is_init() && Path::new(name).file_name().is_some_and(|name| name == NAME)
}

/// Serves until it is asked to switch off, then does. What is for people goes to the console.
#[allow(clippy::print_stderr)]
pub fn run(engine_version: &str) {
    if let Err(error) = live(engine_version) {
        eprintln!("tiltyard-engine: the guest cannot serve: {error}");
    }
    switch_off();
}

fn live(engine_version: &str) -> io::Result<()> {
    let mut troubles = mount_all();
    troubles.extend(load_modules());
    let command_line = fs::read_to_string("/proc/cmdline")?;
    let channel = open_channel(&channel_named(&command_line)?)?;
    thread::sleep(settling_time(&command_line)?);
    let engine = std::env::current_exe()?;
    Server::new(&channel, &channel, &engine).serve(engine_version, troubles)
}

/// Mounts what every Linux has; what this kernel lacks is told, and may not be needed.
fn mount_all() -> Vec<String> {
    let mut troubles = Vec::new();
    for (filesystem, directory) in MOUNTS {
        let mounted = fs::create_dir_all(directory)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                match mount(filesystem, directory, filesystem, MountFlags::empty(), None) {
                    // The kernel has mounted it itself.
                    Err(Errno::BUSY) => Ok(()),
                    other => other.map_err(|error| error.to_string()),
                }
            });
        if let Err(error) = mounted {
            troubles.push(format!("cannot mount {filesystem}: {error}"));
        }
    }
    // Groups below have the controllers that are handed down; where there are none, a trial that
    // needs them says so.
    let _ = fs::write(Path::new(GROUPS).join("cgroup.subtree_control"), "+memory");
    troubles
}

/// Loads the modules that came along.
fn load_modules() -> Vec<String> {
    let order = fs::read_to_string(MODULES).unwrap_or_default();
    order
        .lines()
        .filter_map(|path| {
            let error = load(Path::new(path)).err()?;
            Some(format!("cannot load {path}: {error}"))
        })
        .collect()
}

fn load(path: &Path) -> io::Result<()> {
    match finit_module(File::open(path)?, c"", 0) {
        Err(Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

/// The channel's device, from the kernel's command line.
fn channel_named(command_line: &str) -> io::Result<PathBuf> {
    value_of(command_line, CHANNEL)
        .map(PathBuf::from)
        .ok_or_else(|| {
            io::Error::other(format!("the kernel's command line has no {CHANNEL}DEVICE"))
        })
}

/// How long the guest settles, from the kernel's command line.
fn settling_time(command_line: &str) -> io::Result<Duration> {
    let seconds = value_of(command_line, SETTLE).unwrap_or("0");
    let refused = |_| io::Error::other(format!("{SETTLE}{seconds} is not whole seconds"));
    seconds.parse().map(Duration::from_secs).map_err(refused)
}

/// What follows a word's `=`.
fn value_of<'l>(command_line: &'l str, word: &str) -> Option<&'l str> {
    let mut words = command_line.split_whitespace();
    words.find_map(|found| found.strip_prefix(word))
}

/// Opens it; a line that would edit what passes through it is told not to.
fn open_channel(device: &Path) -> io::Result<File> {
    // The node of a console is there before its port: virtio_console makes that in the background.
    let channel = when_there(device, || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(device)
    })?;
    if isatty(&channel) {
        let mut line = tcgetattr(&channel)?;
        line.make_raw();
        tcsetattr(&channel, OptionalActions::Now, &line)?;
    }
    Ok(channel)
}

/// Writes everything out, unmounts what can be unmounted, and never returns.
fn switch_off() {
    sync();
    let mounted = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for line in mounted.lines().rev() {
        if let Some(directory) = line.split(' ').nth(1) {
            // The root and what is in use stay; they are synced.
            let _ = unmount(directory, UnmountFlags::empty());
        }
    }
    let _ = reboot(RebootCommand::PowerOff);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_is_named_on_the_kernels_command_line() {
        let line = "console=ttyS0 tiltyard.channel=/dev/hvc0 panic=-1";
        assert_eq!(channel_named(line).unwrap(), Path::new("/dev/hvc0"));
        let error = channel_named("quiet").unwrap_err().to_string();
        assert!(error.contains("tiltyard.channel="), "{error}");
    }

    #[test]
    fn how_long_it_settles_is_told_there_as_well() {
        let told = |line| settling_time(line).map(|time| time.as_secs());
        assert_eq!(told("quiet").unwrap(), 0);
        assert_eq!(told("quiet tiltyard.settle=60 panic=-1").unwrap(), 60);
        let error = told("tiltyard.settle=long").unwrap_err().to_string();
        assert!(error.contains("tiltyard.settle=long"), "{error}");
    }

    #[test]
    fn an_ordinary_process_is_nobodys_init() {
        assert!(!called_as("/init".as_ref()));
    }
}
