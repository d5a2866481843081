//! The lock of a host: one run at a time changes what all of it shares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From now on no other run changes what is machine-wide, until it is let go, or this agent has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostHold {
    /// Is to be changed, as a person calls it.
    pub what: String,
    /// The ledger of the lab, by which a run is known; empty: only until something is put back.
    pub ledger: String,
    /// Whether the lab has put back what the last holder has left.
    #[serde(default)]
    pub is_put_back: bool,
}

/// Nothing of the machine is to be changed any more. Where something still is, it stays held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLetGo {
    /// For which ledger it was held.
    pub ledger: String,
}

/// What came of holding the machine, or of letting it go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostHeld {
    /// For whom it is held now; `None`: for nobody, or for one that has to put back something first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// A lab that held it, and was killed: its ledger is there, and is to be put back first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<HostLast>,
    /// What an agent that held it had left and was put back, one sentence each.
    pub done: Vec<String>,
}

/// Who held it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostLast {
    pub pid: u32,
    /// The lab's.
    pub ledger: String,
}
