//! Which field stands where, by the test's type.

use super::request::{flag, Moves, Request, KEEP, RECEIVE, SEND};
use super::response::Response;
use super::results::{CpuPercent, Results};
use super::types::TestType;
use super::words::Words;
use super::Generation;

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
        words.unsigned(&mut self.near_port);
        words.word(&mut self.burst);
        words.word(&mut self.interval_us);
        for word in self.near_address.iter_mut().chain(&mut self.far_address) {
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

/// Two switches for systems that could receive or send without a copy. Linux is not one.
fn avoid_copies<W: Words>(words: &mut W) {
    for _ in ["receive", "send"] {
        words.fixed(0);
    }
}

impl Response {
    /// Walks over this answer as one to a request of type `test`.
    pub(super) fn lay_out<W: Words>(&mut self, test: TestType, words: &mut W) {
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

impl Results {
    /// Walks over these results as those of a test of type `test`.
    pub(super) fn lay_out<W: Words>(
        &mut self,
        test: TestType,
        generation: Generation,
        words: &mut W,
    ) {
        match test {
            TestType::Omni => self.omni(generation, words),
            TestType::TcpStream => {
                in_double(&mut self.received_bytes, words);
                words.unsigned(&mut self.receives);
                self.classic_tail(words);
                words.word(&mut self.receive_buffer);
                words.word(&mut self.send_buffer);
            }
            TestType::TcpMaerts => {
                in_double(&mut self.sent_bytes, words);
                words.unsigned(&mut self.sends);
                self.classic_tail(words);
            }
            TestType::UdpStream => {
                words.unsigned(&mut self.receives);
                in_word(&mut self.received_bytes, words);
                words.float(&mut self.elapsed_s);
                words.float(&mut self.cpu.busy);
                words.word(&mut self.cpu_method);
                words.word(&mut self.cpus);
            }
            TestType::TcpRr | TestType::TcpCrr | TestType::TcpCc | TestType::UdpRr => {
                in_word(&mut self.received_bytes, words);
                words.unsigned(&mut self.receives);
                words.unsigned(&mut self.transactions);
                self.classic_tail(words);
            }
        }
    }

    fn omni<W: Words>(&mut self, generation: Generation, words: &mut W) {
        words.wide(&mut self.received_bytes);
        words.unsigned(&mut self.receives);
        words.word(&mut self.receive_buffer);
        words.wide(&mut self.sent_bytes);
        words.unsigned(&mut self.sends);
        words.word(&mut self.send_buffer);
        words.unsigned(&mut self.failed_sends);
        words.unsigned(&mut self.transactions);
        words.float(&mut self.elapsed_s);
        words.float(&mut self.cpu.busy);
        if generation == Generation::V2_7 {
            self.cpu.shares(words);
        }
        no_service_demand(words);
        words.word(&mut self.cpu_method);
        words.word(&mut self.cpus);
        words.word(&mut self.peak_cpu);
        words.float(&mut self.peak_percent);
        for _ in ["vendor", "device", "subvendor", "subdevice"] {
            words.fixed(0);
        }
        words.word(&mut self.retransmits);
        // Names of the interface, its driver (four texts of 32 bytes) and its slot: no longer
        // told by anyone.
        words.bytes(&mut [0; 16 + 4 * 32 + 16]);
        words.bytes(&mut self.congestion);
    }

    fn classic_tail<W: Words>(&mut self, words: &mut W) {
        words.float(&mut self.elapsed_s);
        words.float(&mut self.cpu.busy);
        no_service_demand(words);
        words.word(&mut self.cpu_method);
        words.word(&mut self.cpus);
    }
}

impl CpuPercent {
    fn shares<W: Words>(&mut self, words: &mut W) {
        words.float(&mut self.user);
        words.float(&mut self.system);
        words.float(&mut self.iowait);
        words.float(&mut self.irq);
        words.float(&mut self.softirq);
    }
}

/// A field in every results message that the near end computes for itself.
fn no_service_demand<W: Words>(words: &mut W) {
    words.float(&mut -1.0);
}

/// A number of bytes, as a floating-point number.
fn in_double<W: Words>(bytes: &mut u64, words: &mut W) {
    let mut number = *bytes as f64;
    words.double(&mut number);
    *bytes = number as u64;
}

/// A number of bytes, in one word: what is above 2^32 is lost.
fn in_word<W: Words>(bytes: &mut u64, words: &mut W) {
    let mut low = *bytes as u32;
    words.unsigned(&mut low);
    *bytes = u64::from(low);
}
