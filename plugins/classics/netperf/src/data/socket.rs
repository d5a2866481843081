//! Data sockets with the options of an end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::{named, Called};
use network::socket::{get_value, set_value, text};

/// For how long a connection without data is kept back, in seconds.
const DEFER_ACCEPT_S: libc::c_int = 5;

/// Options of a data socket. What is not given is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `SO_SNDBUF` in bytes.
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `TCP_CORK`.
    pub cork: bool,
    /// `SO_KEEPALIVE`.
    pub keep_alive: bool,
    /// `SO_DONTROUTE`: only the directly attached network.
    pub dont_route: bool,
    /// `SO_PRIORITY`.
    pub priority: Option<u32>,
    /// `IP_TOS` or `IPV6_TCLASS`.
    pub tos: Option<u8>,
    /// `TCP_CONGESTION`.
    pub congestion: Option<String>,
    /// `IP_MTU_DISCOVER`, `IPV6_MTU_DISCOVER`: never fragment.
    pub mtu_discovery: bool,
    /// `TCP_DEFER_ACCEPT`: nobody is accepted who has not sent anything.
    pub defer_accept: bool,
    /// `TCP_MAXSEG` in bytes.
    pub segment_size: Option<u32>,
    /// `SO_MAX_PACING_RATE` in bytes per second.
    pub pacing_rate: Option<u64>,
    /// `SO_RCVTIMEO`.
    pub receive_timeout: Option<Duration>,
    /// `IP_RECVERR`, `IPV6_RECVERR`: datagrams dropped in the host's own queue are an error of the
    /// send, not a secret.
    pub report_drops: bool,
    /// `SO_NO_CHECK`: UDP without checksums.
    pub no_checksum: bool,
    /// `SO_REUSEADDR`: a port may be taken again at once.
    pub reuse_address: bool,
}

/// A socket for data to or from `address` (TCP, or UDP), not yet bound.
///
/// # Errors
/// The option that the kernel refuses.
pub fn open(address: SocketAddr, is_udp: bool, options: &Options) -> Called<Socket> {
    let (kind, protocol) = if is_udp {
        (Type::DGRAM, Protocol::UDP)
    } else {
        (Type::STREAM, Protocol::TCP)
    };
    let domain = Domain::for_address(address);
    let socket = named("socket", Socket::new(domain, kind, Some(protocol)))?;
    let is_v6 = address.is_ipv6();
    set_common(&socket, is_v6, options)?;
    if is_udp {
        set_udp(&socket, is_v6, options)?;
    } else {
        set_tcp(&socket, options)?;
    }
    Ok(socket)
}

fn set_common(socket: &Socket, is_v6: bool, options: &Options) -> Called<()> {
    if let Some(bytes) = options.send_buffer {
        named("SO_SNDBUF", socket.set_send_buffer_size(bytes as usize))?;
    }
    if let Some(bytes) = options.receive_buffer {
        named("SO_RCVBUF", socket.set_recv_buffer_size(bytes as usize))?;
    }
    if options.reuse_address {
        named("SO_REUSEADDR", socket.set_reuse_address(true))?;
    }
    if options.keep_alive {
        named("SO_KEEPALIVE", socket.set_keepalive(true))?;
    }
    if options.dont_route {
        let set = set_int(socket, libc::SOL_SOCKET, libc::SO_DONTROUTE, 1);
        named("SO_DONTROUTE", set)?;
    }
    // IP_TOS sets a priority, so SO_PRIORITY comes after it.
    if let Some(tos) = options.tos.map(u32::from) {
        if is_v6 {
            named("IPV6_TCLASS", socket.set_tclass_v6(tos))?;
        } else {
            named("IP_TOS", socket.set_tos_v4(tos))?;
        }
    }
    if let Some(priority) = options.priority {
        let set = set_int(
            socket,
            libc::SOL_SOCKET,
            libc::SO_PRIORITY,
            priority as libc::c_int,
        );
        named("SO_PRIORITY", set)?;
    }
    if options.mtu_discovery {
        let (level, name, value) = if is_v6 {
            (
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_DO,
            )
        } else {
            (
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_DO,
            )
        };
        named("IP_MTU_DISCOVER", set_int(socket, level, name, value))?;
    }
    if let Some(rate) = options.pacing_rate {
        let set = set_value(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate);
        named("SO_MAX_PACING_RATE", set)?;
    }
    if options.receive_timeout.is_some() {
        named(
            "SO_RCVTIMEO",
            socket.set_read_timeout(options.receive_timeout),
        )?;
    }
    Ok(())
}

fn set_tcp(socket: &Socket, options: &Options) -> Called<()> {
    if let Some(bytes) = options.segment_size {
        named("TCP_MAXSEG", socket.set_tcp_mss(bytes))?;
    }
    if options.no_delay {
        named("TCP_NODELAY", socket.set_tcp_nodelay(true))?;
    }
    if options.cork {
        named("TCP_CORK", socket.set_tcp_cork(true))?;
    }
    if options.defer_accept {
        let set = set_int(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            DEFER_ACCEPT_S,
        );
        named("TCP_DEFER_ACCEPT", set)?;
    }
    if let Some(name) = &options.congestion {
        named("TCP_CONGESTION", socket.set_tcp_congestion(name.as_bytes()))?;
    }
    Ok(())
}

fn set_udp(socket: &Socket, is_v6: bool, options: &Options) -> Called<()> {
    if options.report_drops {
        let (level, name) = if is_v6 {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        } else {
            (libc::IPPROTO_IP, libc::IP_RECVERR)
        };
        named("IP_RECVERR", set_int(socket, level, name, 1))?;
    }
    if options.no_checksum {
        let set = set_int(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1);
        named("SO_NO_CHECK", set)?;
    }
    Ok(())
}

fn set_int(
    socket: &Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    set_value(socket, level, name, value)
}

/// `SO_SNDBUF` and `SO_RCVBUF` as the kernel has them, in bytes.
pub fn buffers(socket: &Socket) -> Called<(u32, u32)> {
    let send = named("SO_SNDBUF", socket.send_buffer_size())?;
    let receive = named("SO_RCVBUF", socket.recv_buffer_size())?;
    Ok((send as u32, receive as u32))
}

/// What TCP knows of a connection; nothing of a UDP socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    /// `TCP_MAXSEG` in bytes.
    pub segment_size: Option<u32>,
    /// Segments sent again.
    pub retransmits: Option<u64>,
    /// Name of the congestion control.
    pub congestion: Option<String>,
}

impl Transport {
    /// As it is now.
    pub fn of(socket: &Socket) -> Self {
        Self {
            segment_size: socket.tcp_mss().ok(),
            retransmits: retransmits(socket),
            congestion: socket.tcp_congestion().ok().map(|name| text(&name)),
        }
    }
}

fn retransmits(socket: &Socket) -> Option<u64> {
    // SAFETY: an all-zero tcp_info is valid.
    let info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let info = get_value(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info).ok()?;
    Some(info.tcpi_total_retrans.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[test]
    fn options_are_what_the_kernel_says() {
        let options = Options {
            send_buffer: Some(100_000),
            receive_buffer: Some(50_000),
            no_delay: true,
            keep_alive: true,
            tos: Some(0x10),
            congestion: Some("reno".to_owned()),
            mtu_discovery: true,
            segment_size: Some(1_000),
            pacing_rate: Some(1_000_000),
            priority: Some(3),
            ..Options::default()
        };
        let socket = open(local(), false, &options).unwrap();
        assert_eq!(buffers(&socket).unwrap(), (200_000, 100_000));
        assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
        assert_eq!(socket.tos_v4().unwrap(), 0x10);
        assert_eq!(Transport::of(&socket).congestion.as_deref(), Some("reno"));
    }

    #[test]
    fn what_the_kernel_refuses_is_named() {
        let options = Options {
            congestion: Some("nonsuch".to_owned()),
            ..Options::default()
        };
        let refused = open(local(), false, &options).unwrap_err();
        assert_eq!(refused.call, "TCP_CONGESTION");
        assert!(refused.to_string().starts_with("TCP_CONGESTION: "));
    }

    #[test]
    fn a_datagram_socket_has_no_transport() {
        let options = Options {
            report_drops: true,
            no_checksum: true,
            dont_route: true,
            receive_timeout: Some(Duration::from_secs(1)),
            ..Options::default()
        };
        let socket = open(local(), true, &options).unwrap();
        assert_eq!(Transport::of(&socket), Transport::default());
        open("[::1]:0".parse().unwrap(), true, &options).unwrap();
    }
}
