//! What is read of a host, as far as there is room for it in an answer.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use wire::{HostDevice, HostFound, HostOutput, HostRead, HostSpace, HOST_LINE_BYTES};

use crate::command::find_program;
use crate::device;
use crate::device::identity::Device;
use crate::direct;
use crate::pattern;
use crate::watch::files_of_ours;

/// Read of one file.
const FILE_BYTES: usize = 1 << 20;
/// For what names an answer and its parts.
const FRAME_BYTES: usize = 4 << 10;
/// For names of what has no room.
const NAMES_BYTES: usize = 128 << 10;
/// For braces, quotes and numbers of a space or an output.
const ENTRY_BYTES: usize = 192;

/// An answer that grows, and the room that is left in it.
pub struct Found {
    answer: HostFound,
    room: usize,
    room_for_names: usize,
    /// Not even the names of all that has no room have any.
    is_too_much: bool,
    buffer: Vec<u8>,
}

impl Found {
    /// Reads all but outputs.
    pub fn read(asked: &HostRead) -> Self {
        let mut found = Self {
            answer: HostFound::default(),
            room: HOST_LINE_BYTES - FRAME_BYTES - NAMES_BYTES,
            room_for_names: NAMES_BYTES,
            is_too_much: false,
            buffer: Vec::new(),
        };
        found.keep_room(&asked.outputs);
        for pattern in &asked.files {
            found
                .expand(pattern)
                .iter()
                .for_each(|path| found.read_file(path));
        }
        for name in &asked.limits {
            files_of_ours(name)
                .iter()
                .for_each(|path| found.read_file(path));
        }
        found.follow_links(&asked.links);
        for name in &asked.programs {
            let path = find_program(name).and_then(|path| path.into_os_string().into_string().ok());
            if let Some(path) = path {
                if found.has_room(name, &path) {
                    found.answer.programs.insert(name.clone(), path);
                }
            }
        }
        for path in &asked.devices {
            let device = device_at(path);
            let told = serde_json::to_string(&device).unwrap_or_default();
            if found.has_room(path, &told) {
                found.answer.devices.insert(path.clone(), device);
            }
        }
        for path in &asked.users {
            if let Some(clause) = device::user_of(Path::new(path)) {
                if found.has_room(path, &clause) {
                    found.answer.users.insert(path.clone(), clause);
                }
            }
        }
        for path in &asked.direct {
            if let Some(direct) = direct::within(Path::new(path)) {
                if found.has_room(path, "") {
                    found.answer.direct.insert(path.clone(), direct);
                }
            }
        }
        for path in &asked.space {
            if let Some(space) = space_of(path) {
                if found.has_room(path, "") {
                    found.answer.space.insert(path.clone(), space);
                }
            }
        }
        found
    }

    fn read_file(&mut self, path: &str) {
        if self.answer.files.contains_key(path) {
            return;
        }
        let Ok(is_whole) = read_file(Path::new(path), &mut self.buffer) else {
            return;
        };
        let text = String::from_utf8_lossy(&self.buffer).into_owned();
        if self.has_room(path, &text) {
            if !is_whole {
                self.cut(path);
            }
            self.answer.files.insert(path.to_owned(), text);
        }
    }

    fn follow_links(&mut self, patterns: &[String]) {
        for pattern in patterns {
            for path in self.expand(pattern) {
                if self.answer.links.contains_key(&path) {
                    continue;
                }
                let real = fs::canonicalize(&path).map(|real| real.into_os_string().into_string());
                if let Ok(Ok(real)) = real {
                    if self.has_room(&path, &real) {
                        self.answer.links.insert(path, real);
                    }
                }
            }
        }
    }

    fn expand(&mut self, pattern: &str) -> Vec<String> {
        pattern::expand(pattern).unwrap_or_else(|| {
            self.cut(pattern);
            Vec::new()
        })
    }

    /// Takes room for outputs that come later, but not for what they print.
    fn keep_room(&mut self, outputs: &[Vec<String>]) {
        let bytes_of = |argv: &Vec<String>| argv.iter().map(|word| bytes_of(word)).sum::<usize>();
        let bytes: usize = outputs
            .iter()
            .map(|argv| ENTRY_BYTES + bytes_of(argv))
            .sum();
        match self.room.checked_sub(bytes) {
            Some(left) => self.room = left,
            None => self.is_too_much = true,
        }
    }

    /// Adds what a command has printed, in the order in which they were asked for.
    pub fn add(&mut self, mut output: HostOutput) {
        for text in [&mut output.stdout, &mut output.stderr] {
            output.cut |= fit(text, self.room);
            self.room -= bytes_of(text).min(self.room);
        }
        self.answer.outputs.push(output);
    }

    /// The whole of it; `None` if there is more than could be told.
    pub fn answer(self) -> Option<HostFound> {
        (!self.is_too_much).then_some(self.answer)
    }

    /// Takes room for an entry; one that has none is named.
    fn has_room(&mut self, name: &str, text: &str) -> bool {
        let bytes = ENTRY_BYTES + bytes_of(name) + bytes_of(text);
        let left = self.room.checked_sub(bytes);
        match left {
            Some(left) => self.room = left,
            None => self.cut(name),
        }
        left.is_some()
    }

    fn cut(&mut self, name: &str) {
        if self.answer.cut.iter().any(|own| own == name) {
            return;
        }
        match self.room_for_names.checked_sub(bytes_of(name)) {
            Some(left) => {
                self.room_for_names = left;
                self.answer.cut.push(name.to_owned());
            }
            None => self.is_too_much = true,
        }
    }
}

/// Reads the beginning of a file; whether that is all. What is no regular file is not opened: a
/// pipe would make others wait, and some devices act.
fn read_file(path: &Path, into: &mut Vec<u8>) -> io::Result<bool> {
    let is_file = |data: fs::Metadata| match data.is_file() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    };
    is_file(fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    is_file(file.metadata()?)?;
    into.clear();
    (&file).take(FILE_BYTES as u64 + 1).read_to_end(into)?;
    let is_whole = into.len() <= FILE_BYTES;
    into.truncate(FILE_BYTES);
    Ok(is_whole)
}

/// A block device, or why there is none.
fn device_at(path: &str) -> HostDevice {
    let refused = |text| HostDevice {
        refused: Some(text),
        ..HostDevice::default()
    };
    match Device::at(Path::new(path)) {
        Ok(device) => device.is,
        Err(failed) => refused(failed.text),
    }
}

fn space_of(path: &str) -> Option<HostSpace> {
    let space = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
    Some(HostSpace {
        block_bytes: space.f_bsize,
        size_bytes: bytes(space.f_blocks),
        available_bytes: bytes(space.f_bavail),
    })
}

/// Shortens a text to so many bytes of JSON; whether it was longer.
pub fn fit(text: &mut String, most_bytes: usize) -> bool {
    let mut left = most_bytes.checked_sub(QUOTES);
    let end = text.char_indices().find_map(|(at, char)| {
        left = left.and_then(|left| left.checked_sub(escaped_bytes(char)));
        left.is_none().then_some(at)
    });
    text.truncate(end.unwrap_or(text.len()));
    end.is_some()
}

/// Two quotes and a comma.
const QUOTES: usize = 3;

/// What a text takes in JSON.
fn bytes_of(text: &str) -> usize {
    text.chars().map(escaped_bytes).sum::<usize>() + QUOTES
}

fn escaped_bytes(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => char.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn found(read: HostRead) -> HostFound {
        Found::read(&read).answer().unwrap()
    }

    fn json_bytes(value: &impl serde::Serialize) -> usize {
        serde_json::to_string(value).unwrap().len()
    }

    proptest! {
        #[test]
        fn a_text_takes_what_json_makes_of_it(text in "(?s).{0,40}", most in 0_usize..80) {
            prop_assert_eq!(bytes_of(&text), json_bytes(&text) + 1);
            let mut short = text.clone();
            let is_cut = fit(&mut short, most);
            prop_assert_eq!(is_cut, bytes_of(&text) > most && !text.is_empty());
            prop_assert!(text.starts_with(&short));
            prop_assert!(short.is_empty() || bytes_of(&short) <= most);
        }
    }

    #[test]
    fn what_is_no_regular_file_is_left_out_and_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let fifo = path("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        fs::write(path("file"), b"a\xffb\0").unwrap();
        fs::create_dir(path("directory")).unwrap();
        std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        symlink("file", path("link")).unwrap();
        symlink("fifo", path("link to a fifo")).unwrap();
        symlink("nowhere", path("nowhere")).unwrap();
        let all = |root: &str| format!("{root}/*");
        let root = directory.path().canonicalize().unwrap();
        let root = root.to_str().unwrap();
        let answer = found(HostRead {
            files: vec![
                all(root),
                "/dev/null".into(),
                "/dev/zero".into(),
                "/absent".into(),
            ],
            links: vec![all(root)],
            ..HostRead::default()
        });
        let text = "a\u{fffd}b\0".to_owned();
        let of = |name: &str| format!("{root}/{name}");
        assert_eq!(
            answer.files,
            [(of("file"), text.clone()), (of("link"), text)].into()
        );
        assert_eq!(answer.links[&of("link to a fifo")], of("fifo"));
        assert!(!answer.links.contains_key(&of("nowhere")));
        assert_eq!(answer.links.len(), 6);
        assert!(answer.cut.is_empty());
    }

    #[test]
    fn limits_are_files_of_our_groups() {
        let name = "cpu.stat";
        let answer = found(HostRead {
            limits: vec![name.into()],
            ..HostRead::default()
        });
        let there = files_of_ours(name).into_iter();
        let there = there.filter(|path| Path::new(path).is_file());
        assert_eq!(Vec::from_iter(answer.files.into_keys()), sorted(there));
    }

    fn sorted(paths: impl Iterator<Item = String>) -> Vec<String> {
        std::collections::BTreeSet::from_iter(paths)
            .into_iter()
            .collect()
    }

    #[test]
    fn files_of_the_kernel_are_read_though_their_length_is_0() {
        let answer = found(HostRead {
            files: vec![
                "/proc/self/stat*".into(),
                "/proc/sys/kernel/osrelease".into(),
            ],
            space: vec!["/proc/self".into(), "/".into(), "/absent".into()],
            programs: vec![
                "sh".into(),
                "/bin/sh".into(),
                "no-such-program".into(),
                "/".into(),
            ],
            ..HostRead::default()
        });
        assert!(answer.files["/proc/self/status"].contains("Name:"));
        assert!(answer.files.len() >= 3);
        assert!(answer.space["/"].size_bytes >= answer.space["/"].available_bytes);
        assert_eq!(answer.space.len(), 2);
        assert_eq!(answer.programs.len(), 2);
        assert_eq!(answer.programs["/bin/sh"], "/bin/sh");
    }

    #[test]
    fn what_has_no_room_is_named_and_the_answer_is_no_longer_than_it_may_be() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_str().unwrap();
        // Each byte takes six of the answer.
        fs::write(directory.path().join("0 long"), vec![1; FILE_BYTES + 1]).unwrap();
        fs::write(directory.path().join("1 whole"), vec![1; FILE_BYTES]).unwrap();
        for number in 0..10 {
            fs::write(
                directory.path().join(format!("file {number:02}")),
                "x".repeat(FILE_BYTES),
            )
            .unwrap();
        }
        let mut found = Found::read(&HostRead {
            files: vec![format!("{root}/*"); 2],
            programs: vec!["sh".into(); 3],
            outputs: vec![vec!["a".into()], vec!["b".into()]],
            ..HostRead::default()
        });
        let flood = "\u{1}".repeat(100_000);
        for argv in [vec!["a".to_owned()], vec!["b".to_owned()]] {
            found.add(HostOutput {
                argv,
                stdout: flood.clone(),
                stderr: flood.clone(),
                ..HostOutput::default()
            });
        }
        let answer = found.answer().unwrap();
        assert!(json_bytes(&answer) <= HOST_LINE_BYTES - 1_000);
        assert!(json_bytes(&answer) >= HOST_LINE_BYTES / 2);
        assert_eq!(answer.files[&format!("{root}/0 long")].len(), FILE_BYTES);
        assert_eq!(answer.cut[0], format!("{root}/0 long"));
        let mut named: Vec<_> = answer.cut.clone();
        named.extend(answer.files.keys().cloned());
        named.sort();
        named.dedup();
        assert_eq!(named.len(), 12);
        assert!(answer.outputs.iter().all(|output| output.cut));
    }

    #[test]
    fn more_than_could_be_named_is_no_answer() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_str().unwrap();
        let long = "x".repeat(250);
        for number in 0..30_000 {
            fs::write(
                directory.path().join(format!("{number}{long}")),
                "y".repeat(300),
            )
            .unwrap();
        }
        let files = vec![format!("{root}/*")];
        let read = HostRead {
            files,
            ..HostRead::default()
        };
        assert!(Found::read(&read).answer().is_none());
    }
}
