//! Who else is at work on this host, and would lose something by a boot of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kit::proc;
use rustix::fs::{flock, FlockOperation};

use crate::back;
use crate::ledger::{boot, require_ours, ENDING};

/// Those who wait at a terminal for somebody to log in.
const WAIT_FOR_LOGINS: [&str; 5] = ["agetty", "getty", "login", "mgetty", "mingetty"];
/// The numbers below it are the system's, but for root: login.defs(5).
const FIRST_PERSON: u32 = 1000;
/// Major numbers of terminals: devices.txt of the kernel.
const CONSOLES: u64 = 4;
const PSEUDO_TERMINALS: std::ops::Range<u64> = 136..144;
/// Field of `/proc/PID/stat`, counted from the state.
const TERMINAL: usize = 4;
/// Files that an engine is executed from: as it is installed, and as it is sent to a host.
const ENGINES: [&str; 2] = ["tiltyard-engine", "tiltyard-agent"];
/// After the name of a file that was removed.
const REMOVED: &str = " (deleted)";

/// Whoever has a program at a terminal, one each: `alice on pts/3 (vim)`.
pub fn people() -> Vec<String> {
    let mut pids = proc::all_pids();
    pids.sort_unstable();
    let seen = pids.into_iter().filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((fs::metadata(format!("/proc/{pid}")).ok()?.uid(), stat))
    });
    let found = on_terminals(seen).into_iter();
    found
        .map(|(terminal, (user, program))| format!("{} on {terminal} ({program})", name_of(user)))
        .collect()
}

/// Terminal → the first user there, and the program, of users and `/proc/PID/stat`.
fn on_terminals(processes: impl Iterator<Item = (u32, String)>) -> BTreeMap<String, (u32, String)> {
    let mut found = BTreeMap::new();
    for (user, stat) in processes {
        let Some((before, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let program = before.split_once('(').map_or("", |(_, name)| name);
        let number = rest.split_ascii_whitespace().nth(TERMINAL);
        let number: u64 = number.and_then(|text| text.parse().ok()).unwrap_or(0);
        let is_person = user == 0 || user >= FIRST_PERSON;
        if number != 0 && is_person && !WAIT_FOR_LOGINS.contains(&program) {
            let first = (user, program.to_owned());
            found.entry(terminal(number)).or_insert(first);
        }
    }
    found
}

/// As `ps` calls it; of the two halves of the number, proc(5).
fn terminal(number: u64) -> String {
    let (major, minor) = (number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xF_FF00);
    match major {
        CONSOLES => format!("tty{minor}"),
        _ if PSEUDO_TERMINALS.contains(&major) => format!("pts/{minor}"),
        _ => format!("terminal {major}:{minor}"),
    }
}

/// A user as others call him; one without a name by his number.
fn name_of(user: u32) -> String {
    let asked = ["id", "-nu", &user.to_string()].map(str::to_owned);
    back::run(&asked).map_or(user.to_string(), |name| name.trim().to_owned())
}

/// Those that have a ledger here and live, beside one of this name, and whoever executes another engine.
pub fn runs(directory: &Path, own: Option<&str>) -> Vec<String> {
    let owners = owners(directory, own);
    let id = |path: &str| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    // What is executed for this run here, beside this process, is the same file.
    let ours = id("/proc/self/exe").ok();
    let mut pids = proc::all_pids();
    pids.sort_unstable();
    let engines = pids.into_iter().filter_map(|pid| {
        let exe = format!("/proc/{pid}/exe");
        let file = fs::read_link(&exe).ok()?;
        let name = file.file_name()?.to_str()?;
        let name = name.strip_suffix(REMOVED).unwrap_or(name);
        let is_other = ENGINES.contains(&name) && id(&exe).ok() != ours && !owners.contains(&pid);
        is_other.then(|| format!("{name}, process {pid}"))
    });
    let with_ledger = owners.iter().map(|pid| format!("process {pid}"));
    with_ledger.chain(engines).collect()
}

/// The processes whose ledgers are locked, each in its name. One of another host, which has the same files,
/// tells of no boot of this one.
fn owners(directory: &Path, own: Option<&str>) -> BTreeSet<u32> {
    let entries = require_ours(directory).and_then(|()| fs::read_dir(directory));
    let paths = entries.into_iter().flatten().flatten();
    let found = paths.map(|entry| entry.path()).filter_map(|path| {
        let ending = path.extension()?.to_str()?;
        let stem = path.file_stem()?.to_str()?;
        let (pid, _) = stem.split_once('-')?;
        let is_other = ending == ENDING && own != Some(stem);
        let is_locked = || {
            let file = File::open(&path).ok()?;
            let locked = flock(&file, FlockOperation::NonBlockingLockShared);
            let text = fs::read_to_string(&path).unwrap_or_default();
            (locked.is_err() && text.contains(&boot())).then_some(())
        };
        is_other.then(is_locked)??;
        pid.parse().ok()
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::patience::until;

    fn stat(name: &str, terminal: u64) -> String {
        format!("7 ({name}) S 1 7 7 {terminal} -1 4194304")
    }

    #[test]
    fn people_are_those_with_a_program_at_a_terminal() {
        let pts = |number: u64| 136 << 8 | number;
        let found = on_terminals(
            [
                (1000, stat("vim (a) b", pts(3))),
                (1000, stat("later", pts(3))),
                (0, stat("bash", 4 << 8 | 1)),
                (0, stat("agetty", 4 << 8 | 2)),
                (105, stat("gdm", 4 << 8 | 3)),
                (0, stat("sshd", 0)),
                (2000, stat("minicom", 204 << 8 | 64)),
                (2000, stat("far", pts(0) | 1 << 20)),
            ]
            .into_iter(),
        );
        let told = found
            .iter()
            .map(|(at, (user, program))| format!("{user} {at} {program}"));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "2000 pts/256 far",
                "1000 pts/3 vim (a) b",
                "2000 terminal 204:64 minicom",
                "0 tty1 bash"
            ]
        );
    }

    #[test]
    fn a_user_without_a_name_is_a_number() {
        assert_eq!(name_of(0), "root");
        assert_eq!(name_of(4_000_000_123), "4000000123");
    }

    #[test]
    fn whose_ledger_is_locked_in_this_boot_is_at_work() {
        let held = tempfile::tempdir().unwrap();
        let state = held.path().join("state");
        assert_eq!(owners(&state, None), BTreeSet::new());
        let ledger = Ledger::open(&state).unwrap();
        let of_other = File::create_new(state.join("17-0a0b0c0d.ops")).unwrap();
        flock(&of_other, FlockOperation::LockExclusive).unwrap();
        fs::write(state.join("18-0a0b0c0d.ops"), boot()).unwrap();
        let own = std::process::id();
        assert_eq!(owners(&state, None), BTreeSet::from([own]));
        assert_eq!(owners(&state, Some(&ledger.name())), BTreeSet::new());
        let line = format!("{{\"owner\": {{\"pid\": 17, \"boot\": \"{}\"}}}}", boot());
        fs::write(state.join("17-0a0b0c0d.ops"), line).unwrap();
        assert_eq!(owners(&state, Some(&ledger.name())), BTreeSet::from([17]));
        assert!(runs(&state, Some(&ledger.name())).contains(&"process 17".to_owned()));
        drop(of_other);
        // A child of another test has it open until it executes its program.
        let is_free = || owners(&state, Some(&ledger.name())).is_empty();
        assert!(until(is_free));
    }
}
