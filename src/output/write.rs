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
    if !directory.is_dir() {
        return Err(Error::input(directory, "is no directory to write into; create it first"));
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

/// Writes a document as JSON with a line feed at its end: indented, but each row of a list on one line.
///
/// # Errors
/// As [`write()`].
pub fn json(target: Target<'_>, document: &impl serde::Serialize) -> Result<()> {
    write(target, |out| {
        let name = target.unwrap_or(Path::new("standard output"));
        let mut serializer = serde_json::Serializer::with_formatter(&mut *out, RowPerLine::default());
        document.serialize(&mut serializer).map_err(|e| Error::io("write", name)(e.into()))?;
        out.write_all(b"\n").map_err(Error::io("write", name))
    })
}

/// Indented JSON in which what stands in a list takes one line: rows stay readable, and half as long as indented.
#[derive(Default)]
struct RowPerLine {
    /// Containers that are indented.
    indented: usize,
    /// Containers inside an item of a list.
    flat: usize,
    /// Whether the innermost indented container is a list: what begins in it is an item.
    list: bool,
    /// Whether the innermost container has anything in it.
    filled: bool,
}

impl RowPerLine {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8], list: bool) -> std::io::Result<()> {
        if self.flat > 0 || self.list {
            self.flat += 1;
        } else {
            self.indented += 1;
            self.list = list;
        }
        self.filled = false;
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> std::io::Result<()> {
        if self.flat > 0 {
            self.flat -= 1;
        } else {
            self.indented -= 1;
            // A list is indented only inside objects: what surrounds it is one.
            self.list = false;
            if self.filled {
                self.new_line(out)?;
            }
        }
        self.filled = true;
        out.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.flat > 0 { Ok(()) } else { self.new_line(out) }
    }

    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> std::io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.indented).try_for_each(|_| out.write_all(b"  "))
    }
}

impl serde_json::ser::Formatter for RowPerLine {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.begin(out, b"[", true)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        self.next(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> std::io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.begin(out, b"{", false)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        out.write_all(if self.flat > 0 { b":" } else { b": " })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> std::io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    use super::RowPerLine;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut out, RowPerLine::default())).expect("a vector takes all");
        String::from_utf8(out).expect("JSON is text")
    }

    #[test]
    fn a_row_takes_a_line() {
        let document =
            json!({"a": {"empty": [], "rows": [{"x": [1, [2]], "y": {"z": []}}, {}, 3]}, "b": {}, "c": [[1], []]});
        let text = "{\n  \"a\": {\n    \"empty\": [],\n    \"rows\": [\n      {\"x\":[1,[2]],\"y\":{\"z\":[]}},\n      {},\n      3\n    \
                    ]\n  },\n  \"b\": {},\n  \"c\": [\n    [1],\n    []\n  ]\n}";
        assert_eq!(written(&document), text);
        assert_eq!(serde_json::from_str::<Value>(&written(&document)).expect("JSON"), document);
        assert_eq!(written(&json!([{"a": [1]}])), "[\n  {\"a\":[1]}\n]");
    }
}
