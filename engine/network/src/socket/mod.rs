//! Sockets: their options as asked for and as granted, and what the kernel tells of them.

mod granted;
mod options;
pub mod tcp_info;

pub use granted::{buffer_bytes, granted};
pub(crate) use granted::{get_value, text};
pub(crate) use options::set_value;
pub use options::{set_number, SocketOptions, Transport};

/// asm-generic/socket.h; not in the libc crate.
pub(crate) const SO_ZEROCOPY: libc::c_int = 60;
