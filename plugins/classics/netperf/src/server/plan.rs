//! A request once its numbers were validated: they come from untrusted clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::Socket;

use super::Limits;
use crate::data::socket::{self, Options};
use crate::data::work::UNLIMITED;
use crate::data::{named, Called};
use crate::message::{address_of, flag, Moves, Request, TestType, FAMILY_IPV6, RECEIVE, SEND};
use network::flow::ring::Shape;

/// The longest UDP payload over IPv4, in bytes.
const DATAGRAM_BYTES_MAX: u32 = 65_507;

/// Why a request is refused, as the client is informed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

/// How long a test goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So long.
    Timed(Duration),
    /// So many bytes or transactions.
    Counted(u64),
    /// Until the client ends it.
    Endless,
}

/// A test of which this is the remote end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Whether it is done with UDP.
    pub is_udp: bool,
    /// Whether this end sends.
    pub sends: bool,
    /// Whether it receives.
    pub receives: bool,
    /// Whether each transaction uses a new connection.
    pub is_connection_test: bool,
    /// How long.
    pub extent: Extent,
    /// Options of the data sockets.
    pub options: Options,
    /// Whether a UDP socket is connected to the first sender.
    pub connects: bool,
    /// Where data are waited for; port zero for any.
    pub address: SocketAddr,
    /// The host that datagrams come from.
    pub peer: IpAddr,
    /// Where datagrams go that nobody has asked for.
    pub client: Option<SocketAddr>,
    /// Operations in an interval, for a paced sender.
    pub pace: Option<(u32, Duration)>,
    /// Whether use of the CPUs is measured.
    pub measures_cpu: bool,
}

impl Plan {
    /// What `request` asks for. The client is at `peer`, and knows this end as `local`.
    ///
    /// # Errors
    /// The errno for the client.
    pub fn of(
        test: TestType,
        request: &Request,
        (peer, local): (IpAddr, SocketAddr),
        limits: &Limits,
    ) -> Result<Self, Errno> {
        let is_udp = match (request.protocol, request.socket_type) {
            (libc::IPPROTO_TCP, libc::SOCK_STREAM) => false,
            (libc::IPPROTO_UDP, libc::SOCK_DGRAM) => true,
            _ => return Err(Errno(libc::EPROTONOSUPPORT)),
        };
        let is_set = |bit| request.flags & bit != 0;
        let sends = request.direction & SEND != 0;
        let receives = request.direction & RECEIVE != 0;
        let is_connection_test = is_set(flag::CONNECTION_TEST);
        // A connection test has both directions or none, anything else one or both.
        if is_connection_test && (is_udp || sends != receives)
            || !is_connection_test && !sends && !receives
        {
            return Err(Errno(libc::EINVAL));
        }
        let address = bind_address(request, local)?;
        let peer = match is_udp {
            true => data_peer(request, peer, address)?,
            false => peer,
        };
        let client = if is_udp && sends && !receives {
            Some(client_of(request, peer)?)
        } else {
            None
        };
        if !is_udp && !is_connection_test && is_its_own_client(request, peer, address) {
            return Err(Errno(libc::EADDRINUSE));
        }
        Ok(Self {
            is_udp,
            sends,
            receives,
            is_connection_test,
            extent: extent_of(test, request, limits)?,
            options: options_of(request, is_udp, sends),
            connects: is_set(flag::CONNECTED),
            address,
            peer,
            client,
            pace: pace_of(request),
            measures_cpu: request.measures_cpu(),
        })
    }

    /// Whether requests are answered.
    pub fn is_exchange(&self) -> bool {
        self.sends && self.receives
    }

    /// Whether transactions, not bytes, are counted.
    pub fn counts_transactions(&self) -> bool {
        self.is_exchange() || self.is_connection_test
    }

    /// The rings for what is sent and for what is received, as far as there are any, beside buffers
    /// of the socket of these sizes, in bytes.
    ///
    /// # Errors
    /// `EINVAL` for one that may not be.
    pub fn shapes(
        &self,
        request: &Request,
        (send_buffer, receive_buffer): (u32, u32),
    ) -> Result<[Option<Shape>; 2], Errno> {
        let send = || self.shape(&request.send, request.response_size, send_buffer);
        let receive = || self.shape(&request.receive, request.request_size, receive_buffer);
        Ok([
            self.sends.then(send).transpose()?,
            self.receives.then(receive).transpose()?,
        ])
    }

    /// The ring for one direction; `message` is the size of a request or response, `buffer` that
    /// of the socket's buffer, in bytes.
    ///
    /// # Errors
    /// `EINVAL` for one that may not be.
    fn shape(&self, moves: &Moves, message: i32, buffer: u32) -> Result<Shape, Errno> {
        let is_exchange = self.is_exchange();
        let size = match if is_exchange { message } else { moves.size } {
            size if size > 0 => size as u32,
            _ if is_exchange => return Err(Errno(libc::EINVAL)),
            _ if self.is_udp => buffer.min(DATAGRAM_BYTES_MAX),
            _ => buffer,
        };
        let unsigned = |value: i32| u32::try_from(value).map_err(|_| Errno(libc::EINVAL));
        let mut shape = Shape {
            size,
            align: unsigned(moves.align)?.max(1),
            offset: unsigned(moves.offset)?,
            width: unsigned(moves.width)?,
        };
        if shape.width == 0 {
            shape = if is_exchange {
                Shape { width: 1, ..shape }
            } else {
                shape.wide_enough_for(buffer.into())
            };
        }
        shape.check().map_err(|_| Errno(libc::EINVAL))?;
        Ok(shape)
    }

    /// Bytes or transactions after which this end has done its part. Data that come over TCP end
    /// with the connection; of datagrams any number may be lost.
    pub fn limit(&self, request: &Request, limits: &Limits) -> u64 {
        let wanted = match self.extent {
            Extent::Counted(count) if self.sends || self.is_connection_test => count,
            _ => UNLIMITED,
        };
        let Some(bytes) = limits.bytes else {
            return wanted;
        };
        if self.counts_transactions() {
            wanted.min(bytes / transaction_bytes(request))
        } else {
            wanted.min(bytes)
        }
    }
}

fn transaction_bytes(request: &Request) -> u64 {
    let bytes = |size: i32| u64::try_from(size).unwrap_or(0);
    (bytes(request.request_size) + bytes(request.response_size)).max(1)
}

/// Classic streams have a length in seconds or, with nothing to tell it by, in bytes: one that
/// is too long may be either, and ends when the client ends it.
fn extent_of(test: TestType, request: &Request, limits: &Limits) -> Result<Extent, Errno> {
    let may_be_bytes = matches!(test, TestType::TcpStream | TestType::TcpMaerts);
    let length = u64::from(request.length.unsigned_abs());
    let both = request.direction == SEND | RECEIVE;
    let per_unit = if both { transaction_bytes(request) } else { 1 };
    match request.length {
        0 => Ok(Extent::Endless),
        1.. if length > limits.test.as_secs() && may_be_bytes => Ok(Extent::Endless),
        1.. if length > limits.test.as_secs() => Err(Errno(libc::ETIME)),
        1.. => Ok(Extent::Timed(Duration::from_secs(length))),
        _ if limits
            .bytes
            .is_some_and(|bytes| length.saturating_mul(per_unit) > bytes) =>
        {
            Err(Errno(libc::EFBIG))
        }
        _ => Ok(Extent::Counted(length)),
    }
}

fn options_of(request: &Request, is_udp: bool, sends: bool) -> Options {
    let is_set = |bit| request.flags & bit != 0;
    let positive = |value: i32| u32::try_from(value).ok().filter(|&value| value > 0);
    let name = &request.congestion;
    let end = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    let congestion = String::from_utf8_lossy(&name[..end]).into_owned();
    Options {
        send_buffer: positive(request.send_buffer),
        receive_buffer: positive(request.receive_buffer),
        no_delay: is_set(flag::NO_DELAY),
        keep_alive: is_set(flag::KEEP_ALIVE),
        dont_route: !is_set(flag::ROUTING_ALLOWED),
        priority: positive(request.priority),
        tos: u8::try_from(request.tos).ok().filter(|&tos| tos > 0),
        congestion: (!congestion.is_empty()).then_some(congestion),
        mtu_discovery: is_set(flag::MTU_DISCOVERY),
        defer_accept: is_set(flag::DEFER_ACCEPT),
        report_drops: is_udp && sends,
        no_checksum: is_udp && is_set(flag::CHECKSUM_OFF),
        reuse_address: !is_udp,
        ..Options::default()
    }
}

/// Where to wait for data: where the client says; else where it has found us, unless the data
/// come by the other family of addresses.
fn bind_address(request: &Request, mut local: SocketAddr) -> Result<SocketAddr, Errno> {
    let port = u16::try_from(request.port).map_err(|_| Errno(libc::EINVAL))?;
    let is_v6 = match request.family {
        0 => local.is_ipv6(),
        family => family == FAMILY_IPV6,
    };
    let given = address_of(request.family, request.remote_address);
    if given.is_none() && local.is_ipv6() == is_v6 {
        // As it is: the scope of a link-local address goes with it.
        local.set_port(port);
        return Ok(local);
    }
    let other: IpAddr = match (is_v6, local.ip().is_loopback()) {
        (true, true) => Ipv6Addr::LOCALHOST.into(),
        (true, false) => Ipv6Addr::UNSPECIFIED.into(),
        (false, true) => Ipv4Addr::LOCALHOST.into(),
        (false, false) => Ipv4Addr::UNSPECIFIED.into(),
    };
    Ok(SocketAddr::new(given.unwrap_or(other), port))
}

/// The host that datagrams come from and go to: the client's, and nobody else on its word. The data
/// may be of the other family of addresses only where both are of this host.
fn data_peer(request: &Request, peer: IpAddr, server: SocketAddr) -> Result<IpAddr, Errno> {
    let expected = match (server.is_ipv6(), peer.is_loopback()) {
        (is_v6, _) if is_v6 == peer.is_ipv6() => peer,
        (true, true) => Ipv6Addr::LOCALHOST.into(),
        (false, true) => Ipv4Addr::LOCALHOST.into(),
        _ => return Err(Errno(libc::EACCES)),
    };
    match address_of(request.family, request.local_address) {
        Some(told) if told.to_canonical() != expected => Err(Errno(libc::EACCES)),
        _ => Ok(expected),
    }
}

/// Where datagrams go that are only sent.
fn client_of(request: &Request, peer: IpAddr) -> Result<SocketAddr, Errno> {
    match u16::try_from(request.local_port).unwrap_or(0) {
        0 => Err(Errno(libc::EDESTADDRREQ)),
        port => Ok(SocketAddr::new(peer, port)),
    }
}

/// Whether the client would connect its data socket with itself: from the port of the same host
/// that it wants to find us at.
fn is_its_own_client(request: &Request, peer: IpAddr, server: SocketAddr) -> bool {
    let local = address_of(request.family, request.local_address).unwrap_or(peer);
    server.port() > 0 && request.local_port == u32::from(server.port()) && local == server.ip()
}

fn pace_of(request: &Request) -> Option<(u32, Duration)> {
    let operations = u32::try_from(request.burst)
        .ok()
        .filter(|&burst| burst > 0)?;
    let interval_us = u64::try_from(request.interval_us)
        .ok()
        .filter(|&us| us > 0)?;
    Some((operations, Duration::from_micros(interval_us)))
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Opens the socket for `plan`, bound, and listening if it is for TCP.
///
/// # Errors
/// The errno for the client: `EACCES` for a port that is not for data, `EADDRINUSE` when
/// all that are, are taken.
pub fn open_socket(plan: &Plan, limits: &Limits) -> Result<Socket, Errno> {
    let asked = plan.address.port();
    let allowed = match &limits.data_ports {
        Some(ports) if asked > 0 && !ports.contains(&asked) => return Err(Errno(libc::EACCES)),
        Some(ports) if asked == 0 => ports.clone(),
        _ => asked..=asked,
    };
    for port in allowed {
        let mut address = plan.address;
        address.set_port(port);
        match open_at(address, plan) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.errno() == libc::EADDRINUSE => {}
            Err(error) => return Err(Errno(error.errno())),
        }
    }
    Err(Errno(libc::EADDRINUSE))
}

fn open_at(address: SocketAddr, plan: &Plan) -> Called<Socket> {
    let socket = socket::open(address, plan.is_udp, &plan.options)?;
    named("bind", socket.bind(&address.into()))?;
    if !plan.is_udp {
        named("listen", socket.listen(BACKLOG))?;
    }
    Ok(socket)
}
