//! The four phases, in order.

/// What is done to the whole tree before the next thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    CreateDirectories,
    CreateFiles,
    RemoveFiles,
    RemoveDirectories,
}

impl Phase {
    /// As they are executed.
    pub const ALL: [Phase; 4] = [
        Phase::CreateDirectories,
        Phase::CreateFiles,
        Phase::RemoveFiles,
        Phase::RemoveDirectories,
    ];

    /// Whether it makes something.
    pub fn creates(self) -> bool {
        matches!(self, Phase::CreateDirectories | Phase::CreateFiles)
    }

    /// Name of its rate, and the start of the names of its counters.
    pub fn name(self) -> &'static str {
        match self {
            Phase::CreateDirectories => "directories_created",
            Phase::CreateFiles => "files_created",
            Phase::RemoveFiles => "files_removed",
            Phase::RemoveDirectories => "directories_removed",
        }
    }

    /// As a heading shows it.
    pub fn label(self) -> &'static str {
        match self {
            Phase::CreateDirectories => "directories created",
            Phase::CreateFiles => "files created",
            Phase::RemoveFiles => "files removed",
            Phase::RemoveDirectories => "directories removed",
        }
    }

    /// What it does to one entry, for a message: "cannot … PATH".
    pub fn action(self) -> &'static str {
        match self {
            Phase::CreateDirectories => "make directory",
            Phase::CreateFiles => "create",
            Phase::RemoveFiles => "remove",
            Phase::RemoveDirectories => "remove directory",
        }
    }
}
