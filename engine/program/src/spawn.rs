//! Starting a program: clone3(2) straight into its group, then execve(2) as soon as possible.
//!
//! The instant from which a program is timed is taken by the new process, right before execve:
//! joining a group, changing the user and placing on CPUs are not part of it. Between clone and
//! execve nothing is allocated and no lock is taken, since another thread may hold one.

use std::ffi::{c_char, c_int, c_long, CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use kit::{clock, node};

/// linux/sched.h; the constant of libc is too narrow for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// Number of the highest signal.
const SIGNALS: c_int = 64;

/// All that a new process needs, in the form in which the kernel takes it.
pub struct Recipe<'a> {
    pub path: &'a CStr,
    pub arguments: &'a Strings,
    pub environment: &'a Strings,
    /// The working directory, from `home` unless it is absolute.
    pub directory: &'a CStr,
    /// The path of a directory, which the program must be able to use, and the directory itself.
    pub home: (&'a CStr, BorrowedFd<'a>),
    /// The network namespace, where it is not ours.
    pub network: Option<BorrowedFd<'a>>,
    pub stdin: BorrowedFd<'a>,
    /// In place of the pipe.
    pub stdout: Option<BorrowedFd<'a>>,
    pub cpus: &'a libc::cpu_set_t,
    pub numa: Option<u32>,
    pub account: Option<&'a Ids>,
}

/// Numbers of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids {
    pub user: libc::uid_t,
    pub group: libc::gid_t,
    pub groups: Vec<libc::gid_t>,
}

/// The group that a new process belongs to.
#[derive(Debug, Clone, Copy)]
pub enum Into<'a> {
    /// It is made inside the group of this directory (version 2).
    Cgroup(BorrowedFd<'a>),
    /// It joins by writing to this `cgroup.procs`.
    Procs(BorrowedFd<'a>),
    /// There is none.
    Nothing,
}

/// A process that has become its program.
#[derive(Debug)]
pub struct Started {
    pub pid: libc::pid_t,
    pub pidfd: OwnedFd,
    /// When it called execve, in ns of the clock.
    pub started_ns: u64,
}

/// What could not be done.
#[derive(Debug)]
pub struct NotStarted {
    pub step: Step,
    pub error: io::Error,
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        let step = Step::Clone;
        Self { step, error }
    }
}

/// What a new process does before it becomes the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Step {
    Clone,
    Join,
    Streams,
    Place,
    Network,
    Account,
    Directory,
    Execute,
}

const STEPS: [Step; 8] = [
    Step::Clone,
    Step::Join,
    Step::Streams,
    Step::Place,
    Step::Network,
    Step::Account,
    Step::Directory,
    Step::Execute,
];

/// Texts as execve takes them: pointers that end with a null one.
pub struct Strings {
    pointers: Vec<*const c_char>,
    _texts: Vec<CString>,
}

impl Strings {
    /// Texts with a NUL byte are cut there; parameters with one were refused.
    pub fn of(texts: impl IntoIterator<Item = String>) -> Self {
        let texts = texts.into_iter().map(|text| c_text(text.as_bytes()));
        let texts: Vec<CString> = texts.collect();
        let pointers = texts.iter().map(|text| text.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _texts: texts,
        }
    }
}

/// `text` up to its first NUL byte.
pub fn c_text(text: &[u8]) -> CString {
    let before = text.split(|&byte| byte == 0).next();
    CString::new(before.unwrap_or_default()).unwrap_or_default()
}

/// What the new process tells, in memory that both share.
#[repr(C)]
#[derive(Default)]
struct Told {
    started_ns: AtomicU64,
    failed: AtomicU32,
    error: AtomicI32,
}

/// The page of [`Told`], and what a new process has to put right.
pub struct Spawner {
    told: *mut Told,
    /// Signals that we ignore, and that a program would ignore as well; execve(2) resets others.
    ignored: Vec<c_int>,
}

impl Spawner {
    /// # Errors
    /// There is no memory.
    pub fn new() -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let page =
            unsafe { libc::mmap(ptr::null_mut(), size_of::<Told>(), protection, flags, -1, 0) };
        match page == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(Self {
                told: page.cast(),
                ignored: (1..=SIGNALS).filter(|&signal| is_ignored(signal)).collect(),
            }),
        }
    }

    fn told(&self) -> &Told {
        // SAFETY: the mapping lives as long as this, and all of it are atomics, for which zeroes
        // are valid.
        unsafe { &*self.told }
    }

    /// Starts a program; returns when it has become one.
    ///
    /// # Errors
    /// What could not be done; no process is left.
    pub fn spawn(
        &self,
        recipe: &Recipe,
        outputs: [BorrowedFd; 2],
        into: Into,
    ) -> Result<Started, NotStarted> {
        let told = self.told();
        told.failed.store(0, Relaxed);
        let (pid, pidfd) = match clone(into) {
            // SAFETY: this is the new process, and it never returns.
            Ok(Cloned::New) => unsafe { become_program(self, recipe, outputs, into) },
            Ok(Cloned::Old { pid, pidfd }) => (pid, pidfd),
            Err(error) => return Err(error.into()),
        };
        let failed = told.failed.load(Relaxed);
        if failed == 0 {
            return Ok(Started {
                pid,
                pidfd,
                started_ns: told.started_ns.load(Relaxed),
            });
        }
        // SAFETY: our own child, which has exited; nothing is to be known of how.
        unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
        Err(NotStarted {
            step: STEPS[failed as usize % STEPS.len()],
            error: io::Error::from_raw_os_error(told.error.load(Relaxed)),
        })
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.told.cast(), size_of::<Told>()) };
    }
}

fn is_ignored(signal: c_int) -> bool {
    // SAFETY: zeroes are valid, and the kernel fills them.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

enum Cloned {
    New,
    Old { pid: libc::pid_t, pidfd: OwnedFd },
}

/// CLONE_VFORK without CLONE_VM: this process waits until the new one has its program, and the
/// new one has a small address space of its own, so that its peak memory is not that of ours.
fn clone(into: Into) -> io::Result<Cloned> {
    let mut pidfd: c_int = -1;
    let flags = (libc::CLONE_PIDFD | libc::CLONE_VFORK) as u64;
    let (cgroup, more) = match into {
        Into::Cgroup(directory) => (directory.as_raw_fd() as u64, CLONE_INTO_CGROUP),
        _ => (0, 0),
    };
    // SAFETY: zeroes are valid; what the kernel writes is `pidfd`, which outlives the call.
    let pid = unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.flags = flags | more;
        arguments.pidfd = &raw mut pidfd as u64;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = cgroup;
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of::<libc::clone_args>(),
        )
    };
    let is_unknown = pid < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS);
    let pid = match is_unknown && more == 0 {
        true => old_clone(flags, &mut pidfd),
        false => pid,
    };
    match pid {
        0 => Ok(Cloned::New),
        1.. => Ok(Cloned::Old {
            pid: pid as libc::pid_t,
            // SAFETY: the kernel made it for us.
            pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) },
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where a sandbox does not know clone3.
fn old_clone(flags: u64, pidfd: &mut c_int) -> c_long {
    let flags = flags as c_long | c_long::from(libc::SIGCHLD);
    // SAFETY: as fork(2); the kernel writes to `pidfd`, which outlives the call.
    unsafe { libc::syscall(libc::SYS_clone, flags, 0, &raw mut *pidfd, 0, 0) }
}

/// What the new process does. Never returns.
///
/// # Safety
/// To be called once, in a process of its own: it closes and replaces everything.
unsafe fn become_program(
    spawner: &Spawner,
    recipe: &Recipe,
    outputs: [BorrowedFd; 2],
    into: Into,
) -> ! {
    let told = spawner.told();
    let failed = prepare(&spawner.ignored, recipe, outputs, into)
        .err()
        .unwrap_or_else(|| {
            told.started_ns.store(clock::now_ns(), Relaxed);
            libc::execve(
                recipe.path.as_ptr(),
                recipe.arguments.pointers.as_ptr(),
                recipe.environment.pointers.as_ptr(),
            );
            Step::Execute
        });
    told.error.store(*libc::__errno_location(), Relaxed);
    told.failed.store(failed as u32, Relaxed);
    libc::_exit(127)
}

unsafe fn prepare(
    ignored: &[c_int],
    recipe: &Recipe,
    outputs: [BorrowedFd; 2],
    into: Into,
) -> Result<(), Step> {
    let done = |step: Step, status: c_int| match status {
        0.. => Ok(()),
        _ => Err(step),
    };
    for &signal in ignored {
        libc::signal(signal, libc::SIG_DFL);
    }
    if let Into::Procs(procs) = into {
        let written = libc::write(procs.as_raw_fd(), c"0".as_ptr().cast(), 1);
        done(Step::Join, written as c_int)?;
    }
    // A session of its own: no terminal, and no signal that a person sends to ours.
    libc::setsid();
    libc::umask(0o022);
    let stdout = recipe.stdout.unwrap_or(outputs[0]);
    for (target, stream) in (0..).zip([recipe.stdin, stdout, outputs[1]]) {
        done(Step::Streams, libc::dup2(stream.as_raw_fd(), target))?;
    }
    // Nothing else is open to it; older kernels than 5.11 do not know the call.
    libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as c_int);
    let placed = libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), recipe.cpus);
    done(Step::Place, placed)?;
    if recipe.numa.is_some() {
        node::prefer(recipe.numa).map_err(|_| Step::Place)?;
    }
    if let Some(network) = recipe.network {
        let entered = libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET);
        done(Step::Network, entered)?;
    }
    if let Some(ids) = recipe.account {
        // Not by the C library, which would have all threads of the engine follow, and wait for
        // them: this process has the memory of the engine and none of its threads.
        let (count, groups) = (ids.groups.len(), ids.groups.as_ptr());
        for failed in [
            libc::syscall(libc::SYS_setgroups, count, groups),
            libc::syscall(libc::SYS_setresgid, ids.group, ids.group, ids.group),
            libc::syscall(libc::SYS_setresuid, ids.user, ids.user, ids.user),
        ] {
            done(Step::Account, failed as c_int)?;
        }
    }
    if recipe.directory.to_bytes().first() != Some(&b'/') {
        let (path, held) = recipe.home;
        done(Step::Directory, libc::chdir(path.as_ptr()))?;
        done(Step::Directory, libc::fchdir(held.as_raw_fd()))?;
    }
    done(Step::Directory, libc::chdir(recipe.directory.as_ptr()))?;
    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    let mut none: libc::sigset_t = std::mem::zeroed();
    libc::sigemptyset(&raw mut none);
    libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    Ok(())
}
