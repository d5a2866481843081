//! Sockets: their options as asked for and as granted, and what the kernel tells of them.

mod granted;
mod options;
pub mod tcp_info;

pub use granted::{buffer_bytes, get_value, granted, text};
pub use options::{set_number, set_value, SocketOptions, Transport};

/// asm-generic/socket.h; not in the libc crate.
pub(crate) const SO_ZEROCOPY: libc::c_int = 60;
