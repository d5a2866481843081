//! The command language: what a line means.

use kit::failure::bad_parameter;
use wire::Failure;

/// What a line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Size,
    Number,
    Seed,
    Transactions,
    Location,
    Subdirectories,
    ReadBlock,
    WriteBlock,
    Buffering,
    BiasRead,
    BiasCreate,
    Report,
    Run,
    Load,
    Show,
    Help,
    Quit,
}

/// One line of `help`, and all spellings of the command.
pub struct Entry {
    pub command: Command,
    /// The usual spelling first.
    pub names: &'static [&'static str],
    pub operands: &'static str,
    pub about: &'static str,
}

const fn entry(
    command: Command,
    names: &'static [&'static str],
    operands: &'static str,
    about: &'static str,
) -> Entry {
    Entry {
        command,
        names,
        operands,
        about,
    }
}

/// All commands, in the order in which help lists them.
pub const ENTRIES: &[Entry] = &[
    entry(
        Command::Size,
        &["set size"],
        "LOW [HIGH]",
        "sizes of files, in bytes",
    ),
    entry(Command::Number, &["set number"], "N", "files in the pool"),
    entry(
        Command::Seed,
        &["set seed"],
        "N",
        "seed of the random sequence",
    ),
    entry(
        Command::Transactions,
        &["set transactions"],
        "N",
        "transactions",
    ),
    entry(
        Command::Location,
        &["set location"],
        "DIRECTORY",
        "where the files are made",
    ),
    entry(
        Command::Subdirectories,
        &["set subdirectories", "set directories"],
        "N",
        "subdirectories that the files are spread over",
    ),
    entry(Command::ReadBlock, &["set read"], "N", "bytes per read"),
    entry(Command::WriteBlock, &["set write"], "N", "bytes per write"),
    entry(
        Command::Buffering,
        &["set buffering"],
        "true|false",
        "the C library's streams, or plain system calls",
    ),
    entry(
        Command::BiasRead,
        &["set bias read"],
        "N",
        "how many times out of ten a file is read, not appended to; -1: neither",
    ),
    entry(
        Command::BiasCreate,
        &["set bias create"],
        "N",
        "how many times out of ten a file is created, not deleted; -1: neither",
    ),
    entry(
        Command::Report,
        &["set report"],
        "verbose|terse",
        "form of the report",
    ),
    entry(
        Command::Run,
        &["run"],
        "[FILE]",
        "do it; the report is added to FILE",
    ),
    entry(
        Command::Load,
        &["load"],
        "FILE",
        "obey the commands in FILE",
    ),
    entry(
        Command::Show,
        &["show"],
        "[FILE]",
        "print what is set, or add it to FILE",
    ),
    entry(
        Command::Help,
        &["help", "?"],
        "[BEGINNING]",
        "list the commands",
    ),
    entry(Command::Quit, &["quit", "exit"], "", "end"),
];

/// The command that `line` gives and what stands behind it; `None` for a line without one.
///
/// # Errors
/// `BadJob`, with the commands that there are.
pub fn read(line: &str) -> Result<Option<(&'static Entry, &str)>, Failure> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.starts_with('!') {
        let message = "commands are not passed on to a shell here; leave out the line with \"!\"";
        return Err(bad_parameter("!", message));
    }
    let spellings = ENTRIES
        .iter()
        .flat_map(|entry| entry.names.iter().map(move |name| (entry, *name)));
    for (entry, name) in spellings {
        let rest = line.strip_prefix(name);
        let is_whole = |rest: &&str| rest.is_empty() || rest.starts_with(char::is_whitespace);
        if let Some(rest) = rest.filter(is_whole) {
            return Ok(Some((entry, rest.trim())));
        }
    }
    Err(unknown(line))
}

fn unknown(line: &str) -> Failure {
    let names: Vec<String> = ENTRIES
        .iter()
        .map(|entry| entry.names[0].to_owned())
        .collect();
    bad_parameter(line, kit::params::unknown_name("command", line, &names))
}

/// The list of commands whose spelling starts with `beginning`.
pub fn help(beginning: &str) -> String {
    ENTRIES
        .iter()
        .filter(|entry| entry.names[0].starts_with(beginning))
        .map(|entry| format!("{} {} - {}\n", entry.names[0], entry.operands, entry.about))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Option<(Command, &str)> {
        read(line)
            .unwrap()
            .map(|(entry, rest)| (entry.command, rest))
    }

    #[test]
    fn commands_are_read_with_what_stands_behind_them() {
        assert_eq!(
            command("set size 500 1000\n"),
            Some((Command::Size, "500 1000"))
        );
        assert_eq!(command("set bias read -1"), Some((Command::BiasRead, "-1")));
        assert_eq!(command("set read 512"), Some((Command::ReadBlock, "512")));
        assert_eq!(
            command("set directories 5"),
            Some((Command::Subdirectories, "5"))
        );
        assert_eq!(command("run"), Some((Command::Run, "")));
        assert_eq!(command("? set"), Some((Command::Help, "set")));
        assert_eq!(command(""), None);
        assert_eq!(command("# set size"), None);
    }

    #[test]
    fn what_is_no_command_is_named() {
        for line in ["set sizes 5", "quitt", "!rm file"] {
            assert!(read(line).is_err(), "{line}");
        }
        let failure = read("set sise 5").err().unwrap();
        assert!(
            failure.message.contains("\"set size\"?"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn help_lists_what_begins_so() {
        assert_eq!(help("").lines().count(), ENTRIES.len());
        assert_eq!(help("set bias").lines().count(), 2);
    }
}
