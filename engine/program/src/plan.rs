//! Looking at a job without executing anything of it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kit::failure::bad_parameter;
use kit::{node, Trial};
use serde_json::{Map, Value};
use wire::{ConditionsWanted, Failure, FarPlace, Output, Stage, Target};

use crate::account::Account;
use crate::params::{Params, Same, COMPARE};
use crate::reason;
use crate::words::{self, Values};

/// Where programs are looked for when the engine has no PATH itself.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Names that the engine gives values to.
const OWN_NAMES: [&str; 2] = ["dir", "execution"];
/// Placeholders that only [`COMPARE`] knows: paths of the two outputs.
pub const COMPARED: [&str; 2] = ["expected", "output"];
/// What commands are given to with `shell`.
pub const SHELL: &str = "/bin/sh";

/// A trial with its parameters looked at.
pub struct Planned {
    pub params: Params,
    pub directory: PathBuf,
    pub variables: Values,
    /// The environment, but for TMPDIR, the padding and what the study adds.
    pub environment: BTreeMap<String, String>,
    pub cpus: libc::cpu_set_t,
    pub account: Option<Account>,
    pub stage: Option<Stage>,
    pub far: Option<Far>,
    /// What is expected on standard output; by default what the first execution prints.
    pub expected: Option<Output>,
}

/// The server's end of the system.
pub struct Far {
    pub place: FarPlace,
    pub cpus: libc::cpu_set_t,
}

/// Reads the parameters and looks whether everything is there.
///
/// # Errors
/// `BadJob` naming the parameter; `HostLacks` a program, or the right to become a user.
pub fn plan(
    parameters: &Map<String, Value>,
    directory: &Path,
    target: &Target,
    conditions: &ConditionsWanted,
) -> Result<Box<dyn Trial>, Failure> {
    let params: Params = kit::params::read(parameters)?;
    params.check()?;
    let variables = &target.variables;
    if let Some(name) = OWN_NAMES.iter().find(|name| variables.contains_key(**name)) {
        let parameter = format!("target.variables.{name}");
        let message = format!("job: {parameter}: {{{name}}} is the engine's own; use another name");
        return Err(bad_parameter(&parameter, message));
    }
    if let Some(stage) = &target.stage {
        if stage.room.contains(['/', '\0']) || ["", ".", ".."].contains(&stage.room.as_str()) {
            let message = format!("job: target.stage.room: {:?} is no name", stage.room);
            return Err(bad_parameter("target.stage.room", message));
        }
    }
    let user = params.user.as_deref().filter(|_| !target.elsewhere);
    let account = user.map(Account::named).transpose()?;
    let of_conditions: &[u32] = match conditions.unpinned {
        true => &[],
        false => &conditions.cpus,
    };
    let far = target
        .far_place
        .as_ref()
        .map(|place| -> Result<_, Failure> {
            let (place, cpus) = (
                place.clone(),
                allowed("target.far_place.cpus", &place.cpus, target.elsewhere)?,
            );
            Ok(Far { place, cpus })
        });
    let planned = Planned {
        environment: base_environment(&params, account.as_ref()),
        cpus: match params.cpus.is_empty() {
            true => allowed("cpus", of_conditions, target.elsewhere)?,
            false => allowed("cpus", &params.cpus, target.elsewhere)?,
        },
        far: far.transpose()?,
        directory: directory.to_owned(),
        variables: variables.clone(),
        account,
        expected: target.expected.clone(),
        params,
        stage: target.stage.clone(),
    };
    planned.check(target.elsewhere)?;
    Ok(Box::new(planned))
}

impl Planned {
    /// What stands for placeholders, with `dir` for the trial's directory.
    pub fn values(&self, dir: &Path, execution: u32) -> Values {
        let mut values = self.variables.clone();
        values.insert("dir".to_owned(), dir.display().to_string());
        values.insert("execution".to_owned(), execution.to_string());
        values
    }

    /// Directories in which programs are looked for.
    pub fn path(&self) -> &str {
        let own = self.params.env.get("PATH");
        own.unwrap_or(&self.environment["PATH"])
    }

    fn check(&self, is_elsewhere: bool) -> Result<(), Failure> {
        let params = &self.params;
        let values = self.values(&self.directory, 1);
        let comparing_values = with_outputs(values.clone(), "");
        let values_of = |parameter| match parameter {
            COMPARE => &comparing_values,
            _ => &values,
        };
        let paths = [("where", &params.place), ("stdin", &params.stdin)];
        for (parameter, path) in paths.into_iter().chain([("stdout", &params.stdout)]) {
            let Some(path) = path else { continue };
            let filled = words::fill(parameter, path, &values)?;
            check_path(parameter, path, Path::new(&filled), is_elsewhere)?;
        }
        let is_compared = params.expect.stdout == Same::Same || !params.expect.compare.is_empty();
        if params.stdout.as_deref() == Some("/dev/null") && is_compared {
            let what = "nothing is left of what goes to /dev/null. Fix: leave stdout out";
            let message = format!("parameter \"expect\": {what}");
            return Err(bad_parameter("expect", message));
        }
        let texts = params.commands().into_iter().flat_map(|(name, commands)| {
            let words = commands.into_iter().flatten();
            words.map(move |word| (name, word))
        });
        let env = params.env.values().map(|value| ("env", value));
        let files = params.files.iter().map(|file| ("files", file));
        for (parameter, text) in texts.chain(env).chain(files) {
            words::fill(parameter, text, values_of(parameter))?;
        }
        if is_elsewhere {
            return Ok(());
        }
        let setups = [("study", &params.study.setup), ("turn", &params.turn.setup)];
        let mut setups = setups.into_iter().chain([("setup", &params.setup)]);
        let first = setups.find(|(_, setup)| !setup.0.is_empty());
        let first = first.map(|(parameter, _)| parameter);
        for (parameter, commands) in params.commands() {
            for (index, words) in commands.into_iter().enumerate() {
                let is_first = first == Some(parameter) && index == 0;
                let may_be_made = !is_first && first.is_some();
                self.check_program(parameter, words, may_be_made, values_of(parameter))?;
            }
        }
        self.check_numa()
    }

    /// Looks for the program that a command names, unless commands before it may make it there.
    fn check_program(
        &self,
        parameter: &str,
        words: &[String],
        may_be_made: bool,
        values: &Values,
    ) -> Result<(), Failure> {
        let by_shell = self.params.shell && !["servers", COMPARE].contains(&parameter);
        let program = match by_shell {
            true => SHELL,
            false => words[0].as_str(),
        };
        let is_made = OWN_NAMES.iter().any(|name| words::has(program, name));
        let program = words::fill(parameter, program, values)?;
        let is_path = program.contains('/');
        let is_relative = is_path && !program.starts_with('/');
        let place = self.params.place.as_deref();
        let place = place.filter(|place| !OWN_NAMES.iter().any(|name| words::has(place, name)));
        if is_made || (is_path && may_be_made) || (is_relative && place.is_none()) {
            return Ok(());
        }
        let place = Path::new(place.unwrap_or("/"));
        match find(&program, place, self.path()) {
            Some(_) => Ok(()),
            None => {
                let what = format!("parameter \"{parameter}\"");
                let mut failure = reason::missing(&what, &program, self.path());
                failure.parameter = Some(parameter.to_owned());
                Err(failure)
            }
        }
    }

    fn check_numa(&self) -> Result<(), Failure> {
        match self.params.numa {
            Some(number) if node::cpus_of(number).is_err() => {
                let message = format!(
                    "parameter \"numa\": there is no NUMA node {number} here; the nodes are in \
                     /sys/devices/system/node"
                );
                Err(bad_parameter("numa", message))
            }
            _ => Ok(()),
        }
    }
}

/// The values of `values`, with paths of the two outputs in `directory`.
pub fn with_outputs(mut values: Values, directory: &str) -> Values {
    values.extend(COMPARED.map(|name| (name.to_owned(), format!("{directory}/{name}"))));
    values
}

/// A path that is there, and does not depend on where the engine was started.
fn check_path(
    parameter: &str,
    written: &str,
    filled: &Path,
    is_elsewhere: bool,
) -> Result<(), Failure> {
    let refuse = |what: &str| {
        let shown = filled.display();
        let message = format!("parameter \"{parameter}\": {shown} {what}");
        Err(bad_parameter(parameter, message))
    };
    if !filled.is_absolute() {
        return refuse("is not an absolute path. Fix: begin it with \"/\" or \"{dir}/\"");
    }
    if is_elsewhere || OWN_NAMES.iter().any(|name| words::has(written, name)) {
        return Ok(());
    }
    match parameter {
        "where" if !filled.is_dir() => refuse("is not a directory. Fix: make it, or name another"),
        "stdin" if !filled.is_file() => refuse("is not a file. Fix: make it, or name another"),
        _ => Ok(()),
    }
}

fn base_environment(params: &Params, account: Option<&Account>) -> BTreeMap<String, String> {
    let own = |name: &str| env::var(name).ok();
    let home = account.map(|account| account.home.clone());
    let user = account.map(|account| account.name.clone());
    let mut environment = BTreeMap::from([
        ("PATH".to_owned(), own("PATH").unwrap_or(PATH.to_owned())),
        (
            "HOME".to_owned(),
            home.or(own("HOME")).unwrap_or("/".to_owned()),
        ),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ]);
    environment.extend(user.or(own("USER")).map(|user| ("USER".to_owned(), user)));
    let passed = params.pass.iter();
    environment.extend(passed.filter_map(|name| Some((name.clone(), own(name)?))));
    environment
}

/// The CPUs that `parameter` names, or all that may be used; all, too, of a job for elsewhere.
fn allowed(
    parameter: &str,
    wanted: &[u32],
    is_elsewhere: bool,
) -> Result<libc::cpu_set_t, Failure> {
    // SAFETY: an all-zero set is valid; the kernel fills it for this thread.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: as above.
    unsafe { libc::sched_getaffinity(0, size, &raw mut allowed) };
    if is_elsewhere || wanted.is_empty() {
        return Ok(allowed);
    }
    // SAFETY: an all-zero set is valid.
    let mut chosen: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in wanted {
        let number = cpu as usize;
        let is_allowed = number < libc::CPU_SETSIZE as usize
            // SAFETY: the number is within the set.
            && unsafe { libc::CPU_ISSET(number, &allowed) };
        if !is_allowed {
            let message = format!("parameter \"{parameter}\": CPU {cpu} may not be used here");
            return Err(bad_parameter(parameter, message));
        }
        // SAFETY: the number is within the set.
        unsafe { libc::CPU_SET(number, &mut chosen) };
    }
    Ok(chosen)
}

/// The numbers of the CPUs in a set.
pub fn numbers_of(cpus: &libc::cpu_set_t) -> Vec<u32> {
    // SAFETY: the numbers are within the set.
    let has = |number: &u32| unsafe { libc::CPU_ISSET(*number as usize, cpus) };
    (0..libc::CPU_SETSIZE as u32).filter(has).collect()
}

/// Where `program` is: as a path from `directory`, else in `path`, the directories of PATH.
pub fn find(program: &str, directory: &Path, path: &str) -> Option<PathBuf> {
    if program.contains('/') {
        let found = directory.join(program);
        return found.exists().then_some(found);
    }
    let mut candidates = path
        .split(':')
        .map(|entry| directory.join(entry).join(program));
    // One that may not be executed is told from none at all.
    let usable = |candidate: &PathBuf| {
        let found = fs::metadata(candidate);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    candidates.find(usable)
}
