//! The control connection: what the two ends agree upon before data flow, and report to each other
//! afterwards.
//!
//! ```text
//! client                              server
//!      ◄──────────────── greeting, or refused
//! hello ────────────────►
//! open  ────────────────►                            once for each point of a grid
//!      ◄──────────────── ready, or refused
//!  ══ data connections, each begins with the token of `ready` ══
//!      ◄──────────────── connected
//! begin ────────────────►
//!      ◄──────────────── begun
//!  ══ data ══
//! finish ───────────────►
//!      ◄──────────────── report, or refused
//! ```
//! Each message is its length (four bytes, big-endian) and a JSON document. Whoever does not keep
//! to the order, to the size or to the time is disconnected.

pub mod channel;
pub mod frame;
pub mod introduction;
pub mod message;
pub mod secret;
