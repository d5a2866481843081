//! Carrying out changes that are data, each of them in the ledger before.

mod apart;
mod disks;
mod isolate;
mod leave;
mod pool;
mod setting;
mod state;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wire::{
    HostChanged, HostDid, HostDone, HostFailure, HostFailureKind, HostHeld, HostHold, HostLetGo,
    HostOp, HostOps, HostProgress, HostRan, HostRecover, HostServers, HostUndo, HostUndone, OpLoop,
    OpMake, OpMend, OpMount, OpNetwork, OpRelease, OpRequire, OpStart, OpText, StartReady,
    StartStop,
};

use crate::change::Change;
use crate::command::{self, failed, failure, reason};
use crate::content;
use crate::device::identity::backing_file;
use crate::device::Held;
use crate::ledger::{self, recover, Ledger};
use crate::machine::Machine;
use crate::marked::Marked;
use crate::meanwhile::Meanwhile;
use crate::network;
use crate::request::shown;
use crate::start::Keepers;

/// `<linux/loop.h>`
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// This engine's own file, which may have been removed.
const SELF: &str = "self";
/// Another one may take the free device first.
const TRIES: u32 = 20;

/// The run of nobody: who has the machine for it only puts things back.
const PUTS_BACK: &str = "";

/// What an agent has changed, and how that is taken back.
#[derive(Default)]
pub struct Changes {
    ledger: Option<Ledger>,
    machine: Machine,
    /// Block devices that are open, each by the name that was given.
    held: BTreeMap<String, Held>,
    keepers: Keepers,
}

impl Changes {
    /// Carries ops out in their order; where one fails, or they are not to go on, what they have changed
    /// is taken back.
    ///
    /// # Errors
    /// Why the first one that has failed did, and what could not be taken back.
    pub fn carry_out(
        &mut self,
        ops: &HostOps,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<HostDone, HostFailure> {
        let mut list = List {
            ledger: &mut self.ledger,
            holds_machine: self.machine.is_held(),
            held: &mut self.held,
            keepers: &mut self.keepers,
            meanwhile,
            at: 0,
            did: HostDid::default(),
        };
        for op in &ops.list {
            if let Err(failed) = list.carry_out(op) {
                let failed = list.give_up(failed);
                self.held.clear();
                self.close_if_empty();
                return Err(failed);
            }
            list.at += 1;
        }
        let mut did = list.did;
        did.ledger = self.ledger.as_ref().map_or_else(String::new, Ledger::name);
        self.close_if_empty();
        Ok(HostDone::Ops(did))
    }

    /// Takes changes back: of this agent, or of one that has ended or is about to.
    ///
    /// # Errors
    /// There is no state directory.
    pub fn undo(
        &mut self,
        undo: &HostUndo,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<HostDone, HostFailure> {
        self.held.clear();
        let own = self.ledger.as_mut();
        let (done, left) = match own.filter(|own| own.name() == undo.ledger) {
            Some(own) => own.undo(&undo.numbers, undo.still),
            None => {
                let directory = ledger::state_directory().map_err(lacks)?;
                let path = directory.join(format!("{}.{}", undo.ledger, ledger::ENDING));
                let is_held = self.machine.is_held();
                let mut may = self.may_change_machine();
                let told = recover::put_back_these(&path, &undo.numbers, &mut may, meanwhile);
                drop(may);
                if !is_held {
                    self.machine.let_go(PUTS_BACK);
                }
                (told.done, told.left)
            }
        };
        self.close_if_empty();
        Ok(HostDone::Undone(HostUndone { done, left }))
    }

    /// What has become of processes that were started.
    pub fn servers(&mut self, asked: &HostServers) -> HostDone {
        HostDone::Servers(self.keepers.servers(&asked.marks))
    }

    /// The processes that keep others, which are to stay.
    pub fn keepers(&self) -> Vec<i32> {
        self.keepers.pids()
    }

    /// A ledger is there as long as something is changed.
    fn close_if_empty(&mut self) {
        self.keepers.forget_ended();
        if let Some(own) = self.ledger.take_if(|own| !own.is_outstanding()) {
            own.close();
        }
    }

    /// Takes back what agents that died have left.
    ///
    /// # Errors
    /// There is no state directory.
    pub fn recover(
        &mut self,
        asked: &HostRecover,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<HostDone, HostFailure> {
        let directory = ledger::state_directory().map_err(lacks)?;
        let which = recover::Which {
            kept: asked.kept,
            kept_for: asked.kept_for.as_deref(),
        };
        let is_held = self.machine.is_held();
        let recover::PutBack { done, left } = self.put_back(&directory, which, meanwhile);
        if !is_held {
            self.machine.let_go(PUTS_BACK);
        }
        Ok(HostDone::Undone(HostUndone { done, left }))
    }

    fn put_back(
        &mut self,
        directory: &Path,
        which: recover::Which<'_>,
        meanwhile: &mut dyn Meanwhile,
    ) -> recover::PutBack {
        recover::put_back(directory, which, &mut self.may_change_machine(), meanwhile)
    }

    /// Who holds the machine may, and who can take it for the time being.
    fn may_change_machine(&mut self) -> impl FnMut(&mut dyn Meanwhile) -> Result<(), String> + '_ {
        let machine = &mut self.machine;
        |meanwhile| {
            if machine.is_held() {
                return Ok(());
            }
            let taken = machine.take("what an earlier run left", PUTS_BACK, meanwhile);
            taken.map(drop).map_err(|failed| failed.text)
        }
    }

    /// Holds the machine for a run. What its last holder has left is put back first.
    ///
    /// # Errors
    /// `Busy`: another run holds it. `Refused`: what the last one left cannot be put back.
    pub fn hold(
        &mut self,
        asked: &HostHold,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<HostDone, HostFailure> {
        let directory = ledger::state_directory().map_err(lacks)?;
        let last = self.machine.take(&asked.what, &asked.run, meanwhile)?;
        let mut done = Vec::new();
        if let Some(last) = last.filter(|last| last.run != asked.run) {
            let found = self.put_back(&last.directory, recover::Which::default(), meanwhile);
            if let Some(left) = found.left.first() {
                self.machine.let_go(&asked.run);
                let where_it_is = match last.directory == directory {
                    true => String::new(),
                    false => format!("TILTYARD_STATE={} ", last.directory.display()),
                };
                let then = match left.contains("Fix: ") {
                    true => "; then",
                    false => ". Fix",
                };
                let text = format!(
                    "process {} has left this machine changed: {left}{then}: {where_it_is}tiltyard restore",
                    last.pid()
                );
                return Err(failure(HostFailureKind::Refused, shown(&text)));
            }
            done = found.done;
        }
        self.machine.sign(&directory).map_err(lacks)?;
        let run = Some(asked.run.clone());
        Ok(HostDone::Held(HostHeld { run, done }))
    }

    /// Lets go of the machine, unless something of it is still changed.
    pub fn let_go(&mut self, asked: &HostLetGo) -> HostDone {
        if !self.changes_machine() {
            self.machine.let_go(&asked.run);
        }
        HostDone::Held(HostHeld {
            run: self.machine.run(),
            ..HostHeld::default()
        })
    }

    fn changes_machine(&self) -> bool {
        self.ledger.as_ref().is_some_and(Ledger::changes_machine)
    }

    /// Whether something is to be taken back.
    pub fn is_outstanding(&self) -> bool {
        self.ledger.is_some()
    }

    /// At the end: takes everything back; what could not be.
    pub fn close(&mut self) -> Vec<String> {
        let closed = self.ledger.take().map(Ledger::close);
        let (_, left) = closed.unwrap_or_default();
        self.machine.close(!left.is_empty());
        left
    }
}

/// Ops that are being carried out.
pub struct List<'a> {
    ledger: &'a mut Option<Ledger>,
    holds_machine: bool,
    held: &'a mut BTreeMap<String, Held>,
    keepers: &'a mut Keepers,
    meanwhile: &'a mut dyn Meanwhile,
    /// Which op it is at.
    at: u32,
    did: HostDid,
}

impl List<'_> {
    fn carry_out(&mut self, op: &HostOp) -> Result<(), HostFailure> {
        self.meanwhile.wait(Some(Duration::ZERO))?;
        match op {
            HostOp::Make(make) => self.make(make),
            HostOp::Put(put) => self.put(put),
            HostOp::Mend(OpMend { path }) => {
                content::mend(&self.path(path)?, self.at, self.meanwhile)
            }
            HostOp::Loop(OpLoop { file, name }) => {
                let file = self.path(file)?;
                self.note(Change::Attached { file: file.clone() })?;
                let device = attach(&file).map_err(|error| failed(&file, error))?;
                self.did.outputs.insert(name.clone(), device);
                Ok(())
            }
            HostOp::Require(OpRequire { behind }) => {
                self.require(behind, "not formatted").map(|_| ())
            }
            HostOp::Set(set) => self.set(set),
            HostOp::Mount(mount) => self.mount(mount),
            HostOp::Run(run) => {
                let argv = self.argv(&run.argv)?;
                match &run.back {
                    None => self.run(argv),
                    Some(back) => self.run_with_way_back(argv, back, run.skip),
                }
            }
            HostOp::Hold(hold) => self.hold(hold),
            HostOp::Format(format) => self.format(format),
            HostOp::Release(OpRelease { device }) => {
                self.held.remove(device);
                Ok(())
            }
            HostOp::Start(start) => self.start(start),
            HostOp::Network(OpNetwork { name }) => {
                let change = Change::Network { name: name.clone() };
                self.record(change, &network::path_of(name))?;
                self.run(["ip", "netns", "add", name].map(str::to_owned).to_vec())
            }
            HostOp::Keep(keep) => self.keep(keep),
            HostOp::PutBack(put) => self.put_back(put),
            HostOp::Age(age) => self.age(age),
            HostOp::Limit(limit) => self.limit(limit),
            HostOp::Isolate(isolate) => self.isolate(isolate),
            HostOp::Owe(owe) => self.owe(owe),
            HostOp::Pool(pool) => self.pool(pool),
        }
    }

    fn start(&mut self, asked: &OpStart) -> Result<(), HostFailure> {
        let start = asked.with(|text| self.text(text))?;
        let is_recorded = start.again;
        if !is_recorded {
            let mounted = match &start.stop {
                StartStop::Unmount(at) => Some(at.into()),
                _ => None,
            };
            let marked = Marked::of(&start);
            self.note(Change::Started { marked, mounted })?;
        }
        let at = self.at;
        self.meanwhile.tell(HostProgress {
            at,
            done_bytes: 0,
            of_bytes: 0,
        });
        let (pid, mut started) = self.keepers.start(&start, self.meanwhile)?;
        if !start.name.is_empty() {
            let outputs = &mut self.did.outputs;
            outputs.insert(start.name.clone(), pid.to_string());
        }
        started.at = at;
        self.did.started.push(started);
        if start.ready == StartReady::Ended && !is_recorded {
            if let (Some(own), Some(last)) = (self.ledger.as_mut(), self.did.changes.pop()) {
                own.undo(&[last.number], false);
            }
        }
        Ok(())
    }

    /// Takes back what these have changed, last first; what is said of it all.
    fn give_up(&mut self, why: HostFailure) -> HostFailure {
        let numbers: Vec<u64> = self.did.changes.iter().map(|one| one.number).collect();
        let ledger = self.ledger.as_mut();
        let (_, left) = ledger.map_or_else(Default::default, |own| own.undo(&numbers, false));
        HostFailure { left, ..why }
    }

    fn make(&mut self, make: &OpMake) -> Result<(), HostFailure> {
        let directory = self.path(&make.directory)?;
        if let Some(name) = &make.name {
            return self.make_apart(directory, name);
        }
        if let Some(process) = &make.within {
            return self.make_within(make, directory, process);
        }
        if !make.inside {
            let change = Change::Made {
                directory: directory.clone(),
                apart: None,
            };
            self.record(change, &directory)?;
        }
        let mode = if make.private { 0o700 } else { 0o777 };
        match DirBuilder::new().mode(mode).create(&directory) {
            Err(error) if make.inside && error.kind() == ErrorKind::AlreadyExists => {
                match fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir()) {
                    true => Ok(()),
                    false => Err(refused(&directory, "is there already, and is no directory")),
                }
            }
            made => made.map_err(|error| failed(&directory, error)),
        }
    }

    fn mount(&mut self, mount: &OpMount) -> Result<(), HostFailure> {
        let from = self.text(&mount.from)?;
        let at = self.path(&mount.at)?;
        let behind = mount.behind.as_ref();
        let behind = behind.map(|behind| self.path(behind)).transpose()?;
        let change = Change::Mounted {
            at: at.clone(),
            behind,
        };
        match mount.again {
            true => change.take_back().map(drop).map_err(plain)?,
            false => self.note(change)?,
        }
        if let Some(apart) = &mount.apart {
            return self.show_apart(&from, apart, &at);
        }
        let mut argv = vec!["mount".to_owned()];
        if !mount.kind.is_empty() {
            argv.extend(["-t".to_owned(), mount.kind.clone()]);
        }
        if !mount.options.is_empty() {
            argv.extend(["-o".to_owned(), mount.options.join(",")]);
        }
        argv.extend([from, at.to_string_lossy().into_owned()]);
        self.run(argv)
    }

    /// Makes sure that a loop device has a file behind it; both, as they are called.
    pub fn require(
        &self,
        behind: &[OpText; 2],
        not: &str,
    ) -> Result<(String, PathBuf), HostFailure> {
        let (device, file) = (self.text(&behind[0])?, self.path(&behind[1])?);
        match backing_file(&device).as_ref() == Some(&file) {
            true => Ok((device, file)),
            false => {
                let why = format!("is no longer behind {}; {not}", file.display());
                Err(refused(&Path::new("/dev").join(device), &why))
            }
        }
    }

    /// Runs a command to its end; the ledger's lock is held until then, whoever is killed.
    fn run(&mut self, argv: Vec<String>) -> Result<(), HostFailure> {
        let at = self.at;
        self.meanwhile.tell(HostProgress {
            at,
            done_bytes: 0,
            of_bytes: 0,
        });
        let began = Instant::now();
        let ledger = opened(self.ledger)?;
        let ended = command::run_to_its_end(&argv, ledger.lock().as_fd(), self.meanwhile);
        self.meanwhile.wait(Some(Duration::ZERO))?;
        ended?;
        let elapsed_s = began.elapsed().as_secs_f64();
        self.did.ran.push(HostRan { argv, elapsed_s });
        Ok(())
    }

    /// Writes down what will be made, where nothing is yet: what was there is nobody's to remove.
    fn record(&mut self, change: Change, path: &Path) -> Result<(), HostFailure> {
        match fs::symlink_metadata(path) {
            Ok(_) => Err(refused(path, "is there already")),
            Err(_) => self.note(change),
        }
    }

    pub fn note(&mut self, change: Change) -> Result<(), HostFailure> {
        if change.is_machine_wide() && !self.holds_machine {
            let text = "it is of the whole machine, which is to be held before";
            return Err(failure(HostFailureKind::Request, text.to_owned()));
        }
        change
            .require_ours()
            .map_err(|error| failure(HostFailureKind::Request, shown(&error.to_string())))?;
        let number = opened(self.ledger)?.record(change).map_err(lacks)?;
        let at = self.at;
        self.did.changes.push(HostChanged { at, number });
        Ok(())
    }

    fn argv(&self, argv: &[OpText]) -> Result<Vec<String>, HostFailure> {
        argv.iter().map(|text| self.text(text)).collect()
    }

    fn text(&self, text: &OpText) -> Result<String, HostFailure> {
        match text {
            OpText::Text(text) => Ok(text.clone()),
            OpText::Joined { cat } => cat.iter().map(|part| self.text(part)).collect(),
            OpText::Of { of } if of == SELF => Ok(format!("/proc/{}/exe", std::process::id())),
            OpText::Of { of } => self.did.outputs.get(of).cloned().ok_or_else(|| {
                let text = format!("no op before it has yielded \"{of}\"");
                failure(HostFailureKind::Request, shown(&text))
            }),
        }
    }

    fn path(&self, text: &OpText) -> Result<PathBuf, HostFailure> {
        let path = PathBuf::from(self.text(text)?);
        match path.is_absolute() {
            true => Ok(path),
            false => {
                let text = format!("{} is no absolute path", path.display());
                Err(failure(HostFailureKind::Request, shown(&text)))
            }
        }
    }
}

/// The ledger, which is opened where there is none.
fn opened(ledger: &mut Option<Ledger>) -> Result<&mut Ledger, HostFailure> {
    match ledger {
        Some(ledger) => Ok(ledger),
        None => {
            let directory = ledger::state_directory().map_err(lacks)?;
            let opened = Ledger::open(&directory).map_err(|error| {
                let text = format!(
                    "{}: cannot keep the record of changes here ({error}); TILTYARD_STATE names another \
                     directory",
                    directory.display()
                );
                failure(HostFailureKind::Lacks, shown(&text))
            })?;
            Ok(ledger.insert(opened))
        }
    }
}

fn refused(what: &Path, why: &str) -> HostFailure {
    let text = format!("{} {why}", what.display());
    failure(HostFailureKind::Refused, shown(&text))
}

fn plain(error: io::Error) -> HostFailure {
    failure(HostFailureKind::Failed, shown(&reason(&error)))
}

fn lacks(error: io::Error) -> HostFailure {
    failure(HostFailureKind::Lacks, shown(&reason(&error)))
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
