//! What the remote end grants.

/// Where the data go, and the remote end's sizes in bytes. A classic response carries only the
/// buffers, one size, the flags that it knows, and the port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Response {
    /// `SO_RCVBUF` as the kernel gave it.
    pub receive_buffer: i32,
    /// Bytes that each call asks for.
    pub receive_size: i32,
    /// Buffers in the ring of the receiver.
    pub receive_width: i32,
    /// `SO_SNDBUF` as the kernel gave it.
    pub send_buffer: i32,
    /// Bytes of each call.
    pub send_size: i32,
    /// Buffers in the ring of the sender.
    pub send_width: i32,
    /// Bits of [`super::flag`].
    pub flags: u32,
    /// What an idle CPU does in a second; on Linux, clock ticks.
    pub cpu_rate: f32,
    /// The length as it was asked for.
    pub length: i32,
    /// Where the remote end waits for data.
    pub port: u32,
    /// `SO_PRIORITY`.
    pub priority: i32,
    /// `IP_TOS` or `IPV6_TCLASS`.
    pub tos: i32,
}
