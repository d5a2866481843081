//! Every workload of the list is held to the rules of all.

mod common;

use common::all;
use testing::rules;

#[test]
fn every_parameter_has_help_and_the_default_that_is_in_effect() {
    rules::cards_tell_the_truth(&all());
}

#[test]
fn every_workload_runs_at_its_smoke_size_and_adds_up() {
    rules::run_at_their_smoke_size(&all());
}

#[test]
fn every_workload_refuses_what_cannot_be() {
    rules::refuse_what_cannot_be(&all());
}
