//! netperf's wire, from both sides: [`client`] drives a stock netserver, [`server`] is driven by
//! a stock netperf. The messages of the control connection are in [`message`], for both.

pub mod client;
mod control;
mod data;
pub mod message;
pub mod server;

#[cfg(test)]
mod tests;
