//! What `pool` reads: whose streams become one, and when each was to begin.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several clients that have executed one job at the same time, in order of their numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub clients: Vec<PoolClient>,
    /// Later than that after the first one nobody may begin, in seconds …
    pub late_s: f64,
    /// … or, in a longer region, than this share of it.
    pub late_share: f64,
}

/// One client; see [`crate::Client`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolClient {
    pub name: String,
    /// Where its stream is now.
    pub path: PathBuf,
    /// Where it will be, as the common stream says.
    pub file: String,
    /// SHA-256 (hex) of it.
    pub sha256: String,
    /// When its timed regions were to begin.
    pub starts: Vec<PoolStart>,
}

/// An instant that a client was told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolStart {
    /// By the CLOCK_MONOTONIC of the lab.
    pub at_ns: i64,
    /// How far that of the client's host is ahead.
    pub ahead_ns: i64,
    /// How far that may be wrong.
    pub uncertainty_ns: u64,
}
