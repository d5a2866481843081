//! Where tests work, and what is refused there.

use serde_json::Value;
use tempfile::TempDir;
use wire::Failure;

/// In memory, so that what others read from a disk, and whose caches they drop, does not contradict
/// the declared access.
pub fn scratch_directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

/// Beside the test itself: memory, and perhaps the temporary directory, have nothing under their
/// page cache.
pub fn directory_on_disk() -> TempDir {
    let test = std::env::current_exe().unwrap();
    tempfile::tempdir_in(test.parent().unwrap()).unwrap()
}

/// Each job is refused, and the refusal names the parameter beside it.
pub fn assert_refusals_name<T>(
    parse: impl Fn(Value) -> Result<T, Failure>,
    cases: impl IntoIterator<Item = (Value, &'static str)>,
) {
    for (job, parameter) in cases {
        let refusal = parse(job.clone()).err();
        let named = refusal.and_then(|failure| failure.parameter);
        assert_eq!(named.as_deref(), Some(parameter), "{job}");
    }
}
