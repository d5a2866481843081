//! Outcomes of tests that nobody ran.

use std::net::Ipv4Addr;

use network::netperf::client::{CpuUse, Outcome, Side, SocketBuffer};

use super::ends::{End, Ends};
use super::request::Request;

/// The request of `line`.
pub fn request(line: &str) -> Request {
    Request::read(line.split_whitespace().map(Into::into).collect())
        .unwrap_or_else(|failure| panic!("{line}: {}", failure.message))
}

/// From anywhere to this host.
pub fn ends() -> Ends {
    let end = |name: &str, address: Ipv4Addr| End {
        name: name.to_owned(),
        address: address.into(),
        port: 0,
    };
    Ends {
        near: end("0.0.0.0", Ipv4Addr::UNSPECIFIED),
        far: end("127.0.0.1", Ipv4Addr::LOCALHOST),
    }
}

/// What two ends tell that moved nothing, in one second.
pub fn nothing() -> Outcome {
    let side = Side {
        send_buffer: buffer(16_384, 4_194_304),
        receive_buffer: buffer(131_072, 376_021),
        cpus: Some(2),
        ..Side::default()
    };
    Outcome {
        near: side.clone(),
        far: side,
        elapsed_s: 1.0,
        paced_s: 0.0,
        segment_size: Some(65_483),
        latencies: None,
        was_stopped: false,
    }
}

/// The near end sent so many times as much, and the far end received all.
pub fn stream(sends: u64, size: u32) -> Outcome {
    let mut outcome = nothing();
    let bytes = sends * u64::from(size);
    outcome.near.sends = sends;
    outcome.near.sent_bytes = bytes;
    outcome.near.send_size = Some(size);
    outcome.far.receives = sends / 4;
    outcome.far.received_bytes = bytes;
    outcome.far.receive_size = Some(131_072);
    outcome
}

/// The same with the ends exchanged.
pub fn reversed(outcome: Outcome) -> Outcome {
    Outcome {
        near: outcome.far,
        far: outcome.near,
        ..outcome
    }
}

/// So many requests and responses of one byte.
pub fn exchange(transactions: u64) -> Outcome {
    let mut outcome = nothing();
    for side in [&mut outcome.near, &mut outcome.far] {
        side.transactions = transactions;
        side.sends = transactions;
        side.receives = transactions;
        side.sent_bytes = transactions;
        side.received_bytes = transactions;
        side.receive_buffer = buffer(131_072, 131_072);
    }
    outcome
}

/// The outcome with CPUs that were busy for these shares.
pub fn with_cpu(mut outcome: Outcome, near: f64, far: f64) -> Outcome {
    for (side, busy) in [(&mut outcome.near, near), (&mut outcome.far, far)] {
        side.cpu_method = Some(8);
        side.cpu = Some(CpuUse {
            busy,
            user: busy / 4.0,
            system: busy / 2.0,
            peak_busy: busy,
            ..CpuUse::default()
        });
    }
    outcome
}

fn buffer(initial: u32, last: u32) -> SocketBuffer {
    SocketBuffer {
        asked: None,
        initial: Some(initial),
        last: Some(last),
    }
}
