//! Flows: connections, or pairs of datagram sockets, and the loops that move data over them. The
//! loops are the same at both ends.

pub mod connect;
pub mod datagrams;
pub mod exchange;
pub mod part;
pub mod ring;
pub mod rounds;
pub mod sendfile;
pub mod stream;
pub mod zerocopy;

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockAddr, Socket};

use self::ring::USUAL_BYTES_MAX;
use crate::socket;

/// What a loop counted beside operations and bytes, by name; in the report of its end it stands
/// among the counters.
pub type Notes = BTreeMap<&'static str, u64>;

/// One flow at one end.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its number, from 0, the same at both ends.
    pub number: u32,
    /// Blocking; connected, unless there is a `peer`.
    pub socket: Arc<Socket>,
    /// Where datagrams go of a socket that is not connected.
    pub peer: Option<SockAddr>,
    /// What its buffers for sending and receiving held before it was connected; TCP makes them
    /// larger from then on. Rings of buffers are as large.
    pub buffer_bytes: [u64; 2],
    /// Bytes that a ring may have, where nobody says how many buffers are in it.
    pub ring_bytes: u64,
    /// What has been moved so far, for those who look on.
    pub tally: Arc<Tally>,
}

impl Flow {
    /// Of a socket that is connected.
    pub fn new(number: u32, socket: Socket) -> Self {
        Self {
            number,
            buffer_bytes: socket::buffer_bytes(&socket),
            ring_bytes: USUAL_BYTES_MAX,
            socket: Arc::new(socket),
            peer: None,
            tally: Arc::default(),
        }
    }

    /// With what its buffers held before.
    pub fn with_buffers(self, buffer_bytes: [u64; 2]) -> Self {
        Self {
            buffer_bytes,
            ..self
        }
    }

    /// Of a socket of datagrams that names the other end with each.
    pub fn unconnected(number: u32, socket: Socket, peer: SockAddr) -> Self {
        Self {
            peer: Some(peer),
            ..Self::new(number, socket)
        }
    }

    /// For system calls.
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Wakes a caller that waits for this socket; nothing passes it any more, and what has not been
    /// sent
    /// is dropped: the kernel would retry for minutes.
    pub fn cut(&self) {
        let _ = self.socket.set_linger(Some(Duration::ZERO));
        // A socket that has no connection any more (or never had: UDP) is woken all the same.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Shares out `memory_bytes` among the rings of `flows`, each of which has one.
pub fn share_memory(flows: &mut [Flow], memory_bytes: u64) {
    let share = memory_bytes / flows.len().max(1) as u64;
    for flow in flows {
        flow.ring_bytes = share.min(USUAL_BYTES_MAX);
    }
}

/// Operations and bytes of all `flows` until about now.
pub fn moved(flows: &[Flow]) -> [u64; 2] {
    let tallies = flows.iter().map(|flow| flow.tally.read());
    tallies.fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
}

/// Counts of one flow, read by others while it goes on. On a cache line of its own: the loop
/// stores, and must not wait for those who look on.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Tally {
    operations: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    /// Counts one operation; only one thread may.
    #[inline]
    pub fn add(&self, bytes: u64) {
        let count = |counter: &AtomicU64, more| {
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        count(&self.operations, 1);
        count(&self.bytes, bytes);
    }

    /// Operations and bytes until about now.
    pub fn read(&self) -> [u64; 2] {
        [&self.operations, &self.bytes].map(|counter| counter.load(Ordering::Relaxed))
    }
}
