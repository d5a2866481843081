//! Processes that stay: how one is started, known, probed and ended.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process, started below a keeper of its own, which has all that it starts and ends it; waited for until
/// it is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OpStart")]
#[serde(deny_unknown_fields)]
pub struct Start<T> {
    /// By which it is known, whatever becomes of us: a name of ours, and nobody else's.
    pub mark: String,
    /// By which later ops call the number of its process.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Program and arguments. What "self" has yielded is this engine.
    pub argv: Vec<T>,
    /// All of its environment; the agent's if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, T>>,
    /// As whom it runs, instead of as the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where it works; in the root directory if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<T>,
    /// What it reads. It gets into no ledger.
    #[serde(default)]
    pub stdin: String,
    /// A text that is said of it nowhere: what stands for it is `{secret}`.
    #[serde(default)]
    pub secret: String,
    /// Name of the network namespace that it runs in: ip-netns(8).
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    pub ready: StartReady<T>,
    /// Longest time until it is ready.
    pub limit_s: f64,
    pub stop: StartStop<T>,
    /// How long it may take to end when it is asked to.
    pub stop_s: f64,
    /// It stays when its agent is gone, for whoever takes back what was made above it, and is ended then.
    #[serde(default)]
    pub outlives: bool,
    /// Where it alone has business: who works there belongs to it, whatever has become of its keeper.
    #[serde(default = "no_texts::<T>", skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<T>,
    /// What it is, in front of what is said of it.
    #[serde(default)]
    pub what: String,
    /// It is in the ledger already.
    #[serde(default)]
    pub again: bool,
}

fn no_texts<T>() -> Vec<T> {
    Vec::new()
}

/// When a process is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StartReady")]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StartReady<T> {
    /// It has printed a line on its standard output, which is handed on.
    Line,
    /// It has ended, and well; nothing that it has started stays.
    Ended,
    /// This command ends with status 0, executed as the process itself is.
    Command(Vec<T>),
    /// Somebody listens at this port of that address, seen from the network namespace of this name, or
    /// from the host.
    Port {
        address: String,
        port: T,
        #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
        network: Option<String>,
    },
    /// This is there.
    Path(T),
    /// Something is mounted on this.
    Mounted {
        at: T,
        /// The process in whose table of mounts it is seen; if left out, in the agent's.
        #[serde(skip_serializing_if = "Option::is_none")]
        seen_by: Option<T>,
    },
}

/// What asks a process to end. What does not end then is killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StartStop")]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StartStop<T> {
    /// By its name: signal(7).
    Signal(String),
    /// Executed as the process itself is.
    Command(Vec<T>),
    /// A directory of ours, which it serves: it ends when that is unmounted, and has written all by then.
    Unmount(T),
}

impl<T> Start<T> {
    /// The same with other texts.
    ///
    /// # Errors
    /// Those of `text`.
    pub fn with<U, E>(&self, mut text: impl FnMut(&T) -> Result<U, E>) -> Result<Start<U>, E> {
        let mut texts = |list: &[T]| list.iter().map(&mut text).collect::<Result<Vec<U>, E>>();
        let (argv, directories) = (texts(&self.argv)?, texts(&self.directories)?);
        let stop = match &self.stop {
            StartStop::Signal(name) => StartStop::Signal(name.clone()),
            StartStop::Command(argv) => StartStop::Command(texts(argv)?),
            StartStop::Unmount(at) => StartStop::Unmount(text(at)?),
        };
        let environment = self.environment.as_ref().map(|all| {
            let each = all.iter();
            each.map(|(name, value)| Ok((name.clone(), text(value)?)))
                .collect()
        });
        Ok(Start {
            argv,
            directories,
            stop,
            environment: environment.transpose()?,
            directory: self.directory.as_ref().map(&mut text).transpose()?,
            ready: self.ready.with(&mut text)?,
            mark: self.mark.clone(),
            name: self.name.clone(),
            user: self.user.clone(),
            stdin: self.stdin.clone(),
            secret: self.secret.clone(),
            network: self.network.clone(),
            limit_s: self.limit_s,
            stop_s: self.stop_s,
            what: self.what.clone(),
            again: self.again,
            outlives: self.outlives,
        })
    }
}

impl<T> StartReady<T> {
    fn with<U, E>(&self, mut text: impl FnMut(&T) -> Result<U, E>) -> Result<StartReady<U>, E> {
        Ok(match self {
            Self::Line => StartReady::Line,
            Self::Ended => StartReady::Ended,
            Self::Command(argv) => {
                StartReady::Command(argv.iter().map(text).collect::<Result<_, E>>()?)
            }
            Self::Port {
                address,
                port,
                network,
            } => StartReady::Port {
                address: address.clone(),
                port: text(port)?,
                network: network.clone(),
            },
            Self::Path(path) => StartReady::Path(text(path)?),
            Self::Mounted { at, seen_by } => StartReady::Mounted {
                at: text(at)?,
                seen_by: seen_by.as_ref().map(text).transpose()?,
            },
        })
    }
}

/// A process that was started and is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostStarted {
    /// Which op of the list has started it, from 0.
    pub at: u32,
    /// Its keeper, with everything below it; 0: it has ended.
    pub pid: u32,
    /// What it has printed first, where that was the sign.
    pub line: String,
    /// How long it has taken.
    pub elapsed_s: f64,
}

/// What has become of processes that were started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostServers {
    pub marks: Vec<String>,
}

/// One of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostServer {
    /// Its keeper and all that is below it; none where there is no keeper.
    pub pids: Vec<u32>,
    /// Why nothing of it runs any more; empty as long as something does.
    pub ended: String,
}
