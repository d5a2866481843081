//! What the local end asks the remote end to do, and where each field stands.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::words::avoid_copies;
use crate::message::types::TestType;
use crate::message::words::Words;

/// "Leave it as the system has it", where a number is asked for.
pub const KEEP: i32 = -1;

/// IPv4 in the word of the family.
pub const FAMILY_IPV4: i32 = 4;
/// IPv6 in the word of the family.
pub const FAMILY_IPV6: i32 = 6;

/// The remote end shall send.
pub const SEND: i32 = 2;
/// The remote end shall receive.
pub const RECEIVE: i32 = 4;

/// Bits of [`Request::flags`] and [`super::Response::flags`].
pub mod flag {
    /// `TCP_NODELAY`.
    pub const NO_DELAY: u32 = 0x1;
    /// A connection for every transaction.
    pub const CONNECTION_TEST: u32 = 0x4;
    /// Use of the CPUs is wanted.
    pub const MEASURE_CPU: u32 = 0x8;
    /// UDP without checksums.
    pub const CHECKSUM_OFF: u32 = 0x10;
    /// Packets may leave the directly attached network; also: the name of the congestion
    /// control is wanted.
    pub const ROUTING_ALLOWED: u32 = 0x20;
    /// TCP Fast Open.
    pub const FAST_OPEN: u32 = 0x800;
    /// Answer from the address that the datagram came to.
    pub const PACKET_INFO: u32 = 0x2000;
    /// Connect the UDP socket after the first datagram.
    pub const CONNECTED: u32 = 0x4000;
    /// `TCP_DEFER_ACCEPT`.
    pub const DEFER_ACCEPT: u32 = 0x8000;
    /// Discovery of the path's MTU.
    pub const MTU_DISCOVERY: u32 = 0x1_0000;
    /// `SO_KEEPALIVE`.
    pub const KEEP_ALIVE: u32 = 0x8000_0000;
}

/// How data are moved in one direction; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moves {
    /// Size of each call; [`KEEP`] or zero for that of the socket's buffer.
    pub size: i32,
    /// Every buffer begins at a multiple of this…
    pub align: i32,
    /// … and so far behind it.
    pub offset: i32,
    /// Buffers in the ring; zero for as many as fill the socket's buffer.
    pub width: i32,
}

impl Default for Moves {
    fn default() -> Self {
        Self {
            size: KEEP,
            align: 8,
            offset: 0,
            width: 0,
        }
    }
}

/// A test, as the remote end is informed; "send" and "receive" are what the remote end shall do.
/// A classic request carries less than this; what it lacks, it has by default.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// How the remote end sends.
    pub send: Moves,
    /// How the remote end receives.
    pub receive: Moves,
    /// `SO_SNDBUF` of the remote end, in bytes.
    pub send_buffer: i32,
    /// `SO_RCVBUF` of the remote end, in bytes.
    pub receive_buffer: i32,
    /// Size of a request in bytes; [`KEEP`] for a stream.
    pub request_size: i32,
    /// Size of a response in bytes.
    pub response_size: i32,
    /// Bits of [`flag`].
    pub flags: u32,
    /// What the local end believes that the remote CPUs do in a second when idle.
    pub cpu_rate: f32,
    /// In seconds; negative for bytes or transactions; zero for "until I end it".
    pub length: i32,
    /// Where the remote end shall wait for data; zero for any.
    pub port: u32,
    /// [`FAMILY_IPV4`], [`FAMILY_IPV6`] or zero.
    pub family: i32,
    /// `SOCK_STREAM` or `SOCK_DGRAM`.
    pub socket_type: i32,
    /// `IPPROTO_TCP` or `IPPROTO_UDP`.
    pub protocol: i32,
    /// [`SEND`], [`RECEIVE`], both, or neither.
    pub direction: i32,
    /// Where the local end's data come from.
    pub local_port: u32,
    /// Operations in each interval, for a remote end that keeps a pace.
    pub burst: i32,
    /// Such an interval, in µs.
    pub interval_us: i32,
    /// Words of the local end's address; zero when it is not bound to one.
    pub local_address: [u32; 4],
    /// Words of the address at which the remote end shall wait; zero for any.
    pub remote_address: [u32; 4],
    /// `SO_PRIORITY`.
    pub priority: i32,
    /// `IP_TOS` or `IPV6_TCLASS`.
    pub tos: i32,
    /// Name of the congestion control, up to the first zero.
    pub congestion: [u8; 16],
    /// Name of the file that the remote end fills its buffers from.
    pub fill: [u8; 32],
}

impl Default for Request {
    fn default() -> Self {
        Self {
            send: Moves::default(),
            receive: Moves::default(),
            send_buffer: KEEP,
            receive_buffer: KEEP,
            request_size: KEEP,
            response_size: KEEP,
            flags: flag::ROUTING_ALLOWED,
            cpu_rate: 0.0,
            length: 0,
            port: 0,
            family: 0,
            socket_type: 1,
            protocol: 6,
            direction: 0,
            local_port: 0,
            burst: 0,
            interval_us: 0,
            local_address: [0; 4],
            remote_address: [0; 4],
            priority: KEEP,
            tos: KEEP,
            congestion: [0; 16],
            fill: [0; 32],
        }
    }
}

impl Request {
    /// Whether the remote end shall measure the use of its CPUs.
    pub fn measures_cpu(&self) -> bool {
        self.flags & flag::MEASURE_CPU != 0
    }
}

impl Request {
    /// Walks over this request as one of type `test`.
    pub(super) fn lay_out<W: Words>(&mut self, test: TestType, words: &mut W) {
        match test {
            TestType::Omni => self.omni(words),
            TestType::TcpStream => self.stream(words, |request| &mut request.receive),
            TestType::TcpMaerts => self.stream(words, |request| &mut request.send),
            TestType::UdpStream => self.datagrams(words),
            TestType::TcpRr | TestType::TcpCrr | TestType::TcpCc | TestType::UdpRr => {
                self.exchange(words);
            }
        }
        self.imply(test);
    }

    fn omni<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.send_buffer);
        self.send.lay_out(words);
        words.word(&mut self.request_size);
        words.word(&mut self.receive_buffer);
        self.receive.lay_out(words);
        words.word(&mut self.response_size);
        words.unsigned(&mut self.flags);
        words.float(&mut self.cpu_rate);
        words.word(&mut self.length);
        avoid_copies(words);
        for _ in ["send dirty", "receive dirty", "receive clean"] {
            words.fixed(KEEP);
        }
        words.unsigned(&mut self.port);
        words.word(&mut self.family);
        words.word(&mut self.socket_type);
        words.word(&mut self.protocol);
        words.word(&mut self.direction);
        words.unsigned(&mut self.local_port);
        words.word(&mut self.burst);
        words.word(&mut self.interval_us);
        for word in self
            .local_address
            .iter_mut()
            .chain(&mut self.remote_address)
        {
            words.unsigned(word);
        }
        words.word(&mut self.priority);
        words.word(&mut self.tos);
        words.bytes(&mut self.congestion);
        words.bytes(&mut self.fill);
    }

    fn stream<W: Words>(&mut self, words: &mut W, moves: impl Fn(&mut Self) -> &mut Moves) {
        words.word(&mut self.send_buffer);
        words.word(&mut self.receive_buffer);
        words.word(&mut moves(self).size);
        words.word(&mut moves(self).align);
        words.word(&mut moves(self).offset);
        words.flag(&mut self.flags, flag::NO_DELAY);
        self.measurement(words);
        for _ in ["dirty", "clean"] {
            words.fixed(0);
        }
        words.unsigned(&mut self.port);
        words.word(&mut self.family);
    }

    fn exchange<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.receive_buffer);
        words.word(&mut self.send_buffer);
        for moves in [&mut self.receive, &mut self.send] {
            words.word(&mut moves.align);
            words.word(&mut moves.offset);
        }
        words.word(&mut self.request_size);
        words.word(&mut self.response_size);
        words.flag(&mut self.flags, flag::NO_DELAY);
        self.measurement(words);
        words.unsigned(&mut self.port);
        words.word(&mut self.family);
    }

    fn datagrams<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.receive_buffer);
        words.word(&mut self.receive.size);
        words.flag(&mut self.flags, flag::CONNECTED);
        words.word(&mut self.receive.align);
        words.word(&mut self.receive.offset);
        words.flag(&mut self.flags, flag::CHECKSUM_OFF);
        self.measurement(words);
        words.unsigned(&mut self.port);
        words.word(&mut self.family);
    }

    fn measurement<W: Words>(&mut self, words: &mut W) {
        words.flag(&mut self.flags, flag::MEASURE_CPU);
        words.float(&mut self.cpu_rate);
        words.word(&mut self.length);
        avoid_copies(words);
    }

    /// What a classic type says without a word.
    fn imply(&mut self, test: TestType) {
        let (direction, is_tcp) = match test {
            TestType::Omni => return,
            TestType::TcpStream => (RECEIVE, true),
            TestType::TcpMaerts => (SEND, true),
            TestType::TcpRr | TestType::TcpCrr => (SEND | RECEIVE, true),
            TestType::TcpCc => (0, true),
            TestType::UdpStream => (RECEIVE, false),
            TestType::UdpRr => (SEND | RECEIVE, false),
        };
        self.direction = direction;
        (self.socket_type, self.protocol) = if is_tcp {
            (libc::SOCK_STREAM, libc::IPPROTO_TCP)
        } else {
            (libc::SOCK_DGRAM, libc::IPPROTO_UDP)
        };
        self.flags |= flag::ROUTING_ALLOWED;
        if matches!(test, TestType::TcpCrr | TestType::TcpCc) {
            self.flags |= flag::CONNECTION_TEST;
        }
    }
}

impl Moves {
    fn lay_out<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.size);
        words.word(&mut self.align);
        words.word(&mut self.offset);
        words.word(&mut self.width);
    }
}

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
