//! What can be asked of a stream, and what is refused.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use kit::failure::bad_parameter;
use kit::{List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{Failure, Timing};

use crate::control::message::Limit;
use crate::workload::ends::{BufferSize, EndParams};
use crate::workload::plan::{DSCP_MAX, FLOWS_MAX, MESSAGE_MAX, SECONDS_MAX};

/// UDP_MAX_SEGMENTS of Linux until 6.9; later ones take more.
const SEGMENTS_MAX: u32 = 64;
const RATE_MAX: f64 = 1e12;

/// Dimensions of the grid.
pub const GRID: [&str; 4] = ["message", "send_buffer", "receive_buffer", "flows"];

kit::parameters! {
/// Parameters of the workload.
pub struct Params {
    /// Bytes handed over at once; several make a grid.
    pub message: List<Size> = [Size(16 << 10)].into();
    /// Buffer of the sending sockets (SO_SNDBUF): "auto", or bytes; several make a grid.
    pub send_buffer: List<BufferSize> = [BufferSize::AUTO].into();
    /// Buffer of the receiving sockets (SO_RCVBUF): "auto", or bytes; several make a grid.
    pub receive_buffer: List<BufferSize> = [BufferSize::AUTO].into();
    /// Connections, or pairs of sockets; several make a grid.
    pub flows: List<u32> = [1].into(), within 1..=FLOWS_MAX;
    /// How long data flow, at each point of the grid.
    #[schemars(extend("amount" = "seconds", "least" = 0.1))]
    pub seconds: f64 = 10.0, above 0.0 to SECONDS_MAX;
    /// Bytes that each flow sends, instead of a time; in whole messages.
    #[schemars(extend("amount" = "bytes", "least" = 1_048_576))]
    pub bytes: Option<Size> = None;
    /// Bytes that a receiver asks for at once. Left out: as much as its socket's buffer holds, as
    /// netperf does it.
    pub receive: Option<Size> = None, within Size(1)..=MESSAGE_MAX;
    /// Buffers that take turns at each end. Left out: as many as fill the socket's buffer before it
    /// is connected, and one more, as netperf does it.
    pub buffers: Option<u64> = None, in 1..=65_536;
    /// Bytes per second of all flows together. Datagrams are due at instants fixed beforehand;
    /// TCP is held back by the kernel (SO_MAX_PACING_RATE). Left out: unlimited.
    pub rate: Option<f64> = None, in 1.0..=RATE_MAX;
    /// Send small segments at once (TCP_NODELAY).
    pub nodelay: bool = false;
    /// Send full segments only, until the end (TCP_CORK).
    pub cork: bool = false;
    /// Largest segment, in bytes (TCP_MAXSEG).
    pub mss: Option<u32> = None, in 48..=65_495;
    /// The kernel sends from the engine's memory, without a copy (MSG_ZEROCOPY).
    pub zerocopy: bool = false;
    /// A file to be sent, again and again; it is only read. Left out: one in memory, as large as
    /// all buffers of a stream.
    #[schemars(extend("brings" = "sends the file"))]
    pub file: Option<PathBuf> = None;
    /// Sockets are connected; otherwise each datagram is given its address, as netperf does it.
    pub connected: bool = true;
    /// Datagrams that one call hands over, to be taken apart by the kernel or the network card
    /// (UDP_SEGMENT). 1: one with each call.
    pub gso: u32 = 1, in 1..=SEGMENTS_MAX;
    /// The receiver takes datagrams that came together with one call (UDP_GRO).
    pub gro: bool = false;
    /// The receiver's kernel throws the data away instead of copying them (MSG_TRUNC).
    pub skip_copy: bool = false;
    /// Differentiated services code point of all packets, 0 … 63.
    pub dscp: Option<u8> = None, in 0..=DSCP_MAX;
    /// How often the clock is read: around the whole, or for each call of the client, which
    /// gives latencies.
    pub timing: Timing = Timing::Pass;
    /// The client.
    pub client: EndParams = EndParams::default();
    /// The server.
    pub server: EndParams = EndParams::default();
}}

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

    /// The file to be sent, where there is one.
    ///
    /// # Errors
    /// `BadJob` when it cannot be read, or is empty.
    pub fn open_file(&self) -> Result<Option<File>, Failure> {
        let Some(path) = &self.file else {
            return Ok(None);
        };
        let opened = File::open(path).and_then(|file| {
            let metadata = file.metadata()?;
            match metadata.is_file() && metadata.len() > 0 {
                true => Ok(file),
                false => Err(io::Error::other("it is no file, or empty")),
            }
        });
        opened.map(Some).map_err(|error| {
            let message = format!(
                "parameter \"file\": cannot send {}: {error}",
                path.display()
            );
            bad_parameter("file", message)
        })
    }

    /// When a flow has sent enough.
    pub fn limit(&self, cell: Cell) -> Limit {
        match self.bytes {
            Some(bytes) => Limit::Operations(bytes.bytes().div_ceil(cell.message.bytes())),
            None => Limit::Seconds(self.seconds),
        }
    }
}
