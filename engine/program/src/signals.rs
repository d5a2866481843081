//! Names of signals.

use libc::c_int;

const NAMES: &[(c_int, &str)] = &[
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
    (libc::SIGSYS, "SIGSYS"),
];

/// The name of a signal, as signal(7) has it.
pub fn name(number: c_int) -> String {
    let found = NAMES.iter().find(|(known, _)| *known == number);
    found.map_or_else(
        || format!("signal {number}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// The signal of a name.
pub fn number(name: &str) -> Option<c_int> {
    let found = NAMES.iter().find(|(_, known)| *known == name);
    found.map(|(number, _)| *number)
}
