//! Options of a socket. What is asked for and not granted is a failure, except for sizes: the
//! kernel doubles and caps them, so that what was granted is told.

use std::io;
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};
use socket2::Socket;
use wire::Failure;

use crate::failure::refused;

/// What moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Tcp,
    Udp,
    /// Byte streams between processes of one host, unix(7).
    Unix,
}

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
    /// TCP_CORK: send full segments only.
    #[serde(skip_serializing_if = "is_off")]
    pub cork: bool,
    /// TCP_MAXSEG, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// SO_MAX_PACING_RATE, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_rate: Option<u64>,
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
            set(
                "SO_BUSY_POLL",
                set_number(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, us),
            )?;
        }
        if let Some(rate) = self.pacing_rate {
            let done = set_value(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate);
            set("SO_MAX_PACING_RATE", done)?;
        }
        if transport == Transport::Tcp {
            if self.nodelay {
                set("TCP_NODELAY", socket.set_tcp_nodelay(true))?;
            }
            if self.cork {
                set("TCP_CORK", socket.set_tcp_cork(true))?;
            }
            if let Some(bytes) = self.mss {
                set("TCP_MAXSEG", socket.set_tcp_mss(bytes))?;
            }
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
}

/// Sets an option that is a number.
///
/// # Errors
/// As setsockopt(2).
pub fn set_number(
    socket: &Socket,
    level: libc::c_int,
    option: libc::c_int,
    value: u32,
) -> io::Result<()> {
    set_value(socket, level, option, value as libc::c_int)
}

/// Sets an option of whatever size it has.
pub fn set_value<T: Copy>(
    socket: &Socket,
    level: libc::c_int,
    option: libc::c_int,
    value: T,
) -> io::Result<()> {
    // SAFETY: the value is a number as long as the length says.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(&value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
