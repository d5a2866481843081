//! Network workloads.
//!
//! To add one: a file beside this one with everything in it (what it is, parameters, metrics,
//! timing formula, tests), and one line in [`ALL`].

mod check;
mod connects;
mod ends;
mod exchange;
mod hosts;
mod plan;
mod stream;
pub mod tcp_crr;
pub mod tcp_maerts;
pub mod tcp_rr;
pub mod tcp_sendfile;
pub mod tcp_stream;
pub mod udp_rr;
pub mod udp_stream;
pub mod unix_rr;
pub mod unix_stream;

use kit::Trial;
use serde_json::{Map, Value};
use wire::{Card, Failure, FarEnd};

/// All network workloads, in the order in which a person should meet them.
pub static ALL: &[&dyn Workload] = &[
    &tcp_stream::TCP_STREAM,
    &tcp_maerts::TCP_MAERTS,
    &tcp_sendfile::TCP_SENDFILE,
    &udp_stream::UDP_STREAM,
    &unix_stream::UNIX_STREAM,
    &tcp_rr::TCP_RR,
    &udp_rr::UDP_RR,
    &unix_rr::UNIX_RR,
    &tcp_crr::TCP_CRR,
];

/// A kind of trial that can be asked for by name.
pub trait Workload: Sync {
    /// Everything that help, documentation and the lab need to know.
    fn card(&self) -> Card;

    /// Reads the parameters, without a word to the far end.
    ///
    /// # Errors
    /// `BadJob` naming the parameter.
    fn plan(
        &self,
        parameters: &Map<String, Value>,
        far: &FarEnd,
    ) -> Result<Box<dyn Trial>, Failure>;
}
