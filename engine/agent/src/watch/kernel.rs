//! What the kernel counts and says: events of memory, its clock, and errors in its log.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use rustix::time::{clock_gettime, ClockId};

use super::Root;

pub const SWAPPED: &str = "swapped";
pub const ALLOCATION_STALLS: &str = "allocstall";
pub const COMPACTION_STALLS: &str = "compact_stall";
pub const HUGE_PAGE_FALLBACKS: &str = "thp_fault_fallback";

/// The longest record of the log: `CONSOLE_EXT_LOG_MAX` of the kernel.
const RECORD_BYTES: usize = 8192;
/// Of more errors only the first are told.
const MOST: usize = 10;
/// A record's first number is facility · 8 + level.
const LEVELS: u32 = 8;
const ERROR: u32 = 3;
/// How such messages begin: a device that lacks an operation (a loop device cannot always write zeroes
/// by itself), which the block layer then does in another way.
const HARMLESS: &str = "operation not supported error";
/// Of so many readings of two clocks the closest counts.
const READINGS: usize = 5;

/// Events of memory since boot, as far as this kernel counts them: of hundreds of counters those that
/// are looked at. Stalls are counted by zone.
pub fn events_of_memory(root: &Root) -> BTreeMap<&'static str, u64> {
    let text = fs::read_to_string(root.at("/proc/vmstat")).unwrap_or_default();
    let mut events = BTreeMap::new();
    for line in text.lines() {
        let Some((name, count)) = line.split_once(' ') else {
            continue;
        };
        let kind = match name {
            "pswpin" | "pswpout" => SWAPPED,
            COMPACTION_STALLS => COMPACTION_STALLS,
            HUGE_PAGE_FALLBACKS => HUGE_PAGE_FALLBACKS,
            _ if name == ALLOCATION_STALLS || name.starts_with("allocstall_") => ALLOCATION_STALLS,
            _ => continue,
        };
        *events.entry(kind).or_insert(0) += count.parse().unwrap_or(0);
    }
    events
}

/// The clock that the kernel reads; empty where it does not say.
pub fn clock_source(root: &Root) -> String {
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let text = fs::read_to_string(root.at(file)).unwrap_or_default();
    text.trim().to_owned()
}

/// The time of day less the monotonic clock.
///
/// Both are slewed alike by a time service, which is harmless (at most 500 ppm, adjtimex(2)); so the
/// difference changes only when somebody sets the time. Two clocks cannot be read at once: of some
/// readings counts the one in which the least time has passed, so that it is no step of the clock when
/// this process had to wait for its CPU between them.
pub fn time_of_day_ahead_ns() -> i64 {
    closest_ahead_ns(|clock| {
        let now = clock_gettime(clock);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    })
}

fn closest_ahead_ns(mut now_ns: impl FnMut(ClockId) -> i64) -> i64 {
    let mut reading = || {
        let began = now_ns(ClockId::Monotonic);
        let now = now_ns(ClockId::Realtime);
        let ended = now_ns(ClockId::Monotonic);
        (ended - began, now - (began + (ended - began) / 2))
    };
    let readings = (0..READINGS).map(|_| reading());
    readings.min().map_or(0, |(_, ahead)| ahead)
}

/// The kernel's messages from now on.
pub struct Log(Option<File>);

impl Log {
    /// At its end, where we may read it.
    pub fn from_now(root: &Root) -> Self {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let opened = options.open(root.at("/dev/kmsg")).and_then(|mut log| {
            log.seek(SeekFrom::End(0))?;
            Ok(log)
        });
        Self(opened.ok())
    }

    /// What the kernel itself said at level error or graver, the first few since last asked; `None`
    /// where the log may not be read.
    pub fn errors(&mut self) -> Option<Vec<String>> {
        let log = self.0.as_mut()?;
        Some(errors_of(|record| log.read(record)))
    }
}

fn errors_of(mut next: impl FnMut(&mut [u8]) -> io::Result<usize>) -> Vec<String> {
    let (mut found, mut record) = (Vec::new(), [0; RECORD_BYTES]);
    while found.len() < MOST {
        match next(&mut record) {
            // Records were overwritten before we came to them.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Ok(length @ 1..) => found.extend(error_of(&String::from_utf8_lossy(&record[..length]))),
            _ => break,
        }
    }
    found
}

/// The message of a record, if it is the kernel's own (facility 0) and tells of an error.
fn error_of(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let number: u32 = head.split(',').next()?.parse().ok()?;
    let is_error = number / LEVELS == 0 && number % LEVELS <= ERROR;
    (is_error && !text.starts_with(HARMLESS))
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::host;
    use super::*;

    #[test]
    fn events_of_memory_are_added_up_and_others_are_not_taken_for_them() {
        let text = "pswpin 5\npswpout 7\nallocstall_dma 1\nallocstall_normal 2\ncompact_stall 9\n\
                    thp_fault_fallback_charge 1\nzone_pswpin 1\nx\n";
        let (_directory, root) = host(&[("proc/vmstat", text)]);
        let expected = [
            (SWAPPED, 12),
            (ALLOCATION_STALLS, 3),
            (COMPACTION_STALLS, 9),
        ];
        assert_eq!(events_of_memory(&root), expected.into());
        assert!(events_of_memory(&host(&[]).1).is_empty());
    }

    #[test]
    fn a_process_that_had_to_wait_between_two_clocks_sees_no_step() {
        // Each reading of a clock takes 40 ns; before every seventh one this process waits for 4 ms.
        let (mut now_ns, mut readings) = (1_000_000_000_000_000, 0);
        let mut read = |clock| {
            readings += 1;
            now_ns += if readings % 7 == 0 { 4_000_000 } else { 40 };
            now_ns
                + match clock {
                    ClockId::Realtime => 5_000_000_000_000_000_000,
                    _ => 0,
                }
        };
        let ahead: Vec<i64> = (0..7).map(|_| closest_ahead_ns(&mut read)).collect();
        let (least, most) = (ahead.iter().min().unwrap(), ahead.iter().max().unwrap());
        assert!(most - least < 1_000, "{ahead:?}");
        let earlier = time_of_day_ahead_ns();
        assert!((time_of_day_ahead_ns() - earlier).abs() < 1_000_000);
    }

    #[test]
    fn only_errors_of_the_kernel_are_told() {
        let mut records = [
            Ok("6,1,100,-;EXT4-fs (loop0): mounted filesystem\n"),
            Ok("3,2,110,-;I/O error, dev vda, sector 5\n SUBSYSTEM=block\n"),
            Ok("27,3,120,-;daemon[7]: error of a program\n"),
            Err(ErrorKind::BrokenPipe),
            Ok("3,4,125,-;operation not supported error, dev loop0, sector 8 op 0x9:(WRITE_ZEROES)\n"),
            Ok("no record\n"),
            Ok("2,5,130,-;mce: hardware error\n"),
        ]
        .into_iter();
        let mut next = |buffer: &mut [u8]| match records.next() {
            Some(Ok(text)) => {
                buffer[..text.len()].copy_from_slice(text.as_bytes());
                Ok(text.len())
            }
            Some(Err(kind)) => Err(kind.into()),
            None => Err(ErrorKind::WouldBlock.into()),
        };
        let expected = ["I/O error, dev vda, sector 5", "mce: hardware error"];
        assert_eq!(errors_of(&mut next), expected);
        let always = |buffer: &mut [u8]| {
            buffer[..4].copy_from_slice(b"3,;x");
            Ok(4)
        };
        assert_eq!(errors_of(always).len(), MOST);
        assert_eq!(Log::from_now(&host(&[]).1).errors(), None);
    }
}
