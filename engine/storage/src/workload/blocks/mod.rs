//! Blocks of one file, moved by one thread: the loops of the two primitives, `stream` and
//! `random`. Each is compiled once per backend, order of blocks and probe; nothing in them
//! allocates, logs or locks, and the clock is read once per operation at most.

mod check;
mod crew;
mod directed;
pub mod measures;
mod order;
pub mod params;
mod queued;
mod single;
mod switch;
mod task;

use std::io;

use kit::pace::Pace;
use kit::team::Member;
use kit::{Content, Probe};
use rustix::fs::OFlags;
use wire::Failure;

pub use self::crew::{check_names, Crew, Files, Outcome};
pub use self::directed::Directed;
pub use self::order::{Mix, Order, Permuted, Sequential, Skewed, Uniform};
pub use self::queued::Queued;
pub use self::single::Single;
pub use self::switch::{run, Choice, Walk};
pub use self::task::{Part, Task};
use crate::backend::queue::Grant;
use crate::backend::Backend;
use crate::fault::Fault;
use crate::scratch::Scratch;

/// What a thread does with the blocks of its file.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// What is written, and expected back.
    pub content: &'a Content,
    /// Bytes per operation.
    pub block_bytes: usize,
    /// Transfers in flight at once.
    pub depth: u32,
    /// Whether eight bytes per page of each block read are compared with `content`.
    pub verify: bool,
    /// When operations are due; without it, each begins when there is room for it.
    pub pace: Option<Pace>,
    /// Operations, unless time is up before.
    pub operations: u64,
    /// Time from the opening of the gate in which operations may begin, in ns.
    pub runtime_ns: u64,
}

/// An open file, and the way in which its blocks are moved.
pub trait Channel: Sized {
    /// Opens with the flags of open(2), in the thread number `file` that will use it.
    ///
    /// # Errors
    /// Those of open(2); `HostLacks` when a queue cannot be made.
    fn open<B: Backend>(
        scratch: &Scratch<B>,
        flags: OFlags,
        work: &Work,
        file: u32,
    ) -> Result<Self, Failure>;

    /// Moves blocks from the first instant of the member's probe until `work` says to end. Gives
    /// the checksum over what was read: of one word per block, or over what was verified.
    ///
    /// # Errors
    /// The first fault.
    fn execute<O: Order, P: Probe>(
        &mut self,
        work: &Work,
        order: O,
        mix: Mix,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault>;

    /// Makes the file so long, where it must be before blocks can be written.
    ///
    /// # Errors
    /// Those of ftruncate(2).
    fn prepare(&mut self, _size_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    /// Waits until data and metadata are on the device.
    ///
    /// # Errors
    /// Those of fsync(2).
    fn sync(&mut self) -> io::Result<()>;

    /// What of the kernel makes it faster, and whether it was granted.
    fn granted(&self) -> Vec<Grant> {
        Vec::new()
    }
}

/// Without a limit of time, the clock need not be read between operations. With one and a probe
/// that times whole passes, it is read after so many operations.
const LOOK_EVERY: u64 = 64;
