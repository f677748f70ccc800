//! Links, modes, pipes and devices.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use vsla::io::Any;
use vsla::{Ragged, Result};

use super::{Folder, batch, kind_of, written_batch};

/// The result of `f`, which must not block.
#[track_caller]
fn soon<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(f()));
    let came = receive.recv_timeout(Duration::from_secs(20));
    came.expect("it waits")
}

pub fn links_and_modes() {
    let folder = Folder::new("links");
    let at = |name: &str| folder.0.join(name);
    let is_link = |name: &str| fs::symlink_metadata(at(name)).unwrap().is_symlink();
    batch(1).write(at("file")).unwrap();
    fs::create_dir(at("other")).unwrap();
    symlink("file", at("link")).unwrap();
    symlink("../link", at("other/again")).unwrap();
    for (seed, mode) in [(2, 0o640), (3, 0o604), (4, 0o400)] {
        fs::set_permissions(at("file"), Permissions::from_mode(mode)).unwrap();
        batch(seed).write(at("other/again")).unwrap();
        assert_eq!(Ragged::read(at("file")).unwrap(), batch(seed));
        assert_eq!(Ragged::read(at("link")).unwrap(), batch(seed));
        let found = fs::metadata(at("file")).unwrap().permissions().mode();
        assert_eq!(found & 0o7777, mode, "{found:o}");
        assert!(is_link("link") && is_link("other/again"));
    }
    // The target of a link may be created later.
    symlink("other/later", at("to-later")).unwrap();
    symlink("to-later", at("far")).unwrap();
    batch(5).write(at("far")).unwrap();
    assert_eq!(Ragged::read(at("other/later")).unwrap(), batch(5));
    assert!(is_link("to-later") && is_link("far"));
    symlink("circle", at("circle")).unwrap();
    batch(6).write(at("circle")).unwrap_err();
    assert_eq!(
        folder.names(),
        ["circle", "far", "file", "link", "other", "to-later"]
    );
    assert_eq!(fs::read_dir(at("other")).unwrap().count(), 2);
}

pub fn named_pipes() {
    let folder = Folder::new("pipes");
    let path: PathBuf = folder.0.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo is available").success());
    let refused = |read: fn(&Path) -> Result<()>| {
        let path = path.clone();
        let error = soon(move || read(&path)).unwrap_err();
        let text = "a named pipe, not a file: open it and read from the stream";
        assert!(error.to_string().ends_with(text), "{error}");
        assert_eq!(kind_of(error), ErrorKind::InvalidInput);
    };
    refused(|path| Any::read(path).map(|_| ()));
    refused(|path| Ragged::<f32>::read(path).map(|_| ()));
    refused(|path| vsla::Bsr::<f32>::read(path).map(|_| ()));
    #[cfg(feature = "safetensors")]
    refused(|path| vsla::io::safetensors::Reader::open(path).map(|_| ()));

    // Writing to a pipe writes into it, and does not replace it.
    let reader = path.clone();
    let came = std::thread::spawn(move || fs::read(reader).unwrap());
    batch(1).write(&path).unwrap();
    assert!(came.join().unwrap() == written_batch(&batch(1)));
    assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(folder.names(), ["pipe"]);
}

/// A device file for writing, which may be replaced without harm: a separate one, or one that this user cannot replace.
fn device(folder: &Folder, name: &str, minor: &str) -> Option<PathBuf> {
    let own = folder.0.join(name);
    let mut make = Command::new("mknod");
    let made = make.arg(&own).args(["c", "1", minor]).stderr(Stdio::null());
    if made.status().is_ok_and(|made| made.success()) {
        return OpenOptions::new()
            .write(true)
            .open(&own)
            .is_ok()
            .then_some(own);
    }
    let shared = Path::new("/dev").join(name);
    let mine = fs::metadata("/proc/self").map_or(0, |about| about.uid());
    (mine != 0 && shared.exists()).then_some(shared)
}

pub fn devices() {
    let folder = Folder::new("devices");
    if let Some(null) = device(&folder, "null", "3") {
        batch(1).write(&null).unwrap();
        let about = fs::symlink_metadata(&null).unwrap();
        assert!(about.file_type().is_char_device());
    }
    if let Some(full) = device(&folder, "full", "7") {
        let error = batch(1).write(full).unwrap_err();
        assert_eq!(kind_of(error), ErrorKind::StorageFull);
    }
    for device in ["/dev/null", "/dev/zero"] {
        let error = soon(move || Any::read(device)).unwrap_err();
        assert!(
            error.to_string().contains(": a device, not a file"),
            "{error}"
        );
        assert_eq!(kind_of(error), ErrorKind::InvalidInput);
    }
}

/// `/dev/stdout` and `/dev/stdin`, however a shell has redirected them.
#[cfg(target_os = "linux")]
pub fn what_is_open_here() {
    use std::os::fd::AsRawFd;

    let folder = Folder::new("open");
    let path = folder.0.join("log");
    fs::write(&path, "before").unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    let link = folder.0.join("link");
    symlink(format!("/proc/self/fd/{}", file.as_raw_fd()), &link).unwrap();
    let number = fs::metadata(&path).unwrap().ino();
    batch(1).write(&link).unwrap();
    file.write_all(b"after").unwrap();
    let expected = [b"before", &written_batch(&batch(1))[..], b"after"].concat();
    assert!(fs::read(&path).unwrap() == expected);
    assert_eq!(fs::metadata(&path).unwrap().ino(), number);

    let (read, mut write) = std::io::pipe().unwrap();
    let writer = std::thread::spawn(move || write.write_all(&written_batch(&batch(2))).unwrap());
    let path = format!("/dev/fd/{}", read.as_raw_fd());
    assert_eq!(soon(move || Ragged::read(path)).unwrap(), batch(2));
    writer.join().unwrap();
    assert_eq!(folder.names(), ["link", "log"]);
}
