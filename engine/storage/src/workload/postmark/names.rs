//! Where files lie: `[LOCATION/][sK/]NUMBER` under the target directory.

use std::ffi::{CStr, CString, OsStr};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use kit::failure::bad_parameter;
use wire::Failure;

use super::params::Params;
use super::pool::File;

/// Room for `sK/`, the number of a file and the final NUL.
const TAIL_BYTES: usize = 1 + 10 + 1 + 10 + 1;
/// What the kernel takes as a path, the final NUL included.
const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// Makes path names in one buffer, without allocating.
pub struct Names {
    /// Path of each location, with a final slash.
    locations: Vec<Vec<u8>>,
    has_subdirectories: bool,
    path: Vec<u8>,
}

impl Names {
    /// Names of files under `directory`, which is empty where it is the working directory.
    ///
    /// # Errors
    /// `BadJob` when a name might be longer than the kernel takes.
    pub fn new(directory: &Path, params: &Params) -> Result<Self, Failure> {
        let locations: Vec<Vec<u8>> = locations(directory, params)
            .into_iter()
            .map(|path| path.join("").into_os_string().into_vec())
            .collect();
        let longest = locations.iter().map(Vec::len).max().unwrap_or(0);
        let room = longest + TAIL_BYTES;
        if room > PATH_BYTES {
            let message = format!(
                "{}: names of files in it may have {room} bytes, of which {PATH_BYTES} are taken; \
                 use a directory whose path is shorter",
                directory.display()
            );
            return Err(bad_parameter("target.directory", message));
        }
        Ok(Self {
            locations,
            has_subdirectories: params.subdirectories > 1,
            path: Vec::with_capacity(room),
        })
    }

    /// The path of `file`.
    pub fn of(&mut self, file: &File) -> &CStr {
        self.path.clear();
        self.path
            .extend_from_slice(&self.locations[file.location as usize]);
        let tail = if self.has_subdirectories {
            write!(self.path, "s{}/{}\0", file.subdirectory, file.number)
        } else {
            write!(self.path, "{}\0", file.number)
        };
        tail.expect("a vector takes whatever is written");
        CStr::from_bytes_with_nul(&self.path).expect("the path of a directory has no NUL")
    }
}

/// The directory below `base` in which thread `index` has its files: `base` itself for a thread
/// alone.
pub fn of_thread(base: &Path, index: u32, params: &Params) -> PathBuf {
    if params.threads > 1 {
        base.join(format!("t{index}"))
    } else {
        base.to_owned()
    }
}

/// The directories that a trial makes under `directory`, parents first.
pub fn directories(directory: &Path, params: &Params) -> Vec<CString> {
    let locations = locations(directory, params);
    let subdirectories = match params.subdirectories {
        0 | 1 => 0,
        more => more,
    };
    let inner = locations.iter().flat_map(|location| {
        (0..subdirectories).map(move |index| location.join(format!("s{index}")))
    });
    let outer = locations
        .iter()
        .filter(|_| !params.locations.is_empty())
        .cloned();
    outer
        .chain(inner)
        .map(|path| CString::new(path.into_os_string().into_vec()))
        .map(|path| path.expect("the path of a directory has no NUL"))
        .collect()
}

/// Whether an entry of the target directory bears a name that a trial may want.
pub fn is_in_the_way(entry: &OsStr, params: &Params) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let entry = entry.as_bytes();
    if params.threads > 1 {
        entry.strip_prefix(b"t").is_some_and(is_number)
    } else if !params.locations.is_empty() {
        params
            .locations
            .iter()
            .any(|location| location.name.as_bytes() == entry)
    } else if params.subdirectories > 1 {
        entry.strip_prefix(b"s").is_some_and(is_number)
    } else {
        is_number(entry)
    }
}

/// The directories that hold files or their subdirectories.
fn locations(directory: &Path, params: &Params) -> Vec<PathBuf> {
    if params.locations.is_empty() {
        return vec![directory.to_owned()];
    }
    params
        .locations
        .iter()
        .map(|location| directory.join(&location.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    fn params(given: Value) -> Params {
        serde_json::from_value(given).expect("valid parameters")
    }

    fn paths(given: Value) -> (Vec<String>, String) {
        let (params, target) = (params(given), Path::new("/mnt/t"));
        let text = |path: &CStr| path.to_str().expect("text").to_owned();
        let made = directories(target, &params)
            .iter()
            .map(|path| text(path))
            .collect();
        let location = params.locations.len().saturating_sub(1) as u32;
        let file = File {
            number: 17,
            location,
            subdirectory: 2,
            size: 1,
        };
        (made, text(Names::new(target, &params).unwrap().of(&file)))
    }

    #[test]
    fn files_lie_in_the_target_in_subdirectories_and_in_locations() {
        assert_eq!(paths(json!({})), (vec![], "/mnt/t/17".into()));
        assert_eq!(
            paths(json!({"subdirectories": 1})),
            (vec![], "/mnt/t/17".into())
        );
        let three = ["/mnt/t/s0", "/mnt/t/s1", "/mnt/t/s2"]
            .map(String::from)
            .to_vec();
        assert_eq!(
            paths(json!({"subdirectories": 3})),
            (three, "/mnt/t/s2/17".into())
        );
        let spread = json!({"subdirectories": 2, "locations": [{"name": "a"}, {"name": "b"}]});
        let made = ["a", "b", "a/s0", "a/s1", "b/s0", "b/s1"].map(|p| format!("/mnt/t/{p}"));
        assert_eq!(paths(spread), (made.to_vec(), "/mnt/t/b/s2/17".into()));
    }

    #[test]
    fn a_path_never_outgrows_its_buffer() {
        let params = params(json!({"subdirectories": 100_000}));
        let mut names = Names::new(Path::new("/mnt/t"), &params).unwrap();
        let room = names.path.capacity();
        let last = File {
            number: u32::MAX,
            subdirectory: u32::MAX,
            ..File::default()
        };
        names.of(&last);
        assert!(names.path.len() <= room && names.path.capacity() == room);
    }

    #[test]
    fn names_that_the_kernel_does_not_take_are_told_beforehand() {
        let of = |bytes: usize| {
            let directory = "/d".repeat(bytes / 2);
            Names::new(Path::new(&directory), &params(json!({})))
        };
        assert!(of(PATH_BYTES - TAIL_BYTES - 1).is_ok());
        let failure = of(PATH_BYTES - TAIL_BYTES + 1).err().unwrap();
        assert!(failure.message.contains("shorter"), "{}", failure.message);
    }

    #[test]
    fn only_names_that_are_wanted_are_in_the_way() {
        let found = |given, entry: &str| is_in_the_way(OsStr::new(entry), &params(given));
        assert!(found(json!({}), "17"));
        assert!(!found(json!({}), "lost+found"));
        assert!(!found(json!({}), "s1"));
        assert!(found(json!({"subdirectories": 2}), "s1"));
        assert!(!found(json!({"subdirectories": 2}), "17"));
        assert!(!found(json!({"subdirectories": 2}), "src"));
        assert!(found(json!({"locations": [{"name": "a"}]}), "a"));
        assert!(!found(json!({"locations": [{"name": "a"}]}), "17"));
    }
}
