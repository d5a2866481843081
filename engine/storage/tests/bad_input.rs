//! Parameters that cannot be: every workload of the list refuses them before it does anything,
//! and names the one that is to blame.
//!
//! What is tried follows from the schemas of the cards, so that a new workload is covered by its
//! line in the list.

mod common;

use std::path::Path;

use common::subject;
use serde_json::{json, Map};
use storage::workload::{Workload, ALL};
use testing::{Parameter, Subject};
use wire::FailureKind;

/// All workloads of the list, on one directory.
fn subjects(directory: &Path) -> Vec<Subject<'_>> {
    let all = ALL.iter();
    all.map(|workload| subject(*workload, directory)).collect()
}

#[test]
fn no_parameter_takes_what_has_no_meaning() {
    let directory = tempfile::tempdir().unwrap();
    let subjects = subjects(directory.path());
    for parameter in Parameter::of(&subjects) {
        parameter.assert_refuses_nonsense();
    }
}

#[test]
fn sizes_and_numbers_have_limits() {
    let directory = tempfile::tempdir().unwrap();
    let subjects = subjects(directory.path());
    let mut amounts = Parameter::of(&subjects);
    amounts.retain(Parameter::is_amount);
    assert!(amounts.len() > 10 * ALL.len() / 2);
    for amount in amounts {
        amount.assert_refuses_beyond_limits();
    }
}

#[test]
fn names_stay_names_in_the_target() {
    let long = "x".repeat(256);
    let directory = tempfile::tempdir().unwrap();
    let subjects = subjects(directory.path());
    let mut names = Parameter::of(&subjects);
    names.retain(Parameter::is_free_text);
    for parameter in names {
        for name in ["", ".", "..", "../up", "/etc", "nul\0", &long] {
            let is_list = parameter.is_list();
            parameter.assert_refuses(&if is_list { json!([name]) } else { json!(name) });
        }
    }
}

/// The parameter of `workload` that says how large a transfer is, where files have many.
fn transfer(workload: &dyn Workload) -> Option<&'static str> {
    let schema = workload.card().parameters;
    let is_there = |name: &&str| schema["properties"].get(*name).is_some();
    let has_file = is_there(&"file");
    ["record", "block"]
        .into_iter()
        .find(|name| has_file && is_there(name))
}

#[test]
fn a_transfer_larger_than_the_file_is_refused() {
    for workload in ALL {
        let Some(name) = transfer(*workload) else {
            continue;
        };
        let mut parameters = Map::new();
        parameters.insert("file".to_owned(), json!("4k"));
        parameters.insert(name.to_owned(), json!("8k"));
        let directory = tempfile::tempdir().unwrap();
        let failure = workload.plan(&parameters, directory.path()).err().unwrap();
        assert_eq!(failure.kind, FailureKind::BadJob, "{failure:?}");
        let blamed = failure.parameter.as_deref().unwrap();
        assert!(["file", name].contains(&blamed), "{failure:?}");
    }
}

#[test]
fn direct_transfers_are_whole_sectors() {
    for workload in ALL {
        let Some(name) = transfer(*workload) else {
            continue;
        };
        let mut parameters = Map::new();
        parameters.insert("file".to_owned(), json!("64k"));
        parameters.insert("access".to_owned(), json!("direct"));
        parameters.insert(name.to_owned(), json!(1_000));
        let directory = tempfile::tempdir().unwrap();
        let failure = workload.plan(&parameters, directory.path()).err().unwrap();
        assert_eq!(failure.parameter.as_deref(), Some(name), "{failure:?}");
    }
}
