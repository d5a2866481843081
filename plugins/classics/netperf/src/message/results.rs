//! What the remote end grants and counted, and where each field stands.

use super::words::avoid_copies;
use crate::message::request::flag;
use crate::message::types::TestType;
use crate::message::words::Words;
use crate::message::Generation;

/// In [`Results::cpu_method`]: from `/proc/stat`.
pub const PROC_STAT: i32 = 8;

/// Shares of the time of all CPUs, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuPercent {
    /// Not idle.
    pub busy: f32,
    /// In programs.
    pub user: f32,
    /// In the kernel.
    pub system: f32,
    /// Idle, and something waited for a disk.
    pub iowait: f32,
    /// In interrupts.
    pub irq: f32,
    /// In software interrupts: most of what the network costs.
    pub softirq: f32,
}

impl CpuPercent {
    /// All of them.
    pub fn percents(&self) -> [f32; 6] {
        let Self {
            busy,
            user,
            system,
            iowait,
            irq,
            softirq,
        } = *self;
        [busy, user, system, iowait, irq, softirq]
    }
}

/// The sums of the remote end. A classic test's results carry only some of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Bytes received; modulo 2^32 in classic UDP tests and transactions.
    pub received_bytes: u64,
    /// Calls that received them; the messages of a classic UDP stream.
    pub receives: u32,
    /// `SO_RCVBUF` at the end, in bytes.
    pub receive_buffer: i32,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Calls that sent them.
    pub sends: u32,
    /// `SO_SNDBUF` at the end, in bytes.
    pub send_buffer: i32,
    /// Datagrams that the kernel had no room for.
    pub failed_sends: u32,
    /// Requests answered.
    pub transactions: u32,
    /// How long it took, in seconds.
    pub elapsed_s: f32,
    /// Use of the CPUs; zero when nobody asked.
    pub cpu: CpuPercent,
    /// [`PROC_STAT`]; zero when nobody asked.
    pub cpu_method: i32,
    /// How many CPUs the remote end has.
    pub cpus: i32,
    /// The busiest of them.
    pub peak_cpu: i32,
    /// How busy it was, in percent.
    pub peak_percent: f32,
    /// Segments that TCP sent again; [`super::KEEP`] where there is no TCP.
    pub retransmits: i32,
    /// Name of the congestion control, up to the first zero.
    pub congestion: [u8; 16],
}

/// Where the data go, and the remote end's sizes in bytes. A classic response carries only the
/// buffers, one size, the flags that it knows, and the port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Response {
    /// `SO_RCVBUF` as the kernel gave it.
    pub receive_buffer: i32,
    /// Bytes that each call asks for.
    pub receive_size: i32,
    /// Buffers in the ring of the receiver.
    pub receive_width: i32,
    /// `SO_SNDBUF` as the kernel gave it.
    pub send_buffer: i32,
    /// Bytes of each call.
    pub send_size: i32,
    /// Buffers in the ring of the sender.
    pub send_width: i32,
    /// Bits of [`super::flag`].
    pub flags: u32,
    /// What an idle CPU does in a second; on Linux, clock ticks.
    pub cpu_rate: f32,
    /// The length as it was asked for.
    pub length: i32,
    /// Where the remote end waits for data.
    pub port: u32,
    /// `SO_PRIORITY`.
    pub priority: i32,
    /// `IP_TOS` or `IPV6_TCLASS`.
    pub tos: i32,
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

/// A field in every results message that the local end computes for itself.
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
