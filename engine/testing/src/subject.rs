//! A workload, whatever it works on.

use kit::Trial;
use serde_json::{Map, Value};
use wire::{Card, Failure};

type Plan<'a> = dyn Fn(&Map<String, Value>) -> Result<Box<dyn Trial>, Failure> + 'a;

/// A workload together with a target, which is all that storage and network differ in.
pub struct Subject<'a> {
    /// What the workload says of itself.
    pub card: Card,
    plan: Box<Plan<'a>>,
}

impl<'a> Subject<'a> {
    /// `plan` is the workload's own, on a target.
    pub fn new(
        card: Card,
        plan: impl Fn(&Map<String, Value>) -> Result<Box<dyn Trial>, Failure> + 'a,
    ) -> Self {
        Self {
            card,
            plan: Box::new(plan),
        }
    }

    /// A trial with these parameters.
    ///
    /// # Errors
    /// Those of the workload's plan.
    pub fn plan(&self, parameters: &Map<String, Value>) -> Result<Box<dyn Trial>, Failure> {
        (self.plan)(parameters)
    }

    /// The failure of a plan with the smoke parameters changed so; panics if there is none.
    pub fn refusal(&self, changes: &Value) -> Failure {
        match self.plan(&smoke_with(&self.card, changes)) {
            Err(failure) => failure,
            Ok(_) => panic!("{} takes {changes}", self.card.name),
        }
    }

    /// Every parameter has help, and the default that is in effect.
    pub fn assert_documented(&self) {
        let effective = |given: &Map<_, _>| self.plan(given).unwrap().effective();
        let card = &self.card;
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

/// The smoke parameters of a card with some of them changed.
pub fn smoke_with(card: &Card, changes: &Value) -> Map<String, Value> {
    let mut parameters = card.smoke.as_object().unwrap().clone();
    parameters.extend(changes.as_object().unwrap().clone());
    parameters
}
