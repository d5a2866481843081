//! What a command line asks for, and the job that comes of it.

use std::path::{Path, PathBuf};

use kit::failure::bad_parameter;
use kit::Size;
use serde_json::{json, Map, Value};
use wire::Failure;

use crate::bench;
use crate::options::{Given, Line};

/// One of the four files that the original comes with.
const DATASET: &str = "dataset-unpatched";

/// Parameters of the workload, and the options that set them.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("buffer", "-b"),
    ("trees", "-i"),
    ("operations", "-r"),
    ("dataset", "-s"),
    ("files", "--files"),
];

/// A command line, understood.
pub struct Request {
    buffer: Size,
    trees: u32,
    operations: u32,
    pub directory: PathBuf,
    /// `None`: the working directory, if the files are there.
    sources: Option<PathBuf>,
    is_make_j: bool,
    syncs: bool,
    files: Option<u32>,
}

impl Request {
    /// What `line` asks for.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn of(line: &Line) -> Result<Self, Failure> {
        line.refuse_operands("-D")?;
        let mut request = Self {
            buffer: Size(256 << 10),
            trees: 30,
            operations: 100,
            directory: PathBuf::from("/mnt/default"),
            sources: None,
            is_make_j: false,
            syncs: true,
            files: None,
        };
        for given in &line.options {
            request.take(given)?;
        }
        if request.files.is_some() && request.dataset().is_some() {
            let message = "option --files: the files are those of the dataset; leave out one of \
                           them";
            return Err(bad_parameter("--files", message));
        }
        Ok(request)
    }

    /// The parameters of the workload, which measures and chooses as the original does.
    pub fn parameters(&self) -> Map<String, Value> {
        let mut parameters = bench::parameters(json!({
            "scenario": if self.is_make_j { "make-j" } else { "random" },
            "buffer": self.buffer,
            "trees": self.trees,
            "operations": self.operations,
            "dataset": self.dataset(),
            "sync": self.syncs,
            "cold": self.syncs,
            "content": "classic",
            "classic": true,
        }));
        if let Some(files) = self.files {
            parameters.insert("files".to_owned(), json!(files));
        }
        parameters
    }

    /// The first trees that will be made.
    pub fn trees(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (0..self.trees).map(|tree| self.directory.join(format!("kernel-{tree}")))
    }

    fn dataset(&self) -> Option<&Path> {
        let here = Path::new(".");
        match &self.sources {
            Some(sources) => Some(sources),
            None => here.join(DATASET).is_file().then_some(here),
        }
    }

    fn take(&mut self, given: &Given) -> Result<(), Failure> {
        match given.name {
            "-b" | "--buffer-size" => self.buffer = given.value()?,
            "-i" | "--initial-dirs" => self.trees = given.value()?,
            "-r" | "--runs" => self.operations = given.value()?,
            "-D" | "--directory" => self.directory = given.text().into(),
            "-s" | "--sources" => self.sources = Some(given.text().into()),
            "-m" | "--makej" => self.is_make_j = true,
            "-n" | "--no-sync" => self.syncs = false,
            "--files" => self.files = Some(given.value()?),
            other => unreachable!("{other} is in the table of options"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::options;

    fn request(text: &str) -> Result<Request, Failure> {
        let words = text.split_whitespace().map(OsString::from).collect();
        Request::of(&options::read(super::super::CHOICES, words)?)
    }

    #[test]
    fn the_line_of_the_phoronix_profile_is_understood() {
        let request = request("-D t -i 10 --makej").unwrap();
        assert_eq!(request.directory, Path::new("t"));
        let parameters = request.parameters();
        assert_eq!(parameters["scenario"], "make-j");
        assert_eq!(parameters["trees"], 10);
        assert_eq!([&parameters["classic"], &parameters["cold"]], [true, true]);
        assert_eq!(parameters["dataset"], Value::Null);
    }

    #[test]
    fn long_and_short_options_are_the_same() {
        let short = "-b 4096 -i 3 -r 7 -D d -s data -n";
        let long = "--buffer-size=4096 --initial-dirs 3 --runs=7 --directory d --sources data \
                    --no-sync";
        let [short, long] = [short, long].map(|line| request(line).unwrap());
        assert_eq!(short.parameters(), long.parameters());
        assert_eq!(short.directory, long.directory);
        let parameters = short.parameters();
        assert_eq!([&parameters["sync"], &parameters["cold"]], [false, false]);
        assert_eq!(parameters["dataset"], "data");
    }

    #[test]
    fn what_is_wrong_names_the_option() {
        for (line, option) in [
            ("-i many", "-i"),
            ("--trace t", "--trace"),
            ("-s data --files 20", "--files"),
            ("here", "-D"),
        ] {
            let failure = request(line).err().unwrap();
            assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
        }
    }
}
