//! The engine as the only program of a virtual machine, and the way into it.
//!
//! In the guest, [`init`] is process 1: it makes the machine habitable and serves ([`server`]) what
//! comes through the channel. On the host, [`kernel`] and [`modules`] tell what can be booted, [`archive`]
//! makes what it begins with, [`boot`] starts the machine and switches it off, and [`into`] passes
//! requests through the channel, or one job and the engine's lines back, so that to whoever started it,
//! it is the engine.

pub mod archive;
pub mod boot;
pub mod init;
pub mod into;
pub mod kernel;
pub mod message;
pub mod modules;
mod mounts;
mod running;
pub mod server;
