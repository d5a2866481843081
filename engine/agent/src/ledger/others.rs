//! What other agents have changed and not taken back, be they alive or dead.

use std::fs;
use std::io::{self, ErrorKind};

use super::{require_ours, state_directory, Content, Owner, ENDING};

/// The ledger of another agent.
pub struct Other {
    /// See [`super::Ledger::name`].
    pub name: String,
    pub content: Content,
}

/// All but that of this name. One that is damaged is told of by whoever puts things back.
///
/// # Errors
/// There is no state directory, or others have a hand in it.
pub fn others(own: Option<&str>) -> io::Result<Vec<Other>> {
    let directory = state_directory()?;
    let entries = match require_ours(&directory).and_then(|()| fs::read_dir(&directory)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let ledgers = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    let found = ledgers.filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        let content = Content::read(&path).ok()?;
        let is_elsewhere = content.owner.as_ref().is_some_and(Owner::is_elsewhere);
        (own != Some(&name) && !is_elsewhere).then_some(Other { name, content })
    });
    Ok(found.collect())
}
