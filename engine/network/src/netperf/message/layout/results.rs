//! Where the fields of results stand.

use crate::netperf::message::results::{CpuPercent, Results};
use crate::netperf::message::types::TestType;
use crate::netperf::message::words::Words;
use crate::netperf::message::Generation;

impl Results {
    /// Walks over these results as those of a test of type `test`.
    pub(in crate::netperf::message) fn lay_out<W: Words>(
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
