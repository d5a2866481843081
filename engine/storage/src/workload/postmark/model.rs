//! What PostMark does next: every decision, and nothing that touches a file.
//!
//! The order of the draws is the contract: the same seed gives the same files, sizes and
//! operations as the original program, byte for byte.

use crate::workload::mt19937::Mt19937;

use super::bias::Bias;
use super::params::Params;
use super::pool::{File, Pool};
use super::tally::Tally;

/// First half of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataStep {
    /// Read the whole file.
    Read(File),
    /// Write `length` bytes to the end of a file, whose size is the one before.
    Append { file: File, length: u32 },
    /// Switched off, or the file to append to is as long as a file may get.
    Nothing,
}

/// Second half of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStep {
    /// Create a file and write its whole size.
    Create(File),
    Delete(File),
    /// Switched off, or the pool is full.
    Nothing,
}

/// Every file was deleted before the transactions were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfFiles {
    /// Transactions done before.
    pub after: u32,
}

/// The state from which the next step follows.
pub struct Model {
    random: Mt19937,
    pool: Pool,
    created: u32,
    /// Where the search for the next file to delete at the end goes on.
    drained: usize,
    smallest: u32,
    largest: u32,
    subdirectories: u32,
    /// Index of a location, as often as its weight says.
    weighted: Box<[u32]>,
    locations: usize,
    read_share: Bias,
    create_share: Bias,
}

impl Model {
    /// The model at its start, with the text that all files are written from: the generator
    /// fills it before it decides anything.
    pub fn new(params: &Params) -> (Self, Box<[u8]>) {
        let mut random = Mt19937::seeded_1999(params.seed);
        let text = source_text(&mut random, params.size.largest);
        let weighted = params
            .locations
            .iter()
            .zip(0..)
            .flat_map(|(location, index)| std::iter::repeat_n(index, location.weight as usize));
        let model = Self {
            random,
            pool: Pool::new(2 * params.files as usize),
            created: 0,
            drained: 0,
            smallest: params.size.smallest,
            largest: params.size.largest,
            subdirectories: params.subdirectories,
            weighted: weighted.collect(),
            locations: params.locations.len(),
            read_share: params.bias_read,
            create_share: params.bias_create,
        };
        (model, text)
    }

    /// The next file to create; `None` when the pool is full, which draws nothing.
    pub fn create(&mut self) -> Option<File> {
        let slot = self.pool.vacancy()?;
        self.created += 1;
        let location = if self.locations > 1 {
            self.weighted[self.random.below(self.weighted.len() as u32) as usize]
        } else {
            0
        };
        let subdirectory = if self.subdirectories > 1 {
            self.random.below(self.subdirectories)
        } else {
            0
        };
        let size = self.smallest + self.random.below(self.largest - self.smallest);
        let file = File {
            number: self.created,
            location,
            subdirectory,
            size,
        };
        self.pool.put(slot, file);
        Some(file)
    }

    /// Whether there is no file left to work on.
    pub fn is_out_of_files(&self) -> bool {
        self.pool.is_empty()
    }

    /// The first half of the next transaction. There must be a file.
    pub fn data_step(&mut self) -> DataStep {
        let Bias::OutOfTen(share) = self.read_share else {
            return DataStep::Nothing;
        };
        let is_read = self.random.below(10) < share;
        let slot = self.pool.pick(&mut self.random);
        let file = self.pool.file(slot);
        if is_read {
            return DataStep::Read(*file);
        }
        if file.size >= self.largest {
            return DataStep::Nothing;
        }
        let before = *file;
        let length = 1 + self.random.below(self.largest - file.size);
        file.size += length;
        DataStep::Append {
            file: before,
            length,
        }
    }

    /// The second half of a transaction.
    pub fn name_step(&mut self) -> NameStep {
        let Bias::OutOfTen(share) = self.create_share else {
            return NameStep::Nothing;
        };
        if self.random.below(10) < share {
            return self.create().map_or(NameStep::Nothing, NameStep::Create);
        }
        let slot = self.pool.pick(&mut self.random);
        NameStep::Delete(self.pool.take(slot))
    }

    /// The next file to delete at the end, in the order of the table.
    pub fn drain(&mut self) -> Option<File> {
        let (slot, file) = self.pool.take_from(self.drained)?;
        self.drained = slot + 1;
        Some(file)
    }
}

/// What a run with these parameters comes to, found by deciding everything and doing nothing.
pub fn rehearse(params: &Params) -> Result<Tally, OutOfFiles> {
    let (mut model, _) = Model::new(params);
    let mut tally = Tally::default();
    for file in (0..params.files).map_while(|_| model.create()) {
        tally.created_alone += 1;
        tally.bytes_written += u64::from(file.size);
    }
    for after in 0..params.transactions {
        if model.is_out_of_files() {
            return Err(OutOfFiles { after });
        }
        tally.transactions += 1;
        match model.data_step() {
            DataStep::Read(file) => {
                tally.read += 1;
                tally.bytes_read += u64::from(file.size);
            }
            DataStep::Append { length, .. } => {
                tally.appended += 1;
                tally.bytes_written += u64::from(length);
            }
            DataStep::Nothing => {}
        }
        match model.name_step() {
            NameStep::Create(file) => {
                tally.created_mixed += 1;
                tally.bytes_written += u64::from(file.size);
            }
            NameStep::Delete(_) => tally.deleted_mixed += 1,
            NameStep::Nothing => {}
        }
    }
    while model.drain().is_some() {
        tally.deleted_alone += 1;
    }
    Ok(tally)
}

/// Printable text as long as the largest file. The original fills a buffer of twice that length
/// and never uses the second half; its draws are made all the same.
fn source_text(random: &mut Mt19937, largest: u32) -> Box<[u8]> {
    let text = (0..largest)
        .map(|_| b' ' + random.below(95) as u8)
        .collect();
    for _ in 0..largest {
        random.next_u32();
    }
    text
}

#[cfg(test)]
mod tests;
