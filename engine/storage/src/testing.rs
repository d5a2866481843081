//! What tests of several workloads need.

use serde_json::Value;
use tempfile::TempDir;
use wire::Failure;

/// Beside the test itself: the temporary directory may have nothing under its page cache.
pub fn scratch_directory() -> TempDir {
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
