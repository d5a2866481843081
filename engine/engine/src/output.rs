//! The only place that writes: the protocol to stdout, a line at a time; words to stderr.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use kit::failure::io_failure;
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use serde::Serialize;
use wire::{Event, Failure, RECORD_SEPARATOR};

/// Standard output, held for as long as the engine lives.
pub struct Output {
    out: BufWriter<Waiting<StdoutLock<'static>>>,
    /// The first error of writing that is not the reader's going away.
    error: Option<io::Error>,
    /// When an event was written last.
    written: Option<Instant>,
}

/// Results that come closer to each other are written together.
const TOGETHER: Duration = Duration::from_millis(20);

impl Output {
    /// Takes standard output.
    pub fn stdout() -> Self {
        Self {
            out: BufWriter::new(Waiting(io::stdout().lock())),
            error: None,
            written: None,
        }
    }

    /// Whether all was written that anybody still reads: what was done is no success without it.
    ///
    /// # Errors
    /// `NoSpace` or `Io`, with the first error.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.error {
            Some(error) => Err(io_failure("write to", Path::new("standard output"), error)),
            None => Ok(()),
        }
    }

    /// Writes one event as one line. When it cannot be written, the trial is asked to stop: its
    /// result would be lost.
    ///
    /// What is measured one after the other in little time is written together: whoever reads it
    /// would wake for each line, beside what is measured next.
    pub fn event(&mut self, event: &Event) {
        let is_result = matches!(
            event,
            Event::Sample(_) | Event::Region(_) | Event::Interval(_) | Event::Execution(_)
        );
        let waits = is_result && self.written.is_some_and(|at| at.elapsed() < TOGETHER);
        let line = serde_json::to_writer(&mut self.out, event).map_err(io::Error::from);
        let line = line.and_then(|()| self.out.write_all(b"\n"));
        let flushed = line.and_then(|()| if waits { Ok(()) } else { self.out.flush() });
        if !waits {
            self.written = Some(Instant::now());
        }
        self.heed(flushed);
    }

    /// Writes a line at once that is said outside a trial.
    pub fn line(&mut self, document: &impl Serialize) {
        let written = serde_json::to_writer(&mut self.out, document).map_err(io::Error::from);
        let written = written.and_then(|()| self.end_line());
        self.heed(written);
    }

    /// Writes a line of a runner's own, or of an agent.
    pub fn record(&mut self, line: &impl Serialize) {
        let separated = self.out.write_all(&[RECORD_SEPARATOR]);
        self.heed(separated);
        self.line(line);
    }

    /// Writes a document for programs and people. A reader that went away wanted no more.
    pub fn document(&mut self, document: &impl Serialize) {
        let written =
            serde_json::to_writer_pretty(&mut self.out, document).map_err(io::Error::from);
        let written = written.and_then(|()| self.end_line());
        self.heed(written);
    }

    /// Writes a part of a table, at once. When it cannot be written, the trial is asked to stop.
    pub fn text(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes());
        let written = written.and_then(|()| self.out.flush());
        self.heed(written);
    }

    fn heed(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            kit::stop::request();
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.error.get_or_insert(error);
            }
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// Waits where there is no room at the moment: whoever made the pipe may have made it so that a
/// write does not (O_NONBLOCK), and shares that with everyone who holds it.
struct Waiting<W>(W);

impl<W: Write + AsFd> Waiting<W> {
    fn patiently<T>(&mut self, mut act: impl FnMut(&mut W) -> io::Result<T>) -> io::Result<T> {
        loop {
            match act(&mut self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut room = [PollFd::new(&self.0, PollFlags::OUT)];
                    match poll(&mut room, None) {
                        Ok(_) | Err(Errno::INTR) if !kit::stop::requested() => {}
                        _ => return Err(error),
                    }
                }
                other => return other,
            }
        }
    }
}

impl<W: Write + AsFd> Write for Waiting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(|inner| inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.patiently(W::flush)
    }
}

/// Tells people why nothing, or not everything, was done.
pub fn complain(failure: &Failure) {
    remark("tiltyard-engine", &failure.message);
}

/// Writes a message to standard error in the name of a classic tool. Where that fails, the exit
/// code remains.
pub fn remark(tool: &str, text: &str) {
    let _ = writeln!(io::stderr(), "{tool}: {text}");
}

/// Tells people what they should know before something goes wrong.
pub fn caution(words: &str) {
    remark("tiltyard-engine", &format!("caution: {words}"));
}
