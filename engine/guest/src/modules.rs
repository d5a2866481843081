//! A kernel's modules, and which of them a guest must load for what it needs: read from the tables
//! that depmod(8) writes beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// What of it was asked for.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// Names of which this kernel has nothing.
    pub missing: Vec<String>,
    /// Files, each after those that it needs.
    pub files: Vec<Module>,
}

/// A file, and what tells whether it is still the same.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Module {
    pub path: PathBuf,
    pub bytes: u64,
    pub modified_ns: i64,
}

/// The modules of one kernel, by name.
pub struct Modules {
    directory: PathBuf,
    files: BTreeMap<String, String>,
    needs: BTreeMap<String, Vec<String>>,
    built_in: BTreeSet<String>,
    aliases: BTreeMap<String, String>,
    /// What should be there before.
    softly: BTreeMap<String, Vec<String>>,
}

impl Modules {
    /// Reads the tables in a directory.
    ///
    /// # Errors
    /// There is no table of what needs what.
    pub fn of(directory: &Path) -> io::Result<Self> {
        let table = |name: &str| {
            let bytes = fs::read(directory.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let mut own = Self {
            directory: directory.to_owned(),
            files: BTreeMap::new(),
            needs: BTreeMap::new(),
            built_in: table("modules.builtin").lines().map(name_of).collect(),
            aliases: aliases(&table("modules.alias"), &table("modules.builtin.modinfo")),
            softly: soft_dependencies(&table("modules.softdep")),
        };
        for line in fs::read_to_string(directory.join("modules.dep"))?.lines() {
            let (file, needs) = line.split_once(':').unwrap_or((line, ""));
            let name = name_of(file);
            let needs = needs.split_whitespace().map(name_of).collect();
            own.needs.insert(name.clone(), needs);
            own.files.insert(name, file.to_owned());
        }
        Ok(own)
    }

    /// Files for names and aliases; what is built in has none.
    ///
    /// # Errors
    /// A file that the tables have is not there.
    pub fn wanted(&self, names: &[String]) -> io::Result<Wanted> {
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        let mut missing = Vec::new();
        for name in names {
            match self.find(name) {
                Some(found) => {
                    let modules = found.iter();
                    modules.for_each(|name| self.visit(name, &mut seen, &mut order));
                }
                None => missing.push(name.clone()),
            }
        }
        let file = |name: &String| {
            let path = self.directory.join(&self.files[name]);
            let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
            let found = fs::metadata(&path).map_err(named)?;
            Ok(Module {
                bytes: found.size(),
                modified_ns: found.mtime() * 1_000_000_000 + found.mtime_nsec(),
                path,
            })
        };
        let files = order.iter().map(file).collect::<io::Result<_>>()?;
        Ok(Wanted { missing, files })
    }

    /// The module behind a name or an alias; an empty one if it is built in, `None` if it is nowhere.
    fn find(&self, wanted: &str) -> Option<Option<String>> {
        let name = match self.aliases.get(wanted) {
            Some(name) => name.clone(),
            None => wanted.replace('-', "_"),
        };
        match self.files.contains_key(&name) {
            true => Some(Some(name)),
            false => self.built_in.contains(&name).then_some(None),
        }
    }

    /// A module after its needs; once, for soft ones may lie in a circle.
    fn visit(&self, name: &str, seen: &mut BTreeSet<String>, order: &mut Vec<String>) {
        if !self.files.contains_key(name) || !seen.insert(name.to_owned()) {
            return;
        }
        for soft in self.softly.get(name).into_iter().flatten() {
            if let Some(found) = self.find(soft).flatten() {
                self.visit(&found, seen, order);
            }
        }
        // The table has all needs of needs, the nearest first.
        for need in self.needs.get(name).into_iter().flatten().rev() {
            self.visit(need, seen, order);
        }
        order.push(name.to_owned());
    }
}

/// A module's name, as the kernel has it.
fn name_of(file: &str) -> String {
    let name = file.trim().rsplit('/').next().unwrap_or_default();
    name.split(".ko")
        .next()
        .unwrap_or_default()
        .replace('-', "_")
}

/// Alias → module, of modules and of what is built in.
fn aliases(of_modules: &str, built_in: &str) -> BTreeMap<String, String> {
    let lines = of_modules.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["alias", alias, name] => Some((alias.to_owned(), name.to_owned())),
            _ => None,
        }
    });
    let entries = built_in.split('\0').filter_map(|entry| {
        let (name, alias) = entry.split_once(".alias=")?;
        Some((alias.to_owned(), name.to_owned()))
    });
    lines.chain(entries).collect()
}

/// Module → what should be there before it.
fn soft_dependencies(table: &str) -> BTreeMap<String, Vec<String>> {
    let of_line = |line: &str| {
        let mut words = line
            .split_whitespace()
            .filter(|_| line.starts_with("softdep "));
        let name = words.nth(1)?.to_owned();
        let before = words.skip_while(|word| *word != "pre:").skip(1);
        let before = before.take_while(|word| *word != "post:");
        Some((name, before.map(str::to_owned).collect()))
    };
    table.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory as depmod(8) leaves it: packed, aliased, and in need of each other, softly in a circle.
    fn laid_out() -> tempfile::TempDir {
        let held = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = held.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in [
            "f2fs.ko.xz",
            "crc32_generic.ko.gz",
            "lib-base.ko",
            "lib-top.ko",
        ] {
            put(&format!("fs/{name}"), name);
        }
        put(
            "modules.dep",
            "fs/f2fs.ko.xz: fs/lib-top.ko fs/lib-base.ko\n\
             fs/lib-top.ko: fs/lib-base.ko\nfs/lib-base.ko:\nfs/crc32_generic.ko.gz:\n",
        );
        put(
            "modules.alias",
            "alias fs-f2fs f2fs\nalias crc32 crc32_generic\n# none\n",
        );
        put(
            "modules.softdep",
            "softdep f2fs pre: crc32 post: other\nsoftdep crc32_generic pre: f2fs\n",
        );
        put("modules.builtin", "kernel/fs/ext4/ext4.ko\n");
        put(
            "modules.builtin.modinfo",
            "ext4.license=GPL\0ext4.alias=fs-ext4\0ext4.alias=fs-ext3\0",
        );
        held
    }

    fn wanted(names: &[&str]) -> (Vec<String>, Vec<String>) {
        let held = laid_out();
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let found = Modules::of(held.path()).unwrap().wanted(&names).unwrap();
        let files = found.files.iter().map(|file| {
            let name = file.path.strip_prefix(held.path().join("fs")).unwrap();
            assert_eq!(file.bytes, name.as_os_str().len() as u64);
            name.display().to_string()
        });
        (files.collect(), found.missing)
    }

    #[test]
    fn modules_come_after_all_that_they_need() {
        let (files, missing) = wanted(&["fs-f2fs", "no-such"]);
        let order = [
            "crc32_generic.ko.gz",
            "lib-base.ko",
            "lib-top.ko",
            "f2fs.ko.xz",
        ];
        assert_eq!(files, order);
        assert_eq!(missing, ["no-such"]);
    }

    #[test]
    fn what_is_built_in_needs_no_module_and_what_is_nowhere_is_told() {
        let (files, missing) = wanted(&["fs-ext3", "ext4", "fs-reiserfs"]);
        assert!(files.is_empty());
        assert_eq!(missing, ["fs-reiserfs"]);
    }

    #[test]
    fn a_directory_without_tables_is_refused() {
        let held = tempfile::tempdir().unwrap();
        assert!(Modules::of(held.path()).is_err());
    }
}
