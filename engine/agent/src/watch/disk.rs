//! How much of a disk's traffic was ours, and how much was not.
//!
//! No counter says whose a byte was that went to a disk: write-back is done by kernel threads, for
//! whoever wrote. What can be told:
//!
//! - A file system on a loop device is ours alone, so what its disk moved beyond the loop device is
//!   others'. That holds where the file system below overwrites an image in place; one that copies on
//!   write moves more than it was given.
//! - What each other process has moved says the kernel to root (`/proc/PID/io`, proc(5)); that of
//!   processes that have ended is in the figure of the one that waited for them, whole; where that one
//!   is ours or nobody it is lost, so what a process grew by is added up, and one that has gone takes
//!   nothing away. The sum over all is an upper bound for one disk, for there may be several.
//! - What ours have fetched is told in the same way, and what the lab itself has written. What a trial
//!   wrote is not all there: journals and other metadata are missing, so a disk that we share is judged
//!   by the smaller of two bounds: its traffic less what ours fetched, and the sum over other processes.
//!
//! Where neither way is open, foreign traffic is not available.

use std::collections::HashMap;
use std::fs;

use kit::device::{Counters, Device};
use kit::proc;
use rustix::process::geteuid;
use wire::HostDisk;

use super::Who;

/// No limit is below that.
const LITTLE_BYTES: u64 = 1 << 20;

/// The traffic of a disk from now on.
pub struct Disk {
    disk: Device,
    loop_device: Option<Device>,
    /// Who else has moved something has to be asked.
    needs_others: bool,
    before: Moved,
    /// Bytes of each other process when that was asked last.
    others: Option<HashMap<u32, u64>>,
}

/// What devices and processes have moved so far.
struct Moved {
    disk: Counters,
    loop_device: Option<Counters>,
    ours: HashMap<u32, Io>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Io {
    /// When the process started: tells it from a later one of the same number.
    started_ticks: u64,
    fetched_bytes: u64,
    written_bytes: u64,
}

impl Disk {
    /// `None` where its counters cannot be read.
    pub fn begin(asked: HostDisk, who: &Who) -> Option<Self> {
        let disk = Device::named(&asked.disk);
        let loop_device = asked.loop_device.as_deref().map(Device::named);
        let needs_others = loop_device.is_none() || !asked.is_in_place;
        let others = needs_others.then(|| moved_by_others(who)).flatten();
        Some(Self {
            before: Moved::read(&disk, loop_device.as_ref(), who)?,
            disk,
            loop_device,
            needs_others,
            others,
        })
    }

    /// Bytes of ours and of others since then, or since it was asked; `None`: cannot be told.
    pub fn seen(&mut self, who: &Who) -> (Option<u64>, Option<u64>) {
        let Some(now) = Moved::read(&self.disk, self.loop_device.as_ref(), who) else {
            return (None, None);
        };
        let before = std::mem::replace(&mut self.before, now);
        let grown = self.before.since(&before, &who.named);
        let own_bytes = grown.loop_bytes;
        if !self.needs_others {
            return (own_bytes, Some(grown.beyond_bytes));
        }
        // Of next to nothing it need not be asked, process by process. What they have moved since that
        // was asked last is an upper bound, too.
        let foreign = self.others.as_mut().map(|others| {
            if grown.beyond_bytes <= LITTLE_BYTES {
                return grown.beyond_bytes;
            }
            let Some(now) = moved_by_others(who) else {
                return grown.beyond_bytes;
            };
            let then = std::mem::replace(others, now);
            grown.beyond_bytes.min(growth(&then, others))
        });
        let own = own_bytes.unwrap_or(grown.disk_bytes.saturating_sub(foreign.unwrap_or(0)));
        (Some(own), foreign)
    }
}

/// What was added between two readings.
#[derive(Debug, PartialEq)]
struct Grown {
    disk_bytes: u64,
    loop_bytes: Option<u64>,
    /// What the disk moved that is not known to be ours.
    beyond_bytes: u64,
}

impl Moved {
    fn read(disk: &Device, loop_device: Option<&Device>, who: &Who) -> Option<Self> {
        let loop_device = match loop_device {
            None => None,
            Some(device) => Some(device.counters()?),
        };
        let io = |(pid, one): (&u32, &proc::Process)| {
            let io = io_of(*pid, one.started_ticks)?;
            Some((*pid, io))
        };
        Some(Self {
            disk: disk.counters()?,
            loop_device,
            ours: who.ours.iter().filter_map(io).collect(),
        })
    }

    /// What was added; `lab` keeps what the engine says.
    fn since(&self, before: &Self, lab: &[u32]) -> Grown {
        let both = |now: Counters, then: Counters| {
            let grown = now.since(then);
            grown.read_bytes + grown.written_bytes
        };
        let devices = self.loop_device.zip(before.loop_device);
        let loop_bytes = devices.map(|(now, then)| both(now, then));
        let mut known = loop_bytes.unwrap_or(0);
        for (pid, now) in &self.ours {
            let then = before
                .ours
                .get(pid)
                .filter(|then| then.started_ticks == now.started_ticks);
            let then = then.copied().unwrap_or_default();
            let is_lab = lab.contains(pid);
            if is_lab || loop_bytes.is_none() {
                known += now.fetched_bytes.saturating_sub(then.fetched_bytes);
            }
            if is_lab {
                known += now.written_bytes.saturating_sub(then.written_bytes);
            }
        }
        let disk_bytes = both(self.disk, before.disk);
        Grown {
            disk_bytes,
            loop_bytes,
            beyond_bytes: disk_bytes.saturating_sub(known),
        }
    }
}

/// Bytes of all other processes so far; `None` if we may not see those of others.
///
/// The servers of the system under test are not others. Kernel threads work for everybody, us
/// included, and are left out.
fn moved_by_others(who: &Who) -> Option<HashMap<u32, u64>> {
    if !geteuid().is_root() {
        return None;
    }
    let mut strangers = proc::all_pids();
    strangers.retain(|pid| !who.ours.contains_key(pid) && !who.servers.contains_key(pid));
    let moved = strangers.into_iter().filter_map(|pid| {
        let io = io_of(pid, 0)?;
        Some((pid, io.fetched_bytes + io.written_bytes)).filter(|(_, bytes)| *bytes > 0)
    });
    let is_other =
        |pid: &u32| proc::process_at(*pid).is_some_and(|process| !process.is_kernel_thread);
    Some(moved.filter(|(pid, _)| is_other(pid)).collect())
}

/// Bytes by which processes have grown; one that has gone takes nothing away.
fn growth(before: &HashMap<u32, u64>, now: &HashMap<u32, u64>) -> u64 {
    let grown = now
        .iter()
        .map(|(pid, bytes)| bytes.saturating_sub(before.get(pid).copied().unwrap_or(0)));
    grown.sum()
}

/// What a process, with the children it has waited for, has fetched from devices or made dirty.
fn io_of(pid: u32, started_ticks: u64) -> Option<Io> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let number = |name| -> Option<u64> {
        let mut lines = text.lines();
        lines
            .find_map(|line| line.strip_prefix(name))?
            .trim()
            .parse()
            .ok()
    };
    Some(Io {
        started_ticks,
        fetched_bytes: number("read_bytes:").unwrap_or(0),
        written_bytes: number("write_bytes:").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use wire::HostWho;

    const MIB: u64 = 1 << 20;

    fn moved(disk: u64, loop_device: Option<u64>, ours: &[(u32, u64, u64)]) -> Moved {
        let half = |bytes| Counters {
            read_bytes: bytes / 2,
            written_bytes: bytes / 2,
        };
        let io = |&(pid, fetched_bytes, written_bytes): &(u32, u64, u64)| {
            let io = Io {
                started_ticks: 5,
                fetched_bytes,
                written_bytes,
            };
            (pid, io)
        };
        Moved {
            disk: half(disk),
            loop_device: loop_device.map(half),
            ours: ours.iter().map(io).collect(),
        }
    }

    #[test]
    fn what_a_disk_moves_beyond_our_loop_device_is_foreign() {
        let before = moved(4 * MIB, Some(2 * MIB), &[(1, 0, 0), (2, 0, 0)]);
        let now = moved(
            16 * MIB,
            Some(12 * MIB),
            &[(1, MIB / 2, MIB / 2), (2, 7 * MIB, 9 * MIB)],
        );
        let grown = now.since(&before, &[1]);
        assert_eq!(grown.loop_bytes, Some(10 * MIB));
        // What the trial fetched went through the loop device; the lab's own did not.
        assert_eq!(grown.beyond_bytes, MIB);
    }

    #[test]
    fn of_a_disk_that_we_share_all_that_ours_fetched_is_known() {
        let before = moved(4 * MIB, None, &[(1, MIB, 0), (2, MIB, 0)]);
        let mut now = moved(
            16 * MIB,
            None,
            &[(1, 2 * MIB, MIB), (2, 4 * MIB, 6 * MIB), (3, MIB, MIB)],
        );
        let grown = now.since(&before, &[1]);
        assert_eq!((grown.disk_bytes, grown.loop_bytes), (12 * MIB, None));
        assert_eq!(grown.beyond_bytes, (12 - 1 - 1 - 3 - 1) * MIB);
        // One of the same number is another one, and all that it fetched is new.
        now.ours.get_mut(&2).unwrap().started_ticks = 6;
        assert_eq!(
            now.since(&before, &[1]).beyond_bytes,
            (12 - 1 - 1 - 4 - 1) * MIB
        );
    }

    #[test]
    fn a_process_that_has_gone_takes_nothing_away() {
        let before = HashMap::from([(11, 8 * MIB), (12, 3 * MIB)]);
        let now = HashMap::from([(12, 4 * MIB), (13, 32 * MIB)]);
        assert_eq!(growth(&before, &now), 33 * MIB);
    }

    const WRITES: &str =
        "dd if=/dev/zero of=\"$0\" bs=1M count=8 conv=fsync 2>/dev/null; echo $$; cat";

    /// What has written a file, waits for the end of its input, and is a child of ours or nobody's.
    fn writer(file: &std::path::Path, is_ours: bool) -> (Child, u32) {
        let script = match is_ours {
            true => WRITES,
            false => "exec 3<&0; sh -c \"$1\" \"$0\" <&3 &",
        };
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(file)
            .arg(WRITES)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        let said = child.stdout.as_mut().unwrap();
        BufReader::new(said).read_line(&mut pid).unwrap();
        if !is_ours {
            // Waiting for it closes what it reads from.
            let input = child.stdin.take();
            child.wait().unwrap();
            child.stdin = input;
        }
        (child, pid.trim().parse().unwrap())
    }

    /// Where others' files may be read: this needs root, and a disk.
    #[test]
    fn what_ended_is_in_the_figure_of_who_waited_for_it_and_ours_are_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let who = |ours: Vec<u32>| {
            Who::read(&HostWho {
                ours,
                ..HostWho::default()
            })
        };
        if !geteuid().is_root() {
            assert_eq!(moved_by_others(&who(Vec::new())), None);
            return;
        }
        File::create(directory.path().join("warm"))
            .unwrap()
            .write_all(b"1")
            .unwrap();
        let (ours, own) = writer(&directory.path().join("ours"), true);
        let (theirs, stranger) = writer(&directory.path().join("theirs"), false);
        let others = moved_by_others(&who(Vec::new())).unwrap();
        let without_them = moved_by_others(&who(vec![stranger])).unwrap();
        let expected = match Device::under(directory.path()) {
            Some(_) => 8 * MIB,
            None => 0,
        };
        assert!(
            others.get(&stranger).copied().unwrap_or(0) >= expected,
            "{others:?}"
        );
        assert!(!others.contains_key(&own) && !others.contains_key(&std::process::id()));
        assert!(!without_them.contains_key(&stranger));
        assert!(!others.contains_key(&2), "a thread of the kernel");
        for mut child in [ours, theirs] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
