//! Everything that can be queried: recorded tables, and those derived in code.
//! In: the recorder's table list. Out: one list that docs, schemas and the session loop over.
//! Left to neighbours: the rows (`load`, `session`), views and queries (`query`).

pub mod nsight;

use arrow::datatypes::DataType;
use candle_graph_record::table::{ColumnSpec, Kind, TableSpec, Unit};
pub use candle_graph_record::tables::{all as recorded, events};

fn column(name: &'static str, kind: Kind, nullable: bool, unit: Unit, doc: &'static str) -> ColumnSpec {
    ColumnSpec {
        name,
        data_type: kind.data_type(),
        type_name: kind.name().to_owned(),
        nullable,
        unit,
        repeats: true,
        doc,
    }
}

/// `coverage`: what may be claimed of each evidence plane, so that SQL can tell "not recorded" from a true zero.
pub fn coverage() -> TableSpec {
    TableSpec {
        name: "coverage",
        doc: "One evidence plane: what the producer declared, what was observed, and what may be claimed from both.",
        columns: vec![
            column("run_id", Kind::Text, false, Unit::Id, "The run."),
            column("plane", Kind::Text, false, Unit::None, "The evidence plane, by its capability's name."),
            column(
                "declared",
                Kind::Text,
                true,
                Unit::None,
                "The producer's level: none, partial, complete; NULL where a contract has no level for the plane.",
            ),
            column(
                "observed",
                Kind::Int,
                true,
                Unit::Count,
                "Rows that evidence the plane; NULL where rows are not its evidence.",
            ),
            column("level", Kind::Text, false, Unit::None, "complete, partial, unavailable or invalid."),
            column("reason", Kind::Text, false, Unit::None, "Why."),
            column("source", Kind::Text, false, Unit::None, "What the level rests on; none where there is nothing."),
            column(
                "events_lost",
                Kind::Int,
                false,
                Unit::Count,
                "Facts the recorder refused or could not keep, over all planes.",
            ),
        ],
    }
}

/// `schema`: the tables described by themselves.
pub fn schema() -> TableSpec {
    TableSpec {
        name: "schema",
        doc: "One column of one table: what the other tables mean, from inside SQL.",
        columns: vec![
            column("table", Kind::Text, false, Unit::None, "Table."),
            column("column", Kind::Text, false, Unit::None, "Column."),
            column("type", Kind::Text, false, Unit::None, "Type."),
            column("nullable", Kind::Bool, false, Unit::None, "Whether it may be NULL: an absent fact."),
            column("unit", Kind::Text, false, Unit::None, "Unit."),
            column("meaning", Kind::Text, false, Unit::None, "Meaning."),
            column("since", Kind::Text, false, Unit::None, "The layout version that introduced it."),
        ],
    }
}

/// Every table whose rows came with a trace: recorded, or imported from Nsight reports.
pub fn stored() -> Vec<TableSpec> {
    let mut tables = events();
    tables.extend(nsight::tables());
    tables.push(nsight::states());
    tables
}

/// Every table, recorded, imported and derived, in the order of the docs.
pub fn all() -> Vec<TableSpec> {
    let mut tables = recorded();
    tables.extend(nsight::tables());
    tables.push(nsight::states());
    tables.push(coverage());
    tables.push(schema());
    tables
}

/// Whether a column read from a file may serve as `spec`'s: the same type, whatever the file calls list items.
pub fn same_type(found: &DataType, wanted: &DataType) -> bool {
    found == wanted || (found.is_nested() && found.equals_datatype(wanted))
}
