//! Changes of a host as data: what an agent does, and takes back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::start::{HostStarted, Start};

/// Changes to be made, one after the other; where one fails, those of the list are taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostOps {
    pub list: Vec<HostOp>,
}

/// What is to be taken back, last first. What is not outstanding any more is passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostUndo {
    /// The name of the ledger that has them: of this agent, or of one that has ended.
    pub ledger: String,
    pub numbers: Vec<u64>,
    /// They stay in the ledger, as they are made again at once.
    #[serde(default)]
    pub still: bool,
}

/// What agents that died have left is to be put back, last first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostRecover {
    /// Where their ledgers are; this agent's own if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Only what was changed after this: the time of day, since 1970.
    pub newer_than_ns: u64,
    /// What a study keeps to go on with it after a boot as well.
    pub kept: bool,
}

/// What is outstanding is left as it is, also at the end of this agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostKeep {
    /// The folder of the study that goes on with it.
    pub study: String,
}

/// One change. Each is in the agent's ledger, and on disk there, before it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum HostOp {
    Run(OpRun),
    Set(OpSet),
    Put(OpPut),
    Mend(OpMend),
    Make(OpMake),
    Mount(OpMount),
    Loop(OpLoop),
    Require(OpRequire),
    Start(Box<OpStart>),
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

/// A process that stays, as it is asked for.
pub type OpStart = Start<OpText>;

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

/// A file that is not there, with blocks of its own that are written, past the page cache where that
/// can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpPut {
    pub path: OpText,
    /// So many bytes, all zero.
    pub zeros: u64,
}

/// A file of ours is written where it has holes or unwritten extents; what it holds stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpMend {
    pub path: OpText,
}

/// A directory that is not there; it goes with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpMake {
    pub directory: OpText,
    /// It goes with what it is in, so that there is no need to take it back; it may be there already.
    #[serde(default)]
    pub inside: bool,
}

/// A file system, mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpMount {
    pub from: OpText,
    pub at: OpText,
    pub kind: String,
    #[serde(default)]
    pub options: Vec<String>,
    /// It is unmounted only while this file is behind the device. Without one, `at` has a name of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<OpText>,
    /// It is in the ledger already.
    #[serde(default)]
    pub again: bool,
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDid {
    /// The name of the ledger that has the changes; empty where nothing was recorded.
    pub ledger: String,
    /// In their order.
    pub changes: Vec<HostChanged>,
    /// Name → what that op has yielded.
    pub outputs: BTreeMap<String, String>,
    /// The commands that were executed, in their order.
    pub ran: Vec<HostRan>,
    /// What stays, in its order.
    pub started: Vec<HostStarted>,
}

/// A change in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostChanged {
    /// Which op of the list has made it, from 0.
    pub at: u32,
    /// Its number in the ledger.
    pub number: u64,
}

/// A command that has ended well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRan {
    pub argv: Vec<String>,
    pub elapsed_s: f64,
}

/// How far ops are. It is told when one begins that may take long, and each second while it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostProgress {
    /// Which op of the list, from 0.
    pub at: u32,
    /// Written by it.
    pub done_bytes: u64,
    /// To be written; 0: it is not known.
    pub of_bytes: u64,
}

/// What was taken back, one sentence each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostUndone {
    pub done: Vec<String>,
    /// What could not be, and why.
    pub left: Vec<String>,
}
