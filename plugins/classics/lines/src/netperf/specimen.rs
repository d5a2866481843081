//! Outcomes of tests that nobody ran.

use std::net::Ipv4Addr;

use netperf::client::{CpuUse, Outcome, Side, SocketBuffer};

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
        local: end("0.0.0.0", Ipv4Addr::UNSPECIFIED),
        remote: end("127.0.0.1", Ipv4Addr::LOCALHOST),
    }
}

/// The reports of two ends that moved nothing, in one second.
pub fn nothing() -> Outcome {
    let side = Side {
        send_buffer: buffer(16_384, 4_194_304),
        receive_buffer: buffer(131_072, 376_021),
        cpus: Some(2),
        ..Side::default()
    };
    Outcome {
        local: side.clone(),
        remote: side,
        elapsed_s: 1.0,
        paced_s: 0.0,
        segment_size: Some(65_483),
        latencies: None,
        was_stopped: false,
    }
}

/// The local end sent `sends` messages of `size` bytes, and the remote end received all.
pub fn stream(sends: u64, size: u32) -> Outcome {
    let mut outcome = nothing();
    let bytes = sends * u64::from(size);
    outcome.local.sends = sends;
    outcome.local.sent_bytes = bytes;
    outcome.local.send_size = Some(size);
    outcome.remote.receives = sends / 4;
    outcome.remote.received_bytes = bytes;
    outcome.remote.receive_size = Some(131_072);
    outcome
}

/// The same with the ends exchanged.
pub fn reversed(outcome: Outcome) -> Outcome {
    Outcome {
        local: outcome.remote,
        remote: outcome.local,
        ..outcome
    }
}

/// So many requests and responses of one byte.
pub fn exchange(transactions: u64) -> Outcome {
    let mut outcome = nothing();
    for side in [&mut outcome.local, &mut outcome.remote] {
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
pub fn with_cpu(mut outcome: Outcome, local: f64, remote: f64) -> Outcome {
    for (side, busy) in [(&mut outcome.local, local), (&mut outcome.remote, remote)] {
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
