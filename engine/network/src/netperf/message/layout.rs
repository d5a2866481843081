//! Which field stands where, by the test's type.

mod request;
mod response;
mod results;

use super::words::Words;

/// Two switches for systems that could receive or send without a copy. Linux is not one.
fn avoid_copies<W: Words>(words: &mut W) {
    for _ in ["receive", "send"] {
        words.fixed(0);
    }
}
