//! What a server lets clients ask for: the one place where their work is validated. Every number
//! in it may be anything.

use std::time::Duration;

use wire::Failure;

use crate::control::message::{Exchange, Limit, Messages, Role, Work};
use crate::failure::peer_failure;
use crate::flow::zerocopy::ZeroCopy;
use crate::socket::SocketOptions;
use crate::socket::Transport;

/// Longest message or transaction, in bytes.
pub const MESSAGE_BYTES_MAX: u64 = 16 << 20;
/// Most memory of all buffers together, in bytes, unless it is said.
pub const MEMORY_BYTES: u64 = 1 << 30;
/// Most datagrams that one call hands over.
const SEGMENTS_MAX: u64 = 64;
/// Slowest pace, in bytes per second.
const RATE_MIN: f64 = 1.0;
/// Most CPUs in a list.
const CPUS_MAX: usize = 1_024;
/// Shortest time between two looks at connections, in seconds.
const LOOK_S_MIN: f64 = 0.001;
/// Longest time between two looks at connections, in seconds.
const LOOK_S_MAX: f64 = 60.0;
/// Largest buffer of a socket that may be asked for, in bytes; the kernel has a limit of its own.
const SOCKET_BYTES_MAX: u64 = 1 << 30;
/// Longest time to look for packets instead of sleeping, in microseconds.
const BUSY_POLL_US_MAX: u32 = 1_000_000;
/// TCP_CA_NAME_MAX of Linux, without the zero at its end.
const CONGESTION_BYTES_MAX: usize = 15;
const DSCP_MAX: u8 = 63;

/// What clients may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest time that data may flow.
    pub time: Duration,
    /// Most flows at once.
    pub flows: u32,
    /// Most bytes of one measurement, where there is a limit.
    pub bytes: Option<u64>,
    /// Most memory of all buffers of one measurement together, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(3_600),
            flows: 256,
            bytes: None,
            memory_bytes: MEMORY_BYTES,
        }
    }
}

impl Limits {
    /// Whether `work` can be done here.
    ///
    /// # Errors
    /// `Far`: what was asked for, and what is allowed.
    pub fn check(&self, work: &Work) -> Result<(), Failure> {
        let flows = u64::from(work.flows);
        within("flows", flows, 1, self.flows.into(), "serve --connections")?;
        within(
            "threads",
            work.threads.into(),
            1,
            flows,
            "one for each flow",
        )?;
        let longest_s = self.time.as_secs_f64();
        within_s("seconds", work.longest_s, longest_s, "serve --time-limit")?;
        if !(LOOK_S_MIN..=LOOK_S_MAX).contains(&work.look_s) {
            let asked = work.look_s;
            return Err(refused("look_s", asked, LOOK_S_MIN, LOOK_S_MAX, "seconds"));
        }
        let cpus = work.placement.cpus.len() as u64;
        within("server.cpus", cpus, 0, CPUS_MAX as u64, "CPUs in a list")?;
        let neighbour = work.placement.neighbour.as_ref();
        let cpus = neighbour.map_or(0, |neighbour| neighbour.cpus.len() as u64);
        within("client.cpus", cpus, 0, CPUS_MAX as u64, "CPUs in a list")?;
        check_options(&work.options)?;
        self.check_role(work)
    }

    fn check_role(&self, work: &Work) -> Result<(), Failure> {
        match &work.role {
            Role::Receive(part) => self.check_messages(&part.messages, work.flows),
            Role::Respond(exchange) => self.check_exchange(*exchange, work.flows),
            Role::Accept(exchange) => {
                if work.transport != Transport::Tcp {
                    return Err(peer_failure(
                        "transport: only TCP connections are accepted one by one",
                    ));
                }
                let (threads, flows) = (work.threads.into(), work.flows.into());
                within("threads", threads, flows, flows, "one for each flow")?;
                self.check_exchange(*exchange, work.flows)
            }
            Role::Send(part) => {
                let segments = part.segments.into();
                within("gso", segments, 1, SEGMENTS_MAX, "datagrams in one call")?;
                let messages = Messages {
                    bytes: part.call_bytes(),
                    width: match part.zerocopy {
                        true => Some(ZeroCopy::width(part.messages.width.unwrap_or(0))),
                        false => part.messages.width,
                    },
                };
                self.check_messages(&messages, work.flows)?;
                if !part.rate.is_none_or(|rate| rate >= RATE_MIN) {
                    let asked = part.rate.unwrap_or_default();
                    return Err(refused(
                        "rate",
                        asked,
                        RATE_MIN,
                        f64::MAX,
                        "bytes per second",
                    ));
                }
                check_limit(part.limit, work.longest_s)?;
                self.check_sum(part.limit, part.messages.bytes, work.flows)
            }
        }
    }

    /// Sizes, and the memory that they need at least. Where nobody says how many buffers there are,
    /// there are as many more as there is memory for: see [`crate::flow::share_memory`].
    fn check_messages(&self, messages: &Messages, flows: u32) -> Result<(), Failure> {
        let allowed = "bytes of a message";
        within("message", messages.bytes, 1, MESSAGE_BYTES_MAX, allowed)?;
        let buffers = messages.width.unwrap_or(2).max(1);
        let memory = buffers.saturating_mul(messages.bytes.next_multiple_of(64));
        self.check_memory(memory, flows)
    }

    /// Sizes, and the memory that they need.
    fn check_exchange(&self, exchange: Exchange, flows: u32) -> Result<(), Failure> {
        for (name, bytes) in [
            ("request", exchange.request),
            ("response", exchange.response),
        ] {
            within(name, bytes, 1, MESSAGE_BYTES_MAX, "bytes of a message")?;
        }
        self.check_memory(exchange.bytes(), flows)
    }

    fn check_memory(&self, flow_bytes: u64, flows: u32) -> Result<(), Failure> {
        let memory = flow_bytes.saturating_mul(flows.into());
        within("buffers", memory, 1, self.memory_bytes, MEMORY_LIMIT)
    }

    /// What is known beforehand to be more than the limit is refused beforehand.
    fn check_sum(&self, limit: Limit, message_bytes: u64, flows: u32) -> Result<(), Failure> {
        match (limit, self.bytes) {
            (Limit::Operations(operations), Some(limit_bytes)) => {
                let all = operations.saturating_mul(message_bytes);
                let all = all.saturating_mul(flows.into());
                within("bytes of all flows", all, 0, limit_bytes, BYTE_LIMIT)
            }
            _ => Ok(()),
        }
    }
}

/// Where the limit on memory comes from.
const MEMORY_LIMIT: &str = "bytes of memory for all flows; serve --memory-limit";
/// Where the limit on bytes comes from.
pub const BYTE_LIMIT: &str = "serve --byte-limit";

fn check_limit(limit: Limit, longest_s: f64) -> Result<(), Failure> {
    match limit {
        Limit::Seconds(seconds) => within_s("seconds", seconds, longest_s, "the whole work"),
        Limit::Operations(operations) => {
            within("operations", operations, 1, u64::MAX, "of each flow")
        }
    }
}

fn check_options(options: &SocketOptions) -> Result<(), Failure> {
    let bytes = "bytes of a socket's buffer";
    let buffers = [
        ("send_buffer", options.send_buffer),
        ("receive_buffer", options.receive_buffer),
    ];
    for (name, asked) in buffers {
        within(name, asked.unwrap_or(0), 0, SOCKET_BYTES_MAX, bytes)?;
    }
    let name_bytes = options.congestion.as_ref().map_or(1, String::len) as u64;
    let most = CONGESTION_BYTES_MAX as u64;
    within(
        "server.congestion",
        name_bytes,
        1,
        most,
        "letters of its name",
    )?;
    let dscp = options.dscp.unwrap_or(0).into();
    within("dscp", dscp, 0, DSCP_MAX.into(), "code points")?;
    let busy_poll_us = options.busy_poll_us.unwrap_or(0).into();
    let most = BUSY_POLL_US_MAX.into();
    within("server.busy_poll_us", busy_poll_us, 0, most, "microseconds")
}

fn within(name: &str, asked: u64, least: u64, most: u64, what: &str) -> Result<(), Failure> {
    match (least..=most).contains(&asked) {
        true => Ok(()),
        false => Err(refused(name, asked, least, most, what)),
    }
}

fn within_s(name: &str, asked_s: f64, most_s: f64, what: &str) -> Result<(), Failure> {
    match asked_s > 0.0 && asked_s <= most_s {
        true => Ok(()),
        false => Err(peer_failure(format!(
            "{name}: {asked_s} is out of range; more than 0 and up to {most_s} are allowed ({what})"
        ))),
    }
}

fn refused<N: std::fmt::Display>(name: &str, asked: N, least: N, most: N, what: &str) -> Failure {
    peer_failure(format!(
        "{name}: {asked} is out of range; {least} to {most} are allowed ({what})"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    /// Usual work, with changes at paths.
    fn work(changes: &[(&str, Value)]) -> Work {
        let mut work = json!({
            "transport": "tcp",
            "role": {"send": {"messages": {"bytes": 1_024}, "limit": {"seconds": 1.0}}},
            "flows": 2, "threads": 2, "options": {}, "placement": {}, "longest_s": 1.0, "look_s": 0.1,
        });
        for (path, value) in changes {
            let (parent, name) = path.rsplit_once('/').unwrap();
            work.pointer_mut(parent).unwrap()[name] = value.clone();
        }
        serde_json::from_value(work).unwrap()
    }

    fn limits() -> Limits {
        Limits {
            bytes: Some(1_000_000),
            ..Limits::default()
        }
    }

    #[test]
    fn usual_work_is_done() {
        limits().check(&work(&[])).unwrap();
        let all = [
            ("/flows", json!(256)),
            ("/threads", json!(1)),
            ("/longest_s", json!(3_600)),
            ("/role/send/limit/seconds", json!(3_600)),
            ("/options/send_buffer", json!(1 << 30)),
            ("/options/congestion", json!("cubic")),
        ];
        limits().check(&work(&all)).unwrap();
        let few = json!({"operations": 488});
        limits().check(&work(&[("/role/send/limit", few)])).unwrap();
    }

    #[test]
    fn memory_has_a_limit_however_it_is_asked_for() {
        let large = ("/role/send/messages/bytes", json!(16 << 20));
        let flows = [("/flows", json!(8)), ("/threads", json!(8)), large];
        limits().check(&work(&flows)).unwrap();
        let uncopied = [&flows[..], &[("/role/send/zerocopy", json!(true))]].concat();
        let failure = limits().check(&work(&uncopied)).unwrap_err();
        assert!(
            failure.message.starts_with("buffers: "),
            "{}",
            failure.message
        );
    }

    #[test]
    fn exchanges_have_limits_too() {
        let role = |request: u64, response: u64| {
            let exchange = json!({"accept": {"request": request, "response": response}});
            ("/role", exchange)
        };
        let most = MESSAGE_BYTES_MAX;
        limits().check(&work(&[role(1, most)])).unwrap();
        for (changes, name) in [
            (vec![role(0, 1)], "request"),
            (vec![role(1, most + 1)], "response"),
            (
                vec![
                    role(most, most),
                    ("/flows", json!(64)),
                    ("/threads", json!(64)),
                ],
                "buffers",
            ),
            (vec![role(1, 1), ("/threads", json!(1))], "threads"),
            (vec![role(1, 1), ("/transport", json!("udp"))], "transport"),
        ] {
            let failure = limits().check(&work(&changes)).unwrap_err();
            let begin = format!("{name}: ");
            assert!(failure.message.starts_with(&begin), "{}", failure.message);
        }
    }

    #[test]
    fn wild_values_are_refused_in_words_that_name_them() {
        let messages = "/role/send/messages/bytes";
        let width = "/role/send/messages/width";
        let limit = "/role/send/limit";
        for (path, value, name) in [
            ("/flows", json!(0), "flows"),
            ("/flows", json!(u32::MAX), "flows"),
            ("/threads", json!(0), "threads"),
            ("/threads", json!(3), "threads"),
            ("/longest_s", json!(0), "seconds"),
            ("/longest_s", json!(-1.0), "seconds"),
            ("/longest_s", json!(1e300), "seconds"),
            ("/look_s", json!(1e-9), "look_s"),
            ("/look_s", json!(1e300), "look_s"),
            ("/placement/cpus", json!(vec![0; 1_025]), "server.cpus"),
            (
                "/placement/neighbour",
                json!({"host": "h", "cpus": vec![0; 1_025]}),
                "client.cpus",
            ),
            ("/options/send_buffer", json!(u64::MAX), "send_buffer"),
            (
                "/options/receive_buffer",
                json!(1u64 << 63),
                "receive_buffer",
            ),
            ("/options/congestion", json!(""), "server.congestion"),
            (
                "/options/congestion",
                json!("x".repeat(16)),
                "server.congestion",
            ),
            ("/options/dscp", json!(64), "dscp"),
            (
                "/options/busy_poll_us",
                json!(u32::MAX),
                "server.busy_poll_us",
            ),
            (messages, json!(0), "message"),
            (messages, json!(1u64 << 63), "message"),
            (width, json!(u64::MAX), "buffers"),
            ("/role/send/segments", json!(0), "gso"),
            ("/role/send/segments", json!(u32::MAX), "gso"),
            ("/role/send/rate", json!(0.0), "rate"),
            (width, json!(1 << 20), "buffers"),
            (limit, json!({"seconds": 0.0}), "seconds"),
            (limit, json!({"seconds": -1.0}), "seconds"),
            (limit, json!({"seconds": 1.5}), "seconds"),
            (limit, json!({"operations": 0}), "operations"),
            (limit, json!({"operations": 489}), "bytes of all flows"),
            (limit, json!({"operations": u64::MAX}), "bytes of all flows"),
        ] {
            let failure = limits().check(&work(&[(path, value)])).unwrap_err();
            let begin = format!("{name}: ");
            assert!(failure.message.starts_with(&begin), "{}", failure.message);
            assert!(failure.message.contains("allowed"), "{}", failure.message);
        }
    }
}
