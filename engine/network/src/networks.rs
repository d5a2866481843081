//! Networks, as a command line names those that may be served.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Whether `address` lies in it; one of IPv4 that came as one of IPv6 is one of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, own_width) = bits(self.address);
        let (other, width) = bits(address.to_canonical());
        let outside = width - self.prefix_bits.min(width);
        own_width == width && (own ^ other).checked_shr(outside).unwrap_or(0) == 0
    }

    /// What an address shares with all others of its host: of IPv6 the first half, since one host
    /// may have any number of addresses in that.
    pub fn of_host(address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        }
    }
}

/// An address as a number, and how many bits it has.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), u32::BITS),
        IpAddr::V6(address) => (address.to_bits(), u128::BITS),
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let wrong = || "use an address or a network, such as 10.0.0.0/8 or fd00::/8".to_owned();
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (number, width) = bits(address);
        let prefix_bits = match text.contains('/') {
            true => prefix.parse().map_err(|_| wrong())?,
            false => width,
        };
        if prefix_bits > width {
            return Err(format!("a prefix has at most {width} bits there"));
        }
        let outside = width - prefix_bits;
        if number.trailing_zeros().min(width) < outside {
            return Err(format!("bits are set behind the first {prefix_bits}"));
        }
        Ok(Self {
            address,
            prefix_bits,
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_begin_alike() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
            ("192.0.2.128/25", "192.0.2.128", "192.0.2.127"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:11.0.0.1"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("::1", "::1", "::2"),
        ] {
            let parsed: Network = network.parse().unwrap();
            assert!(parsed.contains(inside.parse().unwrap()), "{network}");
            assert!(!parsed.contains(outside.parse().unwrap()), "{network}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "::/129",
            "all",
            "10/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_has_half_of_the_bits_of_ipv6() {
        let of = |text: &str| Network::of_host(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
