//! By what name a thing is known as ours.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Names of all that is made begin so: a damaged ledger must not be able to name somebody's home.
const PREFIX: &str = "tiltyard-";

/// An error that says of something why it is left as it is.
pub fn refused(what: impl Display, why: impl Display) -> io::Error {
    io::Error::other(format!("{what}: {why}"))
}

/// Makes sure that a path has a name of ours; if not, that something was `not` done.
///
/// # Errors
/// It has another.
pub fn require_prefix(path: &Path, not: &str) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str());
    match path.is_absolute() && name.is_some_and(|name| name.starts_with(PREFIX)) {
        true => Ok(()),
        false => {
            let why = format!("{not}: its name does not begin with {PREFIX}");
            Err(refused(path.display(), why))
        }
    }
}
