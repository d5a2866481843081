//! The figures that the original prints: whole seconds (see [`super::course`]), counts divided
//! as integers, data in units of 1024.

use wire::Native;

const KILO: f64 = 1024.0;
const MEGA: f64 = KILO * KILO;

/// A number of operations per second, rounded down.
pub fn rate(operations: u64, whole_s: u64) -> Native {
    native((operations / whole_s) as f64, "per second")
}

/// Data per second with two decimals: in megabytes if there is more than one, else in kilobytes.
pub fn data_rate(bytes: u64, whole_s: u64) -> Native {
    let bytes_per_s = bytes as f64 / whole_s as f64;
    if bytes_per_s > MEGA {
        native(two_decimals(bytes_per_s / MEGA), "megabytes per second")
    } else if bytes_per_s > 0.0 {
        native(two_decimals(bytes_per_s / KILO), "kilobytes per second")
    } else {
        native(0.0, "bytes per second")
    }
}

/// A time in seconds.
pub fn time(whole_s: u64) -> Native {
    native(whole_s as f64, "seconds")
}

fn native(value: f64, unit: &str) -> Native {
    Native {
        value,
        unit: unit.to_owned(),
    }
}

fn two_decimals(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(native: Native, value: f64, unit: &str) {
        assert_eq!((native.value, native.unit.as_str()), (value, unit));
    }

    #[test]
    fn rates_are_divided_as_integers() {
        check(rate(1000, 3), 333.0, "per second");
        check(rate(2, 3), 0.0, "per second");
    }

    #[test]
    fn data_are_shown_in_the_unit_of_the_original() {
        check(data_rate(1_430_770, 1), 1.36, "megabytes per second");
        check(data_rate(80_908, 1), 79.01, "kilobytes per second");
        check(data_rate(1 << 20, 1), 1024.0, "kilobytes per second");
        check(data_rate(100, 1), 0.10, "kilobytes per second");
        check(data_rate(0, 1), 0.0, "bytes per second");
    }
}
