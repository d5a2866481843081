//! One child: its file, its buffer, and its part of a phase.

use kit::Buffer;
use wire::Failure;

use super::super::cell_resources::{Backends, CellResources};
use super::super::log::{Logging, OperationLog};
use super::super::options::Locks;
use super::super::pass::{Part, Stage};
use super::super::pattern::Dispatch;
use super::super::table::Pass;
use super::params::Params;
use super::phase::Phase;
use crate::backend::Backend;
use crate::io::watch::Watch;
use crate::io::RecordHooks;
use crate::scratch::Scratch;

/// What one child has to itself.
pub struct Seat<'a, B: Backend> {
    /// Its number, from 0.
    pub child: u32,
    /// Its file.
    pub scratch: Scratch<'a, B>,
    /// Takes the records that it reads.
    pub buffer: Buffer,
    /// Takes notes of its operations, if they are logged.
    pub log: Option<OperationLog>,
}

/// What all children of a phase do.
pub struct Task<'a, B, S> {
    /// Parameters of the trial.
    pub params: &'a Params,
    /// How files are opened.
    pub backends: &'a Backends<B, S>,
    /// Contents and orders.
    pub resources: &'a CellResources<'a>,
    /// Which phase.
    pub phase: Phase,
}

impl<B, S> Task<'_, B, S>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
{
    /// The part of the child that sits on `seat`, reported to `watch`.
    ///
    /// # Errors
    /// As for a pass.
    pub fn perform<W: Watch>(&self, seat: &mut Seat<B>, watch: &mut W) -> Result<Part, Failure> {
        let shared = &self.params.shared;
        let pass = &self.params.pass(self.phase, seat.child);
        if shared.is_plain() {
            return self.perform_with(pass, seat, watch, &mut self.resources.no_hooks());
        }
        let (verify, pattern) = (shared.verify, pass.pattern);
        let mut hooks = self
            .resources
            .full_hooks(shared, verify, pattern, seat.child)?;
        self.perform_with(pass, seat, watch, &mut hooks)
    }

    fn perform_with<W, H>(
        &self,
        pass: &Pass,
        seat: &mut Seat<B>,
        watch: &mut W,
        hooks: &mut H,
    ) -> Result<Part, Failure>
    where
        W: Watch,
        H: RecordHooks<B::File> + RecordHooks<S::File>,
    {
        let stage = Stage {
            plain: &self.backends.plain,
            scratch: &seat.scratch,
            params: &self.params.shared,
            work: self.resources.work(),
            is_stream: self.phase.is_stream(),
            locks_file: self.params.shared.locks == Locks::File,
            fills_up: self.phase.fills_up(),
        };
        let buffer = &mut seat.buffer;
        match &mut seat.log {
            Some(log) => {
                let mut watch = Logging::new(watch, log);
                self.backends
                    .move_records(&stage, pass, &mut watch, hooks, buffer)
            }
            None => self
                .backends
                .move_records(&stage, pass, watch, hooks, buffer),
        }
    }
}
