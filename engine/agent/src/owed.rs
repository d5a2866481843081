//! What is owed at the end: a command that takes back what others have made, unless that is gone.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wire::HostOutput;

use crate::back::ended;
use crate::command::complaint;

/// How long the command may take, and how long what it takes back may take to go.
const LIMIT: Duration = Duration::from_secs(600);
const GOES: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owed {
    /// What it does, as a sentence that begins with a verb of the past.
    pub what: String,
    pub argv: Vec<String>,
    pub stdin: String,
    /// Nothing is to be done without this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Nothing is to be done, and all is done, once this command prints nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look: Vec<String>,
}

impl Owed {
    /// Has it done; what was done, `None` if nothing was left to do.
    ///
    /// # Errors
    /// What `look` shows cannot be seen, or stays. Where there is none, a failure is told, and nothing is
    /// repeated: half of it may be done.
    pub fn take_back(&self) -> io::Result<Option<String>> {
        if self.directory.as_ref().is_some_and(|one| !one.is_dir()) || !self.is_there()? {
            return Ok(None);
        }
        let output = ended(&self.argv, Some(&self.stdin), Some(LIMIT))?;
        let failure = match output.status {
            Some(0) => None,
            _ => Some(told(&output).unwrap_or_else(|| complaint(&self.argv, &output).text)),
        };
        let give_up = Instant::now() + GOES;
        while !self.look.is_empty() && self.is_there()? {
            if failure.is_some() || Instant::now() > give_up {
                let why = failure.unwrap_or_else(|| "it is still there".to_owned());
                return Err(io::Error::other(format!("not yet {}: {why}", self.what)));
            }
            thread::sleep(PAUSE);
        }
        Ok(Some(match failure {
            None => self.what.clone(),
            Some(failure) => format!("{}, which failed: {failure}", self.what),
        }))
    }

    fn is_there(&self) -> io::Result<bool> {
        if self.look.is_empty() {
            return Ok(true);
        }
        let output = ended(&self.look, None, Some(GOES))?;
        match output.status {
            Some(0) => Ok(!output.stdout.trim().is_empty()),
            _ => Err(io::Error::other(complaint(&self.look, &output).text)),
        }
    }
}

/// What an engine says in its last line of why it has failed.
fn told(output: &HostOutput) -> Option<String> {
    let last: serde_json::Value = serde_json::from_str(output.stdout.lines().last()?).ok()?;
    Some(last.pointer("/data/failure/message")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn it_is_done_once_and_only_where_there_is_something_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let mut owed = Owed {
            what: "cleaned up".to_owned(),
            argv: sh("cat >&2; exit 3"),
            stdin: "why".to_owned(),
            directory: Some(directory.path().to_owned()),
            look: Vec::new(),
        };
        let told = owed.take_back().unwrap();
        assert_eq!(told.as_deref(), Some("cleaned up, which failed: sh: why"));
        owed.directory = Some(directory.path().join("gone"));
        assert_eq!(owed.take_back().unwrap(), None);
    }

    #[test]
    fn what_stays_is_an_error_and_what_is_gone_needs_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let held = directory.path().join("held");
        std::fs::write(&held, "41 n1\n").unwrap();
        let held = held.display();
        let mut owed = Owed {
            what: "released the nodes".to_owned(),
            argv: sh("echo no rights >&2; exit 1"),
            stdin: String::new(),
            directory: None,
            look: sh(&format!("cat {held}")),
        };
        let error = owed.take_back().unwrap_err().to_string();
        assert_eq!(error, "not yet released the nodes: sh: no rights");
        owed.argv = sh(&format!(": > {held}"));
        assert_eq!(
            owed.take_back().unwrap().as_deref(),
            Some("released the nodes")
        );
        assert_eq!(owed.take_back().unwrap(), None);
    }
}
