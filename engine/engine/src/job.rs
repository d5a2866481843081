//! Reading the job.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use kit::failure::{bad_parameter, failure, io_failure};
use kit::limits::JOB_BYTES;
use kit::params::read_value;
use kit::reach;
use serde_json::Value;
use wire::{ConditionsWanted, Failure, FailureKind, Inject, Job, LONGEST_DELAY_NS, PROTOCOL};

/// Reads a job from a file, or from standard input, and checks what is the same for all
/// workloads.
///
/// # Errors
/// `BadJob`, naming the key.
pub fn read(path: Option<&Path>) -> Result<Job, Failure> {
    parse(&text(path)?)
}

/// Reads the text of a job from a file, or from standard input.
///
/// # Errors
/// `BadJob`, when it cannot be read or is too long.
pub fn text(path: Option<&Path>) -> Result<String, Failure> {
    let text = match path {
        Some(path) => File::open(path).and_then(read_text),
        None => read_text(io::stdin()),
    };
    text.map_err(|error| {
        let source = path.map_or("standard input".into(), |path| path.display().to_string());
        bad_job(format!("cannot read the job from {source}: {error}"))
    })
}

/// What is read, unless it is more than a job may be.
fn read_text(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    if source.take(JOB_BYTES + 1).read_to_string(&mut text)? as u64 > JOB_BYTES {
        let message = format!("larger than {JOB_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Reads a job.
///
/// # Errors
/// `BadJob`, naming the key.
pub fn parse(text: &str) -> Result<Job, Failure> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| bad_job(format!("job: {error}")))?;
    let job: Job = read_value(&value).map_err(|(path, wrong)| match path.as_str() {
        "." => bad_job(format!("job: {wrong}")),
        _ => bad_parameter(&path, format!("job: {path}: {wrong}")),
    })?;
    check(&job)?;
    Ok(job)
}

/// Looks at what is the same for all workloads.
///
/// # Errors
/// `BadJob`, naming the key.
pub fn check(job: &Job) -> Result<(), Failure> {
    if job.protocol != PROTOCOL {
        let message = format!(
            "job: protocol {} is not spoken here; use {PROTOCOL}",
            job.protocol
        );
        return Err(bad_parameter("protocol", message));
    }
    check_inject(&job.conditions)?;
    let Some(directory) = &job.target.directory else {
        return Ok(());
    };
    let reason = match directory.metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => format!("cannot be used: {error}"),
        _ => "is not a directory; name an existing one".to_owned(),
    };
    let message = format!("job: target.directory: {} {reason}", directory.display());
    Err(bad_parameter("target.directory", message))
}

/// Root works by path in the directory: nobody else may put another one in its place.
///
/// # Errors
/// `Refused`, naming who could.
pub fn check_way(job: &Job) -> Result<(), Failure> {
    let Some(directory) = &job.target.directory else {
        return Ok(());
    };
    if std::env::var_os(reach::ALONE).is_some() {
        return Ok(());
    }
    let found = reach::exchanged_by(directory);
    match found.map_err(|error| io_failure("use", directory, &error))? {
        None => Ok(()),
        Some(why) => {
            let shown = directory.display();
            let message = format!(
                "{shown}: not used as root: {why}. Fix: run as an ordinary user, or let only root \
                 change the directories above it (chown root, chmod o-w)"
            );
            Err(failure(FailureKind::Refused, message))
        }
    }
}

fn check_inject(conditions: &ConditionsWanted) -> Result<(), Failure> {
    let Some(inject) = &conditions.inject else {
        return Ok(());
    };
    let refused = |key: &str, message: &str| {
        let key = format!("conditions.inject.{key}");
        Err(bad_parameter(&key, format!("job: {key}: {message}")))
    };
    match inject {
        Inject { every: 0, .. } => refused("every", "0 calls; use 1 for each call"),
        Inject { delay_ns, .. } if !(1..=LONGEST_DELAY_NS).contains(delay_ns) => refused(
            "delay_ns",
            &format!("{delay_ns} is out of range: 1 to {LONGEST_DELAY_NS}"),
        ),
        _ => Ok(()),
    }
}

fn bad_job(message: String) -> Failure {
    failure(FailureKind::BadJob, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (Option<String>, String) {
        let failure = parse(text).unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadJob);
        (failure.parameter, failure.message)
    }

    #[test]
    fn faults_name_the_key() {
        for (text, key) in [
            (
                r#"{"protocol":9,"workload":"w","target":{"directory":"/"}}"#,
                "protocol",
            ),
            (
                r#"{"protocol":1,"workload":"w","target":{"directory":"/no/such"}}"#,
                "target.directory",
            ),
            (
                r#"{"protocol":1,"workload":"w","target":{"path":"/"}}"#,
                "target.path",
            ),
            (
                r#"{"protocol":1,"workload":"w","target":{"directory":"/"},"conditions":{"cpus":"1"}}"#,
                "conditions.cpus",
            ),
            (
                r#"{"protocol":1,"workload":"w","target":{"directory":"/"},"conditions":{"inject":{"delay_ns":0}}}"#,
                "conditions.inject.delay_ns",
            ),
            (
                r#"{"protocol":1,"workload":"w","target":{"directory":"/"},"conditions":{"inject":{"delay_ns":9,"every":0}}}"#,
                "conditions.inject.every",
            ),
        ] {
            assert_eq!(fault(text).0.as_deref(), Some(key), "{text}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_told_from_one_that_is_not_there() {
        let told = |directory: &str| {
            let target = format!(r#"{{"directory":"{directory}"}}"#);
            fault(&format!(
                r#"{{"protocol":1,"workload":"w","target":{target}}}"#
            ))
            .1
        };
        assert!(told("/no/such").contains("is not a directory"));
        assert!(told(&format!("/{}", "n".repeat(256))).contains("cannot be used: File name too"));
    }

    #[test]
    fn what_is_no_json_names_line_and_column() {
        let (parameter, message) = fault("{\"protocol\":1,\n oops");
        assert_eq!(parameter, None);
        assert!(message.contains("line 2"), "{message}");
        assert!(fault("").1.contains("EOF"));
        let twice = r#"{"protocol":1,"workload":"w","target":{"directory":"/"}} {}"#;
        assert!(fault(twice).1.contains("trailing"));
    }
}
