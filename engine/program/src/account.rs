//! The user that programs run as, from /etc/passwd and /etc/group.

use std::fs;
use std::io;
use std::process;

use kit::failure::{bad_parameter, failure};
use kit::stop;
use rustix::process::{getegid, geteuid, getgroups, getppid, parent_process_death_signal};
use rustix::process::{set_parent_process_death_signal, Pid, Signal};
use wire::{Failure, FailureKind};

use crate::spawn::Ids;

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub ids: Ids,
    pub name: String,
    pub home: String,
}

impl Account {
    /// The user of this name.
    ///
    /// # Errors
    /// `BadJob` when there is no such user; `HostLacks` the right to become one.
    pub fn named(name: &str) -> Result<Self, Failure> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let found = find(name, &read("/etc/passwd"), &read("/etc/group"));
        let found = found.or_else(|| asked(name));
        let account = found.ok_or_else(|| {
            let message = format!(
                "parameter \"user\": this host has no user {name:?}. \
                 Fix: useradd --system {name}, or name another one"
            );
            bad_parameter("user", message)
        })?;
        // SAFETY: no memory is passed.
        let own = unsafe { libc::geteuid() };
        if own != 0 && own != account.ids.user {
            let message = format!(
                "parameter \"user\": only root may start programs as {name}. \
                 Fix: run as root, or leave \"user\" out"
            );
            return Err(failure(FailureKind::HostLacks, message));
        }
        Ok(account)
    }
}

/// Has `act` done with the rights to files of the user that programs run as, where that is another
/// one than ours.
///
/// # Errors
/// Those of `act`, and of becoming that user.
pub fn acting<T>(account: Option<&Account>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let own = geteuid().as_raw();
    let Some(account) = account.filter(|account| account.ids.user != own) else {
        return act();
    };
    let _back = Back {
        own: Ids {
            user: own,
            group: getegid().as_raw(),
            groups: getgroups()?.iter().map(|group| group.as_raw()).collect(),
        },
        starter: getppid(),
        signal: parent_process_death_signal()?,
    };
    account.ids.take_rights()?;
    act()
}

/// Gives this thread its own rights again when dropped.
struct Back {
    own: Ids,
    starter: Option<Pid>,
    /// The kernel forgets it whenever rights change.
    signal: Option<Signal>,
}

impl Drop for Back {
    fn drop(&mut self) {
        if self.own.take_rights().is_err() {
            // What it made for itself it could not remove any more.
            process::abort();
        }
        let _ = set_parent_process_death_signal(self.signal);
        if self.signal.is_some() && getppid() != self.starter {
            stop::request();
        }
    }
}

impl Ids {
    /// Has this thread, and no other, use files as this user. It stays who it is: nobody else may
    /// send it signals, or look into it.
    fn take_rights(&self) -> io::Result<()> {
        let (count, groups) = (self.groups.len(), self.groups.as_ptr());
        // SAFETY: the kernel reads `count` numbers, which outlive the call. Not by the C library,
        // which would have all threads follow.
        if unsafe { libc::syscall(libc::SYS_setgroups, count, groups) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // These tell what was before, and nothing of a failure: the second call sees the first.
        for (number, id) in [
            (libc::SYS_setfsgid, self.group),
            (libc::SYS_setfsuid, self.user),
        ] {
            // SAFETY: no memory is passed.
            let seen = [(); 2].map(|()| unsafe { libc::syscall(number, id) })[1];
            if seen as u32 != id {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
        }
        Ok(())
    }
}

/// One that other sources of the host have: nsswitch.conf(5).
fn asked(name: &str) -> Option<Account> {
    let numbers = |option: &str| -> Option<Vec<u32>> {
        let told = process::Command::new("id")
            .args([option, "--", name])
            .output();
        let told = told.ok().filter(|told| told.status.success())?;
        let words = String::from_utf8(told.stdout).ok()?;
        words
            .split_whitespace()
            .map(|one| one.parse().ok())
            .collect()
    };
    Some(Account {
        ids: Ids {
            user: *numbers("-u")?.first()?,
            group: *numbers("-g")?.first()?,
            groups: numbers("-G")?,
        },
        name: name.to_owned(),
        home: "/".to_owned(),
    })
}

/// `name:password:uid:gid:comment:home:shell` and `name:password:gid:members` (passwd(5),
/// group(5)).
fn find(name: &str, passwd: &str, group: &str) -> Option<Account> {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let user = passwd.lines().map(fields).find(|user| user[0] == name)?;
    let main: libc::gid_t = user.get(3)?.parse().ok()?;
    let of_member = |group: Vec<String>| {
        let is_member = group.get(3)?.split(',').any(|member| member == name);
        group.get(2)?.parse().ok().filter(|_| is_member)
    };
    let others = group.lines().map(fields).filter_map(of_member);
    let groups = [main].into_iter().chain(others.filter(|&id| id != main));
    Some(Account {
        ids: Ids {
            user: user.get(2)?.parse().ok()?,
            group: main,
            groups: groups.collect(),
        },
        name: name.to_owned(),
        home: user.get(5)?.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_to_files_are_those_of_the_user_and_come_back() {
        if !geteuid().is_root() {
            return;
        }
        let account = Account::named("nobody").unwrap();
        set_parent_process_death_signal(Some(Signal::TERM)).unwrap();
        let read =
            || fs::read_to_string("/proc/self/environ").and(fs::read_to_string("/etc/shadow"));
        let made = tempfile::tempdir().unwrap();
        let refused = acting(Some(&account), || {
            assert_eq!(
                getgroups()?,
                [rustix::process::Gid::from_raw(account.ids.group)]
            );
            assert!(fs::write(made.path().join("file"), "").is_err());
            read()
        });
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(acting(None, read).is_ok());
        assert_eq!(parent_process_death_signal().unwrap(), Some(Signal::TERM));
    }

    #[test]
    fn a_user_has_all_its_groups() {
        let passwd = "root:x:0:0::/root:/bin/sh\nada:x:7:70:Ada:/srv/ada:/bin/sh\n";
        let group = "ada:x:70:\ndisk:x:6:bob,ada\nvideo:x:44:adam\nx:x:70:ada\n";
        let found = find("ada", passwd, group).unwrap();
        let ids = Ids {
            user: 7,
            group: 70,
            groups: vec![70, 6],
        };
        assert_eq!((found.ids, found.home.as_str()), (ids, "/srv/ada"));
        assert_eq!(find("adam", passwd, group), None);
        let failure = Account::named("no-such-user").unwrap_err();
        assert!(failure.message.contains("useradd"), "{failure:?}");
    }
}
