//! The binary, from outside.

mod common;
mod documents;
mod jobs;
mod trouble;
