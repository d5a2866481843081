//! Where the fields of a response stand.

use super::avoid_copies;
use crate::netperf::message::request::flag;
use crate::netperf::message::response::Response;
use crate::netperf::message::types::TestType;
use crate::netperf::message::words::Words;

impl Response {
    /// Walks over this answer as one to a request of type `test`.
    pub(in crate::netperf::message) fn lay_out<W: Words>(&mut self, test: TestType, words: &mut W) {
        match test {
            TestType::Omni => self.omni(words),
            TestType::TcpStream => self.stream(words, |response| &mut response.receive_size),
            TestType::TcpMaerts => self.stream(words, |response| &mut response.send_size),
            TestType::UdpStream => self.datagrams(words),
            TestType::TcpRr | TestType::TcpCrr | TestType::TcpCc | TestType::UdpRr => {
                self.exchange(words);
            }
        }
    }

    fn omni<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.receive_buffer);
        words.word(&mut self.receive_size);
        words.word(&mut self.receive_width);
        words.word(&mut self.send_buffer);
        words.word(&mut self.send_size);
        words.word(&mut self.send_width);
        words.unsigned(&mut self.flags);
        words.float(&mut self.cpu_rate);
        words.word(&mut self.length);
        avoid_copies(words);
        words.unsigned(&mut self.port);
        for _ in ["interval", "burst", "CPU frequency", "security"] {
            words.fixed(0);
        }
        words.word(&mut self.priority);
        words.word(&mut self.tos);
    }

    fn stream<W: Words>(&mut self, words: &mut W, size: impl Fn(&mut Self) -> &mut i32) {
        words.word(&mut self.receive_buffer);
        words.word(size(self));
        words.flag(&mut self.flags, flag::NO_DELAY);
        words.flag(&mut self.flags, flag::MEASURE_CPU);
        words.word(&mut self.length);
        words.word(&mut self.send_buffer);
        self.port_and_rate(words);
    }

    fn exchange<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.receive_buffer);
        words.flag(&mut self.flags, flag::NO_DELAY);
        words.flag(&mut self.flags, flag::MEASURE_CPU);
        words.word(&mut self.length);
        words.word(&mut self.send_buffer);
        self.port_and_rate(words);
    }

    fn datagrams<W: Words>(&mut self, words: &mut W) {
        words.word(&mut self.receive_buffer);
        words.word(&mut self.send_buffer);
        words.flag(&mut self.flags, flag::MEASURE_CPU);
        words.word(&mut self.length);
        self.port_and_rate(words);
    }

    fn port_and_rate<W: Words>(&mut self, words: &mut W) {
        words.unsigned(&mut self.port);
        words.float(&mut self.cpu_rate);
        avoid_copies(words);
    }
}
