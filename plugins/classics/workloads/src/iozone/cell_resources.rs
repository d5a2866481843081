//! What the passes of a cell share: contents, orders, and the backends that fit the parameters.

use kit::{Content, EventSink};
use wire::Failure;

use super::async_io::AsyncIo;
use super::grid::Cell;
use super::hooks::FullHooks;
use super::log::{Logging, OperationLog};
use super::options::{Fill, Msync};
use super::params::Params;
use super::pass::{Part, Stage};
use super::pattern::{Dispatch, Groups, Pattern, Work};
use super::table::Pass;
use storage::backend::{Backend, Mmap, Null, Stdio, Sync};
use storage::io::watch::Watch;
use storage::io::{Check, NoHooks, RecordHooks};

/// The plain backend, and a maker of the one for C streams, which is given the size of a record.
pub struct Backends<B, S> {
    /// For tests that move records with system calls.
    pub plain: B,
    /// For tests that use C streams.
    pub streams: fn(usize) -> S,
    /// Whether there is I/O at all, and so evidence of it.
    pub moves_data: bool,
}

impl<B> Backends<B, Stdio> {
    /// `plain`, and the C library's streams with a buffer of one record.
    const fn with_streams(plain: B) -> Self {
        Self {
            plain,
            streams: |record_bytes| Stdio {
                buffer_bytes: Some(record_bytes),
            },
            moves_data: true,
        }
    }
}

impl<B, S> Backends<B, S>
where
    B: Backend<File: Dispatch>,
    S: Backend<File: Dispatch>,
{
    /// Executes `pass` of child number `child` on the backend that it needs, with the hooks that
    /// the parameters ask for. Operations are reported to `watch` and noted in the `log`, if any.
    ///
    /// # Errors
    /// As for [`Stage::perform`]; `HostLacks` memory.
    pub fn execute<W: Watch>(
        &self,
        stage: &Stage<B>,
        (pass, child): (&Pass, u32),
        resources: &CellResources,
        (watch, log): (&mut W, Option<&mut OperationLog>),
        buffer: &mut [u8],
    ) -> Result<Part, Failure> {
        let (params, pattern) = (stage.params, pass.pattern);
        if params.is_plain() && log.is_none() {
            return self.move_records((stage, pass), watch, &mut resources.no_hooks(), buffer);
        }
        let mut hooks = resources.full_hooks(params, params.verify, pattern, child)?;
        let mut watch = Logging::new(watch, log);
        self.move_records((stage, pass), &mut watch, &mut hooks, buffer)
    }

    fn move_records<W, H>(
        &self,
        (stage, pass): (&Stage<B>, &Pass),
        watch: &mut W,
        hooks: &mut H,
        buffer: &mut [u8],
    ) -> Result<Part, Failure>
    where
        W: Watch,
        H: RecordHooks<B::File> + RecordHooks<S::File>,
    {
        if stage.is_stream {
            let streams = (self.streams)(stage.work.record_bytes);
            return stage.perform(pass, &streams, watch, hooks, buffer);
        }
        stage.perform(pass, &self.plain, watch, hooks, buffer)
    }
}

/// System calls.
pub const CALLS: Backends<Sync, Stdio> = Backends::with_streams(Sync);

/// Queues of the kernel for `children` children.
///
/// # Errors
/// `HostLacks` them.
pub fn queued(params: &Params, children: u32) -> Result<Backends<AsyncIo, Stdio>, Failure> {
    let queueing = AsyncIo::new(params.depth, params.copies, children)?;
    Ok(Backends::with_streams(queueing))
}

/// Mapped files.
pub fn mapped(msync: Msync) -> Backends<Mmap, Stdio> {
    Backends::with_streams(Mmap {
        msync_each: msync.flags(),
    })
}

/// No I/O.
pub const NOTHING: Backends<Null, Null> = Backends {
    plain: Null,
    streams: |_| Null,
    moves_data: false,
};

/// Which orders a cell needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    /// That of random records.
    pub random: bool,
    /// That of groups of records.
    pub groups: bool,
}

/// Contents and orders of a cell.
pub struct CellResources<'a> {
    params: &'a Params,
    cell: Cell,
    content: Content,
    order: Vec<u64>,
    group_order: Vec<u64>,
}

impl<'a> CellResources<'a> {
    /// For the passes over a file of `cell`.
    ///
    /// # Errors
    /// `HostLacks` memory; `Verification` when shares are not what they should be.
    pub fn new(
        params: &'a Params,
        cell: Cell,
        needs: Needs,
        event_sink: &mut EventSink,
    ) -> Result<Self, Failure> {
        let record_bytes = cell.record.bytes() as usize;
        let call_bytes = params.call_bytes(cell) as usize;
        let content = params
            .content
            .content(call_bytes, event_sink, |fill| match fill {
                // Diagnostic records are made one by one; this is only where they are not.
                Fill::Classic | Fill::Diagnostic => Content::marked(record_bytes, params.pattern),
                Fill::Uniform => Content::uniform(record_bytes, params.pattern),
                Fill::Random => Content::random(record_bytes),
            })?;
        let order_of = |is_needed: bool, count| {
            let order = is_needed.then(|| params.random_order.of(count));
            order.unwrap_or_default()
        };
        Ok(Self {
            params,
            cell,
            content,
            order: order_of(needs.random, cell.records()),
            group_order: order_of(needs.groups, Groups::count_in(cell)),
        })
    }

    /// What the loops need.
    pub fn work(&self) -> Work<'_> {
        let records = self.cell.records();
        let stride = self.params.stride;
        Work {
            records,
            record_bytes: self.record_bytes(),
            first: 0,
            order: &self.order,
            stride: self.params.stride_order.over(records, stride),
            groups: Groups {
                order: &self.group_order,
                length: Groups::length_in(self.cell),
            },
        }
    }

    /// Size of a record.
    pub fn record_bytes(&self) -> usize {
        self.cell.record.bytes() as usize
    }

    /// Size of all records that one child has in memory at once.
    pub fn slots_bytes(&self) -> usize {
        self.record_bytes() * self.params.slots() as usize
    }

    /// Size of the buffer of a test.
    pub fn buffer_bytes(&self, is_vectored: bool) -> usize {
        if is_vectored {
            self.record_bytes() * Groups::length_in(self.cell) as usize
        } else {
            self.slots_bytes()
        }
    }

    /// No hooks; records are compared if the trial verifies them.
    pub fn no_hooks(&self) -> NoHooks<'_> {
        let check = Check::pages_if(self.params.verify, Check::Nothing);
        NoHooks::new(&self.content, check)
    }

    /// All that `params` ask for around the records of child number `child`.
    ///
    /// # Errors
    /// `HostLacks` memory.
    pub fn full_hooks(
        &self,
        params: &Params,
        verify: bool,
        pattern: Pattern,
        child: u32,
    ) -> Result<FullHooks<'_>, Failure> {
        FullHooks::new(params, (&self.content, verify), pattern, child)
    }
}
