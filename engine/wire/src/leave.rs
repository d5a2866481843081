//! A host that is left to a boot, and what goes on after it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The host is booted. What of the changes is kept stays as it is, for who takes it up after the boot;
/// everything else is taken back before. Where the command fails nothing is kept for anybody: the changes
/// are this agent's again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLeave {
    /// What boots it: program and arguments.
    pub argv: Vec<String>,
    /// Who goes on: a name that nobody else has.
    pub study: String,
    /// The numbers of the changes that are kept.
    #[serde(default)]
    pub keep: Vec<u64>,
    /// Only where it can be booted, and nobody else is at work on it.
    #[serde(default)]
    pub alone: bool,
    /// Nothing is done: it is asked whether it could be.
    #[serde(default)]
    pub asks: bool,
}

/// What was kept over a boot is this agent's from now on; that is asked before it changes anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostTakeUp {
    /// Who goes on.
    pub study: String,
}
