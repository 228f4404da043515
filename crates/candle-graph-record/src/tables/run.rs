//! `run`: the one row that says what was recorded, where, under which claims, and how it ended.
//! In: a `RunRecord`. Out: its schema, its one-row batch, and the record again from such a batch.
//! Left to neighbours: event tables. This table is written out by hand because it alone holds structs and a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};

use crate::contract::{
    CaptureContract, ComparisonIdentity, ExpectedGradient, GradientContract, GradientFamilyContract,
};
use crate::names::{CoverageLevel, ExecutionPhase, FamilyExpectation, MeasurementScope, Outcome, TimingMode};
use crate::provenance::Host;
use crate::run::ProfileRun;
use crate::table::{ColumnSpec, Kind, TableSpec, Unit, common_columns};

/// Everything known about one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    pub run_id: String,
    pub correlation_id: String,
    pub entrypoint: String,
    pub phase: ExecutionPhase,
    /// UTC, microseconds since the epoch.
    pub started_at_us: i64,
    pub capture_step: i64,
    pub warmup_steps: i64,
    pub device: String,
    pub measured_region_device_synchronized: bool,
    pub timing_mode: TimingMode,
    pub contract: CaptureContract,
    pub identity: Option<ComparisonIdentity>,
    pub tags: BTreeMap<String, String>,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// Session clock; `None`: the run never ended of its own.
    pub ended_ns: Option<i64>,
    /// Facts the recorder refused or lost; a complete trace may still lack them.
    pub events_lost: i64,
    pub candle_graph_version: Option<String>,
    pub host: Host,
}

impl RunRecord {
    /// The record that a session of `run` would open with.
    ///
    /// # Errors
    /// A run that no session would record.
    pub fn declared(run: &ProfileRun) -> crate::Result<Self> {
        run.validate()?;
        Ok(Self::opened(run))
    }

    /// The record of a run that has just opened: `interrupted` until it says otherwise.
    pub(crate) fn opened(run: &ProfileRun) -> Self {
        Self {
            run_id: run.run_id.clone(),
            correlation_id: run.correlation_id.clone(),
            entrypoint: run.entrypoint.clone(),
            phase: run.phase,
            started_at_us: run.started_at_us,
            // `ProfileRun::validate` has checked that both fit.
            capture_step: run.capture_step as i64,
            warmup_steps: run.warmup_steps as i64,
            device: run.device.clone(),
            measured_region_device_synchronized: run.measured_region_device_synchronized,
            timing_mode: run.timing_mode,
            contract: run.contract.clone(),
            identity: run.identity.clone(),
            tags: run.tags.clone(),
            outcome: Outcome::Interrupted,
            reason: None,
            ended_ns: None,
            events_lost: 0,
            candle_graph_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            host: Host::detect(),
        }
    }
}

fn text_list_type() -> DataType {
    Kind::TextList.data_type()
}

fn text(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::Utf8, nullable)
}

fn expected_fields() -> Fields {
    Fields::from(vec![text("root", false), text("key", false), text("family", false)])
}

fn family_fields() -> Fields {
    Fields::from(vec![
        text("family", false),
        text("expectation", false),
        Field::new("min_present", DataType::Int64, false),
    ])
}

fn list_of(fields: Fields) -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Struct(fields), false)))
}

fn gradient_contract_fields() -> Fields {
    Fields::from(vec![
        text("manifest_sha256", false),
        Field::new("expected", list_of(expected_fields()), false),
        Field::new("families", list_of(family_fields()), false),
    ])
}

const LEVELS: [&str; 7] =
    ["operations", "activations", "tensors", "gradients", "logical_memory", "physical_memory", "device_timing"];

const LABEL_LISTS: [&str; 3] = ["required_semantic_labels", "gpu_expected_semantic_labels", "cpu_only_semantic_labels"];

fn contract_fields() -> Fields {
    let mut fields = vec![text("measurement_scope", false)];
    fields.extend(LEVELS.iter().map(|name| text(name, false)));
    fields.extend(LABEL_LISTS.iter().map(|name| Field::new(*name, text_list_type(), false)));
    fields.push(Field::new("gradient_contract", DataType::Struct(gradient_contract_fields()), true));
    Fields::from(fields)
}

const IDENTITY_TEXTS: [&str; 9] = [
    "implementation_id",
    "workload_id",
    "model_id",
    "config_id",
    "data_id",
    "seed_policy",
    "precision",
    "device_state",
    "pair_id",
];

fn identity_fields() -> Fields {
    let mut fields: Vec<Field> = IDENTITY_TEXTS.iter().map(|name| text(name, true)).collect();
    fields.push(Field::new("physical_batch", DataType::Int64, true));
    fields.push(Field::new("accumulation_steps", DataType::Int64, true));
    Fields::from(fields)
}

fn tags_type() -> DataType {
    let entries = Fields::from(vec![text("key", false), text("value", false)]);
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false)
}

/// The table, with its row type erased.
pub fn spec() -> TableSpec {
    let column = |name, data_type: DataType, type_name: &str, nullable, unit, doc| ColumnSpec {
        name,
        data_type,
        type_name: type_name.to_owned(),
        nullable,
        unit,
        repeats: true,
        doc,
    };
    let plain =
        |name, kind: Kind, nullable, unit, doc| column(name, kind.data_type(), kind.name(), nullable, unit, doc);
    let mut columns = common_columns().to_vec();
    columns.extend([
        plain("correlation_id", Kind::Text, false, Unit::Id, "Joins this run with evidence recorded outside it."),
        plain("entrypoint", Kind::Text, false, Unit::None, "The program's name of what ran; the root span carries it."),
        plain("phase", Kind::Text, false, Unit::None, "train or infer."),
        plain("started_at", Kind::Timestamp, false, Unit::Utc, "When the run was declared."),
        plain("capture_step", Kind::Int, false, Unit::Count, "The captured invocation, counted from 1."),
        plain("warmup_steps", Kind::Int, false, Unit::Count, "Invocations before it."),
        plain("device", Kind::Text, false, Unit::None, "Device of the run."),
        plain(
            "measured_region_device_synchronized",
            Kind::Bool,
            false,
            Unit::None,
            "Whether the program synchronized the device right before and after the measured region.",
        ),
        plain(
            "timing_mode",
            Kind::Text,
            false,
            Unit::None,
            "host (a span's time is launch time on an asynchronous device) or device_synchronized (at every span).",
        ),
        column(
            "contract",
            DataType::Struct(contract_fields()),
            "Struct",
            false,
            Unit::None,
            "The producer's claims: scope, a level for each plane, semantic labels, gradient manifest.",
        ),
        column(
            "identity",
            DataType::Struct(identity_fields()),
            "Struct",
            true,
            Unit::None,
            "What must be equal between compared runs; NULL: not declared.",
        ),
        column("tags", tags_type(), "Map<Utf8, Utf8>", false, Unit::None, "Free key-value pairs."),
        plain("outcome", Kind::Text, false, Unit::None, "complete, failed or interrupted."),
        plain("reason", Kind::Text, true, Unit::None, "Why it failed or was interrupted, where known."),
        plain("ended_ns", Kind::Int, true, Unit::SessionNs, "When the session ended; NULL: it never did."),
        plain("events_lost", Kind::Int, false, Unit::Count, "Facts the recorder refused or could not keep."),
        plain(
            "candle_graph_version",
            Kind::Text,
            true,
            Unit::None,
            "Version of the recorder; NULL for a trace of another recorder.",
        ),
        plain("candle_version", Kind::Text, true, Unit::None, "Version of candle-core, where known."),
        plain("os", Kind::Text, true, Unit::None, "Operating system, architecture, kernel."),
        plain("host_name", Kind::Text, true, Unit::None, "Host name."),
        plain("cpu_model", Kind::Text, true, Unit::None, "CPU model."),
        plain("logical_cores", Kind::Int, true, Unit::Count, "Logical cores available to the process."),
        plain("toolchain", Kind::Text, true, Unit::None, "Compiler of the recorder."),
        plain("build_profile", Kind::Text, true, Unit::None, "Cargo profile and optimisation level of the recorder."),
        plain(
            "git_revision",
            Kind::Text,
            true,
            Unit::None,
            "Commit checked out where the program was built, where known.",
        ),
    ]);
    TableSpec { name: "run", doc: "The run itself: exactly one row.", columns }
}

fn one(text: &str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values([text]))
}

fn one_opt(text: Option<&str>) -> ArrayRef {
    Arc::new(StringArray::from(vec![text]))
}

fn one_list<'a>(items: impl Iterator<Item = &'a String>) -> ArrayRef {
    let items = StringArray::from_iter_values(items);
    let offsets = OffsetBuffer::from_lengths([items.len()]);
    Arc::new(ListArray::new(Arc::new(Field::new("item", DataType::Utf8, false)), offsets, Arc::new(items), None))
}

fn one_struct_list(fields: Fields, columns: Vec<ArrayRef>) -> ArrayRef {
    let items = StructArray::new(fields.clone(), columns, None);
    let offsets = OffsetBuffer::from_lengths([items.len()]);
    Arc::new(ListArray::new(
        Arc::new(Field::new("item", DataType::Struct(fields), false)),
        offsets,
        Arc::new(items),
        None,
    ))
}

fn gradient_contract_array(contract: Option<&GradientContract>) -> ArrayRef {
    let (expected, families) = contract.map_or((&[][..], &[][..]), |c| (c.expected(), c.families()));
    let texts = |get: fn(&ExpectedGradient) -> &String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(expected.iter().map(get)))
    };
    let columns = vec![
        one(&contract.map(GradientContract::stated_digest).unwrap_or_default()),
        one_struct_list(expected_fields(), vec![texts(|e| &e.root), texts(|e| &e.key), texts(|e| &e.family)]),
        one_struct_list(
            family_fields(),
            vec![
                Arc::new(StringArray::from_iter_values(families.iter().map(|f| &f.family))),
                Arc::new(StringArray::from_iter_values(families.iter().map(|f| f.expectation.as_str()))),
                // A count of more members than an Int64 holds cannot be met; it stays unmet at the maximum.
                Arc::new(Int64Array::from_iter_values(
                    families.iter().map(|f| i64::try_from(f.min_present).unwrap_or(i64::MAX)),
                )),
            ],
        ),
    ];
    let nulls = NullBuffer::from(vec![contract.is_some()]);
    Arc::new(StructArray::new(gradient_contract_fields(), columns, Some(nulls)))
}

fn contract_array(c: &CaptureContract) -> ArrayRef {
    let mut columns = vec![one(c.measurement_scope.as_str())];
    columns.extend(
        [c.operations, c.activations, c.tensors, c.gradients, c.logical_memory, c.physical_memory, c.device_timing]
            .map(|level| one(level.as_str())),
    );
    columns.extend(
        [&c.required_semantic_labels, &c.gpu_expected_semantic_labels, &c.cpu_only_semantic_labels]
            .map(|labels| one_list(labels.iter())),
    );
    columns.push(gradient_contract_array(c.gradient_contract.as_ref()));
    Arc::new(StructArray::new(contract_fields(), columns, None))
}

fn identity_array(identity: Option<&ComparisonIdentity>) -> ArrayRef {
    let texts: [Option<&str>; 9] = identity.map_or([None; 9], |i| {
        [
            i.implementation_id.as_deref(),
            Some(&i.workload_id),
            Some(&i.model_id),
            Some(&i.config_id),
            Some(&i.data_id),
            Some(&i.seed_policy),
            Some(&i.precision),
            Some(&i.device_state),
            i.pair_id.as_deref(),
        ]
    });
    let number = |get: fn(&ComparisonIdentity) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from(vec![identity.map(|i| i64::try_from(get(i)).unwrap_or(i64::MAX))]))
    };
    let mut columns: Vec<ArrayRef> = texts.into_iter().map(one_opt).collect();
    columns.push(number(|i| i.physical_batch));
    columns.push(number(|i| i.accumulation_steps));
    let nulls = NullBuffer::from(vec![identity.is_some()]);
    Arc::new(StructArray::new(identity_fields(), columns, Some(nulls)))
}

fn tags_array(tags: &BTreeMap<String, String>) -> ArrayRef {
    let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
        .with_keys_field(text("key", false))
        .with_values_field(text("value", false));
    for (key, value) in tags {
        builder.keys().append_value(key);
        builder.values().append_value(value);
    }
    builder.append(true).expect("as many keys as values");
    Arc::new(builder.finish())
}

impl RunRecord {
    /// The record as the table's one row.
    pub fn to_batch(&self) -> RecordBatch {
        let int = |v: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![v])) };
        let opt_int = |v: Option<i64>| -> ArrayRef { Arc::new(Int64Array::from(vec![v])) };
        let opt = |v: &Option<String>| one_opt(v.as_deref());
        let columns: Vec<ArrayRef> = vec![
            one(&self.run_id),
            int(0),
            one(&self.correlation_id),
            one(&self.entrypoint),
            one(self.phase.as_str()),
            Arc::new(TimestampMicrosecondArray::from(vec![self.started_at_us]).with_timezone("UTC")),
            int(self.capture_step),
            int(self.warmup_steps),
            one(&self.device),
            Arc::new(BooleanArray::from(vec![self.measured_region_device_synchronized])),
            one(self.timing_mode.as_str()),
            contract_array(&self.contract),
            identity_array(self.identity.as_ref()),
            tags_array(&self.tags),
            one(self.outcome.as_str()),
            opt(&self.reason),
            opt_int(self.ended_ns),
            int(self.events_lost),
            opt(&self.candle_graph_version),
            opt(&self.host.candle_version),
            opt(&self.host.os),
            opt(&self.host.host_name),
            opt(&self.host.cpu_model),
            opt_int(self.host.logical_cores.map(|n| n as i64)),
            opt(&self.host.toolchain),
            opt(&self.host.build_profile),
            opt(&self.host.git_revision),
        ];
        RecordBatch::try_new(spec().schema(Some(&self.run_id)), columns).expect("columns follow spec()")
    }

    /// The record from a batch of this table.
    ///
    /// # Errors
    /// What is missing, of another type, or not a known word, as one sentence that names the column.
    pub fn from_batch(batch: &RecordBatch) -> Result<Self, String> {
        if batch.num_rows() != 1 {
            return Err(format!("holds {} rows; a run is exactly one", batch.num_rows()));
        }
        let row = Reader { columns: &|name| batch.column_by_name(name).cloned() };
        let contract_struct = row.typed::<StructArray>("contract")?;
        let contract = Reader { columns: &|name| contract_struct.column_by_name(name).cloned() };
        let level = |name: &str| contract.word(name, CoverageLevel::parse);
        let identity = row.typed::<StructArray>("identity")?;
        Ok(Self {
            run_id: row.text("run_id")?,
            correlation_id: row.text("correlation_id")?,
            entrypoint: row.text("entrypoint")?,
            phase: row.word("phase", ExecutionPhase::parse)?,
            started_at_us: row.typed::<TimestampMicrosecondArray>("started_at")?.value(0),
            capture_step: row.int("capture_step")?,
            warmup_steps: row.int("warmup_steps")?,
            device: row.text("device")?,
            measured_region_device_synchronized: row
                .typed::<BooleanArray>("measured_region_device_synchronized")?
                .value(0),
            timing_mode: row.word("timing_mode", TimingMode::parse)?,
            contract: CaptureContract {
                measurement_scope: contract.word("measurement_scope", MeasurementScope::parse)?,
                operations: level("operations")?,
                activations: level("activations")?,
                tensors: level("tensors")?,
                gradients: level("gradients")?,
                gradient_contract: read_gradient_contract(&contract)?,
                logical_memory: level("logical_memory")?,
                physical_memory: level("physical_memory")?,
                device_timing: level("device_timing")?,
                required_semantic_labels: contract.texts("required_semantic_labels")?,
                gpu_expected_semantic_labels: contract.texts("gpu_expected_semantic_labels")?,
                cpu_only_semantic_labels: contract.texts("cpu_only_semantic_labels")?,
            },
            identity: if identity.is_null(0) {
                None
            } else {
                Some(read_identity(&Reader { columns: &|name| identity.column_by_name(name).cloned() })?)
            },
            tags: read_tags(row.typed::<MapArray>("tags")?.as_ref())?,
            outcome: row.word("outcome", Outcome::parse)?,
            reason: row.opt_text("reason")?,
            ended_ns: row.opt_int("ended_ns")?,
            events_lost: row.int("events_lost")?,
            candle_graph_version: row.opt_text("candle_graph_version")?,
            host: Host {
                os: row.opt_text("os")?,
                host_name: row.opt_text("host_name")?,
                cpu_model: row.opt_text("cpu_model")?,
                logical_cores: row.opt_int("logical_cores")?.and_then(|n| u64::try_from(n).ok()),
                toolchain: row.opt_text("toolchain")?,
                build_profile: row.opt_text("build_profile")?,
                candle_version: row.opt_text("candle_version")?,
                git_revision: row.opt_text("git_revision")?,
            },
        })
    }
}

/// Reads row 0 of named columns, with errors that name the column.
struct Reader<'a> {
    columns: &'a dyn Fn(&str) -> Option<ArrayRef>,
}

impl Reader<'_> {
    fn typed<T: Array + Clone + 'static>(&self, name: &str) -> Result<Arc<T>, String> {
        let column = (self.columns)(name).ok_or_else(|| format!("has no column {name}"))?;
        column
            .as_any()
            .downcast_ref::<T>()
            .map(|array| Arc::new(array.clone()))
            .ok_or_else(|| format!("column {name} has type {}", column.data_type()))
    }

    fn opt_text(&self, name: &str) -> Result<Option<String>, String> {
        let column = self.typed::<StringArray>(name)?;
        Ok((!column.is_empty() && column.is_valid(0)).then(|| column.value(0).to_owned()))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.opt_text(name)?.ok_or_else(|| format!("column {name} is null"))
    }

    fn word<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let text = self.text(name)?;
        parse(&text).ok_or_else(|| format!("column {name} holds {text:?}, which is no known value"))
    }

    fn opt_int(&self, name: &str) -> Result<Option<i64>, String> {
        let column = self.typed::<Int64Array>(name)?;
        Ok((!column.is_empty() && column.is_valid(0)).then(|| column.value(0)))
    }

    fn int(&self, name: &str) -> Result<i64, String> {
        self.opt_int(name)?.ok_or_else(|| format!("column {name} is null"))
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let list = self.typed::<ListArray>(name)?;
        let items = list.value(0);
        let items = items
            .as_any()
            .downcast_ref::<StringArray>()
            .ok_or_else(|| format!("column {name} holds items of type {}", items.data_type()))?;
        Ok(items.iter().map(|t| t.unwrap_or_default().to_owned()).collect())
    }
}

fn read_gradient_contract(contract: &Reader<'_>) -> Result<Option<GradientContract>, String> {
    let outer = contract.typed::<StructArray>("gradient_contract")?;
    if outer.is_null(0) {
        return Ok(None);
    }
    let fields = Reader { columns: &|name| outer.column_by_name(name).cloned() };
    let rows = |name: &str| -> Result<StructArray, String> {
        let list = fields.typed::<ListArray>(name)?.value(0);
        let rows = list.as_any().downcast_ref::<StructArray>();
        rows.cloned().ok_or_else(|| format!("column {name} holds items of type {}", list.data_type()))
    };
    let column = |rows: &StructArray, name: &str| -> Result<StringArray, String> {
        let column = rows.column_by_name(name).ok_or_else(|| format!("has no field {name}"))?;
        let texts = column.as_any().downcast_ref::<StringArray>();
        texts.cloned().ok_or_else(|| format!("field {name} has type {}", column.data_type()))
    };
    let expected = rows("expected")?;
    let (root, key, family) = (column(&expected, "root")?, column(&expected, "key")?, column(&expected, "family")?);
    let families = rows("families")?;
    let (name, expectation) = (column(&families, "family")?, column(&families, "expectation")?);
    let min_present = families
        .column_by_name("min_present")
        .and_then(|c| c.as_any().downcast_ref::<Int64Array>())
        .ok_or("has no Int64 field min_present")?;
    let rules = (0..families.len())
        .map(|i| {
            let word = expectation.value(i);
            let expectation =
                FamilyExpectation::parse(word).ok_or_else(|| format!("expectation {word:?} is unknown"))?;
            let min_present = u64::try_from(min_present.value(i)).map_err(|_| "min_present is negative")?;
            Ok(GradientFamilyContract { family: name.value(i).to_owned(), expectation, min_present })
        })
        .collect::<Result<_, String>>()?;
    let entries =
        (0..expected.len()).map(|i| ExpectedGradient::new(root.value(i), key.value(i), family.value(i))).collect();
    Ok(Some(GradientContract::unchecked(entries, rules, Some(fields.text("manifest_sha256")?))))
}

fn read_identity(row: &Reader<'_>) -> Result<ComparisonIdentity, String> {
    let count = |name: &str| -> Result<u64, String> {
        u64::try_from(row.int(name)?).map_err(|_| format!("column {name} is negative"))
    };
    Ok(ComparisonIdentity {
        implementation_id: row.opt_text("implementation_id")?,
        workload_id: row.text("workload_id")?,
        model_id: row.text("model_id")?,
        config_id: row.text("config_id")?,
        data_id: row.text("data_id")?,
        seed_policy: row.text("seed_policy")?,
        physical_batch: count("physical_batch")?,
        accumulation_steps: count("accumulation_steps")?,
        precision: row.text("precision")?,
        device_state: row.text("device_state")?,
        pair_id: row.opt_text("pair_id")?,
    })
}

fn read_tags(map: &MapArray) -> Result<BTreeMap<String, String>, String> {
    let entries = map.value(0);
    let texts = |i: usize| {
        entries.column(i).as_any().downcast_ref::<StringArray>().ok_or("column tags does not hold text".to_owned())
    };
    let (keys, values) = (texts(0)?, texts(1)?);
    Ok((0..entries.len()).map(|i| (keys.value(i).to_owned(), values.value(i).to_owned())).collect())
}
