//! The tables that Nsight Systems reports become: what a report is called, which header each column comes from, in which unit.
//! In: nothing. Out: one list that the importer, the docs, the schemas and the session loop over.
//! Left to neighbours: reading the CSV (`load::nsight`), what the rows mean together (`queries/`).

use candle_graph_record::table::{ColumnSpec, Kind, TableSpec, Unit};

use super::column;

/// How a cell becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A moment on the clock of Nsight Systems, exact nanoseconds.
    Moment,
    /// A length of time, exact nanoseconds, never negative.
    Duration,
    /// A mean, median or deviation of lengths of time: nanoseconds, as many digits as the report has.
    MeanDuration,
    /// A number of bytes, to the nearest byte.
    Size,
    /// What the last digit of the size in this cell stands for, in bytes.
    SizeStep,
    /// Bytes per second.
    Rate,
    /// A share of a whole, percent.
    Percent,
    /// A number of things, never negative.
    Count,
    /// An identity.
    Id,
    /// Text as it stands.
    Text,
    /// The n-th number of a padded triple such as ` 512    1    1`.
    Dimension(usize),
    /// What a GPU operation of this name is.
    OperationKind,
    /// Which way a copy of this name goes.
    CopyDirection,
    /// The label that the name of an NVTX range stands for.
    Label,
}

impl Cell {
    /// The type of the column that it fills.
    pub const fn kind(self) -> Kind {
        match self {
            Cell::MeanDuration | Cell::Rate | Cell::Percent => Kind::Float,
            Cell::Text | Cell::OperationKind | Cell::CopyDirection | Cell::Label => Kind::Text,
            _ => Kind::Int,
        }
    }

    const fn unit(self) -> Unit {
        match self {
            Cell::Moment => Unit::NsightNs,
            Cell::Duration | Cell::MeanDuration => Unit::Ns,
            Cell::Size | Cell::SizeStep => Unit::Bytes,
            Cell::Rate => Unit::BytesPerSecond,
            Cell::Percent => Unit::Percent,
            Cell::Count | Cell::Dimension(_) => Unit::Count,
            Cell::Id => Unit::Id,
            _ => Unit::None,
        }
    }
}

/// Whether a report has a column, and a row its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// In every report of the kind, in every row.
    Always,
    /// In every report of the kind; a row may leave it empty.
    Column,
    /// Some versions and some rows have it.
    Optional,
}

/// One column of a report's table.
#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    /// What the header calls it without its unit, the newest name first.
    pub headers: &'static [&'static str],
    pub cell: Cell,
    pub need: Need,
    pub doc: &'static str,
}

/// One report, and the table its rows become.
#[derive(Debug)]
pub struct Report {
    pub table: &'static str,
    /// As `nsys stats --report` takes it.
    pub report: &'static str,
    /// What it was called to 2022.
    pub old_name: &'static str,
    pub doc: &'static str,
    pub columns: &'static [Column],
}

const fn column_of(
    name: &'static str,
    headers: &'static [&'static str],
    cell: Cell,
    need: Need,
    doc: &'static str,
) -> Column {
    Column { name, headers, cell, need, doc }
}

const fn always(name: &'static str, headers: &'static [&'static str], cell: Cell, doc: &'static str) -> Column {
    column_of(name, headers, cell, Need::Always, doc)
}

const fn present(name: &'static str, headers: &'static [&'static str], cell: Cell, doc: &'static str) -> Column {
    column_of(name, headers, cell, Need::Column, doc)
}

const fn optional(name: &'static str, headers: &'static [&'static str], cell: Cell, doc: &'static str) -> Column {
    column_of(name, headers, cell, Need::Optional, doc)
}

const PERCENT: Column = optional(
    "time_percent",
    &["Time"],
    Cell::Percent,
    "Share of the total time of the report, as Nsight Systems printed it.",
);
const TOTAL: Column = always("total_ns", &["Total Time"], Cell::Duration, "Time of all of them together.");
const MEAN: Column = optional("mean_ns", &["Avg", "Average"], Cell::MeanDuration, "Mean, as printed.");
const MEDIAN: Column =
    optional("median_ns", &["Med", "Median"], Cell::MeanDuration, "Median, as printed; reports to 2021 have none.");
const MIN: Column = optional("min_ns", &["Min", "Minimum"], Cell::Duration, "The shortest.");
const MAX: Column = optional("max_ns", &["Max", "Maximum"], Cell::Duration, "The longest.");
const DEVIATION: Column = optional("stddev_ns", &["StdDev"], Cell::MeanDuration, "Standard deviation, as printed.");

const LEVEL: Column = optional("level", &["Lvl"], Cell::Count, "Depth in its stack of ranges, 0 the outermost.");
const CHILDREN: Column = optional("children", &["NumChild"], Cell::Count, "Ranges directly inside it.");
const PARENT: Column =
    optional("parent_id", &["ParentId"], Cell::Id, "The range around it; NULL for an outermost one.");
const RANGE_STACK: Column =
    optional("range_stack", &["RangeStack"], Cell::Text, "The range ids from the outermost to this, as printed.");

/// Every report that is read, the device's first.
pub static REPORTS: &[Report] = &[
    Report {
        table: "gpu_trace",
        report: "cuda_gpu_trace",
        old_name: "gputrace",
        doc: "One operation on a GPU: a kernel, a copy, a memset, or a whole CUDA graph where its nodes were not traced.",
        columns: &[
            always("start_ns", &["Start"], Cell::Moment, "When it began on the device."),
            always("duration_ns", &["Duration"], Cell::Duration, "How long it ran."),
            present(
                "correlation_id",
                &["CorrId"],
                Cell::Id,
                "The API call that caused it; one call can own several operations, as a graph launch does.",
            ),
            optional("grid_x", &["GrdX"], Cell::Count, "Blocks of the grid; NULL for what is no kernel."),
            optional("grid_y", &["GrdY"], Cell::Count, "Blocks of the grid."),
            optional("grid_z", &["GrdZ"], Cell::Count, "Blocks of the grid."),
            optional("block_x", &["BlkX"], Cell::Count, "Threads of a block."),
            optional("block_y", &["BlkY"], Cell::Count, "Threads of a block."),
            optional("block_z", &["BlkZ"], Cell::Count, "Threads of a block."),
            optional("registers_per_thread", &["Reg/Trd"], Cell::Count, "Registers that each thread holds."),
            optional(
                "static_shared_bytes",
                &["StcSMem"],
                Cell::Size,
                "Static shared memory of a block, rounded as `shared_step_bytes` says.",
            ),
            optional(
                "dynamic_shared_bytes",
                &["DymSMem"],
                Cell::Size,
                "Dynamic shared memory of a block, rounded as `shared_step_bytes` says.",
            ),
            optional(
                "shared_step_bytes",
                &["StcSMem"],
                Cell::SizeStep,
                "What the last printed digit of the shared memory stands for; 1: the sizes are exact.",
            ),
            optional("bytes", &["Bytes"], Cell::Size, "Bytes moved or set, rounded as `bytes_step` says."),
            optional(
                "bytes_step",
                &["Bytes"],
                Cell::SizeStep,
                "What the last printed digit of `bytes` stands for; 1: the size is exact. Reports in MB print three \
                 decimals, so small copies read 0.",
            ),
            optional(
                "throughput_bytes_per_s",
                &["Throughput", "Thru"],
                Cell::Rate,
                "Speed of a copy or memset, as printed.",
            ),
            optional(
                "source_memory",
                &["SrcMemKd"],
                Cell::Text,
                "Kind of the memory a copy reads, or a memset writes.",
            ),
            optional("target_memory", &["DstMemKd"], Cell::Text, "Kind of the memory a copy writes."),
            optional("device", &["Device"], Cell::Text, "The GPU, as Nsight Systems names it."),
            optional("context_id", &["Ctx"], Cell::Id, "CUDA context."),
            optional("green_context_id", &["GreenCtx"], Cell::Id, "Green context; reports before 2025 have none."),
            present("stream_id", &["Strm"], Cell::Id, "CUDA stream."),
            always("name", &["Name"], Cell::Text, "The kernel's or the operation's name, as printed."),
            always(
                "kind",
                &["Name"],
                Cell::OperationKind,
                "kernel, memcpy, memset, graph (a whole CUDA graph as one row) or other.",
            ),
            optional(
                "direction",
                &["Name"],
                Cell::CopyDirection,
                "host_to_device, device_to_host, device_to_device, host_to_host or peer_to_peer; NULL for what is no copy.",
            ),
        ],
    },
    Report {
        table: "gpu_kernels",
        report: "cuda_gpu_kern_sum",
        old_name: "gpukernsum",
        doc: "All executions of one kernel, added up by Nsight Systems.",
        columns: &[
            PERCENT,
            TOTAL,
            always("instances", &["Instances"], Cell::Count, "Executions."),
            MEAN,
            MEDIAN,
            MIN,
            MAX,
            DEVIATION,
            optional(
                "grid_x",
                &["GridXYZ"],
                Cell::Dimension(0),
                "Blocks of the grid, in reports that tell grids apart.",
            ),
            optional("grid_y", &["GridXYZ"], Cell::Dimension(1), "Blocks of the grid."),
            optional("grid_z", &["GridXYZ"], Cell::Dimension(2), "Blocks of the grid."),
            optional("block_x", &["BlockXYZ"], Cell::Dimension(0), "Threads of a block."),
            optional("block_y", &["BlockXYZ"], Cell::Dimension(1), "Threads of a block."),
            optional("block_z", &["BlockXYZ"], Cell::Dimension(2), "Threads of a block."),
            always("name", &["Name"], Cell::Text, "The kernel's name, as printed."),
        ],
    },
    Report {
        table: "cuda_api",
        report: "cuda_api_sum",
        old_name: "cudaapisum",
        doc: "All calls of one CUDA API function, added up by Nsight Systems: host time, never GPU time.",
        columns: &[
            PERCENT,
            TOTAL,
            always("calls", &["Num Calls"], Cell::Count, "Calls."),
            MEAN,
            MEDIAN,
            MIN,
            MAX,
            DEVIATION,
            always("name", &["Name"], Cell::Text, "The function."),
        ],
    },
    Report {
        table: "gpu_mem_time",
        report: "cuda_gpu_mem_time_sum",
        old_name: "gpumemtimesum",
        doc: "All memory operations of one kind, added up by Nsight Systems.",
        columns: &[
            PERCENT,
            TOTAL,
            always("operations", &["Count", "Operations"], Cell::Count, "Operations."),
            MEAN,
            MEDIAN,
            MIN,
            MAX,
            DEVIATION,
            always("operation", &["Operation"], Cell::Text, "The operation, as printed."),
            always("kind", &["Operation"], Cell::OperationKind, "memcpy, memset or other."),
            optional("direction", &["Operation"], Cell::CopyDirection, "As in `gpu_trace`; NULL for what is no copy."),
        ],
    },
    Report {
        table: "nvtx_gpu_proj",
        report: "nvtx_gpu_proj_trace",
        old_name: "nvtxgpuproj",
        doc: "One NVTX range projected onto the GPU: from the first to the last operation that its API calls caused. A \
              projection names no device, context, stream or call.",
        columns: &[
            present("name", &["Name"], Cell::Text, "The range's name, as printed; NULL for a synthetic root."),
            optional(
                "label",
                &["Name"],
                Cell::Label,
                "The label it stands for: the name without the colon that marks the default domain from 2023 on.",
            ),
            always("projected_start_ns", &["Projected Start"], Cell::Moment, "Start of its first GPU operation."),
            always(
                "projected_duration_ns",
                &["Projected Duration"],
                Cell::Duration,
                "From there to the end of its last GPU operation: an interval, no busy time.",
            ),
            optional("start_ns", &["Orig Start"], Cell::Moment, "When the host entered the range."),
            optional("duration_ns", &["Orig Duration"], Cell::Duration, "How long the host was in it."),
            optional("style", &["Style"], Cell::Text, "PushPop or StartEnd."),
            optional("process_id", &["PID"], Cell::Id, "Process."),
            optional("thread_id", &["TID"], Cell::Id, "Thread."),
            present(
                "gpu_operations",
                &["NumGPUOps"],
                Cell::Count,
                "API calls in the range that caused GPU work, as Nsight Systems counts operations.",
            ),
            LEVEL,
            CHILDREN,
            optional("range_id", &["RangeId"], Cell::Id, "The range, within this report."),
            PARENT,
            RANGE_STACK,
        ],
    },
    Report {
        table: "cuda_api_trace",
        report: "cuda_api_trace",
        old_name: "cudaapitrace",
        doc: "One call of the CUDA API: host time, never GPU time.",
        columns: &[
            always("start_ns", &["Start"], Cell::Moment, "When the host entered the call."),
            always("duration_ns", &["Duration"], Cell::Duration, "How long it was in it."),
            always("name", &["Name"], Cell::Text, "The function."),
            optional("result", &["Result"], Cell::Text, "What it returned, as printed; 0 is success."),
            present("correlation_id", &["CorrID"], Cell::Id, "Names the GPU operations that it caused."),
            present("process_id", &["Pid"], Cell::Id, "Process."),
            present("thread_id", &["Tid"], Cell::Id, "Thread."),
            optional("priority", &["T-Pri"], Cell::Id, "Priority of the thread."),
            optional("thread_name", &["Thread Name"], Cell::Text, "Name of the thread."),
        ],
    },
    Report {
        table: "nvtx_pushpop_trace",
        report: "nvtx_pushpop_trace",
        old_name: "nvtxpptrace",
        doc: "One NVTX push/pop range of one thread: host time, never GPU time.",
        columns: &[
            always("start_ns", &["Start"], Cell::Moment, "When the host entered the range."),
            optional("end_ns", &["End"], Cell::Moment, "When it left."),
            always("duration_ns", &["Duration"], Cell::Duration, "How long it was in it."),
            optional("child_ns", &["DurChild"], Cell::Duration, "Of that, in ranges directly inside."),
            optional("own_ns", &["DurNonChild"], Cell::Duration, "Of that, in none of them."),
            present("name", &["Name"], Cell::Text, "The range's name, as printed."),
            optional("label", &["Name"], Cell::Label, "The label it stands for, as in `nvtx_gpu_proj`."),
            present("process_id", &["PID"], Cell::Id, "Process."),
            present("thread_id", &["TID"], Cell::Id, "Thread."),
            LEVEL,
            CHILDREN,
            present("range_id", &["RangeId"], Cell::Id, "The range, within this report."),
            PARENT,
            RANGE_STACK,
            optional("name_tree", &["NameTree"], Cell::Text, "The name, indented by its depth, as printed."),
        ],
    },
];

impl Report {
    /// The table, as every other is described.
    pub fn spec(&self) -> TableSpec {
        let mut columns = vec![
            column("run_id", Kind::Text, false, Unit::Id, "The run whose trace the reports were supplied with."),
            column("row", Kind::Int, false, Unit::Id, "Position in the report, from 0: reports are not always sorted."),
        ];
        columns.extend(self.columns.iter().map(|c| ColumnSpec {
            // Moments hardly repeat, and a dictionary of them costs its hashing.
            repeats: c.cell != Cell::Moment,
            ..column(c.name, c.cell.kind(), c.need != Need::Always, c.cell.unit(), c.doc)
        }));
        columns[1].repeats = false;
        TableSpec { name: self.table, doc: self.doc, columns }
    }

    /// The command that writes it.
    pub fn command(&self) -> String {
        format!("nsys stats --report {} --format csv --output . REPORT.nsys-rep", self.report)
    }
}

/// Name of the table that says which reports there are.
pub const STATES: &str = "nsight_reports";

/// `nsight_reports`: what was supplied of each report, so that SQL can tell "not supplied" and "not readable" from no rows.
pub fn states() -> TableSpec {
    let text = |name, nullable, doc| column(name, Kind::Text, nullable, Unit::None, doc);
    TableSpec {
        name: STATES,
        doc: "One Nsight Systems report that can be read, and whether it was; or one supplied file that is kept and not read.",
        columns: vec![
            column("run_id", Kind::Text, false, Unit::Id, "The run."),
            text(
                "report",
                true,
                "The report, as `nsys stats --report` takes it; NULL for a file that is kept and not read.",
            ),
            text("table", true, "The table its rows are in."),
            text(
                "state",
                false,
                "available, unavailable (not supplied) or failed (supplied and not readable); retained: kept and not read.",
            ),
            text("file", true, "The file."),
            column(
                "rows",
                Kind::Int,
                true,
                Unit::Count,
                "Its rows, all of them; NULL where it is not available: unknown, not zero.",
            ),
            column(
                "time_step_ns",
                Kind::Int,
                true,
                Unit::Ns,
                "What the last printed digit of its times stands for, the coarsest there is; 1: times are exact.",
            ),
            text("reason", true, "Why it is not available, or what a file that is not read looks like."),
            column(
                "notes",
                Kind::TextList,
                false,
                Unit::None,
                "What is to be known of it: rounding, columns that are not read.",
            ),
        ],
    }
}

/// Whether a table holds what came from Nsight reports.
pub fn is_one(table: &str) -> bool {
    table == STATES || REPORTS.iter().any(|r| r.table == table)
}

/// Every table of rows that reports become.
pub fn tables() -> Vec<TableSpec> {
    REPORTS.iter().map(Report::spec).collect()
}
