//! IP addresses in an omni request: four words, of which IPv4 takes the first. A host writes
//! the bytes of an IPv6 address as if they were words of its own, so that little-endian hosts,
//! which is all there are, send the bytes of every word in reverse.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::request::{FAMILY_IPV4, FAMILY_IPV6};

/// The words of `address`.
pub fn words_of(address: IpAddr) -> [u32; 4] {
    match address {
        IpAddr::V4(address) => [address.to_bits(), 0, 0, 0],
        IpAddr::V6(address) => {
            let octets = address.octets();
            std::array::from_fn(|word| {
                u32::from_le_bytes(std::array::from_fn(|byte| octets[word * 4 + byte]))
            })
        }
    }
}

/// The address in `words`; `None` when its family is neither IPv4 nor IPv6, or no address is set.
pub fn address_of(family: i32, words: [u32; 4]) -> Option<IpAddr> {
    if words == [0; 4] {
        return None;
    }
    match family {
        FAMILY_IPV4 => Some(Ipv4Addr::from_bits(words[0]).into()),
        FAMILY_IPV6 => {
            let mut octets = [0; 16];
            for (place, word) in octets.chunks_exact_mut(4).zip(words) {
                place.copy_from_slice(&word.to_le_bytes());
            }
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_was_written() {
        for (family, text) in [
            (FAMILY_IPV4, "192.0.2.7"),
            (FAMILY_IPV6, "2001:db8::1:2"),
            (FAMILY_IPV6, "::1"),
        ] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(address_of(family, words_of(address)), Some(address));
        }
        assert_eq!(address_of(FAMILY_IPV4, [0; 4]), None);
        assert_eq!(address_of(7, [1; 4]), None);
    }

    #[test]
    fn every_word_of_ipv6_has_its_bytes_reversed() {
        assert_eq!(words_of("::1".parse().unwrap()), [0, 0, 0, 0x0100_0000]);
        assert_eq!(words_of("127.0.0.1".parse().unwrap())[0], 0x7f00_0001);
    }
}
