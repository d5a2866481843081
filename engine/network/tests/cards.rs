//! Every workload's card tells the truth about its parameters.

mod common;

use common::{nowhere, subject};
use network::workload::ALL;

#[test]
fn every_parameter_has_help_and_the_default_that_is_in_effect() {
    for workload in ALL {
        subject(*workload, &nowhere()).assert_documented();
    }
}
