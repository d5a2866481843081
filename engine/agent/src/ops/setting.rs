//! Settings: a value for a file of the kernel, and commands that set something and set it back.

use wire::{HostChanged, HostFailure, HostFailureKind, HostSkipped, OpBack, OpSet};

use super::{plain, List};
use crate::back::Back;
use crate::change::{chosen, set, told, words, Change, NotSet};
use crate::command::failure;
use crate::request::shown;

/// Why it was not set: as it is told where that ends the list, and where it does not.
type Why = (HostFailure, NotSet);

impl List<'_> {
    pub(super) fn set(&mut self, asked: &OpSet) -> Result<(), HostFailure> {
        let done = self.value(asked)?;
        self.or_skip(done, asked.skip)
    }

    pub(super) fn run_with_way_back(
        &mut self,
        argv: Vec<String>,
        back: &OpBack,
        skip: bool,
    ) -> Result<(), HostFailure> {
        let done = self.command(argv, back)?;
        self.or_skip(done, skip)
    }

    /// Where it may be skipped, what this op has changed is taken back, and the list goes on.
    fn or_skip(&mut self, done: Result<(), Why>, skip: bool) -> Result<(), HostFailure> {
        match done {
            Ok(()) => Ok(()),
            Err((_, why)) if skip => self.skip(why),
            Err((failed, _)) => Err(failed),
        }
    }

    /// Takes back what this op has changed, and tells why.
    pub(super) fn skip(&mut self, why: NotSet) -> Result<(), HostFailure> {
        let at = self.at;
        let is_its = |one: &HostChanged| one.at == at;
        let numbers: Vec<u64> = self
            .did
            .changes
            .iter()
            .filter(|one| is_its(one))
            .map(|one| one.number)
            .collect();
        let ledger = self.ledger.as_mut();
        let (_, left) = ledger.map_or_else(Default::default, |own| own.undo(&numbers, false));
        if let Some(left) = left.first() {
            return Err(failure(HostFailureKind::Failed, shown(left)));
        }
        self.did.changes.retain(|one| !is_its(one));
        let text = shown(&why.text);
        self.did.skipped.push(HostSkipped {
            at,
            text,
            now: why.now,
        });
        Ok(())
    }

    /// Sets a value; in the result, what is told where it is not taken, and why: then it is as it was.
    fn value(&mut self, asked: &OpSet) -> Result<Result<(), Why>, HostFailure> {
        let file = self.path(&asked.file)?;
        let behind = asked.while_behind.as_ref();
        let behind = behind
            .map(|behind| self.require(behind, "nothing is set"))
            .transpose()?;
        let before = chosen(&file).map_err(plain)?;
        if words(&before) == words(&asked.value) {
            return Ok(Ok(()));
        }
        let is_as_before = |now: &str| words(now) == words(&before);
        let (mut put_back, mut was, mut becomes) =
            (file.clone(), before.clone(), asked.value.clone());
        if let Some(other) = asked.excludes.as_ref().filter(|_| was == "0") {
            put_back = self.path(other)?;
            (was, becomes) = (chosen(&put_back).map_err(plain)?, "0".to_owned());
        }
        self.note(Change::Set {
            file: put_back.clone(),
            before: was.clone(),
            value: becomes,
            behind,
        })?;
        let Err(why) = set(&file, &asked.value).map_err(plain)? else {
            return Ok(Ok(()));
        };
        let failed = failure(
            HostFailureKind::Failed,
            shown(&told(&file, &asked.value, &why)),
        );
        if !is_as_before(&why.now) {
            // What the kernel has made of ours is nobody else's.
            let _ = set(&put_back, &was);
        }
        Ok(Err((failed, why)))
    }

    /// Runs a command that sets something, and makes sure of it; in the result, how it has failed: then it
    /// is as it was.
    fn command(
        &mut self,
        argv: Vec<String>,
        asked: &OpBack,
    ) -> Result<Result<(), Why>, HostFailure> {
        let back = Back {
            what: asked.what.clone(),
            look: self.argv(&asked.look)?,
            argv: self.argv(&asked.argv)?,
            before: asked.before.clone(),
            value: asked.value.clone(),
            ends_with_boot: asked.ends_with_boot,
        };
        let now = back.now().map_err(plain);
        if now.as_ref().is_ok_and(|now| *now == back.value) {
            return Ok(Ok(()));
        }
        if now.as_ref() != Ok(&back.before) {
            let (text, now) = match now {
                Err(failed) => (failed.text, String::new()),
                Ok(now) => {
                    let text = format!("{}: somebody has set it to \"{now}\" meanwhile", back.what);
                    (text, now)
                }
            };
            let failed = failure(HostFailureKind::Failed, shown(&text));
            return Ok(Err((failed, NotSet { text, now })));
        }
        self.note(Change::Ran(back.clone()))?;
        let ran = self.run(argv);
        if let Err(stopped) = &ran {
            if stopped.kind == HostFailureKind::Interrupted {
                return Err(stopped.clone());
            }
        }
        let now = back.now().map_err(plain)?;
        if now == back.value {
            return Ok(Ok(()));
        }
        if now != back.before {
            // What was made of ours is nobody else's.
            back.set_back().map_err(plain)?;
        }
        let text = ran
            .as_ref()
            .err()
            .map_or("", |failed| &failed.text)
            .to_owned();
        let failed = ran.err().unwrap_or_else(|| {
            let text = format!("{}: it stays \"{now}\"", back.what);
            failure(HostFailureKind::Failed, shown(&text))
        });
        Ok(Err((failed, NotSet { text, now })))
    }
}
