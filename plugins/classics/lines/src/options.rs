//! Reading a command line by a table of options, in the manner of getopt(3): `-s 4k`, `-s4k` and
//! `-acs 4k` are the same thing said three ways. Options of two letters are spelt `-+n`.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::str::FromStr;

use kit::failure::bad_parameter;
use lexopt::Arg;
use serde_json::Value;
use wire::Failure;

/// How the value of an option is read; `None` leaves the parameter to the tool.
pub type Read = fn(&Given) -> Result<Option<Value>, Failure>;

/// An option that a tool knows.
#[derive(Debug)]
pub struct Choice {
    /// As it is spelt: `-s`, `-+n`, `--makej`.
    pub name: &'static str,
    pub takes: Takes,
    /// What it does; for one that is left out, why, and what to do instead.
    pub about: &'static str,
    /// The value where the option is not given; empty for none.
    pub default: &'static str,
    /// The parameter of the workload that takes its value, and how this is read.
    pub sets: Option<(&'static str, Read)>,
    /// Parameters of the workload that have these values where it is given.
    pub switches: &'static [(&'static str, Literal)],
}

/// The value that a switch gives to a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Literal {
    Is(bool),
    Word(&'static str),
}

impl Literal {
    pub fn json(self) -> Value {
        match self {
            Self::Is(value) => value.into(),
            Self::Word(word) => word.into(),
        }
    }
}

impl Choice {
    const fn new(name: &'static str, takes: Takes, about: &'static str) -> Self {
        Self {
            name,
            takes,
            about,
            default: "",
            sets: None,
            switches: &[],
        }
    }

    /// An option that takes no value.
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Takes::Nothing, about)
    }

    /// An option that takes a value, called `what` in help.
    pub const fn value(name: &'static str, what: &'static str, about: &'static str) -> Self {
        Self::new(name, Takes::Value(what), about)
    }

    /// An option that takes the next word as its value if that begins so; called `what` in help.
    pub const fn optional(
        name: &'static str,
        what: &'static str,
        begins: Begins,
        about: &'static str,
    ) -> Self {
        Self::new(name, Takes::Optional(what, begins), about)
    }

    /// An option of the original that is refused; `about` says why, or what to do instead.
    pub const fn left_out(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Takes::LeftOut, about)
    }

    /// The option has this value where it is not given.
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Its value, read by `read`, is the workload's `parameter`.
    pub const fn sets(mut self, parameter: &'static str, read: Read) -> Self {
        self.sets = Some((parameter, read));
        self
    }

    /// It gives these values to these parameters of the workload.
    pub const fn switches(mut self, switches: &'static [(&'static str, Literal)]) -> Self {
        self.switches = switches;
        self
    }

    /// The option as if its default had been written, where it has one.
    pub fn default_value(&'static self) -> Option<(&'static Self, Given)> {
        let value = OsString::from(self.default);
        (!self.default.is_empty()).then_some((
            self,
            Given {
                name: self.name,
                value,
            },
        ))
    }
}

/// A table of options: rows of [`Choice`]s, each closed by a semicolon.
macro_rules! table {
    ($($kind:ident $fields:tt $(. $more:ident $values:tt)*;)*) => {
        &[$($crate::options::Choice::$kind $fields $(. $more $values)*),*]
    };
}
pub(crate) use table;

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// A value, called so in help.
    Value(&'static str),
    /// A value, called so in help, if the next word begins like one.
    Optional(&'static str, Begins),
    /// The original has it and we have not: it is refused by name.
    LeftOut,
}

/// How a word begins that is the value of the option before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// With a digit.
    Digit,
    /// With anything but a dash.
    NoDash,
}

impl Begins {
    fn fits(self, word: &OsStr) -> bool {
        match (self, word.as_encoded_bytes().first()) {
            (_, None) => false,
            (Self::Digit, Some(first)) => first.is_ascii_digit(),
            (Self::NoDash, Some(first)) => *first != b'-',
        }
    }
}

/// An option that was given.
#[derive(Debug, PartialEq, Eq)]
pub struct Given {
    /// As the table spells it.
    pub name: &'static str,
    value: OsString,
}

/// A command line, read.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Options in the order in which they were given.
    pub options: Vec<Given>,
    /// What stands alone.
    pub operands: Vec<OsString>,
}

impl Line {
    /// Whether the option called `name` was given.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|given| given.name == name)
    }

    /// For tools that take no operands, but directories by `option`.
    ///
    /// # Errors
    /// `BadJob`: something stands alone.
    pub fn refuse_operands(&self, option: &str) -> Result<(), Failure> {
        match self.operands.first() {
            None => Ok(()),
            Some(operand) => {
                let operand = operand.to_string_lossy();
                let message =
                    format!("\"{operand}\" belongs to no option; name a directory with {option}");
                Err(bad_parameter(option, message))
            }
        }
    }
}

impl Given {
    /// The value as it stands; empty for an option that takes none.
    pub fn text(&self) -> &OsStr {
        &self.value
    }

    /// The value as a `T`.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn value<T: FromStr<Err: Display>>(&self) -> Result<T, Failure> {
        let text = self.value.to_string_lossy();
        text.parse()
            .map_err(|error| self.wrong(format!("\"{text}\": {error}")))
    }

    /// The failure that the value of this option is to blame for.
    pub fn wrong(&self, message: impl Display) -> Failure {
        bad_parameter(self.name, format!("option {}: {message}", self.name))
    }
}

/// Reads `arguments` by the table `choices`.
///
/// # Errors
/// `BadJob`, naming the option: unknown, left out, or without the value that it takes.
pub fn read(choices: &[Choice], arguments: Vec<OsString>) -> Result<Line, Failure> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut line = Line {
        options: Vec::new(),
        operands: Vec::new(),
    };
    while let Some(argument) = parser.next().map_err(unreadable)? {
        let name = match argument {
            Arg::Value(operand) => {
                line.operands.push(operand);
                continue;
            }
            Arg::Long(name) => format!("--{name}"),
            Arg::Short('+') => match parser.next().map_err(unreadable)? {
                Some(Arg::Short(letter)) => format!("-+{letter}"),
                _ => "-+".to_owned(),
            },
            Arg::Short(letter) => format!("-{letter}"),
        };
        let choice = choices
            .iter()
            .find(|choice| choice.name == name)
            .ok_or_else(|| unknown(&name))?;
        let value = match choice.takes {
            Takes::Nothing => OsString::new(),
            Takes::Value(what) => parser.value().map_err(|_| {
                let message = format!("option {name} needs a value: {name} {what}");
                bad_parameter(&name, message)
            })?,
            Takes::Optional(_, begins) => optional(&mut parser, begins),
            Takes::LeftOut => {
                let message = format!("option {name} is left out here: {}", choice.about);
                return Err(bad_parameter(&name, message));
            }
        };
        line.options.push(Given {
            name: choice.name,
            value,
        });
    }
    Ok(line)
}

/// The next word, if it begins like a value; else nothing. What is joined to the letter is never
/// one: `-cC` is two options.
fn optional(parser: &mut lexopt::Parser, begins: Begins) -> OsString {
    let next = parser.try_raw_args();
    let value = next.and_then(|mut words| words.next_if(|word| begins.fits(word)));
    value.unwrap_or_default()
}

fn unknown(name: &str) -> Failure {
    let message = format!("\"{name}\" is not an option here; --help lists those that are");
    bad_parameter(name, message)
}

fn unreadable(error: lexopt::Error) -> Failure {
    bad_parameter("options", format!("the command line: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Size;

    const CHOICES: &[Choice] = &[
        Choice::flag("-a", "all"),
        Choice::value("-s", "SIZE", "size"),
        Choice::value("-+p", "SHARE", "share"),
        Choice::left_out("-Z", "it needs a printer; use paper"),
        Choice::flag("--makej", "as make -j"),
        Choice::optional("-c", "RATE", Begins::Digit, "measure"),
        Choice::optional("-o", "LIST", Begins::NoDash, "print"),
    ];

    fn read_text(text: &str) -> Result<Line, Failure> {
        read(
            CHOICES,
            text.split_whitespace().map(OsString::from).collect(),
        )
    }

    fn given(name: &'static str, value: &str) -> Given {
        Given {
            name,
            value: value.into(),
        }
    }

    #[test]
    fn options_are_read_apart_and_together() {
        let expected = [given("-a", ""), given("-s", "4k")];
        for text in ["-a -s 4k", "-as4k", "-as 4k"] {
            assert_eq!(read_text(text).unwrap().options, expected, "{text}");
        }
        let line = read_text("-+p 40 one --makej -s -1 two").unwrap();
        let expected = [given("-+p", "40"), given("--makej", ""), given("-s", "-1")];
        assert_eq!(line.options, expected);
        assert_eq!(line.operands, ["one", "two"]);
    }

    #[test]
    fn an_optional_value_is_known_by_how_it_begins() {
        let line = read_text("-c 100 -ac -o a,b -o -c word").unwrap();
        let expected = [
            given("-c", "100"),
            given("-a", ""),
            given("-c", ""),
            given("-o", "a,b"),
            given("-o", ""),
            given("-c", ""),
        ];
        assert_eq!(line.options, expected);
        assert_eq!(line.operands, ["word"]);
        assert_eq!(read_text("-o").unwrap().options, [given("-o", "")]);
    }

    #[test]
    fn an_option_that_is_unknown_left_out_or_lacks_its_value_is_named() {
        for (text, name, words) in [
            ("-x", "-x", "not an option"),
            ("-+q", "-+q", "--help"),
            ("-aZ", "-Z", "use paper"),
            ("-s", "-s", "-s SIZE"),
            ("-+", "-+", "not an option"),
        ] {
            let failure = read_text(text).unwrap_err();
            assert_eq!(failure.parameter.as_deref(), Some(name));
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }

    #[test]
    fn a_value_that_cannot_be_read_names_its_option() {
        let failure = given("-s", "4x").value::<Size>().unwrap_err();
        assert!(
            failure.message.starts_with("option -s: "),
            "{}",
            failure.message
        );
        assert_eq!(given("-s", "4k").value::<Size>().unwrap(), Size(4096));
    }
}
