//! The timed loops. Each is compiled once per backend and probe; nothing in them allocates,
//! logs or locks. An operation is one record moved, with the seek that belongs to it and, for
//! reads, the comparison of eight bytes per page.

use std::io::{self, SeekFrom};

use kit::pattern::Stride;
use kit::{content, stop, Content, Probe};

use crate::backend::File;

/// How a pass moves through the file. N is the number of records, R their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// N times: write, on from where the last one ended.
    SequentialWrite,
    /// N times: read, on from where the last one ended.
    SequentialRead,
    /// N times: seek to a record in random order, read.
    RandomRead,
    /// N times: seek to a record in the same random order, write.
    RandomWrite,
    /// Seek to R before the end; N times: read, seek back 2 R (the last of which fails).
    BackwardRead,
    /// N times: write record 0, seek to 0.
    RecordRewrite,
    /// N times: read, seek to the next record of the stride.
    StrideRead,
}

impl Motion {
    /// Whether records come in; otherwise they go out.
    pub fn is_read(self) -> bool {
        use Motion::*;
        matches!(
            self,
            SequentialRead | RandomRead | BackwardRead | StrideRead
        )
    }
}

/// What a loop needs, made ready beforehand.
pub struct Work<'a> {
    /// Number of records, at least one.
    pub records: u64,
    /// Random order of the records; used by the random motions only.
    pub order: &'a [u64],
    /// Distance of strided reads, in records.
    pub stride: u64,
    /// Whether records read are compared with `content`.
    pub verify: bool,
    /// What is written, and expected back.
    pub content: &'a Content,
}

/// Why a loop ended early.
#[derive(Debug)]
pub enum Fault {
    /// A stop was asked for.
    Stopped,
    /// The kernel refused to move a record.
    Io { record: u64, error: io::Error },
    /// Fewer bytes were moved than the record has.
    Short { record: u64, moved: usize },
    /// A record read was not the record written.
    Differs { record: u64, page: usize },
}

/// Moves all records as `motion` says, counting each in `probe`. `buffer` has the size of a
/// record and takes what is read. Gives the checksum over what was verified.
///
/// # Errors
/// The first fault.
pub fn execute<F: File, P: Probe>(
    motion: Motion,
    file: &mut F,
    probe: &mut P,
    work: &Work,
    buffer: &mut [u8],
) -> Result<u64, Fault> {
    let mut mover = Mover {
        file,
        probe,
        work,
        buffer,
        checksum: 0,
    };
    match motion {
        Motion::SequentialWrite => mover.sequential_write(),
        Motion::SequentialRead => mover.sequential_read(),
        Motion::RandomRead => mover.random_read(),
        Motion::RandomWrite => mover.random_write(),
        Motion::BackwardRead => mover.backward_read(),
        Motion::RecordRewrite => mover.record_rewrite(),
        Motion::StrideRead => mover.stride_read(),
    }?;
    Ok(mover.checksum)
}

struct Mover<'a, F, P> {
    file: &'a mut F,
    probe: &'a mut P,
    work: &'a Work<'a>,
    buffer: &'a mut [u8],
    checksum: u64,
}

impl<F: File, P: Probe> Mover<'_, F, P> {
    fn sequential_write(&mut self) -> Result<(), Fault> {
        for record in 0..self.work.records {
            self.write(record)?;
            self.done()?;
        }
        Ok(())
    }

    fn sequential_read(&mut self) -> Result<(), Fault> {
        for record in 0..self.work.records {
            self.read(record)?;
            self.done()?;
        }
        Ok(())
    }

    fn random_read(&mut self) -> Result<(), Fault> {
        for &record in self.work.order {
            self.seek_to(record)?;
            self.read(record)?;
            self.done()?;
        }
        Ok(())
    }

    fn random_write(&mut self) -> Result<(), Fault> {
        for &record in self.work.order {
            self.seek_to(record)?;
            self.write(record)?;
            self.done()?;
        }
        Ok(())
    }

    fn backward_read(&mut self) -> Result<(), Fault> {
        let record_bytes = self.buffer.len() as i64;
        let last = self.work.records - 1;
        self.file
            .seek(SeekFrom::End(-record_bytes))
            .map_err(|error| Fault::Io {
                record: last,
                error,
            })?;
        for record in (0..self.work.records).rev() {
            self.read(record)?;
            // After record 0 this would lead before the start and is refused, as it should be.
            let _ = self.file.seek(SeekFrom::Current(-2 * record_bytes));
            self.done()?;
        }
        Ok(())
    }

    fn record_rewrite(&mut self) -> Result<(), Fault> {
        for _ in 0..self.work.records {
            self.write(0)?;
            self.seek_to(0)?;
            self.done()?;
        }
        Ok(())
    }

    fn stride_read(&mut self) -> Result<(), Fault> {
        let mut order = Stride::new(self.work.records, self.work.stride);
        let mut record = 0;
        for _ in 0..self.work.records {
            self.read(record)?;
            record = order.advance();
            self.seek_to(record)?;
            self.done()?;
        }
        Ok(())
    }

    #[inline(always)]
    fn done(&mut self) -> Result<(), Fault> {
        self.probe.operation(self.buffer.len() as u64);
        if stop::requested() {
            return Err(Fault::Stopped);
        }
        Ok(())
    }

    #[inline(always)]
    fn seek_to(&mut self, record: u64) -> Result<(), Fault> {
        let offset = record * self.buffer.len() as u64;
        self.file
            .seek(SeekFrom::Start(offset))
            .map_err(|error| Fault::Io { record, error })
    }

    #[inline(always)]
    fn write(&mut self, record: u64) -> Result<(), Fault> {
        let bytes = self.work.content.record(record);
        match self.file.write(bytes) {
            Ok(moved) if moved == bytes.len() => Ok(()),
            Ok(moved) => Err(self.why_short(record, moved)),
            Err(error) => Err(Fault::Io { record, error }),
        }
    }

    /// The kernel tells why a write was cut short when it is asked for the rest.
    #[cold]
    fn why_short(&mut self, record: u64, moved: usize) -> Fault {
        let rest = &self.work.content.record(record)[moved..];
        match self.file.write(rest) {
            Ok(_) => Fault::Short { record, moved },
            Err(error) => Fault::Io { record, error },
        }
    }

    #[inline(always)]
    fn read(&mut self, record: u64) -> Result<(), Fault> {
        match self.file.read(self.buffer) {
            Ok(moved) if moved == self.buffer.len() => {}
            Ok(moved) => return Err(Fault::Short { record, moved }),
            Err(error) => return Err(Fault::Io { record, error }),
        }
        if self.work.verify {
            match content::verify(self.buffer, self.work.content.record(record)) {
                Ok(sum) => self.checksum = self.checksum.wrapping_add(sum),
                Err(page) if F::MOVES_DATA => return Err(Fault::Differs { record, page }),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kit::PassProbe;

    use super::*;

    const RECORD_BYTES: usize = 4_096;

    /// A file in memory that notes what is asked of it.
    #[derive(Default)]
    struct Notebook {
        content: Vec<u8>,
        position: usize,
        notes: Vec<String>,
        /// Byte to flip in whatever is read.
        flipped: Option<usize>,
        /// Size at which the file system is full.
        full_at: Option<usize>,
    }

    impl File for Notebook {
        fn read(&mut self, record: &mut [u8]) -> io::Result<usize> {
            self.notes
                .push(format!("r{}", self.position / RECORD_BYTES));
            record.copy_from_slice(&self.content[self.position..][..record.len()]);
            self.position += record.len();
            if let Some(at) = self.flipped {
                record[at] ^= 1;
            }
            Ok(record.len())
        }

        fn write(&mut self, record: &[u8]) -> io::Result<usize> {
            let room = self.full_at.map_or(usize::MAX, |full| full - self.position);
            if room == 0 {
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            let moved = record.len().min(room);
            self.notes
                .push(format!("w{}", self.position / RECORD_BYTES));
            let end = self.position + moved;
            self.content.resize(self.content.len().max(end), 0);
            self.content[self.position..end].copy_from_slice(&record[..moved]);
            self.position = end;
            Ok(moved)
        }

        fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
            let (base, offset) = match to {
                SeekFrom::Start(offset) => (0, offset as i64),
                SeekFrom::Current(offset) => (self.position as i64, offset),
                SeekFrom::End(offset) => (self.content.len() as i64, offset),
            };
            let to = usize::try_from(base + offset);
            self.notes
                .push(to.map_or("s!".into(), |to| format!("s{}", to / RECORD_BYTES)));
            self.position = to.map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn close(self) -> io::Result<()> {
            Ok(())
        }
    }

    fn executed(motion: Motion, file: &mut Notebook, records: u64) -> Result<u64, Fault> {
        let content = Content::random(RECORD_BYTES).unwrap();
        let work = Work {
            records,
            order: &kit::pattern::random(records),
            stride: 17,
            verify: true,
            content: &content,
        };
        execute(
            motion,
            file,
            &mut PassProbe::new(),
            &work,
            &mut [0; RECORD_BYTES],
        )
    }

    fn written(records: u64) -> Notebook {
        let mut file = Notebook::default();
        executed(Motion::SequentialWrite, &mut file, records).unwrap();
        file.position = 0;
        file.notes.clear();
        file
    }

    #[test]
    fn each_motion_makes_the_calls_of_the_original() {
        for (motion, calls) in [
            (Motion::SequentialWrite, "w0 w1 w2 w3"),
            (Motion::SequentialRead, "r0 r1 r2 r3"),
            (Motion::RandomRead, "s1 r1 s2 r2 s0 r0 s3 r3"),
            (Motion::RandomWrite, "s1 w1 s2 w2 s0 w0 s3 w3"),
            (Motion::BackwardRead, "s3 r3 s2 r2 s1 r1 s0 r0 s!"),
            (Motion::RecordRewrite, "w0 s0 w0 s0 w0 s0 w0 s0"),
            (Motion::StrideRead, "r0 s0 r0 s0 r0 s0 r0 s0"),
        ] {
            let mut file = written(4);
            executed(motion, &mut file, 4).unwrap();
            assert_eq!(file.notes.join(" "), calls, "{motion:?}");
        }
    }

    #[test]
    fn what_any_motion_wrote_every_motion_reads_back() {
        let mut file = written(40);
        for motion in [
            Motion::RandomWrite,
            Motion::RecordRewrite,
            Motion::BackwardRead,
            Motion::StrideRead,
            Motion::RandomRead,
        ] {
            file.position = 0;
            let checksum = executed(motion, &mut file, 40).unwrap();
            assert_eq!(checksum != 0, motion.is_read(), "{motion:?}");
        }
    }

    #[test]
    fn a_flipped_byte_is_found() {
        let mut file = written(4);
        file.flipped = Some(7);
        let fault = executed(Motion::RandomRead, &mut file, 4).unwrap_err();
        assert!(matches!(fault, Fault::Differs { record: 1, page: 0 }));
    }

    #[test]
    fn a_write_cut_short_by_a_full_file_system_says_so() {
        let mut file = Notebook {
            full_at: Some(2 * RECORD_BYTES + 100),
            ..Notebook::default()
        };
        let fault = executed(Motion::SequentialWrite, &mut file, 4).unwrap_err();
        let Fault::Io { record: 2, error } = fault else {
            panic!("{fault:?}");
        };
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    }
}
