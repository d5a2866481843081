//! The watchdog: a thread that watches flows, so that none waits for ever. When the other
//! end vanishes, time is up, or a stop was asked for, it cuts them, and a caller that waits for one
//! of
//! them wakes with an error.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kit::{clock, place};

use crate::control::channel::{Heard, Line};
use crate::flow::{self, Flow};
use crate::socket::Transport;

/// Between two looks at a stop request.
const LOOK: Duration = Duration::from_millis(100);

/// What a word on the control connection means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnControlData {
    /// Nothing was to be said now: something is wrong at the other end.
    Abort,
    /// The work ends: what is still under way may arrive, until nothing has between so many looks
    /// in a row. Not so long: time passes also while a host stands still and nobody can take what
    /// is here.
    Finish(u32),
}

/// What flows are watched for.
#[derive(Debug, Clone, Copy)]
pub struct WatchdogLimits {
    /// How long they may take.
    pub longest: Duration,
    /// How many bytes they may move together, as far as there is a limit; looked at ten times a
    /// second, so that somewhat more may pass.
    pub bytes: Option<u64>,
    /// What a word means.
    pub on_control_data: OnControlData,
    /// What moves the data.
    pub transport: Transport,
}

/// Why flows were cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortReason {
    /// The other end said so.
    Ended,
    /// The other end closed the control connection, or spoke out of turn.
    Vanished,
    /// The time is up.
    TimeUp,
    /// More bytes were moved than may be.
    Exceeded,
    /// Nothing moved for too long.
    Silence,
    /// A signal.
    Stopped,
}

/// Flows that are watched until this is dropped or ended.
pub struct Watchdog {
    thread: Option<JoinHandle<(Option<AbortReason>, Vec<Flow>)>>,
    end: Option<mpsc::Sender<()>>,
}

impl Watchdog {
    /// Watches `flows`, and what is heard on `control`.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn watch(
        control: &Line,
        flows: Vec<Flow>,
        limits: WatchdogLimits,
    ) -> std::io::Result<Self> {
        let control = control.clone();
        control.set_tcp_user_timeout(limits.transport == Transport::Udp)?;
        let (end, ended) = mpsc::channel();
        let until = Instant::now().checked_add(limits.longest);
        let thread = thread::Builder::new()
            .name("watchdog".into())
            .spawn(move || {
                // A table of descriptors that is shared makes every system call on a file count
                // its users: the loops have theirs to themselves.
                place::unshare_descriptors();
                let watch = Watch {
                    control,
                    until,
                    limits,
                };
                let mut quiet = Quiet::default();
                let cut = watch_until(&ended, LOOK, |_| {
                    let moved = flow::moved(&flows);
                    let reason = watch.look(moved);
                    let reason = reason.or_else(|| watch.hear(moved, &mut quiet));
                    reason.map_or(Ok(u64::MAX), Err)
                });
                if cut.is_some() {
                    flows.iter().for_each(Flow::cut);
                }
                // Of a connection that has ended it does not matter.
                let _ = watch.control.set_tcp_user_timeout(false);
                // Sockets are closed in the table that they were opened in.
                (cut, flows)
            })?;
        Ok(Self {
            thread: Some(thread),
            end: Some(end),
        })
    }

    /// Ends the watch; returns why flows were cut, if they were.
    pub fn end(mut self) -> Option<AbortReason> {
        self.join()
    }

    fn join(&mut self) -> Option<AbortReason> {
        self.end.take();
        let thread = self.thread.take()?;
        thread
            .join()
            .map_or(Some(AbortReason::Vanished), |(cut, _)| cut)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.join();
    }
}

/// Calls `check` now, every `look`, and at the instants of [`clock::now_ns`] that it gives, until
/// it
/// gives a reason to abort, or the sender of `ended` is dropped (`None`).
pub fn watch_until(
    ended: &mpsc::Receiver<()>,
    look: Duration,
    mut check: impl FnMut(u64) -> Result<u64, AbortReason>,
) -> Option<AbortReason> {
    loop {
        let now_ns = clock::now_ns();
        let due_ns = match check(now_ns) {
            Ok(due_ns) => due_ns,
            Err(reason) => return Some(reason),
        };
        let pause = Duration::from_nanos(due_ns.saturating_sub(now_ns)).min(look);
        if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return None;
        }
    }
}

struct Watch {
    control: Line,
    until: Option<Instant>,
    limits: WatchdogLimits,
}

impl Watch {
    /// What can be seen without the other end.
    fn look(&self, moved: [u64; 2]) -> Option<AbortReason> {
        let [_, bytes] = moved;
        if self.control.is_stopped() {
            Some(AbortReason::Stopped)
        } else if self.until.is_some_and(|until| Instant::now() > until) {
            Some(AbortReason::TimeUp)
        } else if self.limits.bytes.is_some_and(|limit| bytes > limit) {
            Some(AbortReason::Exceeded)
        } else {
            None
        }
    }

    fn hear(&self, moved: [u64; 2], quiet: &mut Quiet) -> Option<AbortReason> {
        match (self.control.heard(), self.limits.on_control_data) {
            (Heard::Nothing, _) => None,
            (Heard::Data, OnControlData::Finish(looks)) => {
                quiet.lasts(moved, looks).then_some(AbortReason::Ended)
            }
            (Heard::Data | Heard::End, _) => Some(AbortReason::Vanished),
        }
    }
}

/// What has been moved, and how many looks ago it was as much already.
#[derive(Default)]
struct Quiet(Option<([u64; 2], u32)>);

impl Quiet {
    /// Whether this is at least the `looks`th look in a row at which nothing more has been moved.
    fn lasts(&mut self, moved: [u64; 2], looks: u32) -> bool {
        let looks_ago = match self.0 {
            Some((before, looks_ago)) if before == moved => looks_ago + 1,
            _ => 0,
        };
        self.0 = Some((moved, looks_ago));
        looks_ago >= looks
    }
}
