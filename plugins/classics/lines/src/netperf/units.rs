//! Units of the figures, as -f chooses them.

/// What throughput is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A power of ten of bits in each second.
    Bits {
        ten_to: u32,
    },
    /// A power of two of bytes.
    Bytes {
        two_to: u32,
    },
    Transactions,
}

impl Unit {
    /// What throughput of a test is given in that says nothing else: 10⁶ bits.
    pub const MEGABITS: Self = Self::Bits { ten_to: 6 };

    /// The unit behind -f.
    pub fn of(letter: &str) -> Option<Self> {
        Some(match letter {
            "b" => Self::Bits { ten_to: 0 },
            "k" => Self::Bits { ten_to: 3 },
            "m" => Self::MEGABITS,
            "g" => Self::Bits { ten_to: 9 },
            "B" => Self::Bytes { two_to: 0 },
            "K" => Self::Bytes { two_to: 10 },
            "M" => Self::Bytes { two_to: 20 },
            "G" => Self::Bytes { two_to: 30 },
            "x" => Self::Transactions,
            _ => return None,
        })
    }

    /// What it counts, as netperf spells it; "/s" is put behind it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bits { ten_to: 0 } => "10^0bits",
            Self::Bits { ten_to: 3 } => "10^3bits",
            Self::Bits { ten_to: 9 } => "10^9bits",
            Self::Bits { .. } => "10^6bits",
            Self::Bytes { two_to: 0 } => "Bytes",
            Self::Bytes { two_to: 10 } => "KBytes",
            Self::Bytes { two_to: 20 } => "MBytes",
            Self::Bytes { .. } => "GBytes",
            Self::Transactions => "Trans",
        }
    }

    /// So many bytes or, where those are counted, transactions, in units.
    pub fn count(self, bytes_or_transactions: f64) -> f64 {
        match self {
            Self::Bits { ten_to } => bytes_or_transactions * 8.0 / 10_f64.powi(ten_to as i32),
            Self::Bytes { two_to } => bytes_or_transactions / 2_f64.powi(two_to as i32),
            Self::Transactions => bytes_or_transactions,
        }
    }

    /// As this one, but of bytes also where transactions are counted.
    pub fn of_bytes(self) -> Self {
        match self {
            Self::Transactions => Self::MEGABITS,
            bytes => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_a_size_and_a_name() {
        for (letter, name, of_a_gibibyte) in [
            ("b", "10^0bits", 8.0 * 1_073_741_824.0),
            ("k", "10^3bits", 8_589_934.592),
            ("m", "10^6bits", 8_589.934_592),
            ("g", "10^9bits", 8.589_934_592),
            ("B", "Bytes", 1_073_741_824.0),
            ("K", "KBytes", 1_048_576.0),
            ("M", "MBytes", 1024.0),
            ("G", "GBytes", 1.0),
            ("x", "Trans", 1_073_741_824.0),
        ] {
            let unit = Unit::of(letter).unwrap();
            assert_eq!(unit.name(), name);
            assert_eq!(unit.count(1_073_741_824.0), of_a_gibibyte);
        }
        assert_eq!(Unit::of("z"), None);
    }
}
