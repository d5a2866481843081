//! What the processor says of itself: frequency, throttling; and how warm the machine is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::Root;

const CPUS: &str = "/sys/devices/system/cpu";
const DISK_MONITORS: [&str; 2] = ["nvme", "drivetemp"];
/// They count at the nominal and at the actual frequency while a CPU is not idle (Intel SDM,
/// volume 3, 15.2; AMD has the same numbers).
const MPERF: u64 = 0xE7;
const APERF: u64 = 0xE8;

/// Mean frequency of the CPUs, from now on.
///
/// From the registers APERF and MPERF (root and the module `msr`): of busy CPUs, relative to the
/// nominal frequency. Else from the time in each state (`cpufreq/stats`): idle time included,
/// relative to the highest one. The frequency of an instant says nothing of a trial.
pub struct Frequency {
    registers: Vec<File>,
    policies: Vec<PathBuf>,
    before: Option<(u64, u64)>,
}

impl Frequency {
    pub fn from_now(root: &Root) -> Self {
        let registers = entries(&root.at("/dev/cpu"), |name| name.parse::<u32>().is_ok());
        let registers = registers.iter().map(|cpu| File::open(cpu.join("msr")));
        let policies = entries(&root.at(CPUS).join("cpufreq"), |name| {
            name.starts_with("policy")
        });
        let mut watched = Self {
            // Of some CPUs it would be the mean of others.
            registers: registers.collect::<io::Result<_>>().unwrap_or_default(),
            policies: policies
                .iter()
                .map(|policy| policy.join("stats/time_in_state"))
                .collect(),
            before: None,
        };
        watched.before = watched.counts();
        watched
    }

    /// Actual over nominal, all CPUs together, since it was asked before; `None` where the host does
    /// not tell.
    pub fn ratio(&mut self) -> Option<f64> {
        let now = self.counts();
        let before = std::mem::replace(&mut self.before, now);
        let ((was, nominal_was), (actual, nominal)) = (before?, self.before?);
        // The registers turn over.
        let nominal = nominal.wrapping_sub(nominal_was);
        (nominal > 0).then(|| actual.wrapping_sub(was) as f64 / nominal as f64)
    }

    /// Actual and nominal so far, in any unit.
    fn counts(&self) -> Option<(u64, u64)> {
        registers(&self.registers, |file, number| {
            let mut register = [0; 8];
            file.read_exact_at(&mut register, number)?;
            Ok(u64::from_le_bytes(register))
        })
        .or_else(|| time_in_states(&self.policies))
    }
}

fn registers<T>(files: &[T], read: impl Fn(&T, u64) -> io::Result<u64>) -> Option<(u64, u64)> {
    let sum = |number| {
        files.iter().try_fold(0_u64, |sum, file| {
            Some(sum.wrapping_add(read(file, number).ok()?))
        })
    };
    let both = (sum(APERF)?, sum(MPERF)?);
    (!files.is_empty()).then_some(both)
}

/// Σ frequency · time, and Σ highest frequency · time, over all groups of CPUs.
fn time_in_states(policies: &[PathBuf]) -> Option<(u64, u64)> {
    let (mut actual, mut nominal) = (0, 0);
    for stats in policies {
        let text = fs::read_to_string(stats).unwrap_or_default();
        let states: Vec<(u64, u64)> = text
            .lines()
            .filter_map(|line| {
                let (frequency, ticks) = line.split_once(' ')?;
                Some((frequency.parse().ok()?, ticks.trim().parse().ok()?))
            })
            .collect();
        let highest = states.iter().map(|(frequency, _)| *frequency).max();
        for (frequency, ticks) in &states {
            actual += frequency * ticks;
            nominal += highest.unwrap_or(0) * ticks;
        }
    }
    (nominal > 0).then_some((actual, nominal))
}

/// What tells of heat: thermal zones, disks, and what counts that CPUs were slowed down.
pub struct Sensors {
    throttles: Vec<PathBuf>,
    temperatures: Vec<(String, PathBuf)>,
}

impl Sensors {
    pub fn find(root: &Root) -> Self {
        let is_cpu = |name: &str| {
            name.strip_prefix("cpu")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let throttles = entries(&root.at(CPUS), is_cpu);
        let throttles = throttles.iter().flat_map(|cpu| {
            entries(&cpu.join("thermal_throttle"), |name| {
                name.ends_with("_throttle_count")
            })
        });
        let zones = entries(&root.at("/sys/class/thermal"), |name| {
            name.starts_with("thermal_zone")
        });
        let zones = zones
            .into_iter()
            .map(|zone| (text(&zone.join("type")), zone, "temp"));
        let monitors = entries(&root.at("/sys/class/hwmon"), |name| {
            name.starts_with("hwmon")
        });
        let disks = monitors
            .into_iter()
            .map(|monitor| (text(&monitor.join("name")), monitor, "temp1_input"))
            .filter(|(name, ..)| DISK_MONITORS.contains(&name.as_str()));
        let named = zones.chain(disks).map(|(kind, place, file)| {
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            (format!("{kind} ({name})"), place.join(file))
        });
        Self {
            throttles: throttles.collect(),
            temperatures: named.collect(),
        }
    }

    /// How often CPUs were slowed down for heat since boot; `None`: that is not counted.
    pub fn throttled(&self) -> Option<u64> {
        let counts = self
            .throttles
            .iter()
            .filter_map(|file| text(file).parse::<u64>().ok());
        counts.reduce(|sum, count| sum + count)
    }

    /// Sensor → degrees Celsius; one that does not answer is left out.
    pub fn temperatures_c(&self) -> BTreeMap<String, f64> {
        let readings = self.temperatures.iter();
        readings
            .filter_map(|(name, file)| {
                let milli: i64 = text(file).parse().ok()?;
                Some((name.clone(), milli as f64 / 1000.0))
            })
            .collect()
    }
}

/// What is in a directory, by name.
fn entries(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found
        .filter(|entry| entry.file_name().to_str().is_some_and(&wanted))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// A small file; empty if it cannot be read.
fn text(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::tests::host;
    use super::*;

    #[test]
    fn mean_frequency_of_busy_cpus() {
        let read = |counts: &[(u64, u64)]| {
            registers(counts, |of, number| match number {
                APERF => Ok(of.0),
                _ => Ok(of.1),
            })
        };
        assert_eq!(read(&[(30, 20), (60, 40)]), Some((90, 60)));
        assert_eq!(read(&[]), None);
        assert_eq!(registers(&[0], |_, _| Err(io::Error::other("no"))), None);
        let mut watched = Frequency {
            registers: Vec::new(),
            policies: Vec::new(),
            before: None,
        };
        assert_eq!(watched.ratio(), None);
    }

    #[test]
    fn mean_frequency_from_the_time_in_states() {
        let file = "sys/devices/system/cpu/cpufreq/policy0/stats/time_in_state";
        let (directory, root) = host(&[(file, "3000 100\n1500 100\n")]);
        let mut watched = Frequency::from_now(&root);
        fs::write(directory.path().join(file), "3000 200\n1500 200\n").unwrap();
        assert_eq!(watched.ratio(), Some(0.75));
        assert_eq!(watched.ratio(), None, "nothing has passed");
    }

    #[test]
    fn heat() {
        let (_directory, root) = host(&[
            (
                "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
                "3\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
                "2\n",
            ),
            (
                "sys/devices/system/cpu/cpufreq/thermal_throttle/core_throttle_count",
                "90\n",
            ),
            ("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"),
            ("sys/class/thermal/thermal_zone0/temp", "51500\n"),
            ("sys/class/thermal/thermal_zone1/type", "acpitz\n"),
            ("sys/class/hwmon/hwmon1/name", "nvme\n"),
            ("sys/class/hwmon/hwmon1/temp1_input", "-1000\n"),
            ("sys/class/hwmon/hwmon2/name", "coretemp\n"),
            ("sys/class/hwmon/hwmon2/temp1_input", "70000\n"),
        ]);
        let sensors = Sensors::find(&root);
        assert_eq!(sensors.throttled(), Some(5));
        let expected = [
            ("nvme (hwmon1)".to_owned(), -1.0),
            ("x86_pkg_temp (thermal_zone0)".to_owned(), 51.5),
        ];
        assert_eq!(sensors.temperatures_c(), expected.into());
    }

    #[test]
    fn a_host_that_tells_nothing() {
        let (_directory, root) = host(&[]);
        let sensors = Sensors::find(&root);
        assert_eq!(
            (sensors.throttled(), sensors.temperatures_c().len()),
            (None, 0)
        );
        assert_eq!(Frequency::from_now(&root).ratio(), None);
    }
}
