//! What every backend that moves data promises, checked on each of them.

use std::ffi::{CStr, CString};
use std::io::SeekFrom;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags};
use rustix::mm::MsyncFlags;
use storage::backend::{Backend, File, Mmap, Null, Stdio, Sync};

const PERMISSIONS: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::XUSR);

fn conforms<B: Backend>(backend: &B) {
    let directory = tempfile::tempdir().unwrap();
    let name =
        |name: &str| CString::new(directory.path().join(name).as_os_str().as_bytes()).unwrap();
    let (made, file) = (name("made"), name("made/file"));
    backend.mkdir(&made, PERMISSIONS).unwrap();
    writes_and_appends(backend, &file);
    updates_in_place(backend, &file);
    let occupied = backend.rmdir(&made).unwrap_err();
    assert_eq!(occupied.raw_os_error(), Some(libc::ENOTEMPTY));
    backend.unlink(&file).unwrap();
    backend.rmdir(&made).unwrap();
    let missing = backend.open(&file, OFlags::RDONLY, PERMISSIONS).err();
    assert_eq!(missing.unwrap().raw_os_error(), Some(libc::ENOENT));
}

fn writes_and_appends<B: Backend>(backend: &B, path: &CStr) {
    let emptied = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let appended = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
    for (flags, text) in [(emptied, "gone"), (emptied, "hello "), (appended, "world")] {
        let mut file = backend.open(path, flags, PERMISSIONS).unwrap();
        assert_eq!(file.write(text.as_bytes()).unwrap(), text.len());
        file.close().unwrap();
    }
    assert_eq!(content(backend, path), "hello world");
}

fn updates_in_place<B: Backend>(backend: &B, path: &CStr) {
    let mut file = backend.open(path, OFlags::RDWR, PERMISSIONS).unwrap();
    file.seek(SeekFrom::End(-5)).unwrap();
    file.write(b"there").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write(b"H").unwrap();
    file.flush().unwrap();
    assert_eq!(content(backend, path), "Hello there");
    file.sync().unwrap();
    assert!(file.seek(SeekFrom::Current(-100)).is_err());
    file.write(b"!").unwrap();
    file.resize(5).unwrap();
    assert_eq!(content(backend, path), "H!llo");
    file.close().unwrap();
}

fn content<B: Backend>(backend: &B, path: &CStr) -> String {
    let mut file = backend.open(path, OFlags::RDONLY, PERMISSIONS).unwrap();
    let mut bytes = [0; 100];
    let moved = file.read(&mut bytes).unwrap();
    assert_eq!(file.read(&mut bytes[moved..]).unwrap(), 0, "end of file");
    assert!(
        file.write(b"x").and_then(|_| file.flush()).is_err(),
        "read-only"
    );
    String::from_utf8_lossy(&bytes[..moved]).into_owned()
}

#[test]
fn sync_conforms() {
    conforms(&Sync);
}

#[test]
fn mmap_conforms() {
    for msync_each in [None, Some(MsyncFlags::ASYNC), Some(MsyncFlags::SYNC)] {
        conforms(&Mmap { msync_each });
    }
}

#[test]
fn stdio_conforms_with_any_buffer() {
    for buffer_bytes in [None, Some(1), Some(4), Some(65_536)] {
        conforms(&Stdio { buffer_bytes });
    }
}

#[test]
fn stdio_refuses_flags_that_no_mode_means() {
    let flags = OFlags::RDWR | OFlags::DIRECT;
    let error = Stdio { buffer_bytes: None }
        .open(c"/dev/null", flags, PERMISSIONS)
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn null_touches_nothing() {
    let path = c"/no/such/directory/file";
    let mut file = Null.open(path, OFlags::RDWR, PERMISSIONS).unwrap();
    let mut record = [7; 16];
    assert_eq!(file.write(&record).unwrap(), 16);
    assert_eq!(file.read(&mut record).unwrap(), 16);
    assert_eq!(record, [7; 16]);
    file.close().unwrap();
    Null.unlink(path).unwrap();
}
