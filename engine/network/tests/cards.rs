//! Every workload's card tells the truth about its parameters.

mod common;

use common::nowhere;
use network::workload::ALL;
use serde_json::Map;

#[test]
fn every_parameter_has_help_and_the_default_that_is_in_effect() {
    for workload in ALL {
        let card = workload.card();
        let effective = |given: &Map<_, _>| {
            let plan = workload.plan(given, &nowhere());
            plan.unwrap().effective()
        };
        let mut defaults = Map::new();
        for (name, property) in card.parameters["properties"].as_object().unwrap() {
            let at = format!("{}, {name}", card.name);
            assert!(property["description"].is_string(), "{at} has no help");
            let default = property
                .get("default")
                .unwrap_or_else(|| panic!("{at}: no default"));
            defaults.insert(name.clone(), default.clone());
        }
        let names = |map: &Map<_, _>| map.keys().cloned().collect::<Vec<_>>();
        let without = effective(&Map::new());
        assert_eq!(effective(&defaults), without, "{}", card.name);
        assert_eq!(names(&defaults), names(&without), "{}", card.name);
    }
}
