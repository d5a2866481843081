//! What both ends do with the data: sockets, rings of buffers, the loops, and what ends them.

pub mod alarm;
pub mod call;
pub mod connections;
pub mod cpu;
pub mod exchange;
pub mod interim;
pub mod link;
pub mod mark;
pub mod ring;
pub mod socket;
pub mod stream;
pub mod transport;
pub mod work;
