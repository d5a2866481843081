//! What a test came to.

use kit::histogram::Histogram;

use crate::cpu::CpuUse;

/// The buffer of a socket in one direction, in bytes; `None` where the other end did not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketBuffer {
    /// What was asked for.
    pub asked: Option<u32>,
    /// What the kernel said before the connection was there.
    pub initial: Option<u32>,
    /// What it said at the end.
    pub last: Option<u32>,
}

/// One end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Calls that sent them.
    pub sends: u64,
    /// Datagrams for which there was no room.
    pub failed_sends: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Calls that received them.
    pub receives: u64,
    /// Transactions ended.
    pub transactions: u64,
    /// How long this end says that it took, in seconds.
    pub elapsed_s: f64,
    /// `SO_SNDBUF`.
    pub send_buffer: SocketBuffer,
    /// `SO_RCVBUF`.
    pub receive_buffer: SocketBuffer,
    /// Bytes of each send; `None` where this end does not send or did not tell.
    pub send_size: Option<u32>,
    /// Bytes asked for by each receive.
    pub receive_size: Option<u32>,
    /// Buffers in the ring of the sender.
    pub send_width: Option<u32>,
    /// Buffers in the ring of the receiver.
    pub receive_width: Option<u32>,
    /// Number of CPUs; `None` where the other end did not tell.
    pub cpus: Option<u32>,
    /// Use of the CPUs, if it was measured: at the local end, from `/proc/stat`. A stock netserver
    /// that waited four seconds more (as in a timed connection test) multiplies its own by the
    /// whole time over the test's, and tells more than all there is.
    pub cpu: Option<CpuUse>,
    /// How it was measured: a number of netperf's own, 8 for `/proc/stat`.
    pub cpu_method: Option<u32>,
    /// Segments that TCP sent again.
    pub retransmits: Option<u64>,
    /// Name of the congestion control.
    pub congestion: Option<String>,
    /// The TOS byte as granted.
    pub tos: Option<u8>,
    /// The priority as granted.
    pub priority: Option<u32>,
}

/// A test and its figures.
#[derive(Clone)]
pub struct Outcome {
    /// This end.
    pub local: Side,
    /// The netserver's.
    pub remote: Side,
    /// From before the first connect to after the last byte was drained, in seconds; a classic
    /// request's begins after the connect.
    pub elapsed_s: f64,
    /// Thereof spent waiting for the pace, in seconds.
    pub paced_s: f64,
    /// `TCP_MAXSEG` of the connection, in bytes.
    pub segment_size: Option<u32>,
    /// Durations of operations, if they were to be kept.
    pub latencies: Option<Histogram>,
    /// Whether a stop was asked for before the test's own end.
    pub was_stopped: bool,
}
