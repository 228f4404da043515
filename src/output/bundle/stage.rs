//! The place beside a destination where something is made whole before it gets its name.
//! In: a destination. Out: a locked directory, then one rename that replaces nothing. Left to neighbours: what is made.
//!
//! The directory is locked while its maker lives. One that is not locked was left by a crash: the next stage for the same
//! destination removes it, or, where it holds a trace, names it.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::load::bundle::sha256;

/// What a stage is for; part of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Files that can be made again.
    Bundle,
    /// A trace, which cannot.
    Capture,
}

/// How often a new stage may be taken for an abandoned one.
const TRIES: usize = 100;

/// A directory beside its destination.
pub(super) struct Stage {
    path: PathBuf,
    /// Held locked.
    _lock: File,
    /// Whether the directory goes when this does.
    temporary: bool,
}

/// The folder that a destination is in, and its name there.
fn place(destination: &Path) -> Result<(&Path, &OsStr)> {
    let name = destination.file_name().ok_or_else(|| Error::input(destination, "names no bundle; give it a name"))?;
    let parent = destination.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((parent, name))
}

/// What the names of all stages for a destination begin with. A hash, because a name may be as long as names can be.
fn prefix(purpose: Purpose, name: &OsStr) -> String {
    let word = if purpose == Purpose::Bundle { "stage" } else { "capture" };
    format!(".candle-graph-{word}-{}-", &sha256(name.as_encoded_bytes())[..16])
}

/// The lock of a directory; `None` when somebody holds it.
fn lock(path: &Path) -> Result<Option<File>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        // A file system without locks: nobody can be known to be there, so everything found is left alone.
        Err(TryLockError::Error(_)) if cfg!(not(unix)) => Ok(None),
        Err(TryLockError::Error(source)) => Err(Error::Io { action: "lock", path: path.to_owned(), source }),
    }
}

impl Stage {
    /// Makes a stage for `destination`, and its parent directory where that is absent.
    pub(super) fn new(destination: &Path, purpose: Purpose) -> Result<Self> {
        let (parent, name) = place(destination)?;
        std::fs::create_dir_all(parent).map_err(Error::io("create directory", parent))?;
        for _ in 0..TRIES {
            let dir = tempfile::Builder::new()
                .prefix(&prefix(purpose, name))
                .tempdir_in(parent)
                .map_err(Error::io("create a directory here", parent))?;
            // From here on the lock says whose it is, and a crash leaves what the next run finds.
            let path = dir.keep();
            // Between the two, somebody who cleans up may have taken it for abandoned.
            match lock(&path) {
                Ok(Some(lock)) if path.is_dir() => {
                    return Ok(Self { path, _lock: lock, temporary: purpose == Purpose::Bundle });
                }
                Err(e) if path.is_dir() => return Err(e),
                _ => {}
            }
        }
        Err(Error::input(parent, "is cleaned up by too many others at once; try again"))
    }

    /// Stages for `destination` whose maker is gone.
    pub(super) fn abandoned(destination: &Path, purpose: Purpose) -> Result<Vec<Self>> {
        let (parent, name) = place(destination)?;
        let prefix = prefix(purpose, name);
        let mut found = Vec::new();
        let entries = match std::fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(e) => return Err(Error::io("read directory", parent)(e)),
        };
        for entry in entries {
            let entry = entry.map_err(Error::io("read directory", parent))?;
            let stage = entry.file_name().to_str().is_some_and(|n| n.starts_with(&prefix));
            if stage && entry.file_type().is_ok_and(|t| t.is_dir()) {
                // Somebody else may have cleaned it up meanwhile.
                if let Ok(Some(lock)) = lock(&entry.path()) {
                    found.push(Self { path: entry.path(), _lock: lock, temporary: false });
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory and all in it.
    pub(super) fn remove(mut self) -> Result<()> {
        self.temporary = false;
        match std::fs::remove_dir_all(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", &self.path)(e)),
            _ => Ok(()),
        }
    }

    /// Syncs every file and directory of the stage, so that the rename cannot become durable before they are.
    pub(super) fn sync(&self) -> Result<()> {
        let mut folders = vec![self.path.clone()];
        let mut at = 0;
        while let Some(folder) = folders.get(at).cloned() {
            at += 1;
            for entry in std::fs::read_dir(&folder).map_err(Error::io("read directory", &folder))? {
                let path = entry.map_err(Error::io("read directory", &folder))?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    File::open(&path).and_then(|f| f.sync_all()).map_err(Error::io("sync", &path))?;
                }
            }
        }
        folders.iter().rev().try_for_each(|folder| sync_dir(folder))
    }

    /// Gives the stage the destination's name, which nothing may have yet. `false`: something has.
    pub(super) fn publish(mut self, destination: &Path) -> Result<bool> {
        if !rename_new(&self.path, destination)? {
            return Ok(false);
        }
        self.temporary = false;
        sync_dir(place(destination)?.0)?;
        Ok(true)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.temporary {
            // The first failure is the one to report; what is left, the next run removes.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes what crashed publications to `destination` left: all of it can be made again.
pub(super) fn clean(destination: &Path) -> Result<()> {
    Stage::abandoned(destination, Purpose::Bundle)?.into_iter().try_for_each(Stage::remove)
}

/// Removes what attempts at `destination` left, traces of captures too: for whoever is about to run the capture again.
///
/// # Errors
/// An attempt that is still going on.
pub(in crate::output) fn discard(destination: &Path) -> Result<()> {
    let (parent, name) = place(destination)?;
    let prefixes = [Purpose::Bundle, Purpose::Capture].map(|purpose| prefix(purpose, name));
    for entry in std::fs::read_dir(parent).map_err(Error::io("read directory", parent))? {
        let entry = entry.map_err(Error::io("read directory", parent))?;
        let name = entry.file_name();
        let stage = name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        if !stage || !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        let path = entry.path();
        let Some(lock) = lock(&path)? else {
            return Err(Error::input(path, "is being recorded by another process; wait until it ends, or end it"));
        };
        Stage { path, _lock: lock, temporary: false }.remove()?;
    }
    Ok(())
}

/// Syncs a directory, so that the names in it survive a crash of the machine.
fn sync_dir(path: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(path).and_then(|d| d.sync_all()).map_err(Error::io("sync directory", path))?;
    }
    Ok(())
}

/// Renames unless the new name exists. A plain rename replaces an empty directory.
#[cfg(unix)]
fn rename_new(from: &Path, to: &Path) -> Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
        // A file system that cannot rename so: look, then rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_looking(from, to),
        Err(e) => Err(Error::io("rename into place", to)(e.into())),
    }
}

#[cfg(not(unix))]
fn rename_new(from: &Path, to: &Path) -> Result<bool> {
    rename_looking(from, to)
}

fn rename_looking(from: &Path, to: &Path) -> Result<bool> {
    if std::fs::symlink_metadata(to).is_ok() {
        return Ok(false);
    }
    std::fs::rename(from, to).map_err(Error::io("rename into place", to))?;
    Ok(true)
}
