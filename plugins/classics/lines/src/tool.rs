//! A tool that is one workload with a table of options: a row sets a parameter, and one function
//! runs them all.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use kit::failure::io_failure;
use kit::Size;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench::{job, Bench, Printer};
use crate::blame::blame;
use crate::options::{self, Choice, Given, Line, Takes};
use crate::{help, overwrite, Tool};

/// Everything about a tool; `options` is its table.
pub struct WorkloadTool {
    pub names: &'static [&'static str],
    pub about: &'static str,
    pub operands: &'static str,
    pub options: &'static [Choice],
    pub workload: &'static str,
    /// Sets the parameters that no single option sets, and says where the files are made.
    pub target: fn(&mut Settings) -> Result<Target, Failure>,
    pub printer: fn(Settings, &Target) -> Box<dyn Printer>,
}

/// Where files are made.
pub struct Target {
    pub directory: PathBuf,
    /// Files that --force removes first.
    pub overwritten: Box<dyn Iterator<Item = PathBuf>>,
    /// Whether the directory is made for the run where it is missing.
    pub is_made: bool,
}

impl Target {
    /// A directory that is there, and the files that would be overwritten.
    pub fn existing(
        directory: PathBuf,
        overwritten: impl Iterator<Item = PathBuf> + 'static,
    ) -> Self {
        Self {
            directory,
            overwritten: Box::new(overwritten),
            is_made: false,
        }
    }
}

impl Tool for WorkloadTool {
    fn names(&self) -> &'static [&'static str] {
        self.names
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn operands(&self) -> &'static str {
        self.operands
    }

    fn choices(&self) -> &'static [Choice] {
        self.options
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        let line = options::read(self.options, arguments.clone())?;
        if line.has("-h") {
            bench.print(&help::of(self));
            return Ok(());
        }
        let (settings, mut target) = self.request(line, arguments)?;
        if bench.force() {
            overwrite::remove(&mut target.overwritten)?;
        }
        let _made = MadeDirectory::new(&target)?;
        let job = job(
            self.workload,
            settings.parameters.clone(),
            &target.directory,
        );
        let mut printer = (self.printer)(settings, &target);
        let done = bench.execute(&job, printer.as_mut());
        for remark in printer.finish(done.is_ok())? {
            bench.remark(&remark);
        }
        let valued = self
            .options
            .iter()
            .filter(|option| matches!(option.takes, Takes::Value(_)));
        let blamed = valued.filter_map(|option| Some((option.sets?.0, option.name)));
        done.map_err(|failure| blame(failure, &blamed.collect::<Vec<_>>()))
    }
}

impl WorkloadTool {
    fn request(&self, line: Line, words: Vec<OsString>) -> Result<(Settings, Target), Failure> {
        let mut parameters = Map::new();
        let defaults = self.options.iter().filter_map(Choice::default_value);
        let given = line.options.iter().map(|given| (self.choice(given), given));
        for (choice, given) in defaults {
            set(&mut parameters, choice, &given)?;
        }
        for (choice, given) in given {
            set(&mut parameters, choice, given)?;
        }
        let options = self.options;
        let mut settings = Settings {
            options,
            line,
            words,
            parameters,
        };
        let target = (self.target)(&mut settings)?;
        Ok((settings, target))
    }

    fn choice(&self, given: &Given) -> &'static Choice {
        let mut options = self.options.iter();
        options
            .find(|option| option.name == given.name)
            .expect("it was read by this table")
    }

    /// What the command line `text` asks for.
    #[cfg(test)]
    pub fn request_of(&self, text: &str) -> Result<(Settings, Target), Failure> {
        let words: Vec<_> = text.split_whitespace().map(OsString::from).collect();
        self.request(options::read(self.options, words.clone())?, words)
    }

    /// The parameters that the command line `text` asks for.
    #[cfg(test)]
    pub fn parameters_of(&self, text: &str) -> Map<String, Value> {
        self.request_of(text).unwrap().0.parameters
    }

    /// Each line is refused, and the refusal names the option beside it.
    #[cfg(test)]
    pub fn assert_refusals_name(&self, cases: &[(&str, &str)]) {
        for (line, option) in cases {
            let failure = self.request_of(line).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some(*option), "{line}");
        }
    }
}

fn set(parameters: &mut Map<String, Value>, choice: &Choice, given: &Given) -> Result<(), Failure> {
    if let Some((name, read)) = choice.sets {
        if let Some(value) = read(given)? {
            parameters.insert(name.to_owned(), value);
        }
    }
    for (name, value) in choice.switches {
        parameters.insert((*name).to_owned(), value.json());
    }
    Ok(())
}

/// A command line by its tool's table: the parameters of the workload that it sets, and the rest.
pub struct Settings {
    options: &'static [Choice],
    line: Line,
    /// The command line itself.
    pub words: Vec<OsString>,
    pub parameters: Map<String, Value>,
}

impl Settings {
    /// Whether `option` was given.
    pub fn has(&self, option: &str) -> bool {
        self.line.has(option)
    }

    /// The values of `option`, in order.
    pub fn all(&self, option: &'static str) -> impl Iterator<Item = &Given> {
        self.line
            .options
            .iter()
            .filter(move |given| given.name == option)
    }

    /// What stands alone.
    pub fn operands(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.line.operands.iter().map(PathBuf::from)
    }

    /// The path that was named last by one of the spellings `names` of an option, or its default,
    /// or the working directory.
    pub fn path(&self, names: &[&str]) -> PathBuf {
        let mut given = self.line.options.iter().rev();
        let mut options = self.options.iter();
        let mut default = || {
            options
                .find(|option| option.name == names[0])
                .map(|option| option.default)
        };
        match given.find(|given| names.contains(&given.name)) {
            Some(given) => given.text().into(),
            None => default()
                .filter(|default| !default.is_empty())
                .unwrap_or(".")
                .into(),
        }
    }

    /// The directory after one of the spellings `names`, where nothing may stand alone.
    ///
    /// # Errors
    /// `BadJob`: something stands alone.
    pub fn directory(&self, names: &[&str]) -> Result<PathBuf, Failure> {
        self.line.refuse_operands(names[0])?;
        Ok(self.path(names))
    }

    /// Sets what no option has set.
    pub fn fill(&mut self, object: Value) {
        let Value::Object(others) = object else {
            unreachable!("parameters are written as an object")
        };
        for (name, value) in others {
            self.parameters.entry(name).or_insert(value);
        }
    }

    /// The parameter `name`, a number or a number of bytes.
    pub fn number(&self, name: &str) -> u64 {
        self.parameters[name]
            .as_u64()
            .expect("an option sets it, or its default")
    }

    /// The parameter `name`, a word.
    pub fn word(&self, name: &str) -> &str {
        self.parameters[name]
            .as_str()
            .expect("an option sets it, or its default")
    }

    /// The parameter `name`, a list of words.
    pub fn words_of(&self, name: &str) -> Vec<&str> {
        let words = self.parameters.get(name).and_then(Value::as_array);
        words
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }
}

/// The tool sets the parameter itself.
pub fn by_tool(_: &Given) -> Result<Option<Value>, Failure> {
    Ok(None)
}

pub fn number(given: &Given) -> Result<Option<Value>, Failure> {
    given.value::<u64>().map(|number| Some(json!(number)))
}

/// A number that is not 0.
pub fn positive(given: &Given) -> Result<Option<Value>, Failure> {
    given
        .value::<NonZeroU32>()
        .map(|number| Some(json!(number)))
}

/// A number of bytes, which may have a suffix.
pub fn size(given: &Given) -> Result<Option<Value>, Failure> {
    given.value::<Size>().map(|size| Some(json!(size)))
}

/// Text as it stands.
pub fn text(given: &Given) -> Result<Option<Value>, Failure> {
    Ok(Some(json!(given.text().to_string_lossy())))
}

/// One of `known` by its number.
///
/// # Errors
/// `BadJob`, naming the option.
pub fn by_number<T>(given: &Given, known: &'static [T]) -> Result<&'static T, Failure> {
    let number: usize = given.value()?;
    let last = known.len() - 1;
    let found = known.get(number);
    found.ok_or_else(|| given.wrong(format!("{number} is none of 0 to {last}")))
}

/// A directory that is there for the run only; what others put into it meanwhile keeps it.
struct MadeDirectory<'a>(Option<&'a Path>);

impl<'a> MadeDirectory<'a> {
    fn new(target: &'a Target) -> Result<Self, Failure> {
        let directory = &target.directory;
        if !target.is_made || directory.exists() {
            return Ok(Self(None));
        }
        let made = fs::create_dir(directory);
        made.map_err(|error| io_failure("make directory", directory, &error))?;
        Ok(Self(Some(directory)))
    }
}

impl Drop for MadeDirectory<'_> {
    fn drop(&mut self) {
        if let Some(directory) = self.0 {
            let _ = fs::remove_dir(directory);
        }
    }
}
