//! Fuzzing, offline and with stable Rust: inputs are changed at random, and one that reaches code
//! which none before it has reached is kept and changed further.
//!
//! ```text
//! targets ● what reads an input, and what must hold of it
//! explore   the loop ─► mutate: the next input
//!                    ◄─ coverage: what it reached
//! ```
//! What is reached is known where the compiler counts it (`tests/conformance/test_fuzzing.py` has
//! the flags); without them inputs are as many, and blind.

pub mod coverage;
pub mod explore;
mod mutate;
pub mod targets;
