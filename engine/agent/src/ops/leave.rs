//! The host is left to a boot, and what was kept is taken up after it.

use std::path::Path;

use rustix::process::geteuid;
use wire::{HostBeat, HostDone, HostFailure, HostFailureKind, HostLeave, HostProgress, HostTakeUp};

use super::{lacks, plain, Changes};
use crate::at_work;
use crate::back;
use crate::command::{failure, find_program, not_done};
use crate::ledger::{self, Ledger};
use crate::meanwhile::Meanwhile;
use crate::request::shown;

const SYSTEMCTL: &str = "systemctl";
/// There where systemd is process 1: sd_booted(3).
const SYSTEMD: &str = "/run/systemd/system";
const FIX: &str = "Fix: reboot_command = [\"reboot\"], or what boots it";

impl Changes {
    /// Takes back what is not kept, leaves the rest for who goes on after the boot, and boots the host. It is
    /// told when the command begins; what ends that by a signal is the boot.
    ///
    /// # Errors
    /// `Lacks`, `Busy`: it cannot be booted now. `Failed`: something cannot be taken back, or the command
    /// fails: then what is left changed is to be taken back as before.
    pub fn leave(
        &mut self,
        asked: &HostLeave,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<HostDone, HostFailure> {
        self.require_bootable(asked)?;
        if !asked.asks {
            self.keep(asked)?;
            meanwhile.tell(HostProgress {
                at: 0,
                done_bytes: 0,
                of_bytes: 0,
            });
            if let Err(failed) = boot(&asked.argv) {
                self.take_up(&HostTakeUp {
                    study: asked.study.clone(),
                })?;
                return Err(failed);
            }
        }
        Ok(HostDone::Left(HostBeat {}))
    }

    /// Goes on with what was kept over a boot, or over one that was refused.
    ///
    /// # Errors
    /// `Request`: something is changed already. `Lacks`: that cannot be written down, or is not whole.
    pub fn take_up(&mut self, asked: &HostTakeUp) -> Result<HostDone, HostFailure> {
        if self.ledger.is_none() {
            let directory = ledger::state_directory().map_err(lacks)?;
            self.ledger = Ledger::take_up(&directory, &asked.study).map_err(lacks)?;
        }
        let name = self.ledger.as_ref().map_or_else(String::new, Ledger::name);
        Ok(HostDone::TakenUp(name))
    }

    /// Nothing is changed any more but what is kept; all of it, and that, is on disk.
    fn keep(&mut self, asked: &HostLeave) -> Result<(), HostFailure> {
        self.held.clear();
        if let Some(own) = self.ledger.as_mut() {
            let (_, left) = own.undo(&own.not_over_boot(&asked.keep), false);
            if let Some(left) = left.first() {
                return Err(failure(HostFailureKind::Failed, shown(left)));
            }
        }
        self.close_if_empty();
        if let Some(own) = self.ledger.as_mut() {
            own.keep_for(&asked.study).map_err(lacks)?;
            self.ledger = None;
        }
        rustix::fs::sync();
        Ok(())
    }

    fn require_bootable(&self, asked: &HostLeave) -> Result<(), HostFailure> {
        let lacks = |text: &str| Err(failure(HostFailureKind::Lacks, shown(text)));
        if !geteuid().is_root() {
            return lacks("only root can boot it. Fix: host = root@…");
        }
        let name = &asked.argv[0];
        if find_program(name).is_none() {
            return lacks(&format!("there is no program \"{name}\" to boot it. {FIX}"));
        }
        if !asked.alone {
            return Ok(());
        }
        if name == SYSTEMCTL && !Path::new(SYSTEMD).is_dir() {
            return lacks(&format!(
                "{name} boots no host without systemd as process 1. {FIX}"
            ));
        }
        let own = self.ledger.as_ref().map(Ledger::name);
        let directory = ledger::state_directory().map_err(super::lacks)?;
        let others = [
            ("are logged in", at_work::people()),
            ("measure there", at_work::runs(&directory, own.as_deref())),
        ];
        match others.iter().find(|(_, who)| !who.is_empty()) {
            None => Ok(()),
            Some((what, who)) => {
                let text = format!("it is not booted while others {what}: {}", who.join(", "));
                Err(failure(HostFailureKind::Busy, shown(&text)))
            }
        }
    }
}

fn boot(argv: &[String]) -> Result<(), HostFailure> {
    let ended = back::ended(argv, None, None).map_err(plain)?;
    match (ended.status, ended.signal) {
        (Some(0), _) | (None, Some(_)) => Ok(()),
        _ => Err(not_done(argv, &ended)),
    }
}
