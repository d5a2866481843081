//! What every tool understands besides its own options.

use std::ffi::OsString;

use crate::options::Choice;

/// The options that we added to all tools alike.
pub const CHOICES: &[Choice] = &[
    Choice::flag(
        "--force",
        "remove files that would be overwritten, instead of refusing to begin",
    ),
    Choice::flag(
        "--json",
        "write the engine's JSON Lines instead of the table",
    ),
    Choice::flag("--help", "print this list"),
];

/// Those that were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Common {
    pub force: bool,
    pub json: bool,
    pub help: bool,
}

impl Common {
    /// Takes them out of the command line, at any position.
    pub fn split(arguments: impl Iterator<Item = OsString>) -> (Self, Vec<OsString>) {
        let mut common = Self::default();
        let own = arguments
            .filter(|argument| {
                let given = match argument.to_str() {
                    Some("--force") => &mut common.force,
                    Some("--json") => &mut common.json,
                    Some("--help") => &mut common.help,
                    _ => return true,
                };
                *given = true;
                false
            })
            .collect();
        (common, own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_taken_out_wherever_they_stand() {
        let line = ["-a", "--json", "file", "--force"].map(OsString::from);
        let (common, own) = Common::split(line.into_iter());
        assert_eq!(
            (common.json, common.force, common.help),
            (true, true, false)
        );
        assert_eq!(own, ["-a", "file"]);
    }
}
