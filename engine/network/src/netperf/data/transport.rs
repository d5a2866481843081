//! What TCP tells of a connection.

use std::os::fd::AsRawFd;

use socket2::Socket;

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
        let congestion = socket.tcp_congestion().ok().map(|name| {
            let end = name.iter().position(|&byte| byte == 0);
            String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned()
        });
        Self {
            segment_size: socket.tcp_mss().ok(),
            retransmits: retransmits(socket),
            congestion,
        }
    }
}

fn retransmits(socket: &Socket) -> Option<u64> {
    // SAFETY: an all-zero tcp_info is valid; the kernel writes no more than its size.
    let (status, info) = unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        let status = libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &mut length,
        );
        (status, info)
    };
    (status == 0).then_some(u64::from(info.tcpi_total_retrans))
}
