//! Every workload's card tells the truth about its parameters.

mod common;

#[test]
fn every_parameter_has_help_and_the_default_that_is_in_effect() {
    let directory = tempfile::tempdir().unwrap();
    for workload in storage::workload::ALL {
        common::subject(*workload, directory.path()).assert_documented();
    }
}
