//! The lock of a host: one run at a time changes what all of it shares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From now on no other run changes what is machine-wide, until it is let go, or this agent has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostHold {
    /// Is to be changed, as a person calls it.
    pub what: String,
    /// The name of a run that nobody else has.
    pub run: String,
}

/// Nothing of the machine is to be changed any more. Where something still is, it stays held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLetGo {
    /// The run for which it was held.
    pub run: String,
}

/// What came of holding the machine, or of letting it go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostHeld {
    /// The run for which it is held now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What its last holder, which was killed, had left and was put back first, one sentence each.
    pub done: Vec<String>,
}
