//! Help, derived from a tool's table of options.

use crate::common;
use crate::options::{Choice, Takes};
use crate::Tool;

/// What `--help` prints.
pub fn of(tool: &dyn Tool) -> String {
    let names = tool.names();
    let mut text = format!("{}: {}\n\n", names[0], tool.about());
    let operands = tool.operands();
    let blank = if operands.is_empty() { "" } else { " " };
    text += &format!("Usage: {} [OPTIONS]{blank}{operands}\n", names[0]);
    if names.len() > 1 {
        text += &format!("Also called: {}\n", names[1..].join(", "));
    }
    let (left_out, known): (Vec<_>, Vec<_>) = tool
        .choices()
        .iter()
        .partition(|choice| choice.takes == Takes::LeftOut);
    text += &section("Options", &known);
    for (title, choices) in tool.further_choices() {
        text += &section(title, &choices.iter().collect::<Vec<_>>());
    }
    text += &section(
        "Options of every classic tool here",
        &common::CHOICES.iter().collect::<Vec<_>>(),
    );
    text += &section("Options of the original that are refused", &left_out);
    text
}

fn section(title: &str, choices: &[&Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let width = choices.iter().map(|choice| spelt(choice).len()).max();
    let lines = choices.iter().map(|choice| {
        let width = width.unwrap_or_default();
        let default = match choice.default {
            "" => String::new(),
            default => format!(" ({default})"),
        };
        format!("  {:width$}  {}{default}\n", spelt(choice), choice.about)
    });
    format!("\n{title}:\n{}", lines.collect::<String>())
}

fn spelt(choice: &Choice) -> String {
    match choice.takes {
        Takes::Value(what) => format!("{} {what}", choice.name),
        Takes::Optional(what, _) => format!("{} [{what}]", choice.name),
        Takes::Nothing | Takes::LeftOut => choice.name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LIST;

    #[test]
    fn every_option_of_every_tool_is_in_its_help() {
        for tool in LIST {
            let help = of(*tool);
            assert!(help.contains(tool.about()));
            let further = tool
                .further_choices()
                .iter()
                .flat_map(|(_, choices)| *choices);
            for choice in tool.choices().iter().chain(common::CHOICES).chain(further) {
                assert!(help.contains(&spelt(choice)), "{}", choice.name);
            }
        }
    }
}
