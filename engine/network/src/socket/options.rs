//! Options of a socket. What is asked for and not granted is a failure, except for sizes: the
//! kernel doubles and caps them, so that what was granted is told.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use socket2::Socket;
use wire::Failure;

use crate::control::message::Transport;
use crate::failure::refused;

/// What is asked for; what is absent is left as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SocketOptions {
    /// SO_SNDBUF, in bytes; the kernel doubles it. Fixes what TCP would tune by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<u64>,
    /// SO_RCVBUF, in bytes; the kernel doubles it. Fixes what TCP would tune by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<u64>,
    /// TCP_NODELAY: send small segments at once.
    #[serde(skip_serializing_if = "is_off")]
    pub nodelay: bool,
    /// TCP_CONGESTION: name of the congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Differentiated services code point, 0 … 63 (RFC 2474).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// SO_BUSY_POLL: microseconds for which a receiver looks itself before it sleeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_poll_us: Option<u32>,
    /// A socket of datagrams is left unconnected: each call names the other end.
    #[serde(skip_serializing_if = "is_off")]
    pub unconnected: bool,
}

fn is_off(on: &bool) -> bool {
    !on
}

impl SocketOptions {
    /// Sets them; to be called before the socket is connected or listens, since the window scale
    /// depends on the buffers.
    ///
    /// # Errors
    /// `Io` or `HostLacks`, naming the option that the kernel refused.
    pub fn apply(&self, socket: &Socket, transport: Transport) -> Result<(), Failure> {
        let set = |what: &str, done: io::Result<()>| {
            done.map_err(|error| refused(format!("set {what} of a socket"), &error))
        };
        if let Some(bytes) = self.send_buffer {
            set("SO_SNDBUF", socket.set_send_buffer_size(bytes as usize))?;
        }
        if let Some(bytes) = self.receive_buffer {
            set("SO_RCVBUF", socket.set_recv_buffer_size(bytes as usize))?;
        }
        if let Some(us) = self.busy_poll_us {
            set("SO_BUSY_POLL", number(socket, libc::SO_BUSY_POLL, us))?;
        }
        if transport == Transport::Tcp {
            set("TCP_NODELAY", socket.set_tcp_nodelay(self.nodelay))?;
            if let Some(name) = &self.congestion {
                let done = socket.set_tcp_congestion(name.as_bytes());
                set(&format!("TCP_CONGESTION {name:?}"), done)?;
            }
        }
        if let Some(dscp) = self.dscp.filter(|_| transport != Transport::Unix) {
            let tos = u32::from(dscp) << 2;
            let is_v6 = socket
                .domain()
                .is_ok_and(|domain| domain == socket2::Domain::IPV6);
            let done = match is_v6 {
                true => socket.set_tclass_v6(tos),
                false => socket.set_tos_v4(tos),
            };
            set("the DSCP", done)?;
        }
        Ok(())
    }

    /// What the kernel granted, by name.
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
            tell(
                "congestion",
                socket.tcp_congestion().map(|name| json!(text(&name))),
            );
            tell("mss", socket.tcp_mss().map(Value::from));
        }
        if transport != Transport::Unix {
            let is_v6 = socket
                .domain()
                .is_ok_and(|domain| domain == socket2::Domain::IPV6);
            let tos = match is_v6 {
                true => socket.tclass_v6(),
                false => socket.tos_v4(),
            };
            tell("dscp", tos.map(|tos| json!(tos >> 2)));
        }
        granted
    }
}

/// A name as the kernel gives it: padded with zeroes.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// Sets an option of the socket level that is a number.
fn number(socket: &Socket, option: libc::c_int, value: u32) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let value = value as libc::c_int;
    // SAFETY: the option takes an int, and the length says so.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            std::ptr::from_ref(&value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
