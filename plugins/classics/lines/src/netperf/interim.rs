//! Interim results, as -D asks for them.

use std::time::{SystemTime, UNIX_EPOCH};

use netperf::client::Interim;

use super::request::Mode;
use super::units::Unit;

/// The lines for one interim result, the `number`th of the test.
pub fn lines(mode: Mode, unit: Unit, number: usize, interim: &Interim) -> String {
    let rate = unit.count(interim.units as f64) / interim.elapsed_s;
    let seconds = interim.elapsed_s;
    let name = unit.name();
    let end_s = seconds_since_epoch(interim.end);
    match mode {
        Mode::Classic | Mode::Human => format!(
            "Interim result: {rate:7.2} {name}/s over {seconds:.3} seconds ending at {end_s:.3}\n"
        ),
        Mode::Csv => format!("{rate:.2},{name}/s,{seconds:.3},{end_s:.3}\n"),
        Mode::Keyval => format!(
            "NETPERF_INTERIM_RESULT[{number}]={rate:.2}\n\
             NETPERF_UNITS[{number}]={name}/s\n\
             NETPERF_INTERVAL[{number}]={seconds:.3}\n\
             NETPERF_ENDING[{number}]={end_s:.3}\n"
        ),
    }
}

fn seconds_since_epoch(time: SystemTime) -> f64 {
    let elapsed = time.duration_since(UNIX_EPOCH);
    elapsed.map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_mode_has_its_lines() {
        let interim = Interim {
            units: 14_670,
            elapsed_s: 0.21,
            end: UNIX_EPOCH + Duration::from_millis(1_795_257_018_273),
        };
        let of = |mode, unit| lines(mode, unit, 3, &interim);
        assert_eq!(
            of(Mode::Classic, Unit::Transactions),
            "Interim result: 69857.14 Trans/s over 0.210 seconds ending at 1795257018.273\n"
        );
        assert_eq!(
            of(Mode::Human, Unit::Bytes { two_to: 30 }),
            "Interim result:    0.00 GBytes/s over 0.210 seconds ending at 1795257018.273\n"
        );
        assert_eq!(
            of(Mode::Csv, Unit::MEGABITS),
            "0.56,10^6bits/s,0.210,1795257018.273\n"
        );
        assert_eq!(
            of(Mode::Keyval, Unit::Transactions),
            "NETPERF_INTERIM_RESULT[3]=69857.14\nNETPERF_UNITS[3]=Trans/s\n\
             NETPERF_INTERVAL[3]=0.210\nNETPERF_ENDING[3]=1795257018.273\n"
        );
    }
}
