//! The timed loops: compiled once per backend, probe, direction and way to reach a block. Nothing
//! in them allocates, logs or locks. An operation is one block moved and, for reads, the
//! comparison of eight bytes per page; a seek before it lies outside of its latency, as in the
//! original.

use std::io::{self, SeekFrom};

use crate::workload::libc_random::RandR;
use kit::content::Stamped;
use kit::team::Member;
use kit::{Content, Probe};

use crate::backend::Positioned;
use crate::fault::Fault;

/// Which blocks of its file a thread moves, in which order.
pub enum Order {
    /// The first `blocks`, one after another.
    Sequential { blocks: u64 },
    /// So many `operations` on blocks drawn from `range`.
    Random {
        operations: u64,
        range: u64,
        random: RandR,
    },
}

/// What a loop needs, made ready beforehand.
pub struct Work<'a> {
    /// Which blocks.
    pub order: Order,
    /// Whether blocks go out; otherwise they come in.
    pub is_write: bool,
    /// Whether blocks are moved by pread and pwrite; otherwise by lseek, read and write.
    pub is_positioned: bool,
    /// Whether blocks read are compared with `content`.
    pub verify: bool,
    /// What is written, and expected back.
    pub content: &'a Content,
    /// What of it the thread writes where blocks must differ.
    pub stamped: Option<Stamped>,
}

/// Moves all blocks, counting each in the member's probe. `buffer` has the size of a block and
/// takes what is read. Gives the checksum over what was verified.
///
/// # Errors
/// The first fault.
pub fn execute<F: Positioned, P: Probe>(
    work: Work,
    file: &mut F,
    member: &mut Member<P>,
    buffer: &mut [u8],
) -> Result<u64, Fault> {
    if !work.is_positioned {
        // The original goes to the start first, even where random blocks follow.
        let start = file.seek(SeekFrom::Start(0));
        start.map_err(|error| refused(0, error))?;
        member.probe.begin_operation();
    }
    let mover = Mover {
        file,
        member,
        content: work.content,
        stamped: work.stamped,
        verify: work.verify,
        buffer,
        checksum: 0,
    };
    match (work.is_positioned, work.order) {
        (true, Order::Sequential { blocks }) => mover.run::<At>(work.is_write, 0..blocks),
        (false, Order::Sequential { blocks }) => mover.run::<Next>(work.is_write, 0..blocks),
        (
            is_positioned,
            Order::Random {
                operations,
                range,
                mut random,
            },
        ) => {
            let drawn = (0..operations).map(move |_| u64::from(random.draw()) % range);
            if is_positioned {
                mover.run::<At>(work.is_write, drawn)
            } else {
                mover.run::<Seek>(work.is_write, drawn)
            }
        }
    }
}

/// A way to reach a block.
trait Reach {
    /// What comes before an operation and lies outside of its latency.
    #[inline(always)]
    fn approach<F: Positioned, P: Probe>(_: &mut F, _: u64, _: &mut P) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn read<F: Positioned>(file: &mut F, block: &mut [u8], _: u64) -> io::Result<usize> {
        file.read(block)
    }

    #[inline(always)]
    fn write<F: Positioned>(file: &mut F, block: &[u8], _: u64) -> io::Result<usize> {
        file.write(block)
    }
}

/// The file is at the block already.
struct Next;

/// Go to the block first.
struct Seek;

/// Say with each call where the block is.
struct At;

impl Reach for Next {}

impl Reach for Seek {
    #[inline(always)]
    fn approach<F: Positioned, P: Probe>(
        file: &mut F,
        offset: u64,
        probe: &mut P,
    ) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        probe.begin_operation();
        Ok(())
    }
}

impl Reach for At {
    #[inline(always)]
    fn read<F: Positioned>(file: &mut F, block: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(block, offset)
    }

    #[inline(always)]
    fn write<F: Positioned>(file: &mut F, block: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(block, offset)
    }
}

struct Mover<'a, 'g, F, P> {
    file: &'a mut F,
    member: &'a mut Member<'g, P>,
    content: &'a Content,
    stamped: Option<Stamped>,
    verify: bool,
    buffer: &'a mut [u8],
    checksum: u64,
}

impl<F: Positioned, P: Probe> Mover<'_, '_, F, P> {
    fn run<R: Reach>(
        mut self,
        is_write: bool,
        blocks: impl Iterator<Item = u64>,
    ) -> Result<u64, Fault> {
        if is_write {
            self.each::<R>(blocks, Self::write::<R>)?;
        } else {
            self.each::<R>(blocks, Self::read::<R>)?;
        }
        Ok(self.checksum)
    }

    #[inline(always)]
    fn each<R: Reach>(
        &mut self,
        blocks: impl Iterator<Item = u64>,
        moved: impl Fn(&mut Self, u64, u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let block_bytes = self.buffer.len() as u64;
        for block in blocks {
            let offset = block * block_bytes;
            R::approach(self.file, offset, &mut self.member.probe)
                .map_err(|error| refused(block, error))?;
            moved(self, block, offset)?;
            self.member.probe.operation(block_bytes);
            if !self.member.goes_on() {
                return Err(Fault::Stopped);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn write<R: Reach>(&mut self, block: u64, offset: u64) -> Result<(), Fault> {
        let bytes = self.content.outgoing(&mut self.stamped, block);
        match R::write(self.file, bytes, offset) {
            Ok(moved) if moved == bytes.len() => Ok(()),
            Ok(moved) => Err(self.why_short::<R>(block, offset, moved)),
            Err(error) => Err(refused(block, error)),
        }
    }

    /// The kernel tells why a write was cut short when it is asked for the rest.
    #[cold]
    fn why_short<R: Reach>(&mut self, block: u64, offset: u64, moved: usize) -> Fault {
        let rest = &self.content.outgoing(&mut self.stamped, block)[moved..];
        match R::write(self.file, rest, offset + moved as u64) {
            Ok(_) => Fault::Short {
                record: block,
                moved,
            },
            Err(error) => refused(block, error),
        }
    }

    #[inline(always)]
    fn read<R: Reach>(&mut self, block: u64, offset: u64) -> Result<(), Fault> {
        match R::read(self.file, self.buffer, offset) {
            Ok(moved) if moved == self.buffer.len() => {}
            Ok(moved) => {
                return Err(Fault::Short {
                    record: block,
                    moved,
                })
            }
            Err(error) => return Err(refused(block, error)),
        }
        if self.verify {
            let stamped = self.stamped.as_ref();
            match self.content.verify(stamped, self.buffer, block) {
                Ok(sum) => self.checksum = self.checksum.wrapping_add(sum),
                Err(page) if F::MOVES_DATA => {
                    return Err(Fault::Differs {
                        record: block,
                        page,
                    })
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn refused(record: u64, error: io::Error) -> Fault {
    Fault::Io { record, error }
}
