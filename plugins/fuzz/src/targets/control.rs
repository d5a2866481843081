//! Messages of our own control connection, as either end reads them.

use network::control::frame::{encode, Inbox, TO_CLIENT_BYTES, TO_SERVER_BYTES};
use network::control::introduction::Introduction;
use network::control::message::{Hello, Role, ToClient, ToServer, Work, VERSION};
use network::server::Limits;
use serde_json::{json, Value};

use super::{json_tokens, Target};

/// The target.
pub const TARGET: Target = Target {
    name: "control",
    seeds,
    tokens: json_tokens![
        "\"open\"",
        "\"hello\"",
        "\"begin\"",
        "\"send\"",
        "\"accept\"",
        "\"respond\"",
        "\"width\"",
        "\"zerocopy\"",
        "\"operations\"",
        "\"refused\"",
        "\"ready\"",
        "\"greeting\"",
        "\"udp\"",
        "\"unix\"",
        "\"options\"",
    ],
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    let open = |transport: &str, role: Value| {
        let work = json!({
            "transport": transport, "role": role, "flows": 2, "threads": 2, "options": {},
            "placement": {"cpus": [0]}, "longest_s": 1.0, "look_s": 0.1,
        });
        json!({"open": work})
    };
    let messages = json!({"bytes": 1024});
    let exchange = json!({"request": 1, "response": 100});
    let hello = Hello {
        version: VERSION,
        proof: Some("00".repeat(32)),
    };
    let words = [
        serde_json::to_value(ToServer::Hello(hello)).unwrap_or_default(),
        open("tcp", json!({"receive": {"messages": messages}})),
        open(
            "udp",
            json!({"send": {"messages": messages, "limit": {"seconds": 1.0}, "segments": 4}}),
        ),
        open("unix", json!({"respond": exchange})),
        open("tcp", json!({"accept": exchange})),
        json!("begin"),
        json!({"refused": "busy"}),
        json!({"ready": {"ports": [1], "path": null, "token": "00"}}),
        json!({"greeting": {"version": 1, "engine": "0", "nonce": "0", "wants_proof": true}}),
    ];
    // The first byte is for the target; see `run`.
    let seed = |word: &Value| [b"\0", word.to_string().as_bytes()].concat();
    let framed = words.iter().filter_map(|word| encode(word).ok());
    let framed = framed.map(|frame| [&b"\x01"[..], &frame].concat());
    words.iter().map(seed).chain(framed).collect()
}

/// The first byte says whether the rest is a document that is put into a frame, or all that comes.
fn run(input: &[u8]) {
    let Some((&how, rest)) = input.split_first() else {
        return;
    };
    let frame = match how % 2 {
        0 => [&(rest.len() as u32).to_be_bytes()[..], rest].concat(),
        _ => rest.to_vec(),
    };
    let mut source = &frame[..];
    let mut inbox = Inbox::default();
    while let Ok(word) = inbox.take::<ToServer>(&mut source, TO_SERVER_BYTES) {
        if let ToServer::Open(work) = word {
            consider(&work);
        }
    }
    let mut source = &frame[..];
    let mut inbox = Inbox::default();
    while let Ok(word) = inbox.take::<ToClient>(&mut source, TO_CLIENT_BYTES) {
        if let ToClient::Ready(ready) = word {
            let introduction = Introduction::of(&ready.token);
            assert_eq!(introduction.number(&introduction.words(7)), Some(7));
            assert_ne!(
                introduction.number(rest),
                Some(u32::MAX),
                "the token is guessed"
            );
        }
    }
}

/// Work that is allowed keeps to the limits, however they are read.
fn consider(work: &Work) {
    let limits = Limits::default();
    if limits.check(work).is_err() {
        return;
    }
    assert!((1..=limits.flows).contains(&work.flows));
    assert!((1..=work.flows).contains(&work.threads));
    assert!(work.longest_s > 0.0 && work.longest_s <= limits.time.as_secs_f64());
    assert!(work.look_s.is_finite() && work.look_s > 0.0);
    let flow_bytes = match work.role {
        Role::Receive(part) => part.messages.width.unwrap_or(2) * part.messages.bytes,
        Role::Send(part) => part.messages.width.unwrap_or(2) * part.call_bytes(),
        Role::Respond(part) | Role::Accept(part) => part.bytes(),
    };
    assert!(flow_bytes * u64::from(work.flows) <= limits.memory_bytes);
}
