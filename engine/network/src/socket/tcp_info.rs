//! TCP_INFO: how the kernel sees a connection, tcp(7) and `linux/tcp.h`.

use std::mem::{self, offset_of};
use std::os::fd::AsRawFd;

use wire::{Connection, WhichEnd};

use crate::flow::Flow;

/// `struct tcp_info`, as far as we read it; newer kernels tell more at its end.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct TcpInfo {
    states: [u8; 8],
    rto_us: u32,
    ato_us: u32,
    snd_mss: u32,
    rcv_mss: u32,
    counts: [u32; 5],
    times_ms: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt_us: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt_us: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
}

const CLOSE: u8 = 7;
const LISTEN: u8 = 10;

/// Looks at a TCP connection; `None` where there is none.
pub fn look(flow: &Flow, end: WhichEnd, t_s: f64) -> Option<Connection> {
    // SAFETY: all fields are numbers, for which zeroes are values.
    let mut info: TcpInfo = unsafe { mem::zeroed() };
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes `length` bytes at most.
    let status = unsafe {
        libc::getsockopt(
            flow.socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &raw mut length,
        )
    };
    let tells = |end_of_field: usize| length as usize >= end_of_field;
    // tcp_states.h: a socket that is not connected has a state and nothing else to tell.
    let is_connected = !matches!(info.states[0], CLOSE | LISTEN);
    if status != 0 || !is_connected || !tells(offset_of!(TcpInfo, pacing_rate)) {
        return None;
    }
    let seconds = |us: u32| f64::from(us) / 1e6;
    Some(Connection {
        t_s,
        flow: flow.number,
        end,
        rtt_s: seconds(info.rtt_us),
        rtt_variance_s: seconds(info.rttvar_us),
        rtt_min_s: (tells(offset_of!(TcpInfo, data_segs_in)) && info.min_rtt_us != u32::MAX)
            .then(|| seconds(info.min_rtt_us)),
        cwnd_segments: info.snd_cwnd,
        mss_bytes: info.snd_mss,
        retransmits: u64::from(info.total_retrans),
        delivery_rate: tells(size_of::<TcpInfo>()).then_some(info.delivery_rate as f64),
        acknowledged_bytes: tells(offset_of!(TcpInfo, bytes_received)).then_some(info.bytes_acked),
    })
}
