//! The header of a SQL file: what its result is, in comments that the program reads.
//! In: the file's text. Out: a [`Header`]. Left to neighbours: whether the plan agrees (one test checks every file).

/// What a SQL file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// What a row is, and what happens to the awkward rows.
    pub row: String,
    pub parameters: Vec<NamedType>,
    pub columns: Vec<NamedType>,
    /// Tables and views read, sorted.
    pub reads: Vec<String>,
}

/// A parameter or a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedType {
    pub name: String,
    /// Arrow type, as docs name it.
    pub type_name: String,
    /// Unit of a column; empty for a parameter.
    pub unit: String,
    pub meaning: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Summary,
    Row,
    Parameters,
    Columns,
    Reads,
}

/// Reads the comment lines at the top of `sql`.
///
/// # Errors
/// The line that has no place in a header, or what is missing.
pub fn parse(sql: &str) -> Result<Header, String> {
    let mut header = Header::default();
    let mut section = Section::Summary;
    for line in sql.lines().map_while(|l| l.strip_prefix("--")) {
        let indented = line.starts_with("   ");
        // A meaning that needs more than a line goes on below it, further in.
        let goes_on = line.starts_with("     ");
        let line = line.trim();
        if header.name.is_empty() {
            let (name, summary) =
                line.split_once(": ").ok_or_else(|| format!("the first line is no `name: sentence`: {line:?}"))?;
            header.name = name.to_owned();
            header.summary = summary.to_owned();
        } else if let Some(rest) = line.strip_prefix("Row: ") {
            section = Section::Row;
            header.row = rest.to_owned();
        } else if line == "Parameters:" {
            section = Section::Parameters;
        } else if line == "Columns:" {
            section = Section::Columns;
        } else if let Some(rest) = line.strip_prefix("Reads: ") {
            section = Section::Reads;
            header.reads = rest.split(',').map(|t| t.trim().to_owned()).collect();
        } else {
            match section {
                Section::Summary => header.summary = format!("{} {line}", header.summary),
                Section::Row => header.row = format!("{} {line}", header.row),
                Section::Parameters | Section::Columns if goes_on => {
                    let of = if section == Section::Columns { &mut header.columns } else { &mut header.parameters };
                    let last = of.last_mut().ok_or_else(|| format!("nothing goes on in the line {line:?}"))?;
                    last.meaning = format!("{} {line}", last.meaning);
                }
                Section::Parameters if indented => header.parameters.push(named_type(line, false)?),
                Section::Columns if indented => header.columns.push(named_type(line, true)?),
                _ => return Err(format!("no section takes the line {line:?}")),
            }
        }
    }
    let missing = [
        ("a first line `-- name: sentence`", header.name.is_empty()),
        ("`-- Row: `", header.row.is_empty()),
        ("`-- Columns:`", header.columns.is_empty()),
        ("`-- Reads: `", header.reads.is_empty()),
    ];
    match missing.into_iter().find(|(_, missing)| *missing) {
        Some((what, _)) => Err(format!("the header lacks {what}")),
        None => Ok(header),
    }
}

/// `name (type, unit): meaning`, or for a parameter `name (type): meaning`.
fn named_type(line: &str, has_unit: bool) -> Result<NamedType, String> {
    let malformed = || format!("is no `name (type{}): meaning`: {line:?}", if has_unit { ", unit" } else { "" });
    let (name, rest) = line.split_once(" (").ok_or_else(malformed)?;
    let (inside, meaning) = rest.split_once("): ").ok_or_else(malformed)?;
    let (type_name, unit) = if has_unit { inside.rsplit_once(", ").ok_or_else(malformed)? } else { (inside, "") };
    Ok(NamedType {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        unit: unit.to_owned(),
        meaning: meaning.to_owned(),
    })
}
