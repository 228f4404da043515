//! Writing: to standard output, or to a file that is whole or absent.
//! In: bytes or a producer of bytes. Out: nothing half-written. Left to neighbours: what the bytes say.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Where output goes.
pub type Target<'a> = Option<&'a Path>;

/// Runs `produce` into the target; a file appears under its name only when all of it is written and synced.
///
/// # Errors
/// The producer's failure, or the file system's with the path. A reader that closes the pipe early is no failure.
pub fn write(target: Target<'_>, produce: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    let Some(path) = target else {
        let mut out = Pipe { out: std::io::BufWriter::new(std::io::stdout()), closed: false };
        let written = produce(&mut out).and_then(|()| out.flush().map_err(Error::io("write", "standard output")));
        return if out.closed { Ok(()) } else { written };
    };
    let metadata = std::fs::metadata(path);
    if metadata.as_ref().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        // A device or a pipe: nothing to keep whole, and never something to replace.
        let file = OpenOptions::new().write(true).open(path).map_err(Error::io("open", path))?;
        let mut out = Pipe { out: std::io::BufWriter::new(file), closed: false };
        let written = produce(&mut out).and_then(|()| out.flush().map_err(Error::io("write", path)));
        return if out.closed { Ok(()) } else { written };
    }
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Error::input(path, "is a directory; give a file name"));
    }
    let mut file = tempfile::Builder::new()
        .prefix(".candle-graph-")
        .tempfile_in(directory)
        .map_err(Error::io("create a file here", directory))?;
    {
        let mut out = std::io::BufWriter::new(file.as_file_mut());
        produce(&mut out)?;
        out.flush().map_err(Error::io("write", path))?;
    }
    let io = |action| Error::io(action, path);
    file.as_file().sync_all().map_err(io("sync"))?;
    readable_by_all(file.as_file()).map_err(io("set the permissions of"))?;
    file.persist(path).map_err(|e| Error::Io {
        action: "rename into place",
        path: path.to_owned(),
        source: e.error,
    })?;
    Ok(())
}

/// Remembers that its reader has gone, whatever error the producer makes of it.
struct Pipe<W: Write> {
    out: W,
    closed: bool,
}

impl<W: Write> Pipe<W> {
    fn note<T>(&mut self, result: std::io::Result<T>) -> std::io::Result<T> {
        self.closed |= result.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = self.out.flush();
        self.note(flushed)
    }
}

/// A temporary file is private; a result is as readable as any file a program makes.
#[cfg(unix)]
fn readable_by_all(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

/// Writes a document as indented JSON with a line feed at its end.
///
/// # Errors
/// As [`write()`].
pub fn json(target: Target<'_>, document: &impl serde::Serialize) -> Result<()> {
    write(target, |out| {
        let name = target.unwrap_or(Path::new("standard output"));
        serde_json::to_writer_pretty(&mut *out, document).map_err(|e| Error::io("write", name)(e.into()))?;
        out.write_all(b"\n").map_err(Error::io("write", name))
    })
}
