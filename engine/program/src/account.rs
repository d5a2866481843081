//! The user that programs run as, from /etc/passwd and /etc/group.

use std::fs;

use kit::failure::{bad_parameter, failure};
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
        let account = found.ok_or_else(|| {
            let message = format!(
                "parameter \"user\": /etc/passwd has no user {name:?}. \
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
