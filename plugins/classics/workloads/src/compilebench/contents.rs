//! What a tree must contain after all that was done to it.

use super::schedule::{Action, Step};
use super::sets::{SetName, Sets};

/// The files and directories of one tree.
pub struct Contents {
    /// For each file, the set that it was last written from.
    files: Vec<Option<SetName>>,
    /// Directories stay when their files are removed.
    directories: Vec<bool>,
}

/// What one timed region comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Files, or files and directories.
    pub entries: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

impl Contents {
    /// An empty tree.
    pub fn new(sets: &Sets) -> Self {
        Self {
            files: vec![None; sets.files.len()],
            directories: vec![false; sets.directories.len()],
        }
    }

    /// The files that are there, with their sizes.
    pub fn files<'a>(&'a self, sets: &'a Sets) -> impl Iterator<Item = (u32, u64)> + 'a {
        let files = self.files.iter().zip(0..);
        files.filter_map(|(set, file)| Some((file, sets.size_bytes((*set)?, file))))
    }

    /// The directories that are there, those around others first.
    pub fn directories(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let known = 0..self.directories.len() as u32;
        known.filter(|&directory| self.directories[directory as usize])
    }

    /// What a step will work on.
    pub fn amount(&self, step: &Step, sets: &Sets) -> Amount {
        if let Some(name) = step.set() {
            let set = sets.set(name);
            return Amount {
                entries: set.members.len() as u64,
                bytes: set.bytes,
            };
        }
        let (mut entries, mut bytes) = (0, 0);
        for (_, size_bytes) in self.files(sets) {
            entries += 1;
            bytes += size_bytes;
        }
        if step.action == Action::Read {
            return Amount { entries, bytes };
        }
        entries += self.directories().count() as u64;
        Amount { entries, bytes: 0 }
    }

    /// Follows a step.
    pub fn follow(&mut self, step: &Step, sets: &Sets) {
        match (step.action, step.set()) {
            (Action::Delete, _) => {
                self.files.fill(None);
                self.directories.fill(false);
            }
            (Action::Clean, Some(name)) => self.mark(name, None, sets),
            (_, Some(name)) => self.mark(name, Some(name), sets),
            (_, None) => {}
        }
    }

    fn mark(&mut self, name: SetName, to: Option<SetName>, sets: &Sets) {
        for member in &sets.set(name).members {
            self.files[member.file as usize] = to;
            let mut around = sets.files[member.file as usize].directory;
            while let Some(directory) = around {
                self.directories[directory as usize] = true;
                around = sets.directories[directory as usize].parent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Settle, State};
    use super::super::sets::tests::few;
    use super::super::stage::Stage;
    use super::*;

    fn step(action: Action, state: State) -> Step {
        Step {
            tree: 0,
            action,
            state,
            stage: Stage::Create,
            settle: Settle::AsIs,
            is_synced: false,
        }
    }

    #[test]
    fn contents_follow_what_is_done() {
        let sets = few();
        let mut contents = Contents::new(&sets);
        let patch = Action::Patch { unlink: false };
        let done = [
            (Action::Create, State::Source, 4, 60, 2),
            (Action::Compile, State::Source, 6, 360, 2),
            // One object changes from 200 to 150, one of 50 is new, in a new directory.
            (patch, State::Compiled, 7, 360, 3),
            (Action::Clean, State::PatchedCompiled, 5, 160, 3),
            (Action::Compile, State::Patched, 7, 360, 3),
            (Action::Delete, State::PatchedCompiled, 0, 0, 0),
        ];
        for (action, state, files, bytes, directories) in done {
            contents.follow(&step(action, state), &sets);
            let read = contents.amount(&step(Action::Read, state), &sets);
            let wanted = Amount {
                entries: files,
                bytes,
            };
            assert_eq!(read, wanted, "{action:?}");
            let stat = contents.amount(&step(Action::Stat, state), &sets);
            assert_eq!(stat.entries, files + directories, "{action:?}");
        }
    }
}
