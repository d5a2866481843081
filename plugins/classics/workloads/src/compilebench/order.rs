//! The order in which a set is written: that in which the file system lists it, as it would be
//! after unpacking an archive that was made there.
//!
//! The original writes the set in full to find out, which is about a gigabyte; empty files of
//! the same names are listed in the same order.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kit::{PassProbe, Probe};
use wire::Failure;

use super::created_trees::CreatedTrees;
use super::name_space::NameSpace;
use super::sets::{SetName, Sets};
use super::worker::Worker;
use storage::backend::Backend;

/// Sets that are written in the file system's order. What a build of the source makes is not:
/// several files are compiled at once.
const LISTED: [SetName; 3] = [SetName::Source, SetName::Patch, SetName::PatchedObjects];

/// Brings the sets into order. They are made in `directory` and removed again.
///
/// # Errors
/// `Refused` when something has the name of one of our directories; whatever the kernel refused.
pub fn arrange<B: Backend, N: NameSpace>(
    worker: &mut Worker<B, N>,
    sets: &mut Sets,
    directory: &Path,
) -> Result<(), Failure> {
    for (number, name) in LISTED.into_iter().enumerate() {
        let top = format!("native-{number}");
        let mut trees = CreatedTrees::new(directory);
        trees.make(&top)?;
        let places = worker.within(&top, |worker| {
            worker.make_empty(sets.set(name), sets)?;
            let places = places(worker, sets, &directory.join(&top));
            let mut uncounted = PassProbe::new();
            uncounted.start();
            worker.delete(&mut uncounted)?;
            places
        })?;
        trees.remove(&top)?;
        sets.reorder(name, |members| {
            members.sort_by_key(|member| places[member.file as usize]);
        });
    }
    Ok(())
}

/// For each file, its place among those listed in the tree `top`.
fn places<B: Backend, N: NameSpace>(
    worker: &mut Worker<B, N>,
    sets: &Sets,
    top: &Path,
) -> Result<Vec<usize>, Failure> {
    let files = sets.files.iter().enumerate();
    let numbers: HashMap<&[u8], usize> = files
        .map(|(number, file)| (file.path.as_bytes(), number))
        .collect();
    let mut places = vec![usize::MAX; sets.files.len()];
    let mut next = 0..;
    worker.list(|path| {
        let within = path.strip_prefix(top).expect("a walk stays in its tree");
        if let Some(&file) = numbers.get(within.as_os_str().as_bytes()) {
            places[file] = next.next().expect("there is always a next number");
        }
    })?;
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::super::name_space::OnDisk;
    use super::super::params::Params;
    use super::super::sets::tests::few;
    use super::*;
    use storage::backend::Sync;

    fn arranged(sets: &mut Sets, directory: &Path) -> Result<(), Failure> {
        let params = Params::default();
        let mut worker = Worker::<_, OnDisk>::new(Sync, sets, &params, directory)?;
        arrange(&mut worker, sets, directory)
    }

    #[test]
    fn sets_are_in_the_order_of_the_file_system_and_nothing_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let mut sets = few();
        arranged(&mut sets, directory.path()).unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
        // Files before the directories beside them; the rest is up to the file system.
        let source = &sets.set(SetName::Source).members;
        let order: Vec<u32> = source.iter().map(|member| member.file).collect();
        assert_eq!(order[..2], [0, 2]);
        assert_eq!(order.len(), 4);
    }

    #[test]
    fn a_directory_in_the_way_is_refused_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("native-1");
        std::fs::create_dir(&precious).unwrap();
        let refused = arranged(&mut few(), directory.path());
        assert_eq!(refused.unwrap_err().kind, wire::FailureKind::Refused);
        assert!(precious.exists());
        assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    }
}
