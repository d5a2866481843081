//! What can be asked of a stream, and what is refused.

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{Failure, Timing};

use crate::control::message::{Limit, Transport};
use crate::workload::ends::{BufferSize, EndParams};

/// Dimensions of the grid.
pub const GRID: [&str; 4] = ["message", "send_buffer", "receive_buffer", "flows"];
const MESSAGE_MAX: Size = Size(16 << 20);
const FLOWS_MAX: u32 = 1_024;
const SECONDS_MAX: f64 = 86_400.0;

/// Parameters of the workload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Bytes handed over at once; several make a grid.
    pub message: List<Size>,
    /// Buffer of the sending sockets (SO_SNDBUF): "auto", or bytes; several make a grid.
    pub send_buffer: List<BufferSize>,
    /// Buffer of the receiving sockets (SO_RCVBUF): "auto", or bytes; several make a grid.
    pub receive_buffer: List<BufferSize>,
    /// Connections, each with a thread of its own at both ends; several make a grid.
    pub flows: List<u32>,
    /// How long data flow, at each point of the grid.
    pub seconds: f64,
    /// Bytes that each flow sends, instead of a time; in whole messages.
    pub bytes: Option<Size>,
    /// Bytes that a receiver asks for at once. Left out: as much as its socket's buffer holds, as
    /// netperf does it.
    pub receive: Option<Size>,
    /// Send small segments at once (TCP_NODELAY).
    pub nodelay: bool,
    /// Differentiated services code point of all packets, 0 … 63.
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// How often the clock is read: around the whole, or for each call of the near end, which
    /// gives latencies.
    pub timing: Timing,
    /// This end.
    pub near: EndParams,
    /// The far end.
    pub far: EndParams,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            message: [Size(16 << 10)].into(),
            send_buffer: [BufferSize::AUTO].into(),
            receive_buffer: [BufferSize::AUTO].into(),
            flows: [1].into(),
            seconds: 10.0,
            bytes: None,
            receive: None,
            nodelay: false,
            dscp: None,
            timing: Timing::Pass,
            near: EndParams::default(),
            far: EndParams::default(),
        }
    }
}

/// One point of the grid.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Bytes handed over at once.
    pub message: Size,
    /// Of the sending sockets.
    pub send_buffer: BufferSize,
    /// Of the receiving sockets.
    pub receive_buffer: BufferSize,
    /// Connections.
    pub flows: u32,
}

impl Cell {
    /// Where it lies, for samples.
    pub fn at(self) -> Map<String, Value> {
        let buffer = |size: BufferSize| json!(size.bytes().unwrap_or(0));
        let values = [
            json!(self.message),
            buffer(self.send_buffer),
            buffer(self.receive_buffer),
            json!(self.flows),
        ];
        GRID.map(str::to_owned).into_iter().zip(values).collect()
    }

    /// For people who wait.
    pub fn label(self) -> String {
        format!("messages of {}, flows: {}", self.message, self.flows)
    }
}

impl Params {
    /// Reads and checks.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>, transport: Transport) -> Result<Self, Failure> {
        let params: Self = params::parse(parameters)?;
        for &message in params.message.iter() {
            within("message", message, Size(1)..=MESSAGE_MAX)?;
        }
        for &flows in params.flows.iter() {
            within("flows", flows, 1..=FLOWS_MAX)?;
        }
        if !(params.seconds > 0.0 && params.seconds <= SECONDS_MAX) {
            let seconds = params.seconds;
            let message = format!(
                "parameter \"seconds\": {seconds} is out of range; use more than 0 and up to \
                 {SECONDS_MAX}"
            );
            return Err(bad_parameter("seconds", message));
        }
        if let Some(receive) = params.receive {
            within("receive", receive, Size(1)..=MESSAGE_MAX)?;
        }
        if let Some(dscp) = params.dscp {
            within("dscp", dscp, 0..=63)?;
        }
        params.near.check("near", transport)?;
        params.far.check("far", transport)?;
        Ok(params)
    }

    /// All points of the grid, the outermost dimension varying slowest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &message in self.message.iter() {
            for &send_buffer in self.send_buffer.iter() {
                for &receive_buffer in self.receive_buffer.iter() {
                    cells.extend(self.flows.iter().map(|&flows| Cell {
                        message,
                        send_buffer,
                        receive_buffer,
                        flows,
                    }));
                }
            }
        }
        cells
    }

    /// When a flow has sent enough.
    pub fn limit(&self, cell: Cell) -> Limit {
        match self.bytes {
            Some(bytes) => Limit::Operations(bytes.bytes().div_ceil(cell.message.bytes())),
            None => Limit::Seconds(self.seconds),
        }
    }
}
