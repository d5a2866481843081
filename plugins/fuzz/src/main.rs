//! `tiltyard-fuzz TARGET INPUTS [SEED]`: fuzzes one target, and says what was reached in one line
//! of JSON. An input that breaks it is printed in hexadecimal; the exit code is 1.

use std::io::{self, Write};
use std::process::ExitCode;

use fuzz::explore::{explore, Broken};
use fuzz::targets::ALL;
use serde_json::json;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let named = |name: &String| ALL.iter().find(|target| target.name == name);
    let (Some(target), Some(inputs)) = (words.first().and_then(named), number(1)) else {
        let names: Vec<_> = ALL.iter().map(|target| target.name).collect();
        let usage = format!("usage: tiltyard-fuzz {} INPUTS [SEED]\n", names.join("|"));
        let _ = io::stderr().write_all(usage.as_bytes());
        return ExitCode::from(2);
    };
    let explored = explore(target, inputs, number(2).unwrap_or(1));
    let (line, code) = match explored {
        Ok(done) => {
            let [reached, edges] = done.edges;
            let line = json!({
                "target": target.name, "inputs": done.inputs, "kept": done.kept,
                "reached": reached, "edges": edges,
            });
            (line, ExitCode::SUCCESS)
        }
        Err(Broken(input)) => {
            let digits: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
            (
                json!({"target": target.name, "broken": digits}),
                ExitCode::FAILURE,
            )
        }
    };
    let _ = writeln!(io::stdout(), "{line}");
    code
}
