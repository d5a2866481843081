//! Starting User-Mode Linux, so that it also runs on CPUs that are younger than it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{memfd_create, MemfdFlags};

/// See `shim/ptrace.rs`.
const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ptrace.so"));

/// Becomes the program of a command line, with the shim loaded in front of its libraries. The shim
/// is in memory and has no name in any file system.
///
/// # Errors
/// What kept it from that; it does not return otherwise.
pub fn become_one(line: &[OsString]) -> io::Error {
    let Some((program, arguments)) = line.split_first() else {
        return io::ErrorKind::InvalidInput.into();
    };
    match shim() {
        Ok(shim) => Command::new(program)
            .args(arguments)
            .env("LD_PRELOAD", format!("/proc/self/fd/{}", shim.as_raw_fd()))
            .exec(),
        Err(error) => error,
    }
}

/// Stays open in the program: no close-on-exec.
fn shim() -> io::Result<File> {
    let mut file = File::from(memfd_create(c"tiltyard-ptrace", MemfdFlags::empty())?);
    file.write_all(SHIM)?;
    Ok(file)
}
