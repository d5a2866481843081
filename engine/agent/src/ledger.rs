//! The write-ahead record of everything that this agent has changed on its host.
//!
//! A change is appended and on disk before it is made, and marked once it is taken back. The file is
//! locked (flock(2)) as long as its agent or any command that it started lives, so a ledger whose lock
//! is free belongs to a dead one, and another agent may take back what that could not: after kill -9,
//! and after a power cut ([`recover`]).
//!
//! One JSON object a line: `{"owner": …}`, `{"change": 1, "at_ns": …, "is": …}`, `{"undone": 1}`,
//! `{"learned": 1, "is": …}` where more is known of it once it is made, and `{"kept_for": "/srv/study"}` where a study will go on with what is outstanding. Each ends with a sum
//! over what stands before it: an undo may do much, so that a changed byte must be noticed.

mod kept;
pub mod others;
mod owner;
pub mod recover;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{flock, FlockOperation};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::change::{sync_directory, Change};
pub use owner::{boot, Owner};

/// How its file ends.
pub const ENDING: &str = "ops";
/// Before the sum, which is that of all before it.
const SUM: &str = ",\"sum\":\"";
const SUM_DIGITS: usize = 8;
const OTHERS_MAY_WRITE: u32 = 0o022;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Line {
    Owner { owner: Owner },
    Change { change: u64, at_ns: u64, is: Change },
    Undone { undone: u64 },
    Learned { learned: u64, is: Change },
    Kept { kept_for: String },
}

/// With its sum and its newline.
fn written(line: &Line) -> io::Result<Vec<u8>> {
    let text = serde_json::to_string(line).map_err(io::Error::other)?;
    let open = text.strip_suffix('}').unwrap_or(&text);
    Ok(format!("{open}{SUM}{}\"}}\n", sum(open)).into_bytes())
}

/// `None`: it is not whole, or not one of ours.
fn parsed(line: &str) -> Option<Line> {
    let (open, told) = line.rsplit_once(SUM)?;
    (told.strip_suffix("\"}")? == sum(open)).then_some(())?;
    serde_json::from_str(&format!("{open}}}")).ok()
}

fn sum(text: &str) -> String {
    let digest = Sha256::digest(text);
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    digits.take(SUM_DIGITS / 2).collect()
}

/// A change that is not marked as undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub number: u64,
    /// Time of day, never earlier than that of a change before it in the same ledger.
    pub at_ns: u64,
    pub is: Change,
}

/// What a ledger says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// `None` while its agent is still writing that down.
    pub owner: Option<Owner>,
    /// By number, in the order in which they were recorded.
    pub outstanding: BTreeMap<u64, Recorded>,
    /// The folder of the study that will go on with it.
    pub kept_for: Option<String>,
    /// Numbers of the lines that are not whole: their contents are not known.
    pub broken: Vec<usize>,
    /// The number of the last change, and its time.
    last: (u64, u64),
}

impl Content {
    /// All whole lines. A last line without its newline was being written when its agent died; the change
    /// that it tells of was not made yet. A broken line before it is passed over.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let data = fs::read(path)?;
        let text = String::from_utf8_lossy(&data);
        let mut content = Self::default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (place, line) in whole.lines().enumerate() {
            match parsed(line) {
                Some(line) => content.add(line),
                None => content.broken.push(place + 1),
            }
        }
        Ok(content)
    }

    fn add(&mut self, line: Line) {
        match line {
            Line::Owner { owner } => {
                self.owner = Some(owner);
                self.kept_for = None;
            }
            Line::Change { change, at_ns, is } => {
                let recorded = Recorded {
                    number: change,
                    at_ns,
                    is,
                };
                self.last = (change, at_ns);
                self.outstanding.insert(change, recorded);
            }
            Line::Undone { undone } => {
                self.outstanding.remove(&undone);
            }
            Line::Learned { learned, is } => {
                if let Some(recorded) = self.outstanding.get_mut(&learned) {
                    recorded.is = is;
                }
            }
            Line::Kept { kept_for } => self.kept_for = Some(kept_for),
        }
    }
}

/// Where ledgers are kept: it must survive a boot, and be the same for every run.
///
/// # Errors
/// Nobody says where this user's home is.
pub fn state_directory() -> io::Result<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(explicit) = named("TILTYARD_STATE") {
        return Ok(explicit.into());
    }
    if geteuid().is_root() {
        return Ok("/var/lib/tiltyard".into());
    }
    let base = named("XDG_STATE_HOME").map(PathBuf::from);
    let home = || named("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let base = base.or_else(home).ok_or(ErrorKind::NotFound)?;
    Ok(base.join("tiltyard"))
}

/// Makes sure that nobody else has a hand in it: what a ledger names is done to put things back.
///
/// # Errors
/// Another user owns it or may write to it.
pub fn require_ours(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let own = geteuid().as_raw();
    if found.is_symlink() || found.uid() != own || found.mode() & OTHERS_MAY_WRITE != 0 {
        return Err(io::Error::other(format!(
            "{}: another user has a hand in it. Fix: chown and chmod go-w {0}, or name another one: \
             TILTYARD_STATE",
            path.display()
        )));
    }
    Ok(())
}

/// The ledger of this process.
pub struct Ledger {
    file: File,
    path: PathBuf,
    outstanding: BTreeMap<u64, Recorded>,
    number: u64,
    last_ns: u64,
}

impl Ledger {
    /// An empty one.
    ///
    /// # Errors
    /// It cannot be written; then nothing of it is there.
    pub fn open(directory: &Path) -> io::Result<Self> {
        if !directory.exists() {
            use std::os::unix::fs::DirBuilderExt;
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            directory.parent().map_or(Ok(()), sync_directory)?;
        }
        require_ours(directory)?;
        let (file, path) = locked_file(directory)?;
        let mut ledger = Self {
            file,
            path,
            outstanding: BTreeMap::new(),
            number: 0,
            last_ns: 0,
        };
        let owner = Owner::current();
        let begun = ledger.append(&Line::Owner { owner });
        match begun.and_then(|()| sync_directory(directory)) {
            Ok(()) => Ok(ledger),
            Err(error) => {
                let _ = fs::remove_file(&ledger.path);
                Err(error)
            }
        }
    }

    /// What it is called: its file, without directory and ending.
    pub fn name(&self) -> String {
        let name = self.path.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Its lock, which commands that it is answerable for keep.
    pub fn lock(&self) -> impl AsFd + '_ {
        self.file.as_fd()
    }

    /// Writes down a change that is about to be made; afterwards it is on disk.
    ///
    /// # Errors
    /// It is not, and nothing of it; the change must not be made.
    pub fn record(&mut self, is: Change) -> io::Result<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ns = now.map_or(0, |now| now.as_nanos() as u64);
        let recorded = Recorded {
            number: self.number + 1,
            at_ns: now_ns.max(self.last_ns + 1),
            is,
        };
        self.append(&Line::Change {
            change: recorded.number,
            at_ns: recorded.at_ns,
            is: recorded.is.clone(),
        })?;
        (self.number, self.last_ns) = (recorded.number, recorded.at_ns);
        self.outstanding.insert(recorded.number, recorded);
        Ok(self.number)
    }

    /// Writes down what is known of a change now that it is made.
    ///
    /// # Errors
    /// It is not on disk; until its end this process knows it.
    pub fn learn(&mut self, number: u64, is: Change) -> io::Result<()> {
        if let Some(recorded) = self.outstanding.get_mut(&number) {
            recorded.is = is.clone();
        }
        let learned = number;
        self.append(&Line::Learned { learned, is })
    }

    /// A change of it that is outstanding.
    pub fn change(&self, number: u64) -> Option<&Change> {
        Some(&self.outstanding.get(&number)?.is)
    }

    /// Whether a change like that is outstanding.
    pub fn has(&self, change: &Change) -> bool {
        self.outstanding.values().any(|own| own.is == *change)
    }

    /// Takes back these of what is outstanding, last first; what was done, and what could not be. `still`:
    /// they stay in here.
    pub fn undo(&mut self, numbers: &[u64], still: bool) -> (Vec<String>, Vec<String>) {
        let (mut done, mut left) = (Vec::new(), Vec::new());
        let numbers: BTreeSet<u64> = numbers.iter().copied().collect();
        for number in numbers.into_iter().rev() {
            let Some(recorded) = self.outstanding.get(&number) else {
                continue;
            };
            match recorded.is.take_back() {
                Err(error) => left.push(error.to_string()),
                Ok(said) => {
                    done.extend(said);
                    if still {
                        continue;
                    }
                    self.outstanding.remove(&number);
                    // Where there is no room to say that it is undone, the ledger's removal says it.
                    let _ = self.append(&Line::Undone { undone: number });
                }
            }
        }
        (done, left)
    }

    /// Whether there is something to take back.
    pub fn is_outstanding(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Whether something of it is of the whole machine.
    pub fn changes_machine(&self) -> bool {
        let mut changes = self.outstanding.values();
        changes.any(|recorded| recorded.is.is_machine_wide())
    }

    /// Takes everything back, and removes the ledger if nothing is left.
    pub fn close(mut self) -> (Vec<String>, Vec<String>) {
        let numbers: Vec<u64> = self.outstanding.keys().copied().collect();
        let (done, mut left) = self.undo(&numbers, false);
        if self.outstanding.is_empty() {
            if let Err(error) = fs::remove_file(&self.path) {
                left.push(format!("{}: {error}", self.path.display()));
            }
        }
        (done, left)
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        append(&mut self.file, line).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }
}

/// One line at the end, on disk; where that fails nothing of it is there.
fn append(file: &mut File, line: &Line) -> io::Result<()> {
    let line = written(line)?;
    let end = file.metadata()?.len();
    let appended = file.write_all(&line).and_then(|()| file.sync_data());
    appended.inspect_err(|_| {
        let _ = file.set_len(end).and_then(|()| file.sync_data());
    })
}

/// A new file that is locked and in its place: between making and locking it a recovery may take it for
/// one that a dead process left empty.
fn locked_file(directory: &Path) -> io::Result<(File, PathBuf)> {
    for _ in 0..100 {
        let mut token = [0; 4];
        random(&mut token)?;
        let token = u32::from_le_bytes(token);
        let path = directory.join(format!("{}-{token:08x}.{ENDING}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        let file = options.mode(0o600).open(&path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        if fs::metadata(&path).is_ok_and(|there| Some(there.ino()) == ino(&file)) {
            return Ok((file, path));
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn ino(file: &File) -> Option<u64> {
    Some(file.metadata().ok()?.ino())
}

/// Random bytes of the kernel.
fn random(bytes: &mut [u8]) -> io::Result<()> {
    use std::io::Read;
    File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
pub mod tests {
    use super::recover::{put_back, put_back_these, PutBack, Which};
    use super::*;
    use crate::meanwhile::Asleep;

    fn recovered(directory: &Path, which: Which<'_>) -> PutBack {
        put_back(directory, which, &mut |_| Ok(()), &mut Asleep::new())
    }

    fn these(file: &Path, numbers: &[u64]) -> PutBack {
        put_back_these(file, numbers, &mut |_| Ok(()), &mut Asleep::new())
    }

    pub fn directory() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        (directory, state)
    }

    pub fn made(path: &Path) -> Change {
        Change::Made {
            directory: path.to_owned(),
            apart: None,
        }
    }

    /// As if its process had died.
    fn abandoned(ledger: Ledger) -> PathBuf {
        let text = fs::read_to_string(&ledger.path).unwrap();
        let owner = format!("\"pid\":{}", std::process::id());
        let dead = text
            .lines()
            .map(|line| {
                let open = line
                    .rsplit_once(SUM)
                    .unwrap()
                    .0
                    .replace(&owner, "\"pid\":999999999");
                format!("{open}{SUM}{}\"}}\n", sum(&open))
            })
            .collect::<String>();
        fs::write(&ledger.path, dead).unwrap();
        ledger.path.clone()
    }

    #[test]
    fn a_line_that_was_changed_is_none() {
        let line = Line::Undone { undone: 7 };
        let text = String::from_utf8(written(&line).unwrap()).unwrap();
        assert_eq!(parsed(text.trim_end()), Some(line));
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(parsed(changed.trim_end_matches('\n')), None, "{changed}");
        }
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn changes_are_on_disk_and_are_taken_back_last_first() {
        let (held, state) = directory();
        let [outer, other] =
            ["tiltyard-outer", "tiltyard-other"].map(|name| held.path().join(name));
        let inner = outer.join("tiltyard-inner");
        let mut ledger = Ledger::open(&state).unwrap();
        for path in [&outer, &other, &inner] {
            ledger.record(made(path)).unwrap();
            fs::create_dir(path).unwrap();
        }
        let said = Content::read(&ledger.path).unwrap();
        assert_eq!(said.owner, Some(Owner::current()));
        assert_eq!((said.outstanding.len(), said.broken.len()), (3, 0));
        let (done, left) = ledger.undo(&[1, 3, 7], false);
        let removed = |path: &Path| format!("removed {}", path.display());
        assert_eq!(done, [removed(&inner), removed(&outer)]);
        assert!(left.is_empty() && other.exists());
        assert_eq!(Content::read(&ledger.path).unwrap().outstanding.len(), 1);
        assert_eq!(ledger.close(), (vec![removed(&other)], Vec::new()));
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_taken_back_stays_recorded() {
        let (held, state) = directory();
        let mut ledger = Ledger::open(&state).unwrap();
        let somebodys = held.path().join("home");
        fs::create_dir(&somebodys).unwrap();
        ledger.record(made(&somebodys)).unwrap();
        let (done, left) = ledger.close();
        assert!(done.is_empty() && left[0].contains("its name does not begin with tiltyard-"));
        assert!(somebodys.exists());
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
    }

    #[test]
    fn what_the_dead_left_is_put_back_newest_first_and_the_living_are_left_alone() {
        let (held, state) = directory();
        let outer = held.path().join("tiltyard-outer");
        let inner = outer.join("tiltyard-inner");
        let mut first = Ledger::open(&state).unwrap();
        first.record(made(&outer)).unwrap();
        fs::create_dir(&outer).unwrap();
        let mut second = Ledger::open(&state).unwrap();
        second.record(made(&inner)).unwrap();
        fs::create_dir(&inner).unwrap();
        assert_eq!(recovered(&state, Which::default()), PutBack::default());
        for ledger in [first, second] {
            abandoned(ledger);
        }
        let told = recovered(&state, Which::default());
        let removed = |path: &Path| format!("removed {}", path.display());
        assert_eq!(told.done, [removed(&inner), removed(&outer)]);
        assert!(told.left.is_empty(), "{told:?}");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
        assert_eq!(
            recovered(&held.path().join("none"), Which::default()),
            PutBack::default()
        );
    }

    #[test]
    fn what_is_kept_for_a_study_stays_and_what_is_named_goes() {
        let (held, state) = directory();
        let paths = [1, 2, 3].map(|one| held.path().join(format!("tiltyard-{one}")));
        let removed = |at: usize| format!("removed {}", paths[at].display());
        let mut ledger = Ledger::open(&state).unwrap();
        for path in &paths {
            ledger.record(made(path)).unwrap();
            fs::create_dir(path).unwrap();
        }
        ledger.keep_for("/srv/study").unwrap();
        let file = abandoned(ledger);
        let kept_for = || Content::read(&file).unwrap().kept_for;
        assert_eq!(kept_for().as_deref(), Some("/srv/study"));
        assert_eq!(recovered(&state, Which::default()), PutBack::default());
        let of = |kept_for| Which {
            kept_for: Some(kept_for),
            ..Which::default()
        };
        assert!(!of("/srv/other").has(&Content::read(&file).unwrap()));
        assert!(of("/srv/study").has(&Content::read(&file).unwrap()));
        let undo = |numbers: &[u64]| these(&file, numbers);
        assert_eq!(undo(&[3, 9, 3]).done, [removed(2)]);
        assert!(paths[0].exists() && kept_for().is_some());
        let told = recovered(&state, of("/srv/study"));
        assert_eq!(told.done, [removed(1), removed(0)]);
        assert!(!file.exists());
        assert_eq!(undo(&[1]), PutBack::default());
    }

    #[test]
    fn what_a_boot_has_undone_is_only_marked_and_what_another_host_did_is_its_own() {
        let (held, state) = directory();
        let (at, behind) = (held.path().join("tiltyard-at"), None);
        let mut ledger = Ledger::open(&state).unwrap();
        ledger.record(Change::Mounted { at, behind }).unwrap();
        let file = abandoned(ledger);
        let changed = |from: &str, to: &str| {
            let text = fs::read_to_string(&file).unwrap();
            let lines = text.lines().map(|line| {
                let open = line.rsplit_once(SUM).unwrap().0.replace(from, to);
                format!("{open}{SUM}{}\"}}\n", sum(&open))
            });
            fs::write(&file, lines.collect::<String>()).unwrap();
        };
        changed(&boot(), "another boot");
        changed("\"host\":\"", "\"host\":\"not ");
        let undo = || these(&file, &[1]);
        assert_eq!((undo(), file.exists()), (PutBack::default(), true));
        changed("\"host\":\"not ", "\"host\":\"");
        assert_eq!((undo(), file.exists()), (PutBack::default(), false));
    }

    #[test]
    fn a_torn_end_is_no_change_and_a_broken_line_is_told_of_and_hides_none() {
        let (held, state) = directory();
        let path = held.path().join("tiltyard-made");
        let mut ledger = Ledger::open(&state).unwrap();
        for path in [&path, &held.path().join("tiltyard-broken")] {
            ledger.record(made(path)).unwrap();
            fs::create_dir(path).unwrap();
        }
        let file = abandoned(ledger);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(
            &file,
            text.replace("tiltyard-broken", "tiltyard-brokem") + "{\"undone\":1",
        )
        .unwrap();
        let told = recovered(&state, Which::default());
        assert_eq!(told.done, [format!("removed {}", path.display())]);
        assert!(
            told.left[0].contains(&format!("{}:3: not whole", file.display())),
            "{told:?}"
        );
        assert!(held.path().join("tiltyard-broken").exists() && file.exists());
    }

    #[test]
    fn wherever_its_end_is_cut_off_all_whole_lines_are_put_back() {
        let (held, state) = directory();
        let path = held.path().join("tiltyard-made");
        let mut ledger = Ledger::open(&state).unwrap();
        ledger.record(made(&path)).unwrap();
        ledger
            .record(made(&held.path().join("tiltyard-next")))
            .unwrap();
        let file = abandoned(ledger);
        let whole = fs::read(&file).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
        for length in 0..=whole.len() {
            fs::create_dir(&path).unwrap();
            fs::write(&file, &whole[..length]).unwrap();
            let told = recovered(&state, Which::default());
            assert_eq!(told.left, Vec::<String>::new(), "{length}");
            // What the second line tells of is put back when that is there with its end.
            assert_eq!(path.exists(), length <= ends[1], "{length}");
            assert!(!file.exists());
            let _ = fs::remove_dir(&path);
        }
    }

    #[test]
    fn a_recovery_in_the_middle_of_a_beginning_takes_no_ledger_away() {
        let (held, state) = directory();
        drop(Ledger::open(&state).unwrap().close());
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_eq!(recovered(&state, Which::default()), PutBack::default());
                }
            });
            for _ in 0..100 {
                let mut ledger = Ledger::open(&state).unwrap();
                ledger
                    .record(made(&held.path().join("tiltyard-1")))
                    .unwrap();
                let there = Content::read(&ledger.path).unwrap();
                assert_eq!((there.outstanding.len(), there.broken.len()), (1, 0));
                assert_eq!(ledger.close(), Default::default());
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn where_another_user_has_a_hand_nothing_is_done() {
        use std::os::unix::fs::PermissionsExt;
        let (held, state) = directory();
        drop(abandoned(Ledger::open(&state).unwrap()));
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        let error = Ledger::open(&state).err().unwrap().to_string();
        assert!(
            error.contains("another user has a hand in it. Fix: chown"),
            "{error}"
        );
        assert!(
            recovered(&state, Which::default()).left[0].contains("another user has a hand in it")
        );
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        let other = held.path().join("elsewhere");
        std::os::unix::fs::symlink(&state, &other).unwrap();
        assert!(Ledger::open(&other).is_err());
    }

    #[test]
    fn what_is_not_recorded_whole_is_not_recorded() {
        let (_held, state) = directory();
        let mut ledger = Ledger::open(&state).unwrap();
        let before = fs::read(&ledger.path).unwrap();
        let whole = std::mem::replace(&mut ledger.file, File::open(&ledger.path).unwrap());
        let error = ledger.record(made(Path::new("/x/tiltyard-1"))).unwrap_err();
        assert!(error.to_string().contains(".ops: "), "{error}");
        assert!(ledger.outstanding.is_empty());
        assert_eq!(fs::read(&ledger.path).unwrap(), before);
        ledger.file = whole;
        ledger.record(made(Path::new("/x/tiltyard-1"))).unwrap();
        assert_eq!(ledger.close().1.len(), 0);
    }
}
