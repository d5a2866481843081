//! The workloads of the classic tools but PostMark, over the backends of the storage workloads.
//!
//! To add one: a file or folder beside this one, as for those of `storage`, and one line in [`ALL`].

pub mod aio_stress;
pub mod compilebench;
pub mod fdtree;
pub mod fs_mark;
pub mod iozone;
mod libc_random;
pub mod tiobench;

use storage::workload::Workload;

/// All of them, in the order in which a person should meet them.
pub static ALL: &[&dyn Workload] = &[
    &iozone::Iozone,
    &iozone::Throughput,
    &fs_mark::FsMark,
    &compilebench::Compilebench,
    &fdtree::Fdtree,
    &tiobench::Tiobench,
    &aio_stress::AioStress,
];

/// Counts, so that loops can be held to no allocation.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: testing::Counting = testing::Counting;
