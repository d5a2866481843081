//! The initial file system of a guest: this engine as its only program, and the modules it needs.
//!
//! In the format "newc" of cpio(5), which any kernel reads
//! (<https://docs.kernel.org/driver-api/early-userspace/buffer-format.html>), uncompressed, so that no
//! guest has to unpack it. The same contents give the same bytes. `/dev/console` comes with each
//! kernel's own initial file system.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const DIRECTORIES: [&str; 5] = ["dev", "proc", "sys", "tmp", "modules"];
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const END: &str = "TRAILER!!!";
/// Heads and contents begin at multiples of it.
const ALIGNED: usize = 4;
const HEAD_BYTES: usize = 110;
/// Suffix of a module's file, and what unpacks it to standard output.
const PACKED: [(&str, [&str; 2]); 3] = [
    ("xz", ["xz", "-dc"]),
    ("gz", ["gzip", "-dc"]),
    ("zst", ["zstd", "-dc"]),
];

/// Writes the archive, which is not there yet.
///
/// `modules` are files, in the order in which the guest shall load them.
///
/// # Errors
/// A file cannot be read, unpacked or written.
pub fn write(archive: &Path, engine: &Path, modules: &[PathBuf]) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(archive)
        .map_err(|error| named(archive, &error))?;
    let mut out = Archive {
        out: BufWriter::new(file),
        entries: 0,
    };
    for name in DIRECTORIES {
        out.entry(name, DIRECTORY, &[])?;
    }
    let own = fs::read(engine).map_err(|error| named(engine, &error))?;
    out.entry("init", PROGRAM, &own)?;
    let mut order = String::new();
    for module in modules {
        let name = format!("modules/{}.ko", name_of(module));
        order += &format!("/{name}\n");
        out.entry(&name, FILE, &contents(module)?)?;
    }
    out.entry("modules/order", FILE, order.as_bytes())?;
    out.entry(END, 0, &[])?;
    out.out.flush()
}

struct Archive<W: Write> {
    out: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    fn entry(&mut self, name: &str, mode: u32, contents: &[u8]) -> io::Result<()> {
        let too_large = || io::Error::new(ErrorKind::FileTooLarge, name.to_owned());
        let bytes = u32::try_from(contents.len()).map_err(|_| too_large())?;
        let name_bytes = u32::try_from(name.len() + 1).map_err(|_| too_large())?;
        self.entries += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        // Owner, group, time and devices are 0, and so is the sum, which this format does not have.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            bytes,
            0,
            0,
            0,
            0,
            name_bytes,
            0,
        ];
        self.out.write_all(b"070701")?;
        for field in fields {
            write!(self.out, "{field:08x}")?;
        }
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&[0])?;
        self.align(HEAD_BYTES + name.len() + 1)?;
        self.out.write_all(contents)?;
        self.align(contents.len())
    }

    fn align(&mut self, written: usize) -> io::Result<()> {
        let missing = written.next_multiple_of(ALIGNED) - written;
        self.out.write_all(&[0; ALIGNED][..missing])
    }
}

/// A module's name, without what tells how it is packed.
fn name_of(module: &Path) -> String {
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    name.split(".ko").next().unwrap_or_default().to_owned()
}

/// A module as the kernel takes it: not packed.
fn contents(module: &Path) -> io::Result<Vec<u8>> {
    let ending = module.extension().unwrap_or_default();
    if ending == "ko" {
        return fs::read(module).map_err(|error| named(module, &error));
    }
    let packed = PACKED.iter().find(|(known, _)| ending == *known);
    let Some((_, [program, option])) = packed else {
        let ending = ending.display();
        let text = format!("modules packed as \"{ending}\" cannot be read");
        return Err(named(module, &text));
    };
    let unpacked = Command::new(program).arg(option).arg(module).output();
    let unpacked = unpacked.map_err(|error| named(module, &format!("{program}: {error}")))?;
    if !unpacked.status.success() {
        let said = String::from_utf8_lossy(&unpacked.stderr);
        return Err(named(module, &format!("{program}: {}", said.trim())));
    }
    Ok(unpacked.stdout)
}

fn named(path: &Path, why: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_each_time_and_has_all_that_a_guest_needs() {
        let held = tempfile::tempdir().unwrap();
        let path = |name: &str| held.path().join(name);
        fs::write(path("engine"), b"an engine").unwrap();
        fs::write(path("b-a.ko"), b"plain").unwrap();
        fs::write(path("a.ko"), b"packed").unwrap();
        let packed = Command::new("gzip").arg(path("a.ko")).status().unwrap();
        assert!(packed.success());
        let modules = [path("b-a.ko"), path("a.ko.gz")];
        for name in ["one", "other"] {
            write(&path(name), &path("engine"), &modules).unwrap();
        }
        let archive = fs::read(path("one")).unwrap();
        assert_eq!(archive, fs::read(path("other")).unwrap());
        let found = entries(&archive);
        let names: Vec<_> = found.iter().map(|(name, ..)| name.as_str()).collect();
        let wanted = [
            "dev",
            "proc",
            "sys",
            "tmp",
            "modules",
            "init",
            "modules/b-a.ko",
            "modules/a.ko",
            "modules/order",
            END,
        ];
        assert_eq!(names, wanted);
        assert_eq!(
            found[5],
            ("init".to_owned(), PROGRAM, b"an engine".to_vec())
        );
        assert_eq!(found[6].2, b"plain");
        assert_eq!(found[7].2, b"packed");
        assert_eq!(found[8].2, b"/modules/b-a.ko\n/modules/a.ko\n");
    }

    #[test]
    fn nothing_is_written_over_and_what_cannot_be_unpacked_is_told() {
        let held = tempfile::tempdir().unwrap();
        let path = |name: &str| held.path().join(name);
        for name in ["engine", "there", "a.ko.gz", "a.ko.lzo"] {
            fs::write(path(name), b"neither").unwrap();
        }
        let told = |archive: &str, modules: &[PathBuf]| {
            let written = write(&path(archive), &path("engine"), modules);
            written.unwrap_err().to_string()
        };
        assert!(told("there", &[]).contains("there: File exists"));
        assert!(told("one", &[path("a.ko.gz")]).contains("a.ko.gz: gzip: "));
        let unknown = told("two", &[path("a.ko.lzo")]);
        assert!(
            unknown.contains("packed as \"lzo\" cannot be read"),
            "{unknown}"
        );
    }

    /// Name, mode and contents of all that is in an archive.
    fn entries(archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut rest = archive;
        let mut found = Vec::new();
        while !rest.is_empty() {
            let number = |at: usize| {
                let digits = std::str::from_utf8(&rest[6 + 8 * at..14 + 8 * at]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            assert!(rest.starts_with(b"070701"));
            let (bytes, name_bytes) = (number(6) as usize, number(11) as usize);
            let name = &rest[HEAD_BYTES..HEAD_BYTES + name_bytes - 1];
            let begin = (HEAD_BYTES + name_bytes).next_multiple_of(ALIGNED);
            let contents = rest[begin..begin + bytes].to_vec();
            found.push((
                String::from_utf8(name.to_vec()).unwrap(),
                number(1),
                contents,
            ));
            rest = &rest[(begin + bytes).next_multiple_of(ALIGNED)..];
        }
        found
    }
}
