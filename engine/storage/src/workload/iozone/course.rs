//! The records of a pass in the order of its operations, for those who do not follow the position
//! of the file.

use super::pattern::{Motion, Placement, Work};
use super::table::Moves;

/// Where one operation after another begins.
pub struct Course<'a> {
    moves: Moves,
    work: Work<'a>,
    /// The next record of a stride.
    strided: u64,
}

impl<'a> Course<'a> {
    /// The course of a pass that moves records so, from its first operation on.
    pub fn new(moves: Moves, work: Work<'a>) -> Self {
        let strided = 0;
        Self {
            moves,
            work,
            strided,
        }
    }

    /// The record, or the first of the group of them, that is moved in `step`; each is asked for
    /// once, in order.
    #[inline(always)]
    pub fn record(&mut self, step: u64) -> u64 {
        match self.moves {
            Moves::Along(Motion::SequentialWrite | Motion::SequentialRead)
            | Moves::At(Placement::Write | Placement::Read) => step,
            Moves::Along(Motion::RandomRead | Motion::RandomWrite) => {
                self.work.order[step as usize]
            }
            Moves::Along(Motion::BackwardRead) => self.work.records - 1 - step,
            Moves::Along(Motion::RecordRewrite) => 0,
            Moves::Along(Motion::StrideRead) => {
                let record = self.strided;
                self.strided = self.work.stride.advance();
                record
            }
            Moves::At(Placement::VectorWrite | Placement::VectorRead) => {
                self.work.groups.order[step as usize] * self.work.groups.length
            }
        }
    }
}
