//! Choices that several workloads have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the operations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendName {
    /// System calls.
    Sync,
    /// No I/O: measures the loops themselves.
    Null,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Zeroes, as the original: nothing compresses better.
    Zeroes,
    /// Random bytes, incompressible.
    Random,
}
