//! What can be asked of a stream, and what is refused.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::{params, List, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use wire::{Failure, Timing};

use super::Stream;
use crate::control::message::{Limit, Transport};
use crate::workload::ends::{BufferSize, EndParams};

/// Dimensions of the grid.
pub const GRID: [&str; 4] = ["message", "send_buffer", "receive_buffer", "flows"];
const MESSAGE_MAX: Size = Size(16 << 20);
/// An IPv4 packet has 16 bits for its length, and 28 bytes of headers.
const DATAGRAM_MAX: Size = Size(65_507);
/// UDP_MAX_SEGMENTS of Linux until 6.9; later ones take more.
const SEGMENTS_MAX: u32 = 64;
const FLOWS_MAX: u32 = 1_024;
const SECONDS_MAX: f64 = 86_400.0;
const RATE_MAX: f64 = 1e12;

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
    /// Connections, or pairs of sockets; several make a grid.
    pub flows: List<u32>,
    /// How long data flow, at each point of the grid.
    pub seconds: f64,
    /// Bytes that each flow sends, instead of a time; in whole messages.
    pub bytes: Option<Size>,
    /// Bytes that a receiver asks for at once. Left out: as much as its socket's buffer holds, as
    /// netperf does it.
    pub receive: Option<Size>,
    /// Bytes per second of all flows together. Datagrams are due at instants fixed beforehand;
    /// TCP is held back by the kernel (SO_MAX_PACING_RATE). Left out: as fast as they go.
    pub rate: Option<f64>,
    /// Send small segments at once (TCP_NODELAY).
    pub nodelay: bool,
    /// Send full segments only, until the end (TCP_CORK).
    pub cork: bool,
    /// Largest segment, in bytes (TCP_MAXSEG).
    pub mss: Option<u32>,
    /// The kernel sends from the engine's memory, without a copy (MSG_ZEROCOPY).
    pub zerocopy: bool,
    /// A file to be sent, again and again; it is only read. Left out: one in memory, as large as
    /// all buffers of a stream.
    pub file: Option<PathBuf>,
    /// Sockets are connected; otherwise each datagram is given its address, as netperf does it.
    pub connected: bool,
    /// Datagrams that one call hands over, to be taken apart by the kernel or the network card
    /// (UDP_SEGMENT). 1: one with each call.
    pub gso: u32,
    /// The receiver takes datagrams that came together with one call (UDP_GRO).
    pub gro: bool,
    /// The receiver's kernel throws the data away instead of copying them (MSG_TRUNC).
    pub skip_copy: bool,
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
            rate: None,
            nodelay: false,
            cork: false,
            mss: None,
            zerocopy: false,
            file: None,
            connected: true,
            gso: 1,
            gro: false,
            skip_copy: false,
            dscp: None,
            timing: Timing::Pass,
            near: EndParams::default(),
            far: EndParams::default(),
        }
    }
}

/// Parameters that mean nothing to `stream`: its card does not list them.
pub fn foreign(stream: &Stream) -> Vec<&'static str> {
    let tcp = ["nodelay", "cork", "mss"];
    let udp = ["connected", "gso", "gro"];
    let mut foreign = Vec::new();
    if stream.transport != Transport::Tcp {
        foreign.extend(tcp);
    }
    if stream.transport != Transport::Udp {
        foreign.extend(udp);
    }
    if stream.transport == Transport::Unix {
        foreign.extend(["rate", "skip_copy", "dscp"]);
    }
    if stream.transport != Transport::Tcp || stream.sends_file {
        foreign.push("zerocopy");
    }
    if !stream.sends_file {
        foreign.push("file");
    }
    foreign
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
    /// Reads and checks what is asked of `stream`.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn parse(parameters: &Map<String, Value>, stream: &Stream) -> Result<Self, Failure> {
        params::known(parameters, &stream.parameters())?;
        let params: Self = params::parse(parameters)?;
        params.check_sizes(stream)?;
        if !(params.seconds > 0.0 && params.seconds <= SECONDS_MAX) {
            let seconds = params.seconds;
            let message = format!(
                "parameter \"seconds\": {seconds} is out of range; use more than 0 and up to \
                 {SECONDS_MAX}"
            );
            return Err(bad_parameter("seconds", message));
        }
        if let Some(rate) = params.rate.filter(|rate| !(1.0..=RATE_MAX).contains(rate)) {
            let message =
                format!("parameter \"rate\": {rate} is out of range; use 1 … {RATE_MAX} B/s");
            return Err(bad_parameter("rate", message));
        }
        if let Some(dscp) = params.dscp {
            within("dscp", dscp, 0..=63)?;
        }
        if let Some(mss) = params.mss {
            within("mss", mss, 48..=65_495)?;
        }
        params.open_file()?;
        params.near.check("near", stream.transport)?;
        params.far.check("far", stream.transport)?;
        Ok(params)
    }

    fn check_sizes(&self, stream: &Stream) -> Result<(), Failure> {
        let is_udp = stream.transport == Transport::Udp;
        let message_max = if is_udp { DATAGRAM_MAX } else { MESSAGE_MAX };
        for &message in self.message.iter() {
            within("message", message, Size(1)..=message_max)?;
            within("gso", self.gso, 1..=SEGMENTS_MAX)?;
            let together = message.bytes() * u64::from(self.gso);
            if is_udp && together > DATAGRAM_MAX.bytes() {
                let message = format!(
                    "parameter \"gso\": {} messages of {message} are more than {DATAGRAM_MAX} \
                     bytes, as much as one call takes",
                    self.gso
                );
                return Err(bad_parameter("gso", message));
            }
        }
        for &flows in self.flows.iter() {
            within("flows", flows, 1..=FLOWS_MAX)?;
            if is_udp && self.rate.is_some() && self.near.threads(flows) < flows {
                let message = "parameter \"rate\": a thread can wait for the instants of one flow \
                               only; leave out \"near.threads\"";
                return Err(bad_parameter("rate", message.to_owned()));
            }
        }
        if let Some(receive) = self.receive {
            within("receive", receive, Size(1)..=MESSAGE_MAX)?;
        }
        Ok(())
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

    /// The file to be sent, where there is one.
    ///
    /// # Errors
    /// `BadJob` when it cannot be read, or is empty.
    pub fn open_file(&self) -> Result<Option<File>, Failure> {
        let Some(path) = &self.file else {
            return Ok(None);
        };
        let opened = File::open(path).and_then(|file| {
            let found = file.metadata()?;
            match found.is_file() && found.len() > 0 {
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

    /// Threads of the near end, at the point that has the most.
    pub fn most_threads(&self) -> u32 {
        let threads = self.flows.iter().map(|&flows| self.near.threads(flows));
        threads.max().unwrap_or(1)
    }

    /// When a flow has sent enough.
    pub fn limit(&self, cell: Cell) -> Limit {
        match self.bytes {
            Some(bytes) => Limit::Operations(bytes.bytes().div_ceil(cell.message.bytes())),
            None => Limit::Seconds(self.seconds),
        }
    }
}
