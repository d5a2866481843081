//! Each target for a moment, within the usual tests: blind, unless the compiler counts.

use fuzz::explore::{explore, Broken};
use fuzz::targets::{Target, ALL};

const INPUTS: u64 = 5_000;

#[test]
fn no_target_breaks() {
    for target in ALL {
        let explored = explore(target, INPUTS, 1).unwrap_or_else(|Broken(input)| {
            panic!("{}: {:?}", target.name, String::from_utf8_lossy(&input));
        });
        assert_eq!(explored.inputs, INPUTS);
        assert!(explored.kept > 0);
    }
}

/// One that breaks on what no seed has: a brace that a token or a byte of the other seed brings.
#[test]
fn what_breaks_is_found_and_told() {
    let target = Target {
        name: "brittle",
        seeds: || vec![b"{\"flows\":1}".to_vec(), b"1-1".to_vec()],
        tokens: &["-1"],
        run: |input| {
            let text = String::from_utf8_lossy(input);
            assert!(!(text.starts_with('{') && text.contains(":-1")));
        },
    };
    let Broken(input) = explore(&target, 200_000, 1).unwrap_err();
    assert!(input.starts_with(b"{"));
}
