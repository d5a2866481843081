//! Where the fields of a request stand.

use super::avoid_copies;
use crate::netperf::message::request::{flag, Moves, Request, KEEP, RECEIVE, SEND};
use crate::netperf::message::types::TestType;
use crate::netperf::message::words::Words;

impl Request {
    /// Walks over this request as one of type `test`.
    pub(in crate::netperf::message) fn lay_out<W: Words>(&mut self, test: TestType, words: &mut W) {
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
