//! The only place that writes: the protocol to stdout, a line at a time; words to stderr.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;
use wire::{Event, Failure};

/// Standard output, held for as long as the engine lives.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Takes standard output.
    pub fn stdout() -> Self {
        Self {
            out: BufWriter::new(io::stdout().lock()),
        }
    }

    /// Writes one event as one line, at once. When nobody reads any more, the trial is asked
    /// to stop: its result would be lost.
    pub fn event(&mut self, event: &Event) {
        self.line(event);
    }

    /// As [`Output::event`], for what is said outside a trial.
    pub fn line(&mut self, document: &impl Serialize) {
        let written = serde_json::to_writer(&mut self.out, document).map_err(io::Error::from);
        if written.and_then(|()| self.end_line()).is_err() {
            kit::stop::request();
        }
    }

    /// Writes a document for programs and people. A reader that went away wanted no more.
    pub fn document(&mut self, document: &impl Serialize) {
        let written =
            serde_json::to_writer_pretty(&mut self.out, document).map_err(io::Error::from);
        let _ = written.and_then(|()| self.end_line());
    }

    /// Writes a part of a table, at once. When nobody reads any more, the trial is asked to stop.
    pub fn text(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes());
        if written.and_then(|()| self.out.flush()).is_err() {
            kit::stop::request();
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// Tells people why nothing, or not everything, was done.
#[allow(clippy::print_stderr)]
pub fn complain(failure: &Failure) {
    eprintln!("tiltyard-engine: {}", failure.message);
}

/// Tells people something in the name of a classic tool.
#[allow(clippy::print_stderr)]
pub fn remark(tool: &str, text: &str) {
    eprintln!("{tool}: {text}");
}

/// Tells people what they should know before something goes wrong.
#[allow(clippy::print_stderr)]
pub fn caution(words: &str) {
    eprintln!("tiltyard-engine: caution: {words}");
}
