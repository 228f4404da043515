//! The header of a report: which field each column comes from, and in which unit.
//! In: the fields of a line. Out: a plan for the rows below it, or which kind of report it is instead.
//! Left to neighbours: finding the line (`preamble`), the cells (`cells`).

use super::cells::{Factor, size_unit, time_unit};
use crate::tables::nsight::{Cell, Column, Need, REPORTS, Report};
use crate::text::shorten;

/// A header cell: `Start (ns)` is name `Start`, unit `ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    unit: Option<String>,
}

impl Field {
    fn parse(cell: &str) -> Self {
        let cell = cell.trim();
        if let Some((name, unit)) = cell.strip_suffix(')').and_then(|c| c.rsplit_once('('))
            && !name.trim().is_empty()
        {
            return Self { name: name.trim().to_lowercase(), unit: Some(unit.trim().to_owned()) };
        }
        Self { name: cell.to_lowercase(), unit: None }
    }

    fn is(&self, column: &Column) -> bool {
        column.headers.iter().any(|h| h.to_lowercase() == self.name)
    }
}

/// How one column is filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub column: &'static Column,
    /// The field it comes from; `None`: this version of the report has no such field.
    pub field: Option<usize>,
    pub factor: Factor,
}

/// How rows under a header are read.
#[derive(Debug)]
pub(super) struct Plan {
    pub sources: Vec<Source>,
    /// The header's own cells, for messages.
    pub fields: Vec<String>,
    pub notes: Vec<String>,
}

/// Whether the fields of a line are the header of this report: every column that no version lacks is there.
fn has_columns(fields: &[Field], report: &Report) -> bool {
    let needed = report.columns.iter().filter(|c| c.need != Need::Optional);
    needed.clone().all(|c| fields.iter().any(|f| f.is(c)))
}

/// The report that a line is the header of. The one with the most columns in it: `cuda_api_trace` has all that another
/// might need.
pub(super) fn report_of(cells: &[String]) -> Option<&'static Report> {
    let fields: Vec<Field> = cells.iter().map(|c| Field::parse(c)).collect();
    let known = |report: &Report| fields.iter().filter(|f| report.columns.iter().any(|c| f.is(c))).count();
    REPORTS.iter().filter(|r| has_columns(&fields, r)).max_by_key(|r| known(r))
}

/// The columns that no version of a report lacks, as its header writes them.
pub(super) fn needed(report: &Report) -> String {
    let mut names: Vec<&str> = Vec::new();
    for column in report.columns.iter().filter(|c| c.need != Need::Optional) {
        if !names.contains(&column.headers[0]) {
            names.push(column.headers[0]);
        }
    }
    names.join(", ")
}

impl Plan {
    /// The plan for a report, from a line that is its header.
    pub(super) fn new(report: &Report, cells: &[String]) -> Result<Self, String> {
        let fields: Vec<Field> = cells.iter().map(|c| Field::parse(c)).collect();
        for (at, field) in fields.iter().enumerate() {
            if let Some(first) = fields[..at].iter().position(|f| f == field) {
                return Err(format!("its header has column {} twice", shorten(&cells[first])));
            }
        }
        let find = |column: &Column| {
            let mut found = fields.iter().enumerate().filter(|(_, f)| f.is(column));
            match (found.next(), found.next()) {
                (Some((first, _)), Some((second, _))) => Err(format!(
                    "its header has both {} and {}, which are the same column",
                    shorten(&cells[first]),
                    shorten(&cells[second])
                )),
                (first, _) => Ok(first.map(|(at, _)| at)),
            }
        };
        // Reports to 2021 give the mean without a unit, in that of the total.
        let total =
            report.columns.iter().find(|c| c.cell == Cell::Duration).and_then(|c| fields.iter().find(|f| f.is(c)));
        let total = total.and_then(|f| f.unit.clone());
        let mut sources = Vec::new();
        let mut used = vec![false; fields.len()];
        for column in report.columns {
            let field = find(column)?;
            let factor = match field {
                None => Factor::ONE,
                Some(at) => {
                    used[at] = true;
                    factor(column, &fields[at], total.as_deref())
                        .map_err(|problem| format!("column {}: {problem}", shorten(&cells[at])))?
                }
            };
            sources.push(Source { column, field, factor });
        }
        let unread: Vec<String> =
            cells.iter().zip(&used).filter(|(_, used)| !**used).map(|(cell, _)| shorten(cell.trim())).collect();
        let notes = if unread.is_empty() {
            Vec::new()
        } else {
            vec![format!("columns that are not read: {}", shorten(&unread.join(", ")))]
        };
        Ok(Self { sources, fields: cells.to_vec(), notes })
    }
}

/// What a field's unit is worth in its column's.
fn factor(column: &Column, field: &Field, total: Option<&str>) -> Result<Factor, String> {
    let unit = field.unit.as_deref();
    let known = |factor: Option<Factor>, example: &str| {
        let given = unit.map_or("no unit".to_owned(), |u| format!("unit {:?}", shorten(u)));
        factor.ok_or_else(|| format!("has {given}, which is not known here; `nsys stats` writes e.g. {example}"))
    };
    match column.cell {
        Cell::Moment => known(unit.and_then(time_unit), "Start (ns)"),
        Cell::Duration if unit.is_none() && matches!(column.name, "min_ns" | "max_ns") => {
            known(total.and_then(time_unit), "Min (ns)")
        }
        Cell::MeanDuration if unit.is_none() => known(total.and_then(time_unit), "Avg (ns)"),
        Cell::Duration | Cell::MeanDuration => known(unit.and_then(time_unit), "Duration (ns)"),
        // Reports to 2021 give sizes in bytes, and say nothing.
        Cell::Size | Cell::SizeStep if unit.is_none() => Ok(Factor::ONE),
        Cell::Size | Cell::SizeStep => known(unit.and_then(size_unit), "Bytes (MB)"),
        Cell::Rate => {
            let size = unit.and_then(|u| u.strip_suffix("/s").or_else(|| u.strip_suffix("/sec")));
            known(size.and_then(size_unit), "Throughput (MB/s)")
        }
        Cell::Percent => known((unit == Some("%")).then_some(Factor::ONE), "Time (%)"),
        _ => Ok(Factor::ONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<String> {
        line.split(',').map(str::to_owned).collect()
    }

    fn table(line: &str) -> Option<&'static str> {
        report_of(&cells(line)).map(|r| r.table)
    }

    #[test]
    fn headers_of_every_version_are_told_apart() {
        let trace = "CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd";
        assert_eq!(table(&format!("Start(sec),Duration(nsec),{trace},Thru(MB/s),Strm,Name")), Some("gpu_trace"));
        assert_eq!(
            table("Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name"),
            Some("cuda_api_trace")
        );
        assert_eq!(table("Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,StdDev,Name"), Some("gpu_kernels"));
        assert_eq!(table("Time (%),Total Time (ns),Instances,Avg (ns),Style,Range"), None);
        assert_eq!(table("Time(%),Total Time (ns),Operations,Average,Minimum,Maximum,Operation"), Some("gpu_mem_time"));
        assert_eq!(table("name,start,duration"), None);
    }

    #[test]
    fn units_come_from_the_header_alone() {
        let report = REPORTS.iter().find(|r| r.table == "gpu_kernels").expect("a report");
        let plan = |line: &str| Plan::new(report, &cells(line));
        let tens = |plan: &Plan, name: &str| plan.sources.iter().find(|s| s.column.name == name).map(|s| s.factor.tens);
        let old = plan("Time(%),Total Time (ms),Instances,Average,Minimum,Maximum,StdDev,Name").expect("a header");
        assert_eq!([tens(&old, "total_ns"), tens(&old, "mean_ns"), tens(&old, "min_ns")], [Some(6); 3]);
        let mixed = plan("Total Time (s),Instances,Avg (us),Extra,Name").expect("a header");
        assert_eq!([tens(&mixed, "total_ns"), tens(&mixed, "mean_ns")], [Some(9), Some(3)]);
        assert_eq!(mixed.notes, ["columns that are not read: Extra"]);
        let wrong = |line: &str| plan(line).expect_err("no header").to_string();
        assert!(wrong("Total Time,Instances,Name").contains("has no unit"));
        assert!(wrong("Total Time (fortnights),Instances,Name").contains("\"fortnights\""));
        assert!(wrong("Total Time (ns),Instances,Name,Name").contains("twice"));
        assert!(wrong("Total Time (ns),Total Time (us),Instances,Name").contains("same column"));
    }
}
