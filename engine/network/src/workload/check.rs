//! Ranges of the parameters that all workloads have.

use kit::failure::bad_parameter;
use kit::limits::within;
use kit::{List, Size};
use wire::Failure;

/// Most bytes of a message on a connection.
pub const MESSAGE_MAX: Size = Size(16 << 20);
const FLOWS_MAX: u32 = 1_024;
const SECONDS_MAX: f64 = 86_400.0;
const DSCP_MAX: u8 = 63;

/// How many flows, for how long, and how their packets are marked.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn check(flows: &List<u32>, seconds: f64, dscp: Option<u8>) -> Result<(), Failure> {
    for &flows in flows.iter() {
        within("flows", flows, 1..=FLOWS_MAX)?;
    }
    positive("seconds", seconds, SECONDS_MAX)?;
    if let Some(dscp) = dscp {
        within("dscp", dscp, 0..=DSCP_MAX)?;
    }
    Ok(())
}

/// A value of more than 0 and up to `most`.
///
/// # Errors
/// `BadJob`, naming the parameter.
pub fn positive(parameter: &str, value: f64, most: f64) -> Result<(), Failure> {
    if value > 0.0 && value <= most {
        return Ok(());
    }
    let message = format!(
        "parameter \"{parameter}\": {value} is out of range; use more than 0 and up to {most}"
    );
    Err(bad_parameter(parameter, message))
}
