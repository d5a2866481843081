//! `tiltyard-engine`, as it comes with Tiltyard: the core, and the classic tools.

use std::process::ExitCode;

use engine::Parts;

fn main() -> ExitCode {
    let mut parts = Parts::core();
    parts.storage.extend(classic_workloads::ALL);
    parts.tools.extend(classic::TOOLS);
    parts.protocols.push(&classic::NETPERF);
    engine::main(parts)
}
