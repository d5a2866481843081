//! ZFS pools, as zpool(8) tells of them.

use std::io;

use crate::back;
use crate::patience::until;
use crate::request::check_name;

/// Whether one of that name is imported; where nobody answers none is: a server that has ended took its
/// pools with it.
pub fn is_imported(name: &str) -> bool {
    let listed = zpool(&["list", "-H", "-o", "name"]);
    listed.is_ok_and(|names| names.lines().any(|own| own == name))
}

/// Unmounts and exports it.
///
/// # Errors
/// It has no name of ours, or stays imported.
pub fn export(name: &str) -> io::Result<Option<String>> {
    check_name(name).map_err(io::Error::other)?;
    if !is_imported(name) {
        return Ok(None);
    }
    let mut failed = None;
    let is_gone = until(|| {
        failed = zpool(&["export", name]).err();
        failed.is_none() || !is_imported(name)
    });
    match failed {
        Some(error) if !is_gone => Err(error),
        _ => Ok(Some(format!("exported {name}"))),
    }
}

fn zpool(words: &[&str]) -> io::Result<String> {
    let argv: Vec<String> = ["zpool"]
        .iter()
        .chain(words)
        .map(|word| (*word).to_owned())
        .collect();
    back::run(&argv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pool_with_a_name_of_ours_is_exported() {
        for name in ["tank", "-a", "", "tiltyard-loop0 tank"] {
            let text = export(name).unwrap_err().to_string();
            assert!(text.contains("is no name of ours"), "{text}");
        }
        assert_eq!(export("tiltyard-no-such-pool").unwrap(), None);
    }
}
