//! Before a trial: what was written earlier reaches the disks, so that nobody pays for others.
//!
//! Disks have come to rest when nothing is waiting to be written and no task has waited for one in the
//! last moment. (The kernel's own averages, `avg10`, remember the trial before for half a minute, so
//! pressure is taken from its totals.) On a busy host that never comes, so patience has a limit. CPU
//! time and heat are not waited for: neighbours do not stop because we wait.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use wire::{HostSettle, HostSettled};

const PRESSURE: &str = "/proc/pressure/io";
const CALM_BYTES: u64 = 1 << 20;
const CALM_SHARE: f64 = 0.2;
const STEP: Duration = Duration::from_millis(50);
/// While sync(2) runs, so often it is looked whether it still does.
const LOOK: Duration = Duration::from_millis(2);

/// The text of a file, where there is one.
type Read<'a> = &'a mut dyn FnMut(&str) -> Option<String>;
/// Sleeps no longer than that; an error: it is not to go on.
type Wait<'a, E> = &'a mut dyn FnMut(Duration) -> Result<(), E>;

/// Does what is asked for; `wait` hears what comes meanwhile.
///
/// # Errors
/// Those of `wait`.
pub fn settle<E>(asked: HostSettle, wait: Wait<E>) -> Result<HostSettled, E> {
    let began = Instant::now();
    if asked.sync {
        // It takes what the disks take, while there is somebody to be heard.
        let writing = thread::spawn(rustix::fs::sync);
        while !writing.is_finished() {
            wait(LOOK)?;
        }
    }
    let limit = Duration::from_secs_f64(asked.limit_s);
    let read = &mut |path: &str| fs::read_to_string(path).ok();
    let (dirty_bytes, waiting_share) = at_rest(limit, read, wait)?;
    Ok(HostSettled {
        elapsed_s: began.elapsed().as_secs_f64(),
        dirty_bytes,
        waiting_share,
    })
}

/// What is dirty, and the share of the last step in which a task waited, when that is little or patience
/// has ended.
fn at_rest<E>(limit: Duration, read: Read, wait: Wait<E>) -> Result<(u64, Option<f64>), E> {
    let began = Instant::now();
    loop {
        let share = match limit.is_zero() {
            true => None,
            false => waiting_share(read, wait)?,
        };
        let dirty_bytes = dirty_bytes(&read("/proc/meminfo").unwrap_or_default());
        let is_calm = dirty_bytes <= CALM_BYTES && share.unwrap_or(0.0) <= CALM_SHARE;
        if is_calm || began.elapsed() >= limit {
            return Ok((dirty_bytes, share));
        }
    }
}

/// Of one step; `None` where the kernel does not tell it.
fn waiting_share<E>(read: Read, wait: Wait<E>) -> Result<Option<f64>, E> {
    let mut waited_s = || kit::proc::parse_pressure(&read(PRESSURE)?);
    let (before, began) = (waited_s(), Instant::now());
    while let Some(left) = STEP.checked_sub(began.elapsed()) {
        wait(left)?;
    }
    let share = |(now, before): (f64, f64)| (now - before) / began.elapsed().as_secs_f64();
    Ok(waited_s()
        .zip(before)
        .map(|both| share(both).clamp(0.0, 1.0)))
}

/// Page cache that is not on disk yet, by the text of /proc/meminfo.
fn dirty_bytes(text: &str) -> u64 {
    let of = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let kib: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
        matches!(name, "Dirty" | "Writeback").then_some(kib << 10)
    };
    text.lines().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleep(most: Duration) -> Result<(), ()> {
        thread::sleep(most);
        Ok(())
    }

    /// Disks for which tasks have waited so long in all, each time that is asked.
    fn rested(
        limit_s: f64,
        dirty_kib: u64,
        mut waited_s: impl FnMut() -> Option<f64>,
    ) -> (usize, u64, Option<f64>) {
        let mut looks = 0;
        let mut read = |path: &str| {
            if path == "/proc/meminfo" {
                looks += 1;
                return Some(format!("Dirty: {dirty_kib} kB\nWriteback: 0 kB\n"));
            }
            let total_us = waited_s()? * 1e6;
            Some(format!("some avg10=0.00 total={total_us:.0}\n"))
        };
        let limit = Duration::from_secs_f64(limit_s);
        let (dirty_bytes, share) = at_rest(limit, &mut read, &mut sleep).unwrap();
        (looks, dirty_bytes, share)
    }

    #[test]
    fn calm_disks_take_one_step_and_busy_ones_are_waited_for() {
        assert_eq!(rested(2.0, 4, || Some(5.0)), (1, 4096, Some(0.0)));
        let mut waited_s = [0.0, 1.0, 1.0, 2.0, 2.0, 2.0].into_iter();
        assert_eq!(rested(600.0, 0, || waited_s.next()), (3, 0, Some(0.0)));
        assert_eq!(rested(600.0, 0, || None), (1, 0, None));
    }

    #[test]
    fn patience_ends_and_without_any_only_what_is_dirty_is_read() {
        let mut waited_s = 0.0;
        let mut more = || {
            waited_s += 1e6;
            Some(waited_s)
        };
        let began = Instant::now();
        let (looks, dirty_bytes, share) = rested(0.12, 1 << 20, &mut more);
        assert!(looks >= 1 && began.elapsed().as_secs_f64() >= 0.12);
        assert_eq!((dirty_bytes, share), (1 << 30, Some(1.0)));
        assert_eq!(rested(0.0, 1 << 20, || panic!("asked")), (1, 1 << 30, None));
    }

    #[test]
    fn this_host_settles() {
        let asked = HostSettle {
            limit_s: 0.1,
            sync: true,
        };
        let found = settle(asked, &mut sleep).unwrap();
        assert!(found.elapsed_s >= STEP.as_secs_f64(), "{found:?}");
        assert!(found
            .waiting_share
            .is_none_or(|share| (0.0..=1.0).contains(&share)));
    }

    #[test]
    fn what_waits_to_be_written_is_dirty_or_under_way() {
        let text = "MemTotal:       16 kB\nDirty:            12 kB\nWriteback:         4 kB\n\
                    WritebackTmp:      8 kB\nDirty:            many\n";
        assert_eq!(dirty_bytes(text), 16 << 10);
        assert_eq!(dirty_bytes(""), 0);
    }
}
