//! A test, as the local end is asked for it.

use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use crate::message::{Generation, TestType};

/// What is done. "Near" is where this process is, "remote" where the netserver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The local end sends over one TCP connection.
    TcpStream,
    /// The remote end does.
    TcpMaerts,
    /// The local end sends a file with sendfile(2).
    TcpSendfile,
    /// Requests and responses over one TCP connection.
    TcpRr,
    /// A TCP connection for every request and response.
    TcpCrr,
    /// A TCP connection for nothing: opened, and closed by the remote end.
    TcpCc,
    /// The local end sends datagrams.
    UdpStream,
    /// The remote end does.
    UdpMaerts,
    /// Requests and responses in datagrams.
    UdpRr,
}

impl Kind {
    /// Whether it is done with UDP.
    pub fn is_udp(self) -> bool {
        matches!(self, Self::UdpStream | Self::UdpMaerts | Self::UdpRr)
    }

    /// Whether the local end sends.
    pub fn sends(self) -> bool {
        !matches!(self, Self::TcpMaerts | Self::UdpMaerts | Self::TcpCc)
    }

    /// Whether the local end receives.
    pub fn receives(self) -> bool {
        matches!(self, Self::TcpMaerts | Self::UdpMaerts) || self.is_exchange()
    }

    /// Whether requests are answered.
    pub fn is_exchange(self) -> bool {
        matches!(self, Self::TcpRr | Self::TcpCrr | Self::UdpRr)
    }

    /// Whether each transaction uses a new connection.
    pub fn is_connection_test(self) -> bool {
        matches!(self, Self::TcpCrr | Self::TcpCc)
    }

    /// Whether it counts transactions, not bytes.
    pub fn counts_transactions(self) -> bool {
        self.is_exchange() || self.is_connection_test()
    }

    /// The request with which a netserver of `generation` does its part; `None` when it cannot.
    pub fn test_type(self, generation: Generation) -> Option<TestType> {
        let classic = match self {
            Self::TcpStream | Self::TcpSendfile => TestType::TcpStream,
            Self::TcpMaerts => TestType::TcpMaerts,
            Self::TcpRr => TestType::TcpRr,
            Self::TcpCrr => TestType::TcpCrr,
            Self::TcpCc => TestType::TcpCc,
            Self::UdpStream => TestType::UdpStream,
            Self::UdpRr => TestType::UdpRr,
            Self::UdpMaerts if generation == Generation::V2_4 => return None,
            Self::UdpMaerts => TestType::Omni,
        };
        // A stock netserver knows these two, even now, by their classic requests only.
        let stays_classic = matches!(self, Self::TcpSendfile | Self::TcpCc);
        match generation {
            Generation::V2_4 => Some(classic),
            _ if stays_classic => Some(classic),
            _ => Some(TestType::Omni),
        }
    }
}

/// How long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many seconds.
    Seconds(u32),
    /// So many bytes (rounded up to whole sends) or transactions.
    Count(u64),
    /// Until a stop is asked for.
    Endless,
}

/// How data are moved in one direction at one end; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moves {
    /// Size of each call; that of the socket's buffer unless given. Transactions have sizes of
    /// their own.
    pub size: Option<u32>,
    /// Every buffer begins at a multiple of this, a power of two…
    pub align: u32,
    /// … and so far behind it.
    pub offset: u32,
    /// Buffers in the ring; as many as fill the socket's buffer unless given.
    pub width: Option<u32>,
}

impl Default for Moves {
    fn default() -> Self {
        Self {
            size: None,
            align: 8,
            offset: 0,
            width: None,
        }
    }
}

/// Operations at a pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// So many operations…
    pub operations: u32,
    /// … in each of these intervals.
    pub every: Duration,
}

/// Options of one end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// `SO_SNDBUF` in bytes; the kernel grants twice as much.
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` in bytes; likewise.
    pub receive_buffer: Option<u32>,
    /// How it sends.
    pub send: Moves,
    /// How it receives.
    pub receive: Moves,
    /// The address of its data socket. Far: where the control connection goes unless given;
    /// only a given one makes the netserver bind it.
    pub address: Option<IpAddr>,
    /// The port of its data socket; zero for any.
    pub port: u16,
    /// `SO_PRIORITY`.
    pub priority: Option<u32>,
    /// `IP_TOS` or `IPV6_TCLASS`.
    pub tos: Option<u8>,
    /// `TCP_CONGESTION`.
    pub congestion: Option<String>,
    /// Whether a UDP socket is connected.
    pub connected: bool,
    /// The file that buffers are filled from, and that a sendfile test sends.
    pub fill: Option<String>,
    /// The CPU to run on. The local end is placed by the caller.
    pub cpu: Option<u32>,
    /// A pace. Far: kept only by a netserver built for it.
    pub pace: Option<Burst>,
    /// Whether use of the CPUs is measured.
    pub measure_cpu: bool,
}

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// What is done.
    pub kind: Kind,
    /// How long.
    pub extent: Extent,
    /// This end.
    pub local: End,
    /// The netserver's.
    pub remote: End,
    /// Bytes of a request.
    pub request_size: u32,
    /// Bytes of a response.
    pub response_size: u32,
    /// Requests that are on the way besides the one that is waited for.
    pub burst: u32,
    /// Ports of the local end of connection tests.
    pub client_ports: Range<u16>,
    /// Whether a failed connect of a connection test is tried again.
    pub retry_connect: bool,
    /// `TCP_NODELAY` at both ends.
    pub no_delay: bool,
    /// `TCP_CORK` at the local end.
    pub cork: bool,
    /// `SO_KEEPALIVE` at both ends.
    pub keep_alive: bool,
    /// Whether packets may leave the directly attached network.
    pub routing: bool,
    /// `TCP_DEFER_ACCEPT` at the remote end.
    pub defer_accept: bool,
    /// Discovery of the path's MTU at both ends.
    pub mtu_discovery: bool,
    /// `TCP_MAXSEG` of the local end, in bytes.
    pub segment_size: Option<u32>,
    /// `SO_MAX_PACING_RATE` of the local end, in bytes per second.
    pub pacing_rate: Option<u64>,
    /// How long a UDP response is waited for before everything on the way is given up.
    pub patience: Option<Duration>,
    /// Whether the duration of every operation is kept.
    pub latencies: bool,
    /// Distance between interim figures.
    pub interim: Option<Duration>,
    /// How long to wait between the setup and the first operation.
    pub wait: Duration,
}

impl Test {
    /// The test with nothing said but what and how long.
    pub fn new(kind: Kind, extent: Extent) -> Self {
        Self {
            kind,
            extent,
            local: End::default(),
            remote: End::default(),
            request_size: 1,
            response_size: 1,
            burst: 0,
            client_ports: 5_000..u16::MAX,
            retry_connect: false,
            no_delay: false,
            cork: false,
            keep_alive: false,
            routing: true,
            defer_accept: false,
            mtu_discovery: false,
            segment_size: None,
            pacing_rate: None,
            patience: None,
            latencies: false,
            interim: None,
            wait: Duration::ZERO,
        }
    }
}
