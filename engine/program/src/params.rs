//! Parameters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kit::failure::bad_parameter;
use kit::Size;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use wire::Failure;

/// The parameter with a command that compares outputs.
pub const COMPARE: &str = "expect.compare";

const SECONDS_MAX: f64 = 1e6;
const WORDS_MAX: usize = 4_096;

kit::parameters! {
    /// Parameters of the workload "program".
    pub struct Params {
        /// The program and its arguments, one word each; no shell reads them. `{dir}` is the
        /// trial's directory on the system, `{execution}` the number of the execution, `{name}` a
        /// variable of the system; `{{name}}` stands for `{name}`, other braces for themselves.
        #[schemars(extend("brings" = "starts"))]
        pub command: Vec<String> = Vec::new(), up to WORDS_MAX;
        /// Whether commands are lines for `/bin/sh -c`; the start of an empty one is measured and
        /// subtracted.
        pub shell: bool = false;
        /// Working directory, an absolute path; by default the trial's own directory.
        #[serde(rename = "where")]
        #[schemars(extend("path" = "study", "brings" = "works in"))]
        pub place: Option<String> = None;
        /// Variables of the environment, which else has PATH, HOME, USER, LANG=C.UTF-8 and
        /// TMPDIR, the trial's directory.
        pub env: BTreeMap<String, String> = BTreeMap::new();
        /// Names of variables that are passed on from the environment of the engine; the record
        /// has `{NAME}` in place of their values.
        #[schemars(extend("brings" = "is handed the variables"))]
        pub pass: Vec<String> = Vec::new(), up to WORDS_MAX;
        /// File that standard input is read from; by default it is empty.
        #[schemars(extend("path" = "study", "brings" = "reads"))]
        pub stdin: Option<String> = None;
        /// File that standard output is written to, made or emptied before each execution; what it
        /// holds then is captured. By default it is a pipe. /dev/null is captured by nobody.
        #[schemars(extend("path" = "study", "brings" = "writes"))]
        pub stdout: Option<String> = None;
        /// Seconds after which a command is ended and the trial has failed.
        pub timeout: f64 = 3600.0, in 0.001..=SECONDS_MAX;
        /// User that commands run as; by default the one who runs the engine.
        pub user: Option<String> = None;
        /// CPUs that commands may use; by default those that the trial is placed on, else all.
        pub cpus: Vec<u32> = Vec::new(), up to WORDS_MAX;
        /// NUMA node whose memory commands take while there is some.
        pub numa: Option<u32> = None;
        /// Executed once before the first execution, untimed: a command, or a list of them.
        #[schemars(extend("brings" = "starts"))]
        pub setup: Commands = Commands::default();
        /// Executed before each execution, untimed.
        #[schemars(extend("brings" = "starts"))]
        pub prepare: Commands = Commands::default();
        /// Executed after each execution, untimed.
        #[schemars(extend("brings" = "starts"))]
        pub conclude: Commands = Commands::default();
        /// Executed once at the end, untimed, also after a failure.
        #[schemars(extend("brings" = "starts"))]
        pub cleanup: Commands = Commands::default();
        /// Executed once in each turn of a system, untimed: `setup` before the first trial and
        /// `cleanup` after the last one. `{dir}` is then one directory for the whole turn.
        #[schemars(extend("brings" = "starts"))]
        pub turn: Around = Around::default();
        /// The same once at each start of a study's run, on this host, before any system is up:
        /// without variables of systems, in `{study_dir}`, which all other commands may name.
        #[schemars(extend("brings" = "starts"))]
        pub study: Around = Around::default();
        /// Servers: started after setup, ended before cleanup.
        #[schemars(extend("brings" = "starts"))]
        pub servers: Vec<Server> = Vec::new(), up to 64;
        /// Executions that are measured.
        #[schemars(extend("amount" = "count", "least" = 1))]
        pub executions: u32 = 1, in 1..=100_000;
        /// Seconds that the measured executions take together at least; there are more of them
        /// until then, up to 100,000.
        pub at_least: f64 = 0.0, in 0.0..=SECONDS_MAX;
        /// Executions that are thrown away before.
        pub warmup: u32 = 0, in 0..=100_000;
        /// Whether executions are thrown away until their times are steady.
        pub steady: bool = false;
        /// What is right; anything else is a failed trial.
        pub expect: Expect = Expect::default();
        /// Text files that are written into the trial's directory before setup: name → contents, in
        /// which nothing is filled in.
        #[schemars(extend("brings" = "has the file"))]
        pub inputs: BTreeMap<String, String> = BTreeMap::new();
        /// Files that are captured after each execution, relative to the working directory.
        #[schemars(extend("brings" = "captures"))]
        pub files: Vec<String> = Vec::new(), up to 64;
        /// Bytes of each output that are kept; all of it is hashed.
        pub keep: Size = Size(1 << 20), within Size(0)..=Size(4 << 20);
        /// Bytes of output at which a command is ended and the trial has failed.
        pub flood: Size = Size(1 << 30), within Size(1)..=Size(1 << 40);
        /// Whether the size of the environment and the length of the program's path differ between
        /// executions, so that the luck of one layout of memory is not taken for speed.
        pub layout: Layout = Layout::Varied;
    }
}

/// Commands before and after several trials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Around {
    /// Before: a command, or a list of them.
    pub setup: Commands,
    /// After, also after a failure: a command, or a list of them.
    pub cleanup: Commands,
}

impl Around {
    fn commands(&self) -> Vec<&[String]> {
        let both = self.setup.0.iter().chain(&self.cleanup.0);
        both.map(Vec::as_slice).collect()
    }
}

/// Commands in order. Read from one command or a list of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Commands(pub Vec<Vec<String>>);

impl<'de> Deserialize<'de> for Commands {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "a command is a list of words, or a list of such lists"
        )]
        enum Written {
            None([String; 0]),
            One(Vec<String>),
            Several(Vec<Vec<String>>),
        }
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::None(_) => Vec::new(),
            Written::One(words) => vec![words],
            Written::Several(commands) => commands,
        }))
    }
}

impl JsonSchema for Commands {
    fn schema_name() -> Cow<'static, str> {
        "Commands".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = json_schema!({"type": "array", "items": {"type": "string"}});
        json_schema!({
            "description": "A command, which is a list of words, or a list of commands.",
            "anyOf": [words, {"type": "array", "items": words}],
        })
    }
}

/// What is expected of each execution that is measured or thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Exit codes that are right: a list, or "any".
    pub exit: Exit,
    /// Whether all executions must print the same on standard output.
    pub stdout: Same,
    /// A command that compares what is printed on standard output with what is expected, in place
    /// of byte for byte: `{expected}` and `{output}` are files. It is executed untimed, once for
    /// each output that differs; exit code 0 means that they are the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = WORDS_MAX), extend("brings" = "compares by"))]
    pub compare: Vec<String>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            exit: Exit::Codes(vec![0]),
            stdout: Same::Any,
            compare: Vec::new(),
        }
    }
}

/// Exit codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "exit is a list of codes from 0 to 255, as in [0, 1], or \"any\""
)]
pub enum Exit {
    /// These.
    Codes(Vec<u8>),
    /// Whatever it is.
    Any(Any),
}

/// The word for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Any {
    /// All.
    Any,
}

impl Exit {
    /// Whether `code` is right.
    pub fn has(&self, code: i32) -> bool {
        match self {
            Self::Codes(codes) => codes.iter().any(|&right| i32::from(right) == code),
            Self::Any(_) => true,
        }
    }

    /// As a person says it: "0 or 1".
    pub fn words(&self) -> String {
        match self {
            Self::Codes(codes) => {
                let codes: Vec<String> = codes.iter().map(u8::to_string).collect();
                codes.join(" or ")
            }
            Self::Any(_) => "any".to_owned(),
        }
    }

    /// What makes another code right, in a study and where commands are typed.
    pub fn fix(&self, code: i32) -> String {
        let codes = match self {
            Self::Codes(codes) => codes.iter().map(|&right| i32::from(right)),
            Self::Any(_) => return String::new(),
        };
        let list = |codes: Vec<i32>| codes.iter().map(i32::to_string).collect::<Vec<_>>();
        let all = list(codes.clone().chain([code]).collect()).join(", ");
        let typed = list(codes.filter(|&right| right != 0).chain([code]).collect()).join(",");
        format!(
            ". Fix: mend the command, or accept the code: -i={typed} of compare and gate, \
             expect = {{ exit = [{all}] }} in a study"
        )
    }
}

/// Whether outputs are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Same {
    /// They are not.
    #[default]
    Any,
    /// They must be equal, byte for byte.
    Same,
}

/// Whether the layout of memory is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// A variable TILTYARD_PADDING, and the path of the program, have another length in each
    /// execution.
    Varied,
    /// Both are the same in all executions.
    Fixed,
}

/// A server that commands use.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The program and its arguments. It stays in the foreground.
    pub command: Vec<String>,
    /// Which end of the system it runs at; a system that has one has it there.
    #[serde(default, skip_serializing_if = "At::is_client")]
    pub at: At,
    /// How to see that it is ready; without, it is when it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// Seconds until it must be ready, and until it must have ended.
    #[serde(default = "server_timeout")]
    #[schemars(range(min = 0.001, max = SECONDS_MAX))]
    pub timeout: f64,
    /// Signal that asks it to end.
    #[serde(default = "server_stop")]
    pub stop: String,
}

/// An end of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// Where the program runs.
    #[default]
    Client,
    /// The server's end of a system of two ends.
    Server,
}

impl At {
    fn is_client(&self) -> bool {
        *self == Self::Client
    }
}

fn server_timeout() -> f64 {
    60.0
}

fn server_stop() -> String {
    "SIGTERM".to_owned()
}

/// What shows that a server is ready.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// This command ends with exit code 0; it is repeated until then.
    Command(Vec<String>),
    /// This TCP port accepts a connection, on 127.0.0.1 or at the address of the end where
    /// the server is: "5432" or "{port}".
    Port(String),
    /// This path exists, relative to the working directory.
    Path(String),
    /// This text is printed, on standard output or standard error.
    Stdout(String),
}

impl Params {
    /// Looks at what ranges cannot say.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn check(&self) -> Result<(), Failure> {
        let refuse = |parameter: &str, what: &str| {
            let message = format!("parameter \"{parameter}\": {what}");
            Err(bad_parameter(parameter, message))
        };
        for (parameter, commands) in self.commands() {
            for words in commands {
                if words.first().is_none_or(String::is_empty) {
                    return refuse(
                        parameter,
                        "name the program, as in [\"sort\", \"-n\", \"file\"]",
                    );
                }
                if words.iter().any(|word| word.contains('\0')) {
                    return refuse(
                        parameter,
                        "a word with a NUL byte cannot be passed to a program",
                    );
                }
            }
        }
        for name in self.env.keys().chain(&self.pass) {
            let parameter = match self.env.contains_key(name) {
                true => "env",
                false => "pass",
            };
            if name.is_empty() || name.contains(['=', '\0']) {
                return refuse(parameter, &format!("{name:?} is no name of a variable"));
            }
        }
        if self.env.values().any(|value| value.contains('\0')) {
            return refuse(
                "env",
                "a value with a NUL byte cannot be passed to a program",
            );
        }
        for name in self.inputs.keys() {
            if name.contains(['/', '\0']) || ["", ".", ".."].contains(&name.as_str()) {
                return refuse("inputs", &format!("{name:?} is no name of a file"));
            }
        }
        if self.expect.exit == Exit::Codes(Vec::new()) {
            return refuse("expect.exit", "no code is right; name one, as in [0]");
        }
        if self.expect.stdout == Same::Same && !self.expect.compare.is_empty() {
            return refuse(
                "expect.compare",
                "with stdout = \"same\" nothing is left to compare. Fix: leave one of them out",
            );
        }
        for server in &self.servers {
            kit::limits::within("servers.timeout", server.timeout, 0.001..=SECONDS_MAX)?;
            if crate::signals::number(&server.stop).is_none() {
                let what = format!("{:?} is no signal; use SIGTERM, SIGINT, …", server.stop);
                return refuse("servers.stop", &what);
            }
        }
        Ok(())
    }

    /// All commands, with the names of their parameters.
    pub fn commands(&self) -> [(&'static str, Vec<&[String]>); 9] {
        fn each(commands: &Commands) -> Vec<&[String]> {
            commands.0.iter().map(Vec::as_slice).collect()
        }
        let servers = self.servers.iter().map(|server| &server.command[..]);
        let compare = (!self.expect.compare.is_empty()).then_some(&self.expect.compare[..]);
        [
            ("command", vec![&self.command[..]]),
            ("study", self.study.commands()),
            ("turn", self.turn.commands()),
            ("setup", each(&self.setup)),
            ("prepare", each(&self.prepare)),
            ("conclude", each(&self.conclude)),
            ("cleanup", each(&self.cleanup)),
            ("servers", servers.collect()),
            (COMPARE, compare.into_iter().collect()),
        ]
    }
}
