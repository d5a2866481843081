//! What this engine can do: the parts that it is made of.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::sync::OnceLock;

use kit::failure::bad_parameter;
use kit::trial::Planned;
use network::networks::Network;
use network::server::ServerConfig;
use storage::backend;
use wire::{BackendCard, Card, Catalogue, Failure, FarEnd, Job, PROTOCOL};

use crate::tool::Tool;

/// Version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an engine is made of. Workloads are listed in the order in which a person should meet them;
/// in an installation no two engines may have one of the same name.
#[derive(Default)]
pub struct Parts {
    /// Workloads on a directory.
    pub storage: Vec<&'static dyn storage::workload::Workload>,
    /// Workloads between a client and a server.
    pub network: Vec<&'static dyn network::workload::Workload>,
    /// Whether any program is a workload.
    pub programs: bool,
    /// Command lines that it can be called by.
    pub tools: Vec<&'static dyn Tool>,
    /// What `serve` can speak beside its own protocol.
    pub protocols: Vec<&'static Protocol>,
}

/// A protocol in which nobody proves who it is, so that who may be served has to be said.
pub struct Protocol {
    /// As `serve --speak` has it.
    pub name: &'static str,
    /// Where its clients look for a server.
    pub port: u16,
    /// Serves until a stop is asked for.
    pub serve: Serve,
}

/// Serves at these places, as told, clients of these networks or all.
pub type Serve = fn(&[TcpListener], &ServerConfig, Option<Vec<Network>>) -> Result<(), Failure>;

static PARTS: OnceLock<Parts> = OnceLock::new();

impl Parts {
    /// What the core has.
    pub fn core() -> Self {
        Self {
            storage: storage::workload::ALL.to_vec(),
            network: network::workload::ALL.to_vec(),
            programs: true,
            ..Self::default()
        }
    }

    /// From now on this program is made of them.
    ///
    /// # Panics
    /// If the program is made of others already.
    pub(crate) fn take(self) {
        assert!(PARTS.set(self).is_ok(), "made of parts already");
    }
}

fn parts() -> &'static Parts {
    PARTS.get_or_init(Parts::core)
}

/// Everything, for `describe`.
///
/// # Panics
/// If two workloads have one name.
pub fn catalogue() -> Catalogue {
    let mut names = BTreeSet::new();
    let twice = all().map(Known::name).find(|name| !names.insert(*name));
    assert!(twice.is_none(), "two workloads are called {twice:?}");
    Catalogue {
        protocol: PROTOCOL,
        engine: VERSION.to_owned(),
        backends: backend::CARDS
            .iter()
            .map(|card| BackendCard {
                name: card.name.to_owned(),
                about: card.about.to_owned(),
            })
            .collect(),
        workloads: all().map(Known::card).collect(),
    }
}

/// The trial that `job` asks for.
///
/// # Errors
/// `BadJob`, with the workloads that there are, or with the parameter or target that is not right.
pub fn plan(job: &Job) -> Planned {
    match find(&job.workload)? {
        Known::Storage(workload) => workload.plan(&job.parameters, directory(job)?),
        Known::Network(workload) => workload.plan(&job.parameters, far(job)?),
        Known::Program => {
            let directory = directory(job)?;
            program::plan(&job.parameters, directory, &job.target, &job.conditions)
        }
    }
}

/// The command line called `name`, if it is one.
pub fn tool(name: &str) -> Option<&'static dyn Tool> {
    let mut tools = parts().tools.iter().copied();
    tools.find(|tool| tool.names().contains(&name))
}

/// The same.
///
/// # Errors
/// `BadJob`, with the names that there are.
pub fn tool_named(name: &str) -> Result<&'static dyn Tool, Failure> {
    tool(name).ok_or_else(|| {
        let tools = parts().tools.iter();
        let names = tools.flat_map(|tool| tool.names());
        let names: Vec<String> = names.map(|&name| name.to_owned()).collect();
        let message = kit::params::unknown_name("classic tool", name, &names);
        bad_parameter("tool", message)
    })
}

/// The protocol called `name`.
///
/// # Errors
/// `BadJob`, with the names that there are.
pub fn protocol(name: &str) -> Result<&'static Protocol, Failure> {
    let mut protocols = parts().protocols.iter().copied();
    protocols.find(|known| known.name == name).ok_or_else(|| {
        let names = parts().protocols.iter().map(|known| known.name.to_owned());
        let message = kit::params::unknown_name("protocol", name, &names.collect::<Vec<_>>());
        bad_parameter("speak", format!("--speak: {message}"))
    })
}

/// A workload of one of the sorts.
#[derive(Clone, Copy)]
enum Known {
    Storage(&'static dyn storage::workload::Workload),
    Network(&'static dyn network::workload::Workload),
    Program,
}

impl Known {
    fn name(self) -> &'static str {
        match self {
            Known::Storage(workload) => workload.name(),
            Known::Network(workload) => workload.name(),
            Known::Program => program::NAME,
        }
    }

    fn card(self) -> Card {
        match self {
            Known::Storage(workload) => workload.card(),
            Known::Network(workload) => workload.card(),
            Known::Program => program::card(),
        }
    }
}

fn all() -> impl Iterator<Item = Known> {
    let parts = parts();
    let storage = parts.storage.iter().copied().map(Known::Storage);
    let network = parts.network.iter().copied().map(Known::Network);
    let program = parts.programs.then_some(Known::Program);
    storage.chain(network).chain(program)
}

fn find(name: &str) -> Result<Known, Failure> {
    all().find(|known| known.name() == name).ok_or_else(|| {
        let names: Vec<String> = all().map(|known| known.name().to_owned()).collect();
        let message = kit::params::unknown_name("workload", name, &names);
        bad_parameter("workload", message)
    })
}

fn directory(job: &Job) -> Result<&Path, Failure> {
    let missing = || lacks(job, "directory", "an existing directory");
    job.target.directory.as_deref().ok_or_else(missing)
}

fn far(job: &Job) -> Result<&FarEnd, Failure> {
    let missing = || lacks(job, "far", "where \"tiltyard-engine serve\" listens");
    job.target.far.as_ref().ok_or_else(missing)
}

fn lacks(job: &Job, key: &str, what: &str) -> Failure {
    let workload = &job.workload;
    let message = format!("job: target.{key} is missing: {workload} works on {what}");
    bad_parameter(&format!("target.{key}"), message)
}
