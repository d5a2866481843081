//! What will be done, step by step: all choices are made before anything is measured.
//!
//! The order of the draws is the contract: with the original's dataset and seed, the make-j
//! scenario visits the same trees in the same order as the original, and the random scenario
//! does the same operations on trees in the same states.

use std::collections::HashSet;

use super::choices::Choices;
use super::group::Group;
use super::params::{Params, Scenario};
use super::sets::SetName;
use super::stage::Stage;

/// Trees made by the random scenario have numbers from here on.
const FIRST_FRESH: u32 = 100;
const FRESH: usize = 99_901;
/// One patch out of so many removes each file first, rather than rewriting it.
const UNLINKED_PATCHES: f64 = 0.25;
/// Trees that the make-j scenario reads.
const READ_TREES: u32 = 3;

/// What has been done to a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Source,
    Patched,
    Compiled,
    PatchedCompiled,
}

/// What a step does to a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Make the tree and write a set into it.
    Create,
    /// Change files of a set, each removed first or rewritten, and add those that are missing.
    Patch { unlink: bool },
    /// Write a set into the tree.
    Compile,
    /// Remove the files of a set.
    Clean,
    /// Read all files.
    Read,
    /// Ask for the attributes of all files and directories.
    Stat,
    /// Remove all files and directories.
    Delete,
}

/// What is done before the first instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// Nothing.
    AsIs,
    /// All that was written is waited for.
    Sync,
    /// All that was written is waited for, and the caches are dropped.
    DropCaches,
}

/// One timed region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub tree: u32,
    pub action: Action,
    /// The state of the tree before; of one to be created, the state that it will have.
    pub state: State,
    pub stage: Stage,
    pub settle: Settle,
    /// Whether the region ends with a sync.
    pub is_synced: bool,
}

impl State {
    /// In the order in which the original draws from them.
    const ALL: [State; 4] = [
        State::Patched,
        State::Source,
        State::Compiled,
        State::PatchedCompiled,
    ];

    /// Whether there is something that a build made.
    pub fn is_compiled(self) -> bool {
        matches!(self, State::Compiled | State::PatchedCompiled)
    }

    fn patched(self) -> Self {
        match self {
            State::Source | State::Patched => State::Patched,
            State::Compiled | State::PatchedCompiled => State::PatchedCompiled,
        }
    }

    fn compiled(self) -> Self {
        match self {
            State::Source | State::Compiled => State::Compiled,
            State::Patched | State::PatchedCompiled => State::PatchedCompiled,
        }
    }

    fn cleaned(self) -> Self {
        match self {
            State::Source | State::Compiled => State::Source,
            State::Patched | State::PatchedCompiled => State::Patched,
        }
    }
}

impl Step {
    /// The set that is written or removed. As in the original, a compiled tree is patched by
    /// what a build of the next version makes differently, its source being left as it is.
    pub fn set(&self) -> Option<SetName> {
        match (self.action, self.state) {
            (Action::Create, _) => Some(SetName::Source),
            (Action::Patch { .. }, State::Source) => Some(SetName::Patch),
            (Action::Patch { .. }, _) => Some(SetName::PatchedObjects),
            (Action::Compile, State::Source) | (Action::Clean, State::Compiled) => {
                Some(SetName::Objects)
            }
            (Action::Compile | Action::Clean, _) => Some(SetName::PatchedObjects),
            (Action::Read | Action::Stat | Action::Delete, _) => None,
        }
    }
}

/// The steps of a trial, with `choices` as they are after the objects were shuffled.
pub fn schedule(params: &Params, choices: Choices) -> Vec<Step> {
    let mut planner = Planner::new(params, choices);
    for tree in 0..params.trees {
        planner.create(tree, Stage::InitialCreate, Settle::AsIs, !params.classic);
    }
    match params.scenario {
        Scenario::Random => planner.random(),
        Scenario::MakeJ => planner.make_j(),
    }
    planner.steps
}

struct Planner<'a> {
    params: &'a Params,
    choices: Choices,
    groups: [Group; 4],
    /// Numbers that some tree has or had.
    taken: HashSet<u32>,
    steps: Vec<Step>,
}

impl<'a> Planner<'a> {
    fn new(params: &'a Params, choices: Choices) -> Self {
        Self {
            params,
            choices,
            groups: [(); 4].map(|()| Group::new()),
            taken: HashSet::new(),
            steps: Vec::new(),
        }
    }

    fn group(&mut self, state: State) -> &mut Group {
        &mut self.groups[state as usize]
    }

    /// A tree in one of `states`: first the state is drawn from those that have trees, then the
    /// tree from those that `may` be taken.
    fn pick(&mut self, states: &[State], may: impl Fn(&u32) -> bool) -> Option<(State, u32)> {
        let mut states = states.to_vec();
        states.retain(|&state| !self.group(state).is_empty());
        if states.is_empty() {
            return None;
        }
        let state = self.choices.one_of(&states);
        let mut trees = self.group(state).trees();
        trees.retain(may);
        Some((state, self.choices.one_of(&trees)))
    }

    /// Adds a step; `is_synced` and `settle` are what would be right if nothing was switched off.
    fn step(&mut self, mut step: Step) {
        step.is_synced &= self.params.sync;
        if step.settle == Settle::DropCaches && !self.params.cold {
            step.settle = Settle::Sync;
        }
        if step.settle == Settle::Sync && !self.params.sync {
            step.settle = Settle::AsIs;
        }
        self.steps.push(step);
    }

    fn create(&mut self, tree: u32, stage: Stage, settle: Settle, is_synced: bool) {
        self.taken.insert(tree);
        self.group(State::Source).add(tree);
        self.step(Step {
            tree,
            action: Action::Create,
            state: State::Source,
            stage,
            settle,
            is_synced,
        });
    }

    /// A step on a tree that is there.
    fn work(
        &mut self,
        action: Action,
        (state, tree): (State, u32),
        settle: Settle,
        is_synced: bool,
    ) {
        let (stage, after) = match action {
            Action::Create => unreachable!("a tree that is there is not created"),
            Action::Patch { .. } => (Stage::Patch, Some(state.patched())),
            Action::Compile => (Stage::Compile, Some(state.compiled())),
            Action::Clean => (Stage::Clean, Some(state.cleaned())),
            Action::Read if state.is_compiled() => (Stage::ReadCompiledTree, Some(state)),
            Action::Read => (Stage::ReadTree, Some(state)),
            Action::Stat if state.is_compiled() => (Stage::StatCompiledTree, Some(state)),
            Action::Stat => (Stage::StatTree, Some(state)),
            Action::Delete if state.is_compiled() => (Stage::DeleteCompiledTree, None),
            Action::Delete => (Stage::DeleteTree, None),
        };
        if after != Some(state) {
            self.group(state).remove(tree);
            if let Some(after) = after {
                self.group(after).add(tree);
            }
        }
        self.step(Step {
            tree,
            action,
            state,
            stage,
            settle,
            is_synced,
        });
    }

    fn random(&mut self) {
        let wanted = self.steps.len() + self.params.operations as usize;
        while self.steps.len() < wanted {
            self.random_operation();
        }
    }

    /// Draws an operation. One that finds no tree in a suitable state is dropped.
    fn random_operation(&mut self) {
        let (action, states): (Action, &[State]) = match self.choices.below(7) {
            0 => (
                Action::Patch { unlink: false },
                &[State::Source, State::Compiled],
            ),
            1 => (Action::Compile, &[State::Source, State::Patched]),
            2 => (Action::Clean, &[State::Compiled, State::PatchedCompiled]),
            3 => (Action::Delete, &State::ALL),
            4 => {
                let tree = self.fresh_number();
                return self.create(tree, Stage::Create, Settle::DropCaches, true);
            }
            5 => (Action::Read, &State::ALL),
            _ => (Action::Stat, &State::ALL),
        };
        let Some(picked) = self.pick(states, |_| true) else {
            return;
        };
        let action = match action {
            Action::Patch { .. } => Action::Patch {
                unlink: self.choices.share() < UNLINKED_PATCHES,
            },
            other => other,
        };
        self.work(action, picked, Settle::DropCaches, true);
    }

    fn fresh_number(&mut self) -> u32 {
        loop {
            let number = FIRST_FRESH + self.choices.below(FRESH) as u32;
            if !self.taken.contains(&number) {
                return number;
            }
        }
    }

    fn make_j(&mut self) {
        let (trees, is_classic) = (self.params.trees, self.params.classic);
        for _ in 0..trees {
            if let Some(picked) = self.pick(&[State::Source, State::Patched], |_| true) {
                self.work(Action::Compile, picked, Settle::Sync, !is_classic);
            }
        }
        // The original drops caches before the first of several steps only.
        let settle = |index| match index {
            0 => Settle::DropCaches,
            _ if is_classic => Settle::AsIs,
            _ => Settle::DropCaches,
        };
        let mut read = HashSet::new();
        let reads = if is_classic {
            READ_TREES
        } else {
            READ_TREES.min(trees)
        };
        for index in 0..reads {
            let picked = self.pick(&State::ALL, |tree| is_classic || !read.contains(tree));
            if let Some(picked) = picked {
                read.insert(picked.1);
                self.work(Action::Read, picked, settle(index), !is_classic);
            }
        }
        for index in 0..trees {
            if let Some(picked) = self.pick(&State::ALL, |_| true) {
                self.work(Action::Delete, picked, settle(index), !is_classic);
            }
        }
    }
}

#[cfg(test)]
mod tests;
