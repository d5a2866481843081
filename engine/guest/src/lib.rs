//! The engine as the only program of a virtual machine.

pub mod message;
