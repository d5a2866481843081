//! The kit: what every measurement needs, and no workload.
//!
//! Anything that runs inside a timed region ([`probe`], [`histogram`], [`clock`], [`stop`])
//! allocates nothing, takes no lock and writes no log.

pub mod append;
pub mod barrier;
pub mod buffers;
pub mod cache;
pub mod calls;
pub mod cgroup;
pub mod clock;
pub mod content;
pub mod device;
pub mod event_sink;
pub mod failure;
pub mod gauges;
pub mod histogram;
pub mod inject;
pub mod limits;
pub mod list;
pub mod mt64;
pub mod node;
pub mod pace;
pub mod params;
pub mod pattern;
pub mod permutation;
pub mod place;
pub mod probe;
pub mod proc;
pub mod program;
pub mod reach;
pub mod removal;
pub mod requests;
pub mod settling;
pub mod signals;
pub mod sizes;
pub mod slices;
pub mod splitmix;
pub mod stop;
pub mod team;
pub mod text;
pub mod trial;
pub mod zipf;

pub use buffers::Buffer;
pub use calls::Calls;
pub use cgroup::MemoryGroup;
pub use content::Content;
pub use device::Device;
pub use event_sink::EventSink;
pub use list::List;
pub use probe::{OperationProbe, PassProbe, Probe, Reading};
pub use sizes::Size;
pub use trial::Trial;
