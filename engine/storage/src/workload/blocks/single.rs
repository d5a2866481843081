//! One block at a time.

use std::io;

use kit::content::Stamped;
use kit::failure::no_memory;
use kit::team::Member;
use kit::{clock, pace, Buffer, Probe};
use rustix::fs::{Mode, OFlags};
use wire::{Failure, Timing};

use super::{check, Channel, Directed, Mix, Order, Work, LOOK_EVERY};
use crate::backend::{Backend, File, Positioned};
use crate::fault::Fault;
use crate::scratch::Scratch;

/// A file, and the buffer that blocks are read into.
pub struct Single<B: Backend> {
    file: B::File,
    buffer: Buffer,
    /// What is written where blocks must differ.
    stamped: Option<Stamped>,
}

impl<B> Single<B>
where
    B: Backend,
    B::File: Positioned,
{
    #[inline(always)]
    fn read(&mut self, work: &Work, block: u64) -> Result<u64, Fault> {
        let offset = block * work.block_bytes as u64;
        let moved = self.file.read_at(&mut self.buffer, offset);
        check::whole(moved, block, work.block_bytes)?;
        let stamped = self.stamped.as_ref();
        check::found(&self.buffer, block, work, stamped, B::File::MOVES_DATA)
    }

    #[inline(always)]
    fn write(&mut self, work: &Work, block: u64) -> Result<u64, Fault> {
        let offset = block * work.block_bytes as u64;
        let bytes = work.content.outgoing(&mut self.stamped, block);
        let moved = self.file.write_at(bytes, offset);
        check::whole(moved, block, work.block_bytes).map_err(|fault| {
            check::why_short(fault, |moved| {
                self.file.write_at(&bytes[moved..], offset + moved as u64)
            })
        })?;
        Ok(0)
    }
}

impl<B> Channel for Single<B>
where
    B: Backend + Default,
    B::File: Positioned,
{
    fn open<M: Backend>(
        scratch: &Scratch<M>,
        flags: OFlags,
        work: &Work,
        file: u32,
    ) -> Result<Self, Failure> {
        let stamped = work.content.stamped(file).map_err(no_memory)?;
        let file = B::default().open(scratch.c_path(), flags, Mode::empty());
        Ok(Self {
            file: file.map_err(|error| scratch.failed("open", &error))?,
            buffer: Buffer::new(work.block_bytes).map_err(no_memory)?,
            stamped,
        })
    }

    fn execute<O: Order, P: Probe>(
        &mut self,
        work: &Work,
        mut order: O,
        mut mix: Mix,
        member: &mut Member<Directed<P>>,
    ) -> Result<u64, Fault> {
        let opened_ns = member.opened_ns();
        let until_ns = opened_ns.saturating_add(work.runtime_ns);
        let looks = work.runtime_ns < u64::MAX;
        let bytes = work.block_bytes as u64;
        let mut checksum: u64 = 0;
        let mut last_ns = clock::now_ns();
        for number in 0..work.operations {
            let mut began_ns = last_ns;
            if let Some(pace) = &work.pace {
                began_ns = opened_ns + pace.due_ns(number);
                if began_ns >= until_ns {
                    break;
                }
                pace::wait_until(began_ns);
            }
            let block = order.next();
            let is_write = mix.is_write_next();
            let sum = if is_write {
                self.write(work, block)?
            } else {
                self.read(work, block)?
            };
            checksum = checksum.wrapping_add(sum);
            let probe = member.probe.of(is_write);
            if P::TIMING == Timing::Operation {
                last_ns = clock::now_ns();
                probe.overlapped_operation(bytes, began_ns, last_ns);
            } else {
                probe.operation(bytes);
                if looks && number.is_multiple_of(LOOK_EVERY) {
                    last_ns = clock::now_ns();
                }
            }
            if !member.goes_on() {
                return Err(Fault::Stopped);
            }
            if last_ns >= until_ns {
                break;
            }
        }
        Ok(checksum)
    }

    fn prepare(&mut self, size_bytes: u64) -> io::Result<()> {
        if B::File::IS_SIZED_FIRST {
            self.file.resize(size_bytes)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}
