//! Whether a bundle is what its manifest says: every file there, unchanged, and nothing else.
//! In: a directory, and which files to keep a copy of. Out: the manifest and the bytes that were hashed, in those copies.
//! Left to neighbours: what the files mean.
//!
//! Files are hashed as they are read, a buffer at a time, by as many threads as there are cores; what a command then
//! reads is the copy that was written from those very buffers, whatever happens to the bundle meanwhile.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::manifest::{FileEntry, LARGEST, Manifest, hex, layout, sha256};
use super::signature::Signature;
use crate::error::{Error, Result};

/// Largest envelope of a signature.
const LARGEST_SIGNATURE: u64 = 64 << 10;
/// Bytes that one thread holds.
const BUFFER: usize = 256 << 10;

/// A bundle whose every byte was checked.
#[derive(Clone, Debug)]
pub struct Verified {
    pub manifest: Manifest,
    /// The bundle's identity: the SHA-256 of its manifest, in hexadecimal.
    pub identity: String,
    /// The signature beside the manifest, if there is one; nobody has checked who signed.
    pub signature: Option<Signature>,
}

impl Verified {
    /// How many files the manifest lists.
    pub fn files(&self) -> u64 {
        self.manifest.files.len() as u64
    }

    /// How many bytes they have.
    pub fn bytes(&self) -> u64 {
        self.manifest.files.iter().fold(0, |sum, f| sum.saturating_add(f.bytes))
    }
}

/// Opens a regular file: follows no link, waits for no pipe.
pub fn open_regular(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
        options.custom_flags(flags.bits() as i32);
    }
    let metadata = std::fs::symlink_metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::input(path, "is missing"),
        _ => Error::Io { action: "open", path: path.to_owned(), source },
    })?;
    let regular = |m: &std::fs::Metadata| {
        if m.is_file() {
            Ok(())
        } else {
            let what = if m.is_symlink() { "a symbolic link" } else { "no regular file" };
            Err(Error::input(path, format!("is {what}; a bundle holds regular files alone")))
        }
    };
    // Asked before it is opened, because opening some devices does something; and again of what was opened.
    regular(&metadata)?;
    let file = options.open(path).map_err(Error::io("open", path))?;
    regular(&file.metadata().map_err(Error::io("read", path))?)?;
    Ok(file)
}

/// All bytes of a regular file that is small.
///
/// # Errors
/// A file of more than `most` bytes, no regular file, the file system's failures.
pub fn read_small(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open_regular(path)?;
    let size = file.metadata().map_err(Error::io("read", path))?.len();
    let too_large = || Error::input(path, format!("is larger than {most} bytes, more than such a file ever is"));
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(most + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Verifies the bundle at `dir`. `keep` says where a copy of a listed file goes, if one is wanted.
///
/// # Errors
/// The first path, in order of paths, that is missing, changed, undeclared, unsafe, a link or no regular file.
pub fn verify(dir: &Path, keep: &(dyn Fn(&str) -> Option<PathBuf> + Sync)) -> Result<Verified> {
    let manifest_path = dir.join(layout::MANIFEST);
    let bytes = read_small(&manifest_path, LARGEST)?;
    let manifest = Manifest::parse(&bytes, &manifest_path)?;
    let signed = nothing_else(dir, &manifest)?;
    let identity = sha256(&bytes);
    let signature_path = dir.join(layout::SIGNATURE);
    let signature = match signed {
        true => {
            let bytes = read_small(&signature_path, LARGEST_SIGNATURE)?;
            Some(Signature::parse(bytes, &signature_path, &manifest.run_id, &identity)?)
        }
        false => None,
    };

    let checked = each_file(manifest.files.len(), &|i| manifest.files[i].bytes, &|i, buffer| {
        let entry = &manifest.files[i];
        check(dir, entry, keep(&entry.path), buffer)
    });
    checked?;
    Ok(Verified { identity, manifest, signature })
}

/// Does `work` for each of `files` with all cores, the largest first so that no core is left with one at the end.
///
/// # Errors
/// Of those that were met, the failure of the first file.
fn each_file(
    files: usize,
    size: &dyn Fn(usize) -> u64,
    work: &(dyn Fn(usize, &mut [u8]) -> Result<()> + Sync),
) -> Result<()> {
    let mut order: Vec<usize> = (0..files).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(size(i)));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(files.max(1));
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        let mut buffer = vec![0; BUFFER];
        let mut problems = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            if let Err(error) = work(index, &mut buffer) {
                failed.store(true, Ordering::Relaxed);
                problems.push((index, error));
            }
        }
        problems
    };
    let mut problems: Vec<(usize, Error)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut found = run();
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    problems.sort_by_key(|(index, _)| *index);
    problems.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// The entries of files below `dir`, in the order of `paths`.
///
/// # Errors
/// The file system's failures.
pub fn hash_all(dir: &Path, paths: &[String]) -> Result<Vec<FileEntry>> {
    let found: Vec<OnceLock<FileEntry>> = paths.iter().map(|_| OnceLock::new()).collect();
    let size = |i: usize| std::fs::metadata(dir.join(&paths[i])).map_or(0, |m| m.len());
    each_file(paths.len(), &size, &|i, buffer| {
        let path = dir.join(&paths[i]);
        let mut file = open_regular(&path)?;
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        stream(&mut file, &path, buffer, |part| {
            hasher.update(part);
            bytes += part.len() as u64;
            Ok(())
        })?;
        let entry = FileEntry { path: paths[i].clone(), bytes, sha256: hex(&hasher.finalize()) };
        // Each index is handed out once.
        let _ = found[i].set(entry);
        Ok(())
    })?;
    Ok(found.into_iter().filter_map(OnceLock::into_inner).collect())
}

/// Checks that the directory holds what the manifest lists and no more, and says whether it is signed.
fn nothing_else(dir: &Path, manifest: &Manifest) -> Result<bool> {
    let mut listed: BTreeSet<&str> = manifest.files.iter().map(|f| f.path.as_str()).collect();
    let folders: BTreeSet<&str> = listed.iter().filter_map(|p| p.split_once('/')).map(|(folder, _)| folder).collect();
    let mut signed = false;
    let undeclared = |path: &Path| Error::input(path, "is in the bundle, but not in its manifest");
    let mut places = vec![(String::new(), dir.to_owned())];
    while let Some((prefix, place)) = places.pop() {
        for entry in std::fs::read_dir(&place).map_err(Error::io("read directory", &place))? {
            let path = entry.map_err(Error::io("read directory", &place))?.path();
            let name = path.file_name().and_then(|n| n.to_str()).ok_or_else(|| undeclared(&path))?;
            let metadata = std::fs::symlink_metadata(&path).map_err(Error::io("read", &path))?;
            if metadata.is_symlink() {
                return Err(Error::input(&path, "is a symbolic link; a bundle holds regular files alone"));
            }
            match (prefix.is_empty(), metadata.is_dir(), name) {
                (true, true, folder) if folders.contains(folder) => places.push((format!("{name}/"), path)),
                (true, false, layout::MANIFEST) => {}
                (true, false, layout::SIGNATURE) => signed = true,
                (_, false, _) if listed.remove(format!("{prefix}{name}").as_str()) => {}
                _ => return Err(undeclared(&path)),
            }
        }
    }
    match listed.first() {
        Some(path) => Err(Error::input(dir.join(path), "is missing")),
        None => Ok(signed),
    }
}

/// Hands a file over, a buffer at a time.
fn stream(file: &mut File, path: &Path, buffer: &mut [u8], mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => each(&buffer[..read])?,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read", path)(e)),
        }
    }
}

/// Hashes one file, and writes the copy that is kept from the bytes that were hashed.
fn check(dir: &Path, entry: &FileEntry, keep: Option<PathBuf>, buffer: &mut [u8]) -> Result<()> {
    let path = dir.join(&entry.path);
    let mut file = open_regular(&path)?;
    let changed = |how: String| Error::input(&path, format!("was changed after publication: {how}"));
    let size = file.metadata().map_err(Error::io("read", &path))?.len();
    if size != entry.bytes {
        return Err(changed(format!("it has {size} bytes instead of {}", entry.bytes)));
    }
    let mut copy = match &keep {
        Some(target) => Some(File::create(target).map_err(Error::io("create", target))?),
        None => None,
    };
    let mut hasher = Sha256::new();
    let mut left = entry.bytes;
    stream(&mut file, &path, buffer, |bytes| {
        left = left.checked_sub(bytes.len() as u64).ok_or_else(|| changed("it grew while it was read".to_owned()))?;
        hasher.update(bytes);
        match (&mut copy, &keep) {
            (Some(copy), Some(target)) => copy.write_all(bytes).map_err(Error::io("write", target)),
            _ => Ok(()),
        }
    })?;
    let found = hex(&hasher.finalize());
    if left != 0 || found != entry.sha256 {
        return Err(changed(format!("its SHA-256 is {found} instead of {}", entry.sha256)));
    }
    Ok(())
}
