//! What a table is: a `const` list of columns, each with its unit, its meaning and a typed accessor.
//! In: nothing. Out: the Arrow schema, empty builders and finished batches of any table, by one loop.
//! Left to neighbours: which tables exist (`tables/`), who fills them (`buffer`), who writes them (`sink`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::columns::{Lengths, Text, Validity, Values};

/// Version of the table layout. It rises when a column is renamed, removed or changes its meaning.
pub const TABLES_SCHEMA: &str = "candle-graph/tables/1";

/// Key of the schema metadata that holds [`TABLES_SCHEMA`].
pub const META_SCHEMA: &str = "candle_graph.schema";
/// Key of the schema metadata that holds the table's name.
pub const META_TABLE: &str = "candle_graph.table";
/// Key of the schema metadata that holds the run id.
pub const META_RUN_ID: &str = "candle_graph.run_id";
/// Key of a field's metadata that holds its unit.
pub const META_UNIT: &str = "unit";

/// The unit of a column, as written in the Parquet metadata and in docs/tables.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Text, flags, lists: no unit.
    None,
    /// An identity: equal or not, never arithmetic.
    Id,
    /// Nanoseconds on the session's monotonic clock; 0 is the moment the session opened.
    SessionNs,
    /// A length of time in nanoseconds.
    Ns,
    /// Nanoseconds on a device clock, comparable only within one `(device, clock_id)`.
    DeviceNs,
    /// Nanoseconds on the clock of an Nsight Systems capture, comparable only within it.
    NsightNs,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Hundredths of a whole.
    Percent,
    /// A number of things.
    Count,
    /// A moment in UTC, microseconds.
    Utc,
    /// The unit of the tensor's own values.
    Value,
}

impl Unit {
    /// The unit as stored in metadata and schemas.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unit::None => "none",
            Unit::Id => "id",
            Unit::SessionNs => "ns (session clock)",
            Unit::Ns => "ns",
            Unit::DeviceNs => "ns (device clock)",
            Unit::NsightNs => "ns (nsight clock)",
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Percent => "percent",
            Unit::Count => "count",
            Unit::Utc => "UTC timestamp",
            Unit::Value => "tensor value",
        }
    }
}

/// The physical type of a column: what every Parquet reader takes without help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Text,
    Bool,
    Float,
    IntList,
    TextList,
    /// Microseconds since the epoch, UTC.
    Timestamp,
}

impl Kind {
    /// The Arrow type; list items are never null.
    pub fn data_type(self) -> DataType {
        match self {
            Kind::Int => DataType::Int64,
            Kind::Text => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
            Kind::Float => DataType::Float64,
            Kind::IntList => DataType::List(Arc::new(Field::new("item", DataType::Int64, false))),
            Kind::TextList => DataType::List(Arc::new(Field::new("item", DataType::Utf8, false))),
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// The type's name in docs/tables.md.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Int => "Int64",
            Kind::Text => "Utf8",
            Kind::Bool => "Boolean",
            Kind::Float => "Float64",
            Kind::IntList => "List<Int64>",
            Kind::TextList => "List<Utf8>",
            Kind::Timestamp => "Timestamp(us, UTC)",
        }
    }
}

/// A kind of row: the struct that one call of the recorder borrows its facts from.
pub trait Row {
    /// The row, borrowing the caller's text.
    type Of<'a>;
}

/// How a column reads its value from a row. Type and nullability follow from the variant, so they cannot disagree with it.
#[derive(Clone, Copy)]
pub enum Get<R: Row + 'static> {
    Int(for<'r, 'a> fn(&'r R::Of<'a>) -> i64),
    OptInt(for<'r, 'a> fn(&'r R::Of<'a>) -> Option<i64>),
    Text(for<'r, 'a> fn(&'r R::Of<'a>) -> &'r str),
    OptText(for<'r, 'a> fn(&'r R::Of<'a>) -> Option<&'r str>),
    Bool(for<'r, 'a> fn(&'r R::Of<'a>) -> bool),
    OptFloat(for<'r, 'a> fn(&'r R::Of<'a>) -> Option<f64>),
    IntList(for<'r, 'a> fn(&'r R::Of<'a>) -> &'r [i64]),
    TextList(for<'r, 'a> fn(&'r R::Of<'a>) -> &'r [String]),
}

impl<R: Row> Get<R> {
    /// The column's physical type.
    pub const fn kind(&self) -> Kind {
        match self {
            Get::Int(_) | Get::OptInt(_) => Kind::Int,
            Get::Text(_) | Get::OptText(_) => Kind::Text,
            Get::Bool(_) => Kind::Bool,
            Get::OptFloat(_) => Kind::Float,
            Get::IntList(_) => Kind::IntList,
            Get::TextList(_) => Kind::TextList,
        }
    }

    /// An empty buffer of the column's kind.
    fn values(&self, repeats: bool) -> Values {
        let text = || Text::new(repeats);
        match self {
            Get::Int(_) => Values::Int(Vec::new()),
            Get::OptInt(_) => Values::OptInt(Vec::new(), Validity::default()),
            Get::Text(_) => Values::Text(text()),
            Get::OptText(_) => Values::OptText(text(), Validity::default()),
            Get::Bool(_) => Values::Bool(Vec::new()),
            Get::OptFloat(_) => Values::OptFloat(Vec::new(), Validity::default()),
            Get::IntList(_) => Values::IntList(Lengths::default(), Vec::new()),
            Get::TextList(_) => Values::TextList(Lengths::default(), text()),
        }
    }

    /// Whether the column may hold NULL (an absent fact).
    pub const fn nullable(&self) -> bool {
        matches!(self, Get::OptInt(_) | Get::OptText(_) | Get::OptFloat(_))
    }
}

/// One column: everything that is known about it.
pub struct Column<R: Row + 'static> {
    pub name: &'static str,
    pub unit: Unit,
    /// Whether values repeat, so that Parquet's dictionary encoding pays for its hashing.
    pub repeats: bool,
    pub doc: &'static str,
    pub get: Get<R>,
}

/// One table: its name, what a row is, its columns (after `run_id` and `seq`, which every table carries).
pub struct Table<R: Row + 'static> {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: &'static [Column<R>],
}

/// A column with its type erased: what docs, schemas and readers loop over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    pub name: &'static str,
    pub data_type: DataType,
    /// The type as docs name it.
    pub type_name: String,
    pub nullable: bool,
    pub unit: Unit,
    pub repeats: bool,
    pub doc: &'static str,
}

/// A table with its row type erased.
#[derive(Clone, Debug)]
pub struct TableSpec {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: Vec<ColumnSpec>,
}

impl TableSpec {
    /// The Arrow schema; `run_id`, where known, goes into the metadata.
    pub fn schema(&self, run_id: Option<&str>) -> SchemaRef {
        let fields: Vec<Field> = self
            .columns
            .iter()
            .map(|c| {
                Field::new(c.name, c.data_type.clone(), c.nullable)
                    .with_metadata(HashMap::from([(META_UNIT.to_owned(), c.unit.as_str().to_owned())]))
            })
            .collect();
        let mut metadata = HashMap::from([
            (META_SCHEMA.to_owned(), TABLES_SCHEMA.to_owned()),
            (META_TABLE.to_owned(), self.name.to_owned()),
        ]);
        if let Some(run_id) = run_id {
            metadata.insert(META_RUN_ID.to_owned(), run_id.to_owned());
        }
        Arc::new(Schema::new_with_metadata(fields, metadata))
    }
}

/// The two columns every table begins with.
pub fn common_columns() -> [ColumnSpec; 2] {
    [
        ColumnSpec {
            name: "run_id",
            data_type: DataType::Utf8,
            type_name: Kind::Text.name().to_owned(),
            nullable: false,
            unit: Unit::Id,
            repeats: true,
            doc: "The run this row belongs to, so that the files of many runs read as one table.",
        },
        ColumnSpec {
            name: "seq",
            data_type: DataType::Int64,
            type_name: Kind::Int.name().to_owned(),
            nullable: false,
            unit: Unit::Id,
            repeats: false,
            doc: "Order of recording across all tables of the trace; a span is recorded when it closes.",
        },
    ]
}

impl<R: Row> Table<R> {
    /// The table with its row type erased.
    pub fn spec(&self) -> TableSpec {
        let mut columns = common_columns().to_vec();
        columns.extend(self.columns.iter().map(|c| ColumnSpec {
            name: c.name,
            data_type: c.get.kind().data_type(),
            type_name: c.get.kind().name().to_owned(),
            nullable: c.get.nullable(),
            unit: c.unit,
            repeats: c.repeats,
            doc: c.doc,
        }));
        TableSpec { name: self.name, doc: self.doc, columns }
    }

    /// Empty builders for this table.
    pub fn builder(&'static self) -> TableBuilder<R> {
        TableBuilder {
            table: self,
            seq: Vec::new(),
            columns: self.columns.iter().map(|c| c.get.values(c.repeats)).collect(),
        }
    }
}

/// Rows of one table on their way to a batch.
pub struct TableBuilder<R: Row + 'static> {
    table: &'static Table<R>,
    seq: Vec<i64>,
    columns: Vec<Values>,
}

impl<R: Row> TableBuilder<R> {
    /// Rows held.
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Whether no row is held.
    pub fn is_empty(&self) -> bool {
        self.seq.is_empty()
    }

    /// Appends one row.
    #[inline]
    pub fn push(&mut self, seq: i64, row: &R::Of<'_>) {
        self.seq.push(seq);
        for (column, values) in self.table.columns.iter().zip(&mut self.columns) {
            match (&column.get, values) {
                (Get::Int(get), Values::Int(v)) => v.push(get(row)),
                (Get::OptInt(get), Values::OptInt(v, valid)) => Values::push_opt_int(v, valid, get(row)),
                (Get::Text(get), Values::Text(t)) => t.push(get(row)),
                (Get::OptText(get), Values::OptText(t, valid)) => Values::push_opt_text(t, valid, get(row)),
                (Get::Bool(get), Values::Bool(v)) => v.push(get(row)),
                (Get::OptFloat(get), Values::OptFloat(v, valid)) => Values::push_opt_float(v, valid, get(row)),
                (Get::IntList(get), Values::IntList(lengths, v)) => Values::push_ints(lengths, v, get(row)),
                (Get::TextList(get), Values::TextList(lengths, t)) => {
                    let items = get(row);
                    items.iter().for_each(|item| t.push(item));
                    lengths.push(items.len());
                }
                // `builder()` makes each buffer from the same accessor, so no other pair exists.
                _ => unreachable!("column {} has a buffer of another kind", column.name),
            }
        }
    }

    /// The rows as one batch in the table's schema; the builders are empty again and keep their memory.
    pub fn finish(&mut self, run_id: &str, schema: &SchemaRef) -> RecordBatch {
        let seq = self.seq.clone();
        self.seq.clear();
        let run_ids = StringArray::from_iter_values(std::iter::repeat_n(run_id, seq.len()));
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(run_ids), Arc::new(arrow_array::Int64Array::from(seq))];
        arrays.extend(self.columns.iter_mut().map(Values::take));
        RecordBatch::try_new(schema.clone(), arrays).expect("builders and schema come from the same column list")
    }
}
