//! One execution of one command: started, watched until it ends, and nothing of it left.

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use kit::{clock, stop};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pipe::PipeFlags;
use wire::{HeldBy, Output};

use crate::group::{self, Cpu, Group};
use crate::growing::Growing;
use crate::output::{self, Capture, Printed, Taken};
use crate::reap::{self, Ended, Used};
use crate::spawn::{NotStarted, Recipe, Spawner, Started, Step};
use crate::trial_dir::TrialDir;

/// How long a look at the flag that asks for a stop may be put off.
const LOOK_NS: u64 = 100_000_000;
/// What a command leaves running has this long to end by itself, untimed.
const GRACE_NS: u64 = 1_000_000_000;
/// What was killed is waited for this long: a process may hang in the kernel.
const KILLED_NS: u64 = 20_000_000_000;
const PAUSE: Duration = Duration::from_micros(500);
const PIPE_BYTES: usize = 1 << 20;
/// A program that prints a little is not interrupted more often than this.
const QUIET_NS: u64 = 2_000_000;
/// One that prints as much at once is read as fast as it goes.
const FLOWING_BYTES: u64 = PIPE_BYTES as u64 / 4;
/// Reads of both outputs before anything else is looked at.
const READS: u32 = 32;

/// What holds programs and watches them.
pub struct Executor {
    pub group: Group,
    /// Processes that are to stay: servers, and the watchdog.
    pub staying: Vec<libc::pid_t>,
    /// Those of them that have ended all the same.
    pub gone: Vec<(libc::pid_t, Ended)>,
    spawner: Spawner,
    chunk: Box<[u8]>,
    /// What was printed last, by output.
    printed: [Option<Printed>; 2],
    /// Buffers for what is printed next.
    spare: [Growing; 2],
    /// CPU time of the group after the last execution.
    cpu: Option<Cpu>,
}

/// Bounds of one execution.
pub struct Bounds<'a> {
    pub timeout_ns: u64,
    pub keep_bytes: u64,
    pub flood_bytes: u64,
    pub trial_dir: &'a TrialDir,
    /// Whether a wish to stop ends it.
    pub heeds_stop: bool,
}

/// What ended an execution before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    Stop,
    Timeout,
    Flood,
    Full(String),
}

/// An execution that has ended, with all that it started.
pub struct Executed {
    pub elapsed_ns: u64,
    pub ended: Ended,
    pub used: Used,
    pub cut: Option<Cut>,
    /// What it left running, by name; it was ended.
    pub left: Vec<String>,
    pub outputs: [Rc<Output>; 2],
    /// The ends of both.
    ends: [Vec<u8>; 2],
    /// What was added to its environment and its path.
    pub layout: Added,
}

/// Bytes that are added to what lies above the stack of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added {
    pub environment: u32,
    /// Slashes in the path of the program, which the kernel copies and nobody reads.
    pub path: u32,
}

impl Executed {
    /// Last lines of standard error, or else of standard output, for a message: many programs print
    /// their errors where they print their results.
    pub fn said(&self) -> String {
        let [stdout, stderr] = &self.ends;
        let said = [stderr, stdout].map(|end| output::last_lines(end, 3));
        let said = said.into_iter().find(|lines| !lines.is_empty());
        said.unwrap_or_default()
    }
}

impl Executor {
    /// # Errors
    /// There is no memory.
    pub fn new(group: Group) -> io::Result<Self> {
        reap::become_subreaper(true);
        Ok(Self {
            cpu: group.cpu(),
            group,
            staying: Vec::new(),
            gone: Vec::new(),
            spawner: Spawner::new()?,
            chunk: output::chunk(),
            printed: [None, None],
            spare: [Growing::new(), Growing::new()],
        })
    }

    /// Starts a server in a group of its own.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_server(
        &mut self,
        recipe: &Recipe,
        pipes: &Pipes,
        group: &mut Group,
    ) -> Result<Started, NotStarted> {
        let started = start(&self.spawner, recipe, pipes.writers(), group)?;
        self.staying.push(started.pid);
        Ok(started)
    }

    /// Executes a command.
    ///
    /// # Errors
    /// It could not be started.
    pub fn execute(&mut self, recipe: &Recipe, bounds: &Bounds) -> Result<Executed, NotStarted> {
        let pipes = Pipes::new()?;
        let buffers = mem::replace(&mut self.spare, [Growing::new(), Growing::new()]);
        let mut captures = buffers.map(|buffer| Capture::reusing(buffer, bounds.keep_bytes));
        let started = start(&self.spawner, recipe, pipes.writers(), &mut self.group)?;
        let mut readers = pipes.into_readers();
        let (ended_ns, cut) = self.watch(&started, &mut readers, &mut captures, bounds);
        let mut used = Used::default();
        let ended = match reap::reap(started.pid) {
            Ok((ended, own)) => {
                used = own;
                ended
            }
            // It hangs in the kernel, where no signal reaches it.
            Err(_) => Ended::Signal {
                number: libc::SIGKILL,
                dumped: false,
            },
        };
        let left = self.clear(&mut readers, &mut captures, &mut used);
        let cpu_before = mem::replace(&mut self.cpu, self.group.cpu());
        if let (Some(before), Some(now)) = (cpu_before, self.cpu) {
            let (user_s, system_s) = (now.user_s - before.user_s, now.system_s - before.system_s);
            // More than its processes say: some were never waited for.
            if user_s + system_s > 1.02 * (used.user_s + used.system_s) + 1e-3 {
                (used.user_s, used.system_s) = (user_s, system_s);
            }
        }
        Ok(Executed {
            elapsed_ns: ended_ns.saturating_sub(started.started_ns).max(1),
            ended,
            used,
            cut,
            left,
            ends: [0, 1].map(|which| captures[which].end().to_vec()),
            outputs: [0, 1].map(|which| {
                let capture = mem::replace(&mut captures[which], Capture::new(0));
                capture.finish_after(&mut self.printed[which], &mut self.spare[which])
            }),
            layout: Added::default(),
        })
    }

    /// Waits for its end, reading what it prints.
    fn watch(
        &mut self,
        started: &Started,
        readers: &mut [Option<File>; 2],
        captures: &mut [Capture; 2],
        bounds: &Bounds,
    ) -> (u64, Option<Cut>) {
        let deadline_ns = started.started_ns.saturating_add(bounds.timeout_ns);
        let mut look_ns = started.started_ns;
        let (mut cut, mut seen_bytes, mut is_flowing) = (None, 0, false);
        loop {
            let now_ns = clock::now_ns();
            let wake_ns = match cut {
                None => look_ns.min(deadline_ns).min(now_ns + LOOK_NS),
                Some(_) => now_ns + LOOK_NS,
            };
            let has_ended = wait(started, readers, wake_ns.saturating_sub(now_ns))
                || (!is_flowing && wait(started, &[None, None], QUIET_NS));
            let now_ns = clock::now_ns();
            if has_ended || (cut.is_some() && now_ns > deadline_ns.saturating_add(KILLED_NS)) {
                return (now_ns, cut);
            }
            self.read_some(readers, captures);
            let printed_bytes: u64 = captures.iter().map(Capture::bytes).sum();
            is_flowing = printed_bytes - seen_bytes >= FLOWING_BYTES;
            seen_bytes = printed_bytes;
            if cut.is_some() {
                continue;
            }
            cut = if printed_bytes > bounds.flood_bytes {
                Some(Cut::Flood)
            } else if bounds.heeds_stop && stop::requested() {
                Some(Cut::Stop)
            } else if now_ns >= deadline_ns {
                Some(Cut::Timeout)
            } else if now_ns >= look_ns {
                match bounds.trial_dir.look() {
                    Ok(pause_ns) => {
                        look_ns = now_ns + pause_ns;
                        None
                    }
                    Err(path) => Some(Cut::Full(path.display().to_string())),
                }
            } else {
                None
            };
            if cut.is_some() {
                self.kill();
            }
        }
    }

    /// What the outputs have, but no more than a while of it: one that is left may print for ever.
    fn read_some(&mut self, readers: &mut [Option<File>; 2], captures: &mut [Capture; 2]) {
        let _ = (0..READS).all(|_| self.read(readers, captures));
    }

    /// One read of each output that has something.
    fn read(&mut self, readers: &mut [Option<File>; 2], captures: &mut [Capture; 2]) -> bool {
        let mut has_read = false;
        for (reader, capture) in readers.iter_mut().zip(captures) {
            let Some(open) = reader else { continue };
            match capture.take(open, &mut self.chunk) {
                Ok(Taken::Some) => has_read = true,
                Ok(Taken::NothingNow) => {}
                Ok(Taken::End) | Err(_) => *reader = None,
            }
        }
        has_read
    }

    /// Waits for what the command left, ends it after a while, and reads the rest of its output.
    /// Gives the names of what had to be ended.
    fn clear(
        &mut self,
        readers: &mut [Option<File>; 2],
        captures: &mut [Capture; 2],
        used: &mut Used,
    ) -> Vec<String> {
        let began_ns = clock::now_ns();
        let mut left = Vec::new();
        loop {
            self.read_some(readers, captures);
            self.reap_orphans(used);
            let running = self.running();
            if running.is_empty() {
                while self.read(readers, captures) {}
                self.reap_orphans(used);
                return left;
            }
            let waited_ns = clock::now_ns() - began_ns;
            if waited_ns > KILLED_NS {
                return left;
            }
            if waited_ns > GRACE_NS {
                if left.is_empty() {
                    // Some may have ended since they were listed.
                    let running = running.into_iter().filter(|&pid| !reap::has_ended(pid));
                    left = running.map(group::name_of).collect();
                }
                self.kill();
            }
            thread::sleep(PAUSE);
        }
    }

    /// Takes leave of all children that have ended.
    pub fn reap_orphans(&mut self, used: &mut Used) {
        while let Some(pid) = reap::next_ended() {
            match reap::reap(pid) {
                Ok((ended, _)) if self.staying.contains(&pid) => self.gone.push((pid, ended)),
                Ok((_, orphan)) => used.add(&orphan),
                Err(_) => return,
            }
        }
    }

    /// What commands have running now.
    fn running(&mut self) -> Vec<libc::pid_t> {
        let in_group = self.group.processes();
        in_group.unwrap_or_else(|| reap::descendants(&self.staying))
    }

    /// Ends all that commands have running.
    fn kill(&mut self) {
        match self.group.held_by() {
            HeldBy::Subreaper => self.running().into_iter().for_each(group::kill_process),
            _ => self.group.kill(),
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.kill();
        self.reap_orphans(&mut Used::default());
        reap::become_subreaper(false);
    }
}

/// Starts a program in `group`, which is given up where the kernel does not let it in.
fn start(
    spawner: &Spawner,
    recipe: &Recipe,
    outputs: [BorrowedFd; 2],
    group: &mut Group,
) -> Result<Started, NotStarted> {
    let started = spawner.spawn(recipe, outputs, group.way_in());
    let is_kept_out = |why: &NotStarted| {
        let may_pass = [io::ErrorKind::OutOfMemory, io::ErrorKind::WouldBlock];
        matches!(why.step, Step::Clone | Step::Join) && !may_pass.contains(&why.error.kind())
    };
    match started {
        Err(why) if group.held_by() != HeldBy::Subreaper && is_kept_out(&why) => {
            *group = Group::none();
            spawner.spawn(recipe, outputs, group.way_in())
        }
        other => other,
    }
}

/// Waits until the process has ended (whether it has), has printed, or the time is over.
fn wait(started: &Started, readers: &[Option<File>; 2], pause_ns: u64) -> bool {
    let mut polled = vec![PollFd::new(&started.pidfd, PollFlags::IN)];
    let open = readers.iter().flatten();
    polled.extend(open.map(|reader| PollFd::new(reader, PollFlags::IN)));
    let pause = Timespec {
        tv_sec: (pause_ns / 1_000_000_000) as i64,
        tv_nsec: (pause_ns % 1_000_000_000) as _,
    };
    let ready = rustix::event::poll(&mut polled, Some(&pause));
    // A signal is an occasion to look.
    ready.is_ok() && !polled[0].revents().is_empty()
}

/// Two pipes: for standard output and standard error.
pub struct Pipes([(OwnedFd, OwnedFd); 2]);

impl Pipes {
    /// # Errors
    /// There are no more descriptors.
    pub fn new() -> io::Result<Self> {
        let pipe = || -> io::Result<_> {
            let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&reader, true)?;
            // A larger pipe wakes us less often; beyond the user's limit it stays as it is.
            // SAFETY: no memory is passed.
            unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE_BYTES) };
            Ok((reader, writer))
        };
        Ok(Self([pipe()?, pipe()?]))
    }

    /// The ends that a program writes to.
    pub fn writers(&self) -> [BorrowedFd<'_>; 2] {
        [self.0[0].1.as_fd(), self.0[1].1.as_fd()]
    }

    /// The ends to read from; the others are closed.
    pub fn into_readers(self) -> [Option<File>; 2] {
        self.0.map(|(reader, _)| Some(File::from(reader)))
    }
}
