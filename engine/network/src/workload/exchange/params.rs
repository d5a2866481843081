//! What can be asked of requests and responses, and what is refused.

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::{List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{Failure, Timing};

use super::ports::Ports;
use super::size::ExchangeSize;
use super::{Connecting, RequestResponse};
use crate::control::message::Limit;
use crate::flow::exchange::number_bytes;
use crate::socket::SocketOptions;
use crate::socket::Transport;
use crate::workload::ends::{BufferSize, EndParams};
use crate::workload::plan::{DSCP_MAX, FLOWS_MAX, MESSAGE_MAX, SECONDS_MAX};

/// The most that fits a datagram over IPv4 and IPv6 alike.
const DATAGRAM_MAX: Size = Size(65_487);
const BURST_MAX: u32 = 65_535;
/// Both ends have the patience for what is under way when the time is over.
const LOST_AFTER_S_MAX: f64 = 5.0;
const RATE_MAX: f64 = 1e8;
const TRANSACTIONS_MAX: u64 = u64::MAX / 2;

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Bytes of request and response: one size for both, or "100/200"; several make a grid.
    pub size: List<ExchangeSize> = [ExchangeSize::both(Size(1))].into();
    /// Transactions under way at once besides one, on each flow; several make a grid.
    pub burst: List<u32> = [0].into(), within 0..=BURST_MAX;
    /// Connections, each with a thread of its own at both ends; several make a grid.
    pub flows: List<u32> = [1].into(), within 1..=FLOWS_MAX;
    /// How long requests are sent, at each point of the grid.
    #[schemars(extend("amount" = "seconds", "least" = 0.1))]
    pub seconds: f64 = 10.0, above 0.0 to SECONDS_MAX;
    /// Transactions of each flow, instead of a time.
    #[schemars(extend("amount" = "count", "least" = 1_000))]
    pub transactions: Option<u64> = None, in 1..=TRANSACTIONS_MAX;
    /// Requests that become due per second, of all flows together, whether or not those before
    /// them have been answered; latencies count from the due instants. Left out: a request is
    /// sent when another has been answered.
    pub rate: Option<f64> = None, above 0.0 to RATE_MAX;
    /// UDP: after so many seconds without a response a transaction is lost, and another begins.
    pub lost_after_s: f64 = 1.0, above 0.0 to LOST_AFTER_S_MAX;
    /// Ports of this end that connections come from, such as "20000-29999"; each is used once
    /// before one is used again. Left out: the kernel chooses.
    pub ports: Option<Ports> = None;
    /// Send small segments at once (TCP_NODELAY).
    pub nodelay: bool = false;
    /// Send buffer of all sockets (SO_SNDBUF): "auto", or bytes.
    pub send_buffer: BufferSize = BufferSize::AUTO;
    /// Receive buffer of all sockets (SO_RCVBUF): "auto", or bytes.
    pub receive_buffer: BufferSize = BufferSize::AUTO;
    /// Differentiated services code point of all packets, 0 … 63.
    pub dscp: Option<u8> = None, in 0..=DSCP_MAX;
    /// How often the clock is read: for each transaction, which gives latencies, or around the
    /// whole.
    pub timing: Timing = Timing::Operation;
    /// The client.
    pub client: EndParams = EndParams::default();
    /// The server.
    pub server: EndParams = EndParams::default();
}}

/// Names of parameters that mean nothing to `workload`.
pub fn foreign(workload: &RequestResponse) -> &'static [&'static str] {
    match (workload.transport, workload.connecting) {
        (Transport::Tcp, Connecting::Once) => &["lost_after_s", "ports"],
        (Transport::Tcp, Connecting::Each) => &["lost_after_s", "burst", "rate"],
        (Transport::Udp, _) => &["nodelay", "ports"],
        (Transport::Unix, _) => &["lost_after_s", "nodelay", "dscp", "ports"],
    }
}

/// One point of the grid.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Sizes.
    pub size: ExchangeSize,
    /// Transactions under way besides one.
    pub burst: u32,
    /// Connections.
    pub flows: u32,
}

impl Cell {
    /// Where it lies on the workload's grid, for samples.
    pub fn at(self, workload: &RequestResponse) -> Map<String, Value> {
        let value = |dimension: &str| match dimension {
            "request" => json!(self.size.request),
            "response" => json!(self.size.response),
            "burst" => json!(self.burst),
            _ => json!(self.flows),
        };
        let grid = workload.grid().iter();
        grid.map(|dimension| ((*dimension).to_owned(), value(dimension)))
            .collect()
    }

    /// For people who wait.
    pub fn label(self) -> String {
        let Self { size, burst, flows } = self;
        format!("request/response {size}, burst: {burst}, flows: {flows}")
    }
}

impl Params {
    /// Checks what goes together in `workload`.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn check(&self, workload: &RequestResponse) -> Result<(), Failure> {
        let transport = workload.transport;
        let most = match transport {
            Transport::Udp => DATAGRAM_MAX,
            Transport::Tcp | Transport::Unix => MESSAGE_MAX,
        };
        for size in self.size.iter() {
            within("size", size.request, Size(1)..=most)?;
            within("size", size.response, Size(1)..=most)?;
        }
        self.client.check("client", transport)?;
        self.server.check("server", transport)?;
        self.check_rate()?;
        if workload.connecting == Connecting::Each {
            self.check_threads()?;
        }
        if transport == Transport::Udp {
            self.check_numbers()?;
        }
        Ok(())
    }

    fn check_rate(&self) -> Result<(), Failure> {
        if self.rate.is_none() {
            return Ok(());
        }
        let wrong = |message: &str| {
            Err(bad_parameter(
                "rate",
                format!("parameter \"rate\": {message}"),
            ))
        };
        if self.timing == Timing::Pass {
            return wrong("latencies count from the due instants: use \"timing\": \"operation\"");
        }
        if self.burst.iter().any(|&burst| burst > 0) {
            return wrong("the pace says how many are under way: leave \"burst\" at 0");
        }
        Ok(())
    }

    /// A thread that waits for one connection cannot serve another.
    fn check_threads(&self) -> Result<(), Failure> {
        let flows = self.flows.iter().copied().max().unwrap_or(1);
        for (end, threads) in [
            ("client", self.client.threads),
            ("server", self.server.threads),
        ] {
            if threads > 0 && threads < flows {
                let parameter = format!("{end}.threads");
                let message = format!(
                    "parameter \"{parameter}\": each flow connects in a thread of its own: leave \
                     it at 0"
                );
                return Err(bad_parameter(&parameter, message));
            }
        }
        Ok(())
    }

    /// Responses as datagrams tell their transactions by numbers, which must have room in them.
    fn check_numbers(&self) -> Result<(), Failure> {
        let flows = self.flows.iter().copied().min().unwrap_or(1);
        let due = |rate| rate / f64::from(flows) * self.lost_after_s;
        let burst = self.burst.iter().copied().max().unwrap_or(0);
        let at_once = self.rate.map_or(f64::from(burst) + 1.0, due);
        for size in self.size.iter() {
            let bits = 8 * number_bytes(size.request.bytes(), size.response.bytes()) as i32;
            let most = 2_f64.powi(bits - 1);
            if at_once > most {
                let message = format!(
                    "parameter \"size\": {at_once} transactions may be under way at once, and \
                     datagrams of {size} have room for numbers of {most}; use 8 bytes or more"
                );
                return Err(bad_parameter("size", message));
            }
        }
        Ok(())
    }

    /// All points of the grid, the outermost dimension varying slowest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &size in self.size.iter() {
            for &burst in self.burst.iter() {
                let cell = |&flows| Cell { size, burst, flows };
                cells.extend(self.flows.iter().map(cell));
            }
        }
        cells
    }

    /// When a flow has done enough.
    pub fn limit(&self) -> Limit {
        match self.transactions {
            Some(transactions) => Limit::Operations(transactions),
            None => Limit::Seconds(self.seconds),
        }
    }

    /// Options of the sockets of an end.
    pub fn options(&self, end: &EndParams) -> SocketOptions {
        SocketOptions {
            send_buffer: self.send_buffer.bytes(),
            receive_buffer: self.receive_buffer.bytes(),
            nodelay: self.nodelay,
            dscp: self.dscp,
            ..end.options()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TCP_RR;
    use super::super::UDP_RR;
    use super::*;
    use crate::workload::plan;

    fn parsed(parameters: Value, workload: RequestResponse) -> Result<Params, Failure> {
        plan::parse(&workload, parameters.as_object().unwrap())
    }

    #[test]
    fn datagrams_must_have_room_for_the_numbers_of_all_that_are_under_way() {
        for (parameters, is_right) in [
            (json!({"size": 1, "burst": 127}), true),
            (json!({"size": "8/1", "burst": 128}), false),
            (json!({"size": 2, "burst": 128}), true),
            (json!({"size": 1, "rate": 100}), true),
            (json!({"size": 1, "rate": 200}), false),
            (json!({"size": 1, "rate": 200, "lost_after_s": 0.5}), true),
            (json!({"size": 1, "rate": 200, "flows": [4, 2]}), true),
        ] {
            let udp = parsed(parameters.clone(), UDP_RR);
            assert_eq!(udp.is_ok(), is_right, "{parameters}");
        }
    }

    #[test]
    fn what_contradicts_a_pace_is_refused() {
        for other in [json!({"timing": "pass"}), json!({"burst": [0, 1]})] {
            let mut parameters = json!({"rate": 10});
            let fields = parameters.as_object_mut().unwrap();
            fields.extend(other.as_object().unwrap().clone());
            let failure = parsed(parameters, TCP_RR).unwrap_err();
            assert_eq!(failure.parameter.as_deref(), Some("rate"));
        }
    }
}
