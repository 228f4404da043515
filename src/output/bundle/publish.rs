//! Publication: a bundle is staged beside its destination, verified there, synced, and renamed once.
//! In: a trace and a destination. Out: a receipt for a whole bundle, or an error and no trace of an attempt. Left to
//! neighbours: the stage (`stage`), derived files (`derived`), signatures (`sign`).

use std::fs::File;
use std::path::Path;

use candle_graph_record::parquet_sink::writer_properties;
use candle_graph_record::table::TableSpec;
use parquet::arrow::ArrowWriter;

use super::derived::{self, json_bytes};
use super::stage::{self, Purpose, Stage};
use super::{PublicationReceipt, SigningKey, semantic, sign};
use crate::error::{Error, Result, one_line};
use crate::load::bundle::{self, FileEntry, Manifest, Verified, layout, table_path};
use crate::load::{Trace, nsight};
use crate::output::redact::Redaction;
use crate::tables;

/// What to publish, and how.
#[derive(Default)]
pub struct Publication<'a> {
    /// Nsight files to carry along: a flat directory of regular files.
    pub nsight_dir: Option<&'a Path>,
    /// Takes out what is private.
    pub redact: bool,
    pub sign: Option<&'a SigningKey>,
}

/// Publishes `trace` as a bundle at `destination`, which must not exist.
///
/// # Errors
/// A destination that exists and is not this very bundle, or lies in the input or in a bundle; an input that cannot be
/// read; the file system's failures. The destination is then as it was.
pub fn publish(trace: &Trace, destination: &Path, how: &Publication<'_>) -> Result<PublicationReceipt> {
    refuse_place(trace, destination)?;
    stage::clean(destination)?;
    let stage = Stage::new(destination, Purpose::Bundle)?;
    write_files(trace, how, stage.path()).map_err(|e| elsewhere(e, stage.path(), destination))?;
    // Read again from the disk, by the code that every reader uses.
    let (verified, _) = bundle::inspect(stage.path()).map_err(|e| elsewhere(e, stage.path(), destination))?;
    if let Some(receipt) = already(destination, &verified, how)? {
        return Ok(receipt);
    }
    stage.sync()?;
    readable_by_all(stage.path())?;
    if stage.publish(destination)? {
        return Ok(PublicationReceipt::new("published", destination, &verified));
    }
    // Somebody else was faster.
    already(destination, &verified, how)?.ok_or_else(|| Error::input(destination, "appeared meanwhile; try again"))
}

/// The receipt of an existing bundle, when it is the one that was about to be published.
fn already(destination: &Path, wanted: &Verified, how: &Publication<'_>) -> Result<Option<PublicationReceipt>> {
    if std::fs::symlink_metadata(destination).is_err() {
        return Ok(None);
    }
    let conflict = |what: String| {
        let how = "nothing is published over anything: choose another path, or remove it first";
        Err(Error::input(destination, format!("{what}; {how}")))
    };
    if !destination.is_dir() || !bundle::is_bundle(destination) {
        return conflict("exists already".to_owned());
    }
    let found = match bundle::verify(destination, &|_| None) {
        Ok(found) => found,
        Err(e) => return conflict(format!("exists already, and is no sound bundle ({e})")),
    };
    if found.identity != wanted.identity {
        return conflict(format!("is already another bundle, of run {}", found.manifest.run_id));
    }
    if let Some(key) = how.sign {
        match &found.signature {
            Some(signature) if signature.keyid == key.keyid() => {}
            Some(signature) => {
                return conflict(format!("is already this bundle, signed with another key ({})", signature.keyid));
            }
            None => return conflict("is already this bundle, without a signature".to_owned()),
        }
    }
    Ok(Some(PublicationReceipt::new("already_published", destination, &found)))
}

/// Refuses destinations inside something that is read or published.
fn refuse_place(trace: &Trace, destination: &Path) -> Result<()> {
    let parent = destination.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Its nearest ancestor that exists, resolved: a link may lead into a bundle.
    let Some(existing) =
        parent.ancestors().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p }).find(|p| p.exists())
    else {
        return Ok(());
    };
    let absent = parent.strip_prefix(existing).unwrap_or(parent);
    if absent.components().any(|c| c == std::path::Component::ParentDir) {
        return Err(Error::input(
            destination,
            "leads through `..` below a directory that does not exist; give it without",
        ));
    }
    let resolved = existing.canonicalize().map_err(Error::io("open", existing))?;
    if let Some(bundle) = bundle::around(existing) {
        let problem = format!("lies in the bundle {}; a bundle never changes", bundle.display());
        return Err(Error::input(destination, problem));
    }
    let input = trace.requested.canonicalize().ok().filter(|p| p.is_dir());
    if input.is_some_and(|input| resolved.starts_with(input)) {
        let problem = format!("lies in {}, which is being read", trace.requested.display());
        return Err(Error::input(destination, problem));
    }
    Ok(())
}

/// Writes a whole bundle into the directory `dir`.
fn write_files(trace: &Trace, how: &Publication<'_>, dir: &Path) -> Result<()> {
    let folder = dir.join(layout::TABLES);
    std::fs::create_dir(&folder).map_err(Error::io("create directory", &folder))?;
    let carried_along = trace.kept_nsight();
    let supplied = match how.nsight_dir {
        Some(_) if !carried_along.is_empty() => {
            return Err(Error::input(
                &trace.requested,
                "carries Nsight reports already; publish its trace with others",
            ));
        }
        Some(source) => nsight::list(source)?,
        None => carried_along,
    };
    let before = match trace.bundle.as_ref().and_then(|b| b.manifest.entry(layout::REDACTION)) {
        None => None,
        Some(_) => {
            Some(semantic::read_redaction(&trace.kept(layout::REDACTION)?, &trace.requested.join(layout::REDACTION))?)
        }
    };
    let mut redaction = if how.redact { Some(Redaction::of(trace, &supplied)?) } else { None };
    let run = match &mut redaction {
        Some(redaction) => redaction.run(&trace.run),
        None => trace.run.clone(),
    };
    let put = |name: &str, bytes: Vec<u8>| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).map_err(Error::io("write", path))
    };
    put(layout::RUN, bundle::run_bytes(&run))?;
    for spec in tables::events() {
        let Some(files) = trace.files.get(spec.name) else { continue };
        let target = dir.join(table_path(spec.name));
        match (&mut redaction, files.as_slice()) {
            (Some(redaction), files) => redaction.table(files, &spec, &run.run_id, &target)?,
            // The recorder's own bytes: what it took hours to record is not encoded again.
            (None, [only]) if bundle::is_exact(only, &spec)? => copy_regular(&trace.as_carried(only), &target)?,
            (None, _) => one_file(trace, &spec, &target)?,
        }
    }
    if !supplied.is_empty() {
        let folder = dir.join(layout::NSIGHT);
        std::fs::create_dir(&folder).map_err(Error::io("create directory", &folder))?;
        for source in &supplied {
            let name = source.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            // A name tells as much as a text.
            let name = redaction.as_mut().map_or_else(|| name.to_owned(), |redaction| redaction.text(name));
            let target = folder.join(&name);
            match &mut redaction {
                Some(redaction) => redaction.file(source, &target)?,
                None => copy_regular(source, &target)?,
            }
        }
        // From what was staged: a redaction may have changed it.
        nsight::import(&nsight::list(&dir.join(layout::NSIGHT))?, &run.run_id, &dir.join(layout::TABLES))?;
    }
    let redaction = match (redaction.map(|r| r.record()), before) {
        (Some(now), Some(before)) => Some(now.after(&before)),
        (now, before) => now.or(before),
    };
    if let Some(record) = &redaction {
        put(layout::REDACTION, json_bytes(record))?;
    }
    // From what was staged, as whoever verifies it will.
    let staged = bundle::read_staged(dir)?;
    // Raw reports are the largest files of a bundle, and their hashes are known already.
    let supplied = staged.nsight.iter().flat_map(|supplied| &supplied.files);
    let in_bundle = |f: &FileEntry| FileEntry { path: format!("{}/{}", layout::NSIGHT, f.path), ..f.clone() };
    let mut entries: Vec<FileEntry> = supplied.map(in_bundle).collect();
    derived::write(&derived::examine(staged)?, redaction.as_ref(), cfg!(feature = "visualizer"), dir)?;
    let others = file_paths(dir)?.into_iter().filter(|path| bundle::nsight_name(path).is_none());
    entries.extend(bundle::hash_all(dir, &others.collect::<Vec<_>>())?);
    let manifest = Manifest::new(run.run_id.clone(), entries);
    let bytes = manifest.to_bytes();
    let identity = bundle::sha256(&bytes);
    put(layout::MANIFEST, bytes)?;
    let envelope = match (how.sign, &trace.bundle) {
        (Some(key), _) => Some(sign::envelope(key, &run.run_id, &identity)),
        // Published anew unchanged, a bundle stays signed.
        (None, Some(source)) if source.identity == identity => source.signature.as_ref().map(|s| s.bytes.clone()),
        _ => None,
    };
    envelope.map_or(Ok(()), |envelope| put(layout::SIGNATURE, envelope))
}

/// Parts of a recording that was cut off become one file.
fn one_file(trace: &Trace, spec: &TableSpec, target: &Path) -> Result<()> {
    let schema = spec.schema(Some(&trace.run.run_id));
    let parquet = |e: parquet::errors::ParquetError| Error::input(target, one_line(&e.to_string()));
    let file = File::create(target).map_err(Error::io("create", target))?;
    let properties = writer_properties(spec, &schema);
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(parquet)?;
    let names: Vec<&str> = spec.columns.iter().map(|c| c.name).collect();
    for batch in trace.scan(spec.name, &names) {
        let batch = batch?;
        let columns = schema.fields().iter().map(|f| batch.column_by_name(f.name()).cloned());
        let columns = columns.collect::<Option<Vec<_>>>().unwrap_or_default();
        let batch = arrow::array::RecordBatch::try_new(schema.clone(), columns)
            .map_err(|e| Error::input(target, one_line(&e.to_string())))?;
        writer.write(&batch).map_err(parquet)?;
    }
    writer.close().map(drop).map_err(parquet)
}

/// Copies a regular file, whatever it becomes meanwhile.
fn copy_regular(source: &Path, target: &Path) -> Result<()> {
    let mut from = bundle::open_regular(source)?;
    let mut to = File::create(target).map_err(Error::io("create", target))?;
    std::io::copy(&mut from, &mut to).map(drop).map_err(Error::io("copy", source))
}

/// The paths of every file that a bundle at `dir` has, but its manifest and its signature.
pub(super) fn file_paths(dir: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for folder in ["", layout::TABLES, layout::NSIGHT] {
        let place = dir.join(folder);
        if !place.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&place).map_err(Error::io("read directory", &place))? {
            let path = entry.map_err(Error::io("read directory", &place))?.path();
            if path.is_file() {
                let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
                paths.push(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") });
            }
        }
    }
    Ok(paths)
}

/// A failure in the stage as one at the destination: the stage goes.
fn elsewhere(error: Error, stage: &Path, destination: &Path) -> Error {
    error.of_path(|path| path.strip_prefix(stage).map(|rest| destination.join(rest)).unwrap_or(path))
}

/// A temporary directory is private; a bundle is as readable as anything a program makes.
#[cfg(unix)]
fn readable_by_all(dir: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir, mode).map_err(Error::io("set the permissions of", dir))
}

#[cfg(not(unix))]
fn readable_by_all(_: &Path) -> Result<()> {
    Ok(())
}
