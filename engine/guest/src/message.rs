//! What passes through the channel between lab and guest: JSON, one document a line.
//!
//! The guest speaks first: [`Reply::Hello`]. Then it is asked, one [`Request`] after the other, and
//! answers each with the request's own id, so that whoever reads can pass over what was meant for
//! another. Between [`Reply::Begun`] and [`Reply::Ended`] stand the lines of the engine, as they are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Version of these messages.
pub const VERSION: u32 = 1;

/// One line to the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Any text; the answer bears it.
    pub id: String,
    pub ask: Ask,
}

/// What a guest can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// The text of small files, by path; those that cannot be read are left out of the answer.
    Read { paths: Vec<PathBuf> },
    /// Mount a file system, as soon as its device is there, and make a directory in it.
    Mount(Mount),
    /// Unmount what is mounted there.
    Unmount { directory: PathBuf },
    /// Write everything out and drop what the guest's page cache holds.
    DropCaches,
    /// Run the engine on a job, given as the text of its document. Answered by [`Reply::Begun`]
    /// and [`Reply::Ended`].
    Run { job: String },
    /// Ask the engine that runs to end, as a signal would. The answer is its [`Reply::Ended`].
    Stop,
    /// Unmount everything and switch the machine off.
    PowerOff,
}

/// A file system that is to be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Device, or any word for a file system that has none.
    pub device: PathBuf,
    /// Made if it is missing.
    pub directory: PathBuf,
    pub filesystem: String,
    /// As mount(8) takes them after `-o`, one each.
    #[serde(default)]
    pub options: Vec<String>,
}

/// One line of the guest's own; the engine's lines have no such key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub guest: Reply,
}

/// A guest that is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u32,
    /// Version of the engine.
    pub engine: String,
    /// What went wrong on the way here; nothing of it kept the guest from being ready.
    pub troubles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// First line: the guest is ready.
    Hello(Hello),
    /// Done.
    Done {
        id: String,
        /// What was asked for, by name: the texts of files.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        found: BTreeMap<String, String>,
    },
    /// Not done, and why.
    Refused { id: String, message: String },
    /// The engine has been started; its lines follow.
    Begun { id: String },
    /// The engine has ended.
    Ended {
        id: String,
        /// Its exit status; negative is the signal that killed it.
        status: i32,
        /// What it wrote for people.
        said: String,
    },
}
