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
    /// What a study keeps to go on with it after a boot as well.
    pub kept: bool,
    /// The same, of this study alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<String>,
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
    Hold(OpHold),
    Format(OpFormat),
    Release(OpRelease),
    Start(Box<OpStart>),
    Network(OpNetwork),
    Keep(OpKeep),
    PutBack(OpPutBack),
    Age(Box<OpAge>),
    Limit(OpLimit),
    Isolate(OpIsolate),
    Owe(OpOwe),
    Pool(OpPool),
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

/// A network namespace that is not there, by ip-netns(8); with its devices it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpNetwork {
    pub name: String,
}

/// A process that stays, as it is asked for.
pub type OpStart = Start<OpText>;

/// A command, to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpRun {
    /// Program and arguments.
    pub argv: Vec<OpText>,
    /// Without one it has no way back but that of the other ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<OpBack>,
    /// Where it is not taken, that is told, and the list goes on.
    #[serde(default)]
    pub skip: bool,
}

/// The way back of a command that sets something of the whole host, which another command tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpBack {
    /// What it sets, as a person calls it.
    pub what: String,
    /// Prints what is in force. What somebody else has set since then is left.
    pub look: Vec<OpText>,
    /// What it prints before; where it prints anything else by now nothing is done.
    pub before: String,
    /// What it prints once that is set.
    pub value: String,
    /// Sets it back.
    pub argv: Vec<OpText>,
    /// Whether a boot of the host has the same effect.
    #[serde(default)]
    pub ends_with_boot: bool,
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
    /// Of two files of which one makes the other 0, which cannot be written, the other one: it is put back
    /// where this one was 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excludes: Option<OpText>,
    /// Where the value is not taken, that is told, and the list goes on.
    #[serde(default)]
    pub skip: bool,
}

/// A file that is not there: zeros in blocks of its own that are written, past the page cache where that
/// can be; or a text, or a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpPut {
    pub path: OpText,
    /// So many bytes, all zero.
    #[serde(default)]
    pub zeros: u64,
    /// What is in it; it is on disk afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where a link leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<OpText>,
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
    /// Others cannot look into it.
    #[serde(default)]
    pub private: bool,
    /// It lies among names that another user can exchange: it yields its inode by this name, and no other
    /// directory is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The process in whose mount namespace it is; with the namespace it is out of reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<OpText>,
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
    /// It is ours already: it is unmounted before. The ledger has it all the time.
    #[serde(default)]
    pub again: bool,
    /// `from` is a directory that another user can exchange: that one is shown, and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<OpApart>,
}

/// A directory that was made apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpApart {
    pub inode: OpText,
    /// Who could exchange it, for who is told that nothing can be mounted.
    pub why: String,
}

/// A command that is owed at the end, which takes back what others are about to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpOwe {
    /// What it does, as a sentence that begins with a verb of the past.
    pub what: String,
    pub argv: Vec<OpText>,
    #[serde(default)]
    pub stdin: String,
    /// Nothing is to be done without this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<OpText>,
    /// Nothing is to be done, and all is done, once this command prints nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look: Vec<OpText>,
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

/// A block device, as a study means it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpDevice {
    /// A name that stays, or one that `marks` confirm.
    pub given: String,
    pub size_bytes: u64,
    /// What was said of it beside its size: `serial`, `wwn`, `partuuid`, `backing_file`.
    pub marks: BTreeMap<String, String>,
}

/// A block device is opened and locked if it is the one that is meant, nobody uses it, and it is blank.
/// It stays so until it is let go, or ops fail, or something is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpHold {
    pub device: OpDevice,
    /// The kernel's own name, as it was seen before: it must be that still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Directories that must not lie on it, beside those of the host and of the ledger.
    #[serde(default)]
    pub keep: Vec<String>,
    /// It is not blank, but carries what this change of ours has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<OpMade>,
}

/// A change in a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpMade {
    /// The name of the ledger.
    pub ledger: String,
    pub number: u64,
}

/// A file system on a block device that is held, and that nobody uses and nothing is on at that instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpFormat {
    /// As it was given.
    pub device: String,
    pub filesystem: String,
    /// The command that makes it; none: it is written after this op.
    pub argv: Vec<OpText>,
    /// What a UUID is called in `argv` that is drawn, and is in the ledger before it is on the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// A file with what will be on it, which is then known as ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

/// A block device is let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpRelease {
    /// As it was given.
    pub device: String,
}

/// Every byte of a block device, copied to a file that is not there, with holes where it has zeros; yields
/// their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpKeep {
    pub device: OpText,
    pub copy: OpText,
}

/// A block device is written wherever it differs from a copy of it, and compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpPutBack {
    pub device: OpText,
    pub copy: OpText,
    /// Of the copy, in hex.
    pub sha256: String,
}

/// Files come and go on a file system of its own, as a profile says; yields what it came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpAge {
    /// Where the files are made; it is not there.
    pub directory: OpText,
    pub profile: OpProfile,
    /// Of all that is drawn, the contents too; they cannot be compressed.
    pub seed: u64,
    /// Share of the space that is in use at the end.
    pub to: f64,
    /// Bytes written in all at least, in units of the capacity.
    pub turnover: f64,
    /// How it is mounted anew before its space is asked for: some give back what was deleted only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew: Option<OpMount>,
}

/// How files come and go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpProfile {
    pub name: String,
    /// Of the log-normal distribution of sizes.
    pub median_bytes: u64,
    /// Standard deviation of the logarithm of sizes.
    pub sigma: f64,
    /// So much is written to a file at once.
    pub piece_bytes: u64,
    /// Files that grow at the same time, a piece of one and then a piece of another.
    pub writers: u32,
    /// Files that lie in directories of their own and are deleted together.
    pub together: u32,
    /// Files in a directory.
    pub in_directory: u32,
    /// Share of the files that are written again later: a piece is added to an old one.
    pub append: f64,
    /// Share of the space for which directories are reckoned.
    pub full: f64,
}

/// A bandwidth of a loop device, for reads and for writes; the limit goes while the file is behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpLimit {
    /// Loop device and file.
    pub behind: [OpText; 2],
    pub bytes_per_s: u64,
}

/// CPUs for what measures alone, by a group that is a partition of cpuset; where that would harm somebody,
/// or cannot be, it is told and skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpIsolate {
    pub cpus: Vec<u32>,
    /// A name of ours, of the group that what measures enters.
    pub group: String,
    /// Whether it could be is all that is asked; nothing is changed.
    #[serde(default)]
    pub looks_only: bool,
}

/// A ZFS pool that is ours once it is imported: it is exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpPool {
    /// A name of ours.
    pub pool: String,
    /// Imports it; none: another op does.
    #[serde(default)]
    pub argv: Vec<OpText>,
    /// It is exported before. The ledger has it all the time.
    #[serde(default)]
    pub again: bool,
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
    /// What was not taken and may be skipped, in order; it is as it was.
    pub skipped: Vec<HostSkipped>,
    /// SHA-256 of what was copied last, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What a history came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<HostAged>,
    /// What has CPUs for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<HostIsolated>,
}

/// A group that others are kept off the CPUs of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostIsolated {
    /// The file to which a process writes that enters it.
    pub enter: String,
    /// Threads of the kernel that may still run there.
    pub kernel_threads: u32,
}

/// A file system that was aged, and the files that were made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostAged {
    pub files: u64,
    pub directories: u64,
    /// That the files have.
    pub bytes: u64,
    /// Pieces that the files lie in, each without a gap; left out where there is no FIEMAP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<u64>,
    /// Share of the blocks that follow the block before them in the file: the layout score of Smith and
    /// Seltzer (1997) over all files; 1 is a perfect layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// That were written in all.
    pub written_bytes: u64,
    /// Share of the space that was free when the file system was empty.
    pub full: f64,
}

/// An op that has set nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSkipped {
    /// Which op of the list, from 0.
    pub at: u32,
    /// What the kernel or the command says; empty: it says nothing, and something else is in force.
    pub text: String,
    /// What was in force then.
    pub now: String,
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
