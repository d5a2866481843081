//! The far end's side of an outcome, from what it said.

use super::outcome::{Side, SocketBuffer};
use super::test::Test;
use crate::netperf::data::cpu::CpuUse;
use crate::netperf::message::{Response, Results, TestType};

/// What the far end granted and counted. A classic type tells less, and bytes not at all or in
/// one word, which overflows: they follow from the messages, of which all are whole.
pub fn far_side(
    test: &Test,
    test_type: TestType,
    message_size: Option<u32>,
    response: &Response,
    results: &Results,
) -> Side {
    let is_omni = test_type == TestType::Omni;
    let tells_last = is_omni || test_type == TestType::TcpStream;
    let buffer = |asked, initial: i32, last: i32| SocketBuffer {
        asked,
        initial: known(initial),
        last: known(last).filter(|_| tells_last),
    };
    let sends = test.kind.receives();
    let receives = test.kind.sends();
    let (received_bytes, sent_bytes) = match test_type {
        TestType::UdpStream => (
            u64::from(results.receives) * u64::from(message_size.unwrap_or(0)),
            0,
        ),
        TestType::TcpRr | TestType::TcpCrr | TestType::UdpRr => (
            u64::from(results.transactions) * u64::from(test.request_size),
            u64::from(results.transactions) * u64::from(test.response_size),
        ),
        _ => (results.received_bytes, results.sent_bytes),
    };
    Side {
        sent_bytes,
        sends: results.sends.into(),
        failed_sends: results.failed_sends.into(),
        received_bytes,
        receives: results.receives.into(),
        transactions: results.transactions.into(),
        // One that subtracts seconds that it did not wait gets below zero.
        elapsed_s: f64::from(results.elapsed_s).max(0.0),
        send_buffer: buffer(
            test.far.send_buffer,
            response.send_buffer,
            results.send_buffer,
        ),
        receive_buffer: buffer(
            test.far.receive_buffer,
            response.receive_buffer,
            results.receive_buffer,
        ),
        send_size: known(response.send_size).filter(|_| sends),
        receive_size: known(response.receive_size).filter(|_| receives),
        send_width: known(response.send_width).filter(|_| sends),
        receive_width: known(response.receive_width).filter(|_| receives),
        cpus: known(results.cpus),
        cpu: (test.far.measure_cpu && results.cpu_method > 0).then(|| cpu_use(results)),
        cpu_method: known(results.cpu_method).filter(|_| test.far.measure_cpu),
        retransmits: u64::try_from(results.retransmits)
            .ok()
            .filter(|_| is_omni && !test.kind.is_udp()),
        congestion: name(&results.congestion),
        tos: u8::try_from(response.tos).ok().filter(|_| is_omni),
        priority: u32::try_from(response.priority).ok().filter(|_| is_omni),
    }
}

/// A number that was told: a netserver leaves zero or less for what it does not tell.
fn known(value: i32) -> Option<u32> {
    u32::try_from(value).ok().filter(|&value| value > 0)
}

fn cpu_use(results: &Results) -> CpuUse {
    let share = |percent: f32| f64::from(percent) / 100.0;
    CpuUse {
        busy: share(results.cpu.busy),
        user: share(results.cpu.user),
        system: share(results.cpu.system),
        iowait: share(results.cpu.iowait),
        irq: share(results.cpu.irq),
        softirq: share(results.cpu.softirq),
        peak_cpu: u32::try_from(results.peak_cpu).unwrap_or_default(),
        peak_busy: share(results.peak_percent),
    }
}

fn name(text: &[u8; 16]) -> Option<String> {
    let end = text
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(text.len());
    let name = String::from_utf8_lossy(&text[..end]).into_owned();
    (!name.is_empty()).then_some(name)
}
