//! The engine as the only program of a virtual machine, and the way into it.
//!
//! In the guest, [`init`] is process 1: it makes the machine habitable and serves ([`server`]) what
//! comes through the channel. On the host, [`into`] passes one job through the channel and the
//! engine's lines back, so that to whoever started it, it is the engine.

pub mod init;
pub mod into;
pub mod message;
mod mounts;
mod running;
pub mod server;
