//! Sockets: their options as asked for and as granted, and what the kernel tells of them.

mod options;
pub mod tcp_info;

pub use options::SocketOptions;
