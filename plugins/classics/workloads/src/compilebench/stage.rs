//! The stages, as data: what the original reports on, in the order of its summary.

use wire::{Role, Unit};

/// A kind of work on one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    InitialCreate,
    Create,
    Patch,
    Compile,
    Clean,
    ReadTree,
    ReadCompiledTree,
    DeleteTree,
    DeleteCompiledTree,
    StatTree,
    StatCompiledTree,
}

/// What is counted against the time of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes written, read or removed.
    Bytes,
    /// Files and directories.
    Entries,
}

/// A stage as a person reads of it.
pub struct Description {
    /// Name of the metric.
    pub name: &'static str,
    /// As a heading shows it.
    pub label: &'static str,
    /// Description of the metric.
    pub about: &'static str,
    /// What is counted.
    pub quantity: Quantity,
    /// Whether verdicts are given on it.
    pub role: Role,
}

const fn description(
    name: &'static str,
    label: &'static str,
    quantity: Quantity,
    role: Role,
    about: &'static str,
) -> Description {
    Description {
        name,
        label,
        about,
        quantity,
        role,
    }
}

#[rustfmt::skip]
mod described {
    use super::{description, Description, Quantity::{Bytes, Entries}, Role::{Detail, Headline}};

    pub static ALL: [Description; 11] = [
        description("initial_create", "initial create", Bytes, Headline,
            "Bytes of the first trees over the time of writing them into an empty directory."),
        description("create", "create", Bytes, Detail,
            "Bytes of further source trees over the time of writing them."),
        description("patch", "patch", Bytes, Detail,
            "Bytes rewritten and added over the time of changing a tree to the next version."),
        description("compile", "compile", Bytes, Headline,
            "Bytes of what a build makes, written all over a tree, over the time for it."),
        description("clean", "clean", Bytes, Detail,
            "Bytes of what a build made over the time of removing it."),
        description("read_tree", "read tree", Bytes, Detail,
            "Bytes of source trees over the time of finding and reading all their files."),
        description("read_compiled_tree", "read compiled tree", Bytes, Headline,
            "Bytes of compiled trees over the time of finding and reading all their files."),
        description("delete_tree", "delete tree", Entries, Detail,
            "Files and directories of source trees over the time of removing them."),
        description("delete_compiled_tree", "delete compiled tree", Entries, Detail,
            "Files and directories of compiled trees over the time of removing them."),
        description("stat_tree", "stat tree", Entries, Detail,
            "Files and directories of source trees over the time of asking for their attributes."),
        description("stat_compiled_tree", "stat compiled tree", Entries, Detail,
            "Files and directories of compiled trees over the time of asking for their \
             attributes."),
    ];
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 11] = [
        Stage::InitialCreate,
        Stage::Create,
        Stage::Patch,
        Stage::Compile,
        Stage::Clean,
        Stage::ReadTree,
        Stage::ReadCompiledTree,
        Stage::DeleteTree,
        Stage::DeleteCompiledTree,
        Stage::StatTree,
        Stage::StatCompiledTree,
    ];

    /// What a person reads of it.
    pub fn description(self) -> &'static Description {
        &described::ALL[self as usize]
    }
}

impl Quantity {
    /// Unit of its rate.
    pub fn unit(self) -> Unit {
        match self {
            Quantity::Bytes => Unit::BytesPerSecond,
            Quantity::Entries => Unit::PerSecond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_in_the_order_of_the_stages() {
        assert!(Stage::ALL.is_sorted());
        for stage in Stage::ALL {
            let name = format!("{stage:?}");
            let words: String = stage.description().label.split(' ').collect();
            assert_eq!(name.to_lowercase(), words);
            assert_eq!(
                stage.description().name,
                stage.description().label.replace(' ', "_")
            );
        }
    }
}
