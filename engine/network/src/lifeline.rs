//! The lifeline: a thread that watches over flows, so that none waits for ever. When the other
//! end vanishes, time is up, or a stop was asked for, it cuts them, and whoever waits for one of
//! them wakes with an error.

use std::net::TcpStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kit::stop;
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::flow::Flow;

/// Between two looks at a stop request.
const LOOK: Duration = Duration::from_millis(100);

/// What a word on the control connection means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Nothing was to be said now: something is wrong at the other end.
    Wrong,
    /// The work ends: what is still under way may arrive, until nothing has for that time.
    Ends(Duration),
}

/// Why flows were cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The other end said so.
    Ended,
    /// The other end closed the control connection, or spoke out of turn.
    Vanished,
    /// The work took longer than it may.
    Late,
    /// A signal.
    Stopped,
}

/// Flows that are watched until this is dropped or ended.
pub struct Lifeline {
    thread: Option<JoinHandle<Option<Cut>>>,
    end: Option<mpsc::Sender<()>>,
}

impl Lifeline {
    /// Watches `flows`, and what is heard on `control`.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn watch(
        control: &TcpStream,
        flows: Vec<Flow>,
        longest: Duration,
        word: Word,
    ) -> std::io::Result<Self> {
        let control = control.try_clone()?;
        let (end, ended) = mpsc::channel();
        let until = Instant::now().checked_add(longest);
        let thread = thread::Builder::new()
            .name("lifeline".into())
            .spawn(move || {
                let watch = Watch {
                    control,
                    flows: &flows,
                    until,
                    word,
                };
                let cut = watch.until(&ended);
                if cut.is_some() {
                    flows.iter().for_each(Flow::cut);
                }
                cut
            })?;
        Ok(Self {
            thread: Some(thread),
            end: Some(end),
        })
    }

    /// Ends the watch; tells why flows were cut, if they were.
    pub fn end(mut self) -> Option<Cut> {
        self.join()
    }

    fn join(&mut self) -> Option<Cut> {
        self.end.take();
        let thread = self.thread.take()?;
        thread.join().unwrap_or(Some(Cut::Vanished))
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.join();
    }
}

struct Watch<'a> {
    control: TcpStream,
    flows: &'a [Flow],
    until: Option<Instant>,
    word: Word,
}

impl Watch<'_> {
    /// Looks until it is ended (`None`), or there is a reason to cut.
    fn until(&self, ended: &mpsc::Receiver<()>) -> Option<Cut> {
        let mut quiet: Option<([u64; 2], Instant)> = None;
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop::requested() {
                return Some(Cut::Stopped);
            }
            if self.until.is_some_and(|until| Instant::now() > until) {
                return Some(Cut::Late);
            }
            match (heard(&self.control), self.word) {
                (Heard::Nothing, _) => {}
                (Heard::Word, Word::Ends(pause)) => {
                    let moved = self.moved();
                    match quiet {
                        Some((before, since)) if before == moved => {
                            if since.elapsed() >= pause {
                                return Some(Cut::Ended);
                            }
                        }
                        _ => quiet = Some((moved, Instant::now())),
                    }
                }
                (Heard::Word | Heard::End, _) => return Some(Cut::Vanished),
            }
        }
    }

    fn moved(&self) -> [u64; 2] {
        let tallies = self.flows.iter().map(|flow| flow.tally.read());
        tallies.fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
    }
}

enum Heard {
    Nothing,
    Word,
    End,
}

/// What there is on `control`, without taking it.
fn heard(control: &TcpStream) -> Heard {
    let mut fds = [PollFd::new(control, PollFlags::IN | PollFlags::RDHUP)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    if !poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0) {
        return Heard::Nothing;
    }
    match control.peek(&mut [0]) {
        Ok(1..) => Heard::Word,
        _ => Heard::End,
    }
}
