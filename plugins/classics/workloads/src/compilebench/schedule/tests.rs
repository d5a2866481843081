use super::*;
use crate::compilebench::params::Params;

/// The schedule as the original makes it from its own dataset: 3263 objects are shuffled first.
fn original(scenario: Scenario, trees: u32, operations: u32) -> Vec<Step> {
    let params = Params {
        scenario,
        trees,
        operations,
        classic: true,
        ..Params::default()
    };
    let mut choices = Choices::seeded(params.seed);
    choices.shuffle(&mut [0_u8; 3_263]);
    schedule(&params, choices)
}

fn trees(steps: &[Step], stage: Stage) -> Vec<u32> {
    let of_stage = steps.iter().filter(|step| step.stage == stage);
    of_stage.map(|step| step.tree).collect()
}

fn counts(steps: &[Step]) -> [usize; 10] {
    [
        Stage::Create,
        Stage::Patch,
        Stage::Compile,
        Stage::Clean,
        Stage::ReadTree,
        Stage::ReadCompiledTree,
        Stage::DeleteTree,
        Stage::DeleteCompiledTree,
        Stage::StatTree,
        Stage::StatCompiledTree,
    ]
    .map(|stage| trees(steps, stage).len())
}

/// Orders seen in the original.
#[test]
fn make_j_visits_the_trees_of_the_original() {
    let steps = original(Scenario::MakeJ, 10, 1);
    let initial: Vec<u32> = (0..10).collect();
    assert_eq!(trees(&steps, Stage::InitialCreate), initial);
    assert_eq!(
        trees(&steps, Stage::Compile),
        [5, 2, 8, 1, 9, 6, 7, 3, 4, 0]
    );
    assert_eq!(trees(&steps, Stage::ReadCompiledTree), [0, 8, 8]);
    assert_eq!(
        trees(&steps, Stage::DeleteCompiledTree),
        [6, 4, 1, 5, 3, 2, 8, 0, 7, 9]
    );
    let three = original(Scenario::MakeJ, 3, 1);
    assert_eq!(trees(&three, Stage::ReadCompiledTree), [0, 2, 2]);
}

/// Counts seen in the original: with its defaults, and in a published sample.
#[test]
fn the_random_scenario_does_what_the_original_does() {
    let default = original(Scenario::Random, 30, 100);
    assert_eq!(counts(&default), [14, 15, 14, 10, 11, 4, 10, 4, 11, 7]);
    let sample = original(Scenario::Random, 10, 30);
    assert_eq!(counts(&sample), [5, 4, 7, 4, 2, 1, 2, 0, 4, 1]);
}

fn made(params: &Params) -> Vec<Step> {
    schedule(params, Choices::seeded(params.seed))
}

#[test]
fn without_classic_every_region_is_synced_and_every_read_is_cold_and_of_another_tree() {
    for trees_at_first in [1, 2, 5] {
        let params = Params {
            scenario: Scenario::MakeJ,
            trees: trees_at_first,
            ..Params::default()
        };
        let steps = made(&params);
        assert!(steps.iter().all(|step| step.is_synced));
        let reads = steps.iter().filter(|step| step.action == Action::Read);
        assert!(reads.clone().all(|step| step.settle == Settle::DropCaches));
        let read: HashSet<u32> = reads.clone().map(|step| step.tree).collect();
        assert_eq!(read.len() as u32, trees_at_first.min(3));
        assert_eq!(reads.count(), read.len());
    }
}

#[test]
fn classic_syncs_no_region_of_make_j_and_drops_caches_once_per_stage() {
    let steps = original(Scenario::MakeJ, 10, 1);
    assert!(steps.iter().all(|step| !step.is_synced));
    let drops = steps
        .iter()
        .filter(|step| step.settle == Settle::DropCaches);
    let stages: Vec<Stage> = drops.map(|step| step.stage).collect();
    assert_eq!(stages, [Stage::ReadCompiledTree, Stage::DeleteCompiledTree]);
}

#[test]
fn what_is_switched_off_is_not_done() {
    for (cold, sync, settled) in [
        (false, true, Settle::Sync),
        (false, false, Settle::AsIs),
        (true, false, Settle::DropCaches),
    ] {
        let params = Params {
            cold,
            sync,
            ..Params::default()
        };
        let steps = made(&params);
        let worked = steps.iter().skip(params.trees as usize);
        assert!(worked.clone().all(|step| step.settle == settled));
        assert!(worked.clone().all(|step| step.is_synced == sync));
    }
}
