//! The classic tools, called as a person calls them: by a link with the tool's name.

mod aio_stress;
mod common;
mod compilebench;
mod fdtree;
mod fs_mark;
mod iozone;
mod netperf;
mod postmark;
mod tiotest;
