//! What is printed before the table.

use std::env::consts::{ARCH, OS};
use std::fs;

use rustix::time::{clock_getres, ClockId};

use super::choices::CHOICES;
use super::request::{Figures, Request};

const STRIDE: u64 = 17;
const LINE_BYTES: u64 = 32;

/// Who prints, and the lines by which programs learn whose table it is and for what it was built;
/// some wait for the first word with its colon.
pub fn version() -> String {
    format!(
        "\tIozone: command line of Tiltyard {}, with the table of\n\
         \t        Version $Revision: 3.498 $\n\
         \t\tCompiled for {} bit mode.\n\
         \t\tBuild: {OS}-{ARCH} \n\n",
        env!("CARGO_PKG_VERSION"),
        usize::BITS,
    )
}

/// The lines before the table. `line` is the command line.
pub fn of(request: &Request, line: &str) -> String {
    let mut text = version();
    for given in &request.options {
        let about = CHOICES.iter().find(|choice| choice.name == given.name);
        let about = about.map_or("", |choice| choice.about);
        let value = given.text().to_string_lossy();
        let blank = if value.is_empty() { "" } else { " " };
        text += &format!("\t{}{blank}{value}: {about}\n", given.name);
    }
    if request.shows_machine {
        text += &format!("\tMachine = {}\n", machine());
    }
    text += &format!("\tCommand line used: {line}\n");
    text += &format!("\tOutput is in {}\n", unit(request.figures));
    let step = clock_getres(ClockId::Monotonic);
    let step_s = step.tv_sec as f64 + step.tv_nsec as f64 / 1e9;
    text += &format!("\tTime Resolution = {step_s:.9} seconds.\n");
    let stride = request
        .parameters
        .get("stride")
        .and_then(|stride| stride.as_u64());
    text += &format!(
        "\tProcessor cache size set to {} kBytes.\n\
         \tProcessor cache line size set to {} bytes.\n\
         \tFile stride size set to {} * record size.\n",
        request.cache_kb(),
        request.line_bytes.unwrap_or(LINE_BYTES),
        stride.unwrap_or(STRIDE),
    );
    text
}

/// What a figure of the table is.
pub fn unit(figures: Figures) -> &'static str {
    match figures {
        Figures::Rate => "kBytes/sec",
        Figures::Operations => "operations per second",
        Figures::Latency => "microseconds per operation",
    }
}

/// System, host and release, as uname(1) shows them.
fn machine() -> String {
    ["ostype", "hostname", "osrelease", "version", "arch"]
        .iter()
        .filter_map(|name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok())
        .map(|word| word.trim().to_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
