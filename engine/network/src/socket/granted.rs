//! What the kernel granted: options as they are, by the names that they have among parameters.

use std::io;
use std::os::fd::AsRawFd;

use serde_json::{json, Map, Value};
use socket2::{Domain, Socket};

use super::{Transport, SO_ZEROCOPY};

/// Options of a socket that are numbers, by transport; what is zero is off, and left out.
const NUMBERS: [(Transport, &str, libc::c_int, libc::c_int); 6] = [
    (
        Transport::Tcp,
        "busy_poll_us",
        libc::SOL_SOCKET,
        libc::SO_BUSY_POLL,
    ),
    (
        Transport::Udp,
        "busy_poll_us",
        libc::SOL_SOCKET,
        libc::SO_BUSY_POLL,
    ),
    (Transport::Tcp, "cork", libc::IPPROTO_TCP, libc::TCP_CORK),
    (Transport::Tcp, "zerocopy", libc::SOL_SOCKET, SO_ZEROCOPY),
    (
        Transport::Udp,
        "gso_bytes",
        libc::SOL_UDP,
        libc::UDP_SEGMENT,
    ),
    (Transport::Udp, "gro", libc::SOL_UDP, libc::UDP_GRO),
];

/// The options of a socket.
pub fn granted(socket: &Socket, transport: Transport) -> Map<String, Value> {
    let mut granted = Map::new();
    let mut tell = |name: &str, value: io::Result<Value>| {
        if let Ok(value) = value {
            granted.insert(name.to_owned(), value);
        }
    };
    tell("send_buffer", socket.send_buffer_size().map(Value::from));
    tell("receive_buffer", socket.recv_buffer_size().map(Value::from));
    if transport == Transport::Tcp {
        tell("nodelay", socket.tcp_nodelay().map(Value::from));
        let congestion = socket.tcp_congestion();
        tell("congestion", congestion.map(|name| json!(text(&name))));
        tell("mss", socket.tcp_mss().map(Value::from));
    }
    if transport == Transport::Udp {
        tell("connected", Ok(json!(socket.peer_addr().is_ok())));
    }
    if transport != Transport::Unix {
        let tos = match socket.domain() {
            Ok(Domain::IPV6) => socket.tclass_v6(),
            _ => socket.tos_v4(),
        };
        tell("dscp", tos.map(|tos| json!(tos >> 2)));
        match get_value(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX) {
            Ok(u64::MAX) => {}
            rate => tell("pacing_rate", rate.map(Value::from)),
        }
    }
    for (of, name, level, option) in NUMBERS {
        if of == transport {
            match get_value(socket, level, option, 0i32) {
                Ok(0) => {}
                number => tell(name, number.map(Value::from)),
            }
        }
    }
    granted
}

/// What the buffers of a socket for sending and for receiving hold.
pub fn buffer_bytes(socket: &Socket) -> [u64; 2] {
    let sizes = [socket.send_buffer_size(), socket.recv_buffer_size()];
    sizes.map(|size| size.unwrap_or_default() as u64)
}

/// A name as the kernel gives it: padded with zeroes.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// An option that is a number of the size of `initial`.
pub fn get_value<T: Copy>(
    socket: &Socket,
    level: libc::c_int,
    option: libc::c_int,
    initial: T,
) -> io::Result<T> {
    let mut value = initial;
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes `length` bytes at most, and a number of any bits is a value.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_mut(&mut value).cast(),
            &raw mut length,
        )
    };
    match status {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}
