//! What a file is that is to be booted: looked at, and not executed.
//!
//! Sources: System V ABI, chapter 4 (ELF header, sections);
//! <https://docs.kernel.org/arch/x86/boot.html> (setup header).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Of an image for x86.
const SETUP: (u64, &[u8]) = (0x202, b"HdrS");
/// Where it says where its version is, counted from the next one.
const VERSION_AT: usize = 0x20E;
const VERSION_FROM: usize = 0x200;
const HEAD_BYTES: usize = 1 << 16;
const ELF: &[u8] = b"\x7fELF";
const ELF_BYTES: usize = 64;
const MACHINE_AT: usize = 18;
/// The section with its own options, which each User-Mode Linux has and no other program
/// (arch/um/include/shared/init.h).
const MARK: &[u8] = b".uml.setup.init";
/// More than the names of the sections of any program take.
const NAMES_BYTES: u64 = 1 << 20;
/// Begins `linux_banner` (init/version.c); the release follows, then a blank and a bracket.
const BANNER: &[u8] = b"Linux version ";
const RELEASE_BYTES: usize = 64;
const CHUNK_BYTES: usize = 1 << 20;
/// Where modules are, seen from the directory of a kernel that was unpacked or installed.
const PLACES: [&str; 4] = [
    "lib/modules",
    "../lib/modules",
    "../lib/uml/modules",
    "../usr/lib/modules",
];

/// A file.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// `e_machine`, if it is a program: what it is for.
    pub machine: Option<u16>,
    /// What boots it, if anything does.
    pub boots_as: Option<BootsAs>,
    /// Of the kernel, as its modules' directory is called.
    pub release: Option<String>,
    /// Where its modules are, if they are beside it.
    pub modules: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootsAs {
    /// An image for a PC.
    Pc,
    /// A program that is User-Mode Linux.
    Uml,
}

impl Kernel {
    /// Looks at one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn at(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let file = File::open(&path)?;
        let mut head = Vec::new();
        (&file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let is_image = head
            .get(SETUP.0 as usize..)
            .is_some_and(|at| at.starts_with(SETUP.1));
        let is_program = head.len() >= ELF_BYTES && head.starts_with(ELF);
        let boots_as = match (is_image, is_program) {
            (true, _) => Some(BootsAs::Pc),
            (_, true) if has_section(&file, &head, MARK).unwrap_or(false) => Some(BootsAs::Uml),
            _ => None,
        };
        let release = match boots_as {
            Some(BootsAs::Pc) => release_of_image(&head),
            Some(BootsAs::Uml) => release_of_program(&file)?,
            None => None,
        };
        let modules = release
            .as_deref()
            .and_then(|name| modules_beside(&path, name));
        let machine = is_program.then(|| number(&head, MACHINE_AT, 2) as u16);
        Ok(Self {
            machine,
            boots_as,
            release,
            modules,
        })
    }
}

/// An unsigned number in little-endian order; 0 where there is none.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let found = bytes.get(at..at + length).unwrap_or_default();
    found
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Whether a program has a section of a name; none has what is damaged.
fn has_section(file: &File, head: &[u8], name: &[u8]) -> io::Result<bool> {
    // Class → where the section headers are, their size, number and the one of the names; of a
    // header, where its section is and how large it is.
    let (start, numbers_at, (place_at, place_bytes)) = match head[4] {
        1 => (number(head, 32, 4), 46, (16, 4)),
        2 => (number(head, 40, 8), 58, (24, 8)),
        _ => return Ok(false),
    };
    let [size, count, of_names] = [0, 2, 4].map(|at| number(head, numbers_at + at, 2) as usize);
    if size > ELF_BYTES || size < place_at + 2 * place_bytes {
        return Ok(false);
    }
    let mut table = vec![0; size * count];
    file.read_exact_at(&mut table, start)?;
    let Some(header) = table.chunks_exact(size).nth(of_names) else {
        return Ok(false);
    };
    let names_at = number(header, place_at, place_bytes);
    let names_bytes = number(header, place_at + place_bytes, place_bytes).min(NAMES_BYTES);
    let mut names = vec![0; names_bytes as usize];
    file.read_exact_at(&mut names, names_at)?;
    let is_it = |header: &[u8]| {
        let from = names.get(number(header, 0, 4) as usize..);
        from.is_some_and(|from| from.split(|&byte| byte == 0).next() == Some(name))
    };
    Ok(table.chunks_exact(size).any(is_it))
}

/// The setup header tells where the version is, whose first word is the release.
fn release_of_image(head: &[u8]) -> Option<String> {
    let offset = number(head, VERSION_AT, 2) as usize;
    let text = head.get(offset + VERSION_FROM..).filter(|_| offset > 0)?;
    let word = text.split(|&byte| byte == 0 || byte == b' ').next()?;
    let word = &word[..word.len().min(RELEASE_BYTES)];
    (!word.is_empty()).then(|| String::from_utf8_lossy(word).into_owned())
}

/// Its banner, wherever it is.
fn release_of_program(file: &File) -> io::Result<Option<String>> {
    let most = BANNER.len() + RELEASE_BYTES + 2;
    let mut chunk = vec![0; CHUNK_BYTES + most];
    let mut offset = 0;
    loop {
        let count = file.read_at(&mut chunk, offset)?;
        if let Some(found) = release_in(&chunk[..count]) {
            return Ok(Some(found));
        }
        if count <= most {
            return Ok(None);
        }
        // What lies across the end is read again.
        offset += (count - most) as u64;
    }
}

fn release_in(text: &[u8]) -> Option<String> {
    let starts = text.windows(BANNER.len()).enumerate();
    let mut found = starts
        .filter(|(_, window)| *window == BANNER)
        .filter_map(|(at, _)| {
            let rest = &text[at + BANNER.len()..];
            let end = rest
                .iter()
                .take(RELEASE_BYTES + 1)
                .position(|byte| byte.is_ascii_whitespace())?;
            let is_banner = end > 0 && rest[end..].starts_with(b" (");
            is_banner.then(|| String::from_utf8_lossy(&rest[..end]).into_owned())
        });
    found.next()
}

/// The directory of a kernel's modules, if it is beside it.
fn modules_beside(kernel: &Path, release: &str) -> Option<PathBuf> {
    let above = kernel.parent()?;
    let each = PLACES.iter().map(|place| above.join(place).join(release));
    each.filter(|directory| directory.join("modules.dep").is_file())
        .find_map(|directory| directory.canonicalize().ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn looked_at(contents: &[u8]) -> Kernel {
        let held = tempfile::tempdir().unwrap();
        let path = held.path().join("kernel");
        fs::write(&path, contents).unwrap();
        Kernel::at(&path).unwrap()
    }

    fn image(version: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 0x400];
        head[0x202..0x206].copy_from_slice(b"HdrS");
        head[0x20E..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        head[0x300..0x300 + version.len()].copy_from_slice(version);
        head
    }

    /// A program of 64 bits with one section, and its names behind what else it has.
    fn program(section: &[u8], contents: &[u8]) -> Vec<u8> {
        let mut file = b"\x7fELF\x02".to_vec();
        file.resize(ELF_BYTES, 0);
        file[18] = 62;
        file.extend(contents);
        let names_at = file.len() as u64;
        file.push(0);
        file.extend(section);
        file.push(0);
        let sections_at = file.len() as u64;
        let mut header = [0; ELF_BYTES];
        header[..4].copy_from_slice(&1_u32.to_le_bytes());
        header[24..32].copy_from_slice(&names_at.to_le_bytes());
        header[32..40].copy_from_slice(&(sections_at - names_at).to_le_bytes());
        file.extend(header);
        file[40..48].copy_from_slice(&sections_at.to_le_bytes());
        file[58] = 64;
        file[60] = 1;
        file
    }

    #[test]
    fn an_image_is_known_by_its_header_and_says_its_release() {
        let found = looked_at(&image(b"6.12.117-test (someone@somewhere) #1 SMP\0"));
        assert_eq!(found.boots_as, Some(BootsAs::Pc));
        assert_eq!(found.release.as_deref(), Some("6.12.117-test"));
        assert_eq!(found.machine, None);
    }

    #[test]
    fn a_program_is_known_by_its_mark_and_says_its_release_wherever_it_is() {
        let mut contents = vec![0; CHUNK_BYTES - 20];
        contents.extend(b"Linux version %s (not this)\0Linux version 6.1.0 (a@b) #1\0");
        let found = looked_at(&program(MARK, &contents));
        assert_eq!(found.boots_as, Some(BootsAs::Uml));
        assert_eq!(found.machine, Some(62));
        assert_eq!(
            found.release.as_deref(),
            Some("%s"),
            "the first that looks like one"
        );
        let found = looked_at(&program(b".uml.setup.ini", &contents));
        assert_eq!((found.boots_as, found.machine), (None, Some(62)));
    }

    #[test]
    fn what_is_neither_boots_nowhere() {
        let elf = [&b"\x7fELF"[..], &[0; 1000]].concat();
        for contents in [&b""[..], b"no kernel", &[0; 4096], b"\x7fELF\x02", &elf] {
            assert_eq!(looked_at(contents).boots_as, None);
        }
    }

    #[test]
    fn a_damaged_program_is_no_kernel() {
        let whole = program(MARK, b"Linux version 6.1.0 (a@b)\0");
        for (at, count) in [(40, 8), (58, 2), (60, 2), (62, 2), (0, 7)] {
            let mut damaged = whole.clone();
            damaged[at..at + count].fill(0xFE);
            assert_eq!(looked_at(&damaged).boots_as, None, "at {at}");
        }
    }

    #[test]
    fn modules_are_found_beside_their_kernel() {
        let held = tempfile::tempdir().unwrap();
        let (kernel, above) = (
            held.path().join("vmlinuz"),
            held.path().join("lib/modules/6.1.0"),
        );
        fs::create_dir_all(&above).unwrap();
        fs::write(&kernel, image(b"6.1.0 (someone)\0")).unwrap();
        assert_eq!(Kernel::at(&kernel).unwrap().modules, None);
        fs::write(above.join("modules.dep"), b"").unwrap();
        let found = Kernel::at(&kernel).unwrap().modules;
        assert_eq!(found, Some(above.canonicalize().unwrap()));
    }
}
