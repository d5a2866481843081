//! What each thread of a team does between the two instants.

use kit::pace::Pace;
use kit::place::unshare_descriptors;
use kit::team::Member;
use kit::Probe;
use rustix::fs::OFlags;
use wire::{AccessKind, Failure};

use super::{Channel, Directed, Mix, Order, Work};
use crate::access::open_flags;
use crate::backend::queue::Grant;
use crate::backend::Backend;
use crate::scratch::Scratch;
use crate::workload::edges::{Edge, Edges};

/// What one thread did.
pub struct Part<P> {
    /// What was counted, reads and writes apart.
    pub probe: Directed<P>,
    /// Checksum over what was read.
    pub checksum: u64,
    /// What of the kernel made it faster, and whether it was granted.
    pub granted: Vec<Grant>,
    /// Its call of fsync, where that is timed.
    pub edges: Edges,
}

/// What every thread does with its file.
pub struct Task<'a> {
    /// How.
    pub work: Work<'a>,
    /// Operations per second that all threads together begin; as many as they can, without.
    pub rate: Option<f64>,
    /// How many threads there are.
    pub threads: u32,
    /// Whether blocks are read.
    pub reads: bool,
    /// Whether blocks are written.
    pub writes: bool,
    /// Where reads are served from.
    pub access: AccessKind,
    /// Size that the file needs before its blocks can be written.
    pub file_bytes: u64,
    /// Whether fsync lies inside the timed region.
    pub include_fsync: bool,
}

impl Task<'_> {
    /// Opens the file; \[first instant\] moves blocks, fsync if it shall \[second instant\].
    ///
    /// # Errors
    /// Whatever the kernel refused or the verification found.
    pub fn execute<C: Channel, P: Probe + Clone, B: Backend>(
        &self,
        scratch: &Scratch<B>,
        order: impl Order,
        mix: Mix,
        member: &mut Member<Directed<P>>,
    ) -> Result<Part<P>, Failure> {
        let work = Work {
            pace: self
                .rate
                .map(|rate| Pace::shared(rate, member.index, self.threads as usize)),
            ..self.work
        };
        unshare_descriptors();
        let mut channel = C::open(scratch, self.flags(), &work, member.index as u32)?;
        if self.writes {
            channel
                .prepare(self.file_bytes)
                .map_err(|error| scratch.failed("give its size to", &error))?;
        }
        let action = match (self.reads, self.writes) {
            (true, false) => "read",
            (false, true) => "write",
            _ => "move",
        };
        let mut edges = Edges::new();
        member.start()?;
        let checksum = channel
            .execute(&work, order, mix, member)
            .map_err(|fault| fault.into_failure(action, scratch.path()))?;
        if self.include_fsync {
            edges.begin();
            channel
                .sync()
                .map_err(|error| scratch.failed("fsync", &error))?;
            edges.end(Edge::Fsync);
        }
        member.done();
        Ok(Part {
            probe: member.probe.clone(),
            checksum,
            granted: channel.granted(),
            edges,
        })
    }

    fn flags(&self) -> OFlags {
        let direction = if self.writes {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        direction | open_flags(self.access)
    }
}
