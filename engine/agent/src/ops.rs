//! Carrying out changes that are data, each of them in the ledger before.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use kit::signals::Signals;
use rustix::fs::{fallocate, FallocateFlags};
use wire::{
    HostDid, HostDone, HostFailure, HostFailureKind, HostOp, HostOps, HostUndone, OpLoop, OpMake,
    OpMount, OpPut, OpRequire, OpRun, OpSet, OpText,
};

use crate::change::{behind_loop, chosen, set, Change};
use crate::command::{self, failure};
use crate::ledger::{self, recover, Ledger};
use crate::request::shown;

/// `<linux/loop.h>`
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Another one may take the free device first.
const TRIES: u32 = 20;

/// What an agent has changed, and how that is taken back.
#[derive(Default)]
pub struct Changes {
    ledger: Option<Ledger>,
    /// By turn and name: what ops have yielded.
    outputs: BTreeMap<(String, String), String>,
}

impl Changes {
    /// Carries ops out in their order; where one fails, the whole turn is taken back.
    ///
    /// # Errors
    /// Why the first one that has failed did; what was taken back is in the text.
    pub fn carry_out(&mut self, ops: &HostOps, signals: &Signals) -> Result<HostDone, HostFailure> {
        for (at, op) in ops.list.iter().enumerate() {
            if let Err(failed) = self.carry_out_one(&ops.turn, op, signals) {
                let (done, left) = self.take_back(Some(&ops.turn));
                let text = [vec![format!("op {at}: {}", failed.text)], done, left].concat();
                return Err(failure(failed.kind, shown(&text.join("; "))));
            }
        }
        let of_turn = self
            .outputs
            .iter()
            .filter(|((turn, _), _)| *turn == ops.turn);
        let outputs = of_turn.map(|((_, name), value)| (name.clone(), value.clone()));
        Ok(HostDone::Ops(HostDid {
            outputs: outputs.collect(),
        }))
    }

    /// Takes a turn back.
    pub fn undo(&mut self, turn: &str) -> HostDone {
        let (done, left) = self.take_back(Some(turn));
        HostDone::Undone(HostUndone { done, left })
    }

    /// Takes back what agents that died have left.
    ///
    /// # Errors
    /// There is no state directory.
    pub fn recover() -> Result<HostDone, HostFailure> {
        let directory = ledger::state_directory().map_err(lacks)?;
        let recover::PutBack { done, left } = recover::put_back(&directory);
        Ok(HostDone::Undone(HostUndone { done, left }))
    }

    /// Takes everything back; what could not be.
    pub fn close(&mut self) -> Vec<String> {
        let closed = self.ledger.take().map(Ledger::close);
        closed.map_or_else(Vec::new, |(_, left)| left)
    }

    fn take_back(&mut self, turn: Option<&str>) -> (Vec<String>, Vec<String>) {
        let found = self.ledger.as_mut().map(|ledger| ledger.undo(turn));
        self.outputs
            .retain(|(of, _), _| turn.is_some_and(|turn| of != turn));
        found.unwrap_or_default()
    }

    fn carry_out_one(
        &mut self,
        turn: &str,
        op: &HostOp,
        signals: &Signals,
    ) -> Result<(), HostFailure> {
        match op {
            HostOp::Make(OpMake { directory }) => {
                let directory = self.path(turn, directory)?;
                self.record(
                    turn,
                    Change::Made {
                        directory: directory.clone(),
                    },
                    &directory,
                )?;
                fs::create_dir(&directory).map_err(|error| failed(&directory, error))
            }
            HostOp::Put(OpPut { path, zeros }) => {
                let path = self.path(turn, path)?;
                self.record(turn, Change::Put { path: path.clone() }, &path)?;
                lay_out(&path, *zeros).map_err(|error| failed(&path, error))
            }
            HostOp::Loop(OpLoop { file, name }) => {
                let file = self.path(turn, file)?;
                self.note(turn, Change::Attached { file: file.clone() })?;
                let device = attach(&file).map_err(|error| failed(&file, error))?;
                self.outputs.insert((turn.to_owned(), name.clone()), device);
                Ok(())
            }
            HostOp::Require(OpRequire { behind }) => self.require(turn, behind).map(|_| ()),
            HostOp::Set(OpSet {
                file,
                value,
                while_behind,
            }) => self.set(turn, file, value, while_behind.as_ref()),
            HostOp::Mount(mount) => self.mount(turn, mount, signals),
            HostOp::Run(OpRun { argv }) => {
                let argv: Result<Vec<_>, _> =
                    argv.iter().map(|text| self.text(turn, text)).collect();
                self.run(&argv?, signals)
            }
        }
    }

    fn set(
        &mut self,
        turn: &str,
        file: &OpText,
        value: &str,
        behind: Option<&[OpText; 2]>,
    ) -> Result<(), HostFailure> {
        let file = self.path(turn, file)?;
        let behind = behind
            .map(|behind| self.require(turn, behind))
            .transpose()?;
        let before = chosen(&file).map_err(plain)?;
        if before == value {
            return Ok(());
        }
        let change = Change::Set {
            file: file.clone(),
            before,
            value: value.to_owned(),
            behind,
        };
        self.note(turn, change)?;
        set(&file, value).map_err(plain)
    }

    fn mount(&mut self, turn: &str, mount: &OpMount, signals: &Signals) -> Result<(), HostFailure> {
        let from = self.text(turn, &mount.from)?;
        let at = self.path(turn, &mount.at)?;
        let behind = self.path(turn, &mount.behind)?;
        let change = Change::Mounted {
            at: at.clone(),
            behind,
        };
        self.note(turn, change)?;
        let at = at.to_string_lossy().into_owned();
        let mut argv = vec!["mount".to_owned(), "-t".to_owned(), mount.kind.clone()];
        if !mount.options.is_empty() {
            argv.extend(["-o".to_owned(), mount.options.join(",")]);
        }
        argv.extend([from, at]);
        self.run(&argv, signals)
    }

    /// Makes sure that a loop device has a file behind it; both, as they are called.
    fn require(&self, turn: &str, behind: &[OpText; 2]) -> Result<(String, PathBuf), HostFailure> {
        let (device, file) = (self.text(turn, &behind[0])?, self.path(turn, &behind[1])?);
        match behind_loop(&device).as_ref() == Some(&file) {
            true => Ok((device, file)),
            false => {
                let text = format!("/dev/{device} is no longer behind {}", file.display());
                Err(failure(HostFailureKind::Refused, shown(&text)))
            }
        }
    }

    /// Runs a command to its end; the ledger's lock is held until then, whoever is killed.
    fn run(&mut self, argv: &[String], signals: &Signals) -> Result<(), HostFailure> {
        let lock = self.ledger()?.lock();
        command::run_to_its_end(argv, lock.as_fd(), signals)
    }

    /// Writes down what will be made, where nothing is yet: what was there is nobody's to remove.
    fn record(&mut self, turn: &str, change: Change, path: &Path) -> Result<(), HostFailure> {
        if fs::symlink_metadata(path).is_ok() {
            let text = format!("{} is there already", path.display());
            return Err(failure(HostFailureKind::Refused, shown(&text)));
        }
        self.note(turn, change)
    }

    fn note(&mut self, turn: &str, change: Change) -> Result<(), HostFailure> {
        self.ledger()?.record(turn, change).map_err(lacks)?;
        Ok(())
    }

    fn ledger(&mut self) -> Result<&mut Ledger, HostFailure> {
        if self.ledger.is_none() {
            let directory = ledger::state_directory().map_err(lacks)?;
            let opened = Ledger::open(&directory).map_err(|error| {
                let text = format!(
                    "{}: cannot keep the record of changes here ({error}); TILTYARD_STATE names another \
                     directory",
                    directory.display()
                );
                failure(HostFailureKind::Lacks, shown(&text))
            })?;
            self.ledger = Some(opened);
        }
        self.ledger
            .as_mut()
            .ok_or_else(|| lacks(io::ErrorKind::NotFound.into()))
    }

    fn text(&self, turn: &str, text: &OpText) -> Result<String, HostFailure> {
        match text {
            OpText::Text(text) => Ok(text.clone()),
            OpText::Joined { cat } => cat.iter().map(|part| self.text(turn, part)).collect(),
            OpText::Of { of } => {
                let found = self.outputs.get(&(turn.to_owned(), of.clone()));
                found.cloned().ok_or_else(|| {
                    let text = format!("no op before it has yielded \"{of}\"");
                    failure(HostFailureKind::Request, shown(&text))
                })
            }
        }
    }

    fn path(&self, turn: &str, text: &OpText) -> Result<PathBuf, HostFailure> {
        let path = PathBuf::from(self.text(turn, text)?);
        match path.is_absolute() {
            true => Ok(path),
            false => {
                let text = format!("{} is no absolute path", path.display());
                Err(failure(HostFailureKind::Request, shown(&text)))
            }
        }
    }
}

fn failed(path: &Path, error: io::Error) -> HostFailure {
    plain(io::Error::new(
        error.kind(),
        format!("{}: {error}", path.display()),
    ))
}

fn plain(error: io::Error) -> HostFailure {
    failure(HostFailureKind::Failed, shown(&error.to_string()))
}

fn lacks(error: io::Error) -> HostFailure {
    failure(HostFailureKind::Lacks, shown(&error.to_string()))
}

/// A new file with blocks of its own.
fn lay_out(path: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if bytes > 0 {
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    }
    file.sync_all()
}

/// Attaches a file to a free loop device; its name. Where its file system has no direct I/O, through the
/// page cache.
fn attach(file: &Path) -> io::Result<String> {
    let image = OpenOptions::new().read(true).write(true).open(file)?;
    let control = File::options()
        .read(true)
        .write(true)
        .open("/dev/loop-control")?;
    let mut last = io::ErrorKind::AddrInUse.into();
    for _ in 0..TRIES {
        // SAFETY: it takes no argument.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        let name = format!("loop{number}");
        let device = File::options()
            .read(true)
            .write(true)
            .open(Path::new("/dev").join(&name))?;
        for flags in [LO_FLAGS_DIRECT_IO, 0] {
            match configure(&device, &image, file, flags) {
                Ok(()) => return Ok(name),
                Err(error) => last = error,
            }
        }
    }
    Err(last)
}

/// `struct loop_config` of the kernel, of which little is set.
#[repr(C)]
struct LoopConfig {
    file: u32,
    block_bytes: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

fn configure(device: &File, image: &File, path: &Path, flags: u32) -> io::Result<()> {
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.file = image.as_raw_fd().cast_unsigned();
    config.info.flags = flags;
    let name = path.as_os_str().as_encoded_bytes();
    let shown = &name[..name.len().min(config.info.file_name.len() - 1)];
    config.info.file_name[..shown.len()].copy_from_slice(shown);
    // SAFETY: the kernel reads a `struct loop_config` there.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
