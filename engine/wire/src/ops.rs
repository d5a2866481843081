//! Changes of a host as data: what an agent does, and takes back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes to be made, one after the other; where one fails, the turn is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostOps {
    /// What they are for: they are taken back together.
    pub turn: String,
    pub list: Vec<HostOp>,
}

/// What is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostUndo {
    /// All of this turn, last first.
    pub turn: String,
}

/// One change. Each is in the agent's ledger, and on disk there, before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum HostOp {
    Run(OpRun),
    Set(OpSet),
    Put(OpPut),
    Make(OpMake),
    Mount(OpMount),
    Loop(OpLoop),
    Require(OpRequire),
}

/// A text: as it stands, or joined of parts that only execution yields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OpText {
    Text(String),
    /// What an op of this name has yielded.
    Of {
        of: String,
    },
    Joined {
        cat: Vec<OpText>,
    },
}

/// A command, to its end; there is no way back but that of the other ops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpRun {
    /// Program and arguments.
    pub argv: Vec<OpText>,
}

/// A value of a file of the kernel; the one of before is written again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpSet {
    pub file: OpText,
    pub value: String,
    /// Loop device and file: while that is behind it.
    #[serde(default, rename = "while", skip_serializing_if = "Option::is_none")]
    pub while_behind: Option<[OpText; 2]>,
}

/// A file that is not there, with blocks of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpPut {
    pub path: OpText,
    /// So many bytes, all zero.
    pub zeros: u64,
}

/// A directory that is not there; it goes with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpMake {
    pub directory: OpText,
}

/// A device with a file of ours behind it, mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpMount {
    pub from: OpText,
    pub at: OpText,
    pub kind: String,
    #[serde(default)]
    pub options: Vec<String>,
    /// It is unmounted only while this file is behind the device.
    pub behind: OpText,
}

/// A file behind a loop device that passes the page cache by, where that can be; yields its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpLoop {
    pub file: OpText,
    pub name: String,
}

/// A statement that must hold at that instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpRequire {
    /// Loop device and file: that is behind it.
    pub behind: [OpText; 2],
}

/// What came of ops.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDid {
    /// Name → what that op has yielded.
    pub outputs: BTreeMap<String, String>,
}

/// What was taken back, one sentence each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostUndone {
    pub done: Vec<String>,
    /// What could not be, and why.
    pub left: Vec<String>,
}
