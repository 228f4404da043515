//! What holds for any bytes: an input of the fuzzer as the files of a directory, and the laws of their import.
//! In: bytes. Out: nothing; a panic where a law is broken. Left to neighbours: where the bytes come from, the right values.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::nsight::{self, MANIFEST, State};
use super::reports::{Cell, REPORTS};

/// Most bytes of what is said of one report: two shortened texts and the words around them.
const LONGEST_REMARK: usize = 2000;

/// What an input is: its first byte says which file the others are.
pub fn input(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (first, contents) = bytes.split_first()?;
    let name = match usize::from(*first) % (REPORTS.len() + 2) {
        at if at < REPORTS.len() => format!("x_{}.csv", REPORTS[at].report),
        at if at == REPORTS.len() => "notes.csv".to_owned(),
        _ => MANIFEST.to_owned(),
    };
    Some((name, contents))
}

/// Imports the one file of an input in `folder`, which holds nothing else, and checks what came of it.
pub fn import(folder: &Path, bytes: &[u8]) {
    let Some((name, contents)) = input(bytes) else { return };
    if name == MANIFEST {
        if let Err(problem) = nsight::parse_manifest(contents) {
            assert!(is_line(&problem), "{problem:?}");
        }
        return;
    }
    let path = folder.join(&name);
    std::fs::write(&path, contents).expect("a file");
    let tables = check(&path, folder);
    std::fs::remove_file(&path).expect("the file is there");
    for table in tables {
        std::fs::remove_file(table).expect("the table is there");
    }
}

/// Imports one file into `out` and checks what came of it. The tables that are there now.
fn check(path: &Path, out: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
    let imported =
        nsight::import(&[path.to_owned()], "run", out).expect("bytes of a file are no failure of the system");
    let tables: Vec<&str> = imported.reports.iter().map(|r| r.table).collect();
    assert!(tables.iter().copied().eq(REPORTS.iter().map(|r| r.table)), "each report has a state: {tables:?}");
    let mut written = vec![out.join("nsight_reports.parquet")];
    let mut told = imported.retained.iter().filter(|r| r.file == name).count();
    for (report, columns) in imported.reports.iter().zip(REPORTS) {
        let table = out.join(format!("{}.parquet", report.table));
        told += usize::from(report.file.as_deref() == Some(name));
        assert!(report.reason.iter().chain(&report.notes).all(|text| is_line(text)), "{report:?}");
        assert_eq!(report.reason.is_none(), report.state == State::Available, "{report:?}");
        assert_eq!(report.rows.is_some(), report.state == State::Available, "{report:?}");
        assert_eq!(table.exists(), report.rows.is_some_and(|n| n > 0), "{report:?}");
        if table.exists() {
            let cells: Vec<Cell> = columns.columns.iter().map(|c| c.cell).collect();
            assert_eq!(report.rows, Some(check_table(&table, &cells)), "{report:?}");
            written.push(table);
        }
    }
    assert_eq!(told, 1, "the file is told of once: {imported:?}");
    written
}

fn is_line(text: &str) -> bool {
    !text.contains(['\n', '\r']) && text.len() <= LONGEST_REMARK
}

/// Reads a table whole, checks what any value is, and counts its rows.
fn check_table(path: &Path, cells: &[Cell]) -> u64 {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a table")).expect("Parquet");
    let mut rows = 0;
    for batch in reader.build().expect("a reader") {
        let batch = batch.expect("rows");
        for (column, cell) in batch.columns().iter().skip(2).zip(cells) {
            match column.data_type() {
                DataType::Int64 => {
                    let values = column.as_primitive::<Int64Type>();
                    let signed = matches!(cell, Cell::Moment | Cell::Id);
                    assert!(signed || values.iter().flatten().all(|v| v >= 0), "{cell:?} is never negative");
                }
                DataType::Float64 => {
                    let values = column.as_primitive::<Float64Type>();
                    assert!(values.iter().flatten().all(f64::is_finite), "{cell:?} is finite");
                }
                _ => assert_eq!(column.data_type(), &DataType::Utf8),
            }
        }
        rows += batch.num_rows() as u64;
    }
    rows
}

/// Headers of each report, by its place in the list; `@` stands for a unit of time, `~` for one of size.
const HEADERS: &[(u8, &str)] = &[
    (
        0,
        "Start (@),Duration (@),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (~),DymSMem (~),Bytes (~),\
         Throughput (~/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name",
    ),
    (
        0,
        "Start(@),Duration(@),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem,DymSMem,Bytes(~),Thru(~/s),SrcMemKd,\
         DstMemKd,Device,Ctx,Strm,Name",
    ),
    (0, "Start (@),Duration (@),CorrId,Bytes (~),Strm,Name"),
    (1, "Time(%),Total Time (@),Instances,Average,Minimum,Maximum,StdDev,Name"),
    (1, "Time (%),Total Time (@),Instances,Avg (@),Med (@),Min (@),Max (@),StdDev (@),GridXYZ,BlockXYZ,Name"),
    (2, "Time (%),Total Time (@),Num Calls,Avg (@),Med (@),Min (@),Max (@),StdDev (@),Name"),
    (3, "Time (%),Total Time (@),Count,Avg (@),Med (@),Min (@),Max (@),StdDev (@),Operation"),
    (
        4,
        "Name,Projected Start (@),Projected Duration (@),Orig Start (@),Orig Duration (@),Style,PID,TID,NumGPUOps,Lvl,\
         NumChild,RangeId,ParentId,RangeStack",
    ),
    (5, "Start (@),Duration (@),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name"),
    (
        6,
        "Start (@),End (@),Duration (@),DurChild (@),DurNonChild (@),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,\
         NameTree",
    ),
];
const TIMES: &[&str] = &["ns", "us", "ms", "s", "sec", "nsec", "μs", "minutes"];
const SIZES: &[&str] = &["B", "MB", "KB", "MiB", "GiB", "parsecs"];
/// What a byte below 128 can stand for: cells that mean something, and what separates them.
const PIECES: &[&str] = &[
    ",",
    ",",
    ",",
    "\n",
    "\n",
    "\r\n",
    "\"",
    "\"\"",
    " ",
    "0",
    "1",
    "7",
    "9",
    "25",
    "65012762",
    "9223372036854775807",
    "4611686018427387903",
    "170141183460469231731687303715884105727",
    "18446744073709551616",
    ".",
    "0.000",
    "1.204",
    "0.06501276200000001",
    "1.2e-05",
    "e",
    "E+",
    "e-2147483648",
    "e308",
    "-",
    "+",
    "None",
    "NaN",
    "inf",
    "1,024",
    "12.373.190",
    ":",
    "::",
    "Domain:",
    "forward",
    "[CUDA memcpy HtoD]",
    "[CUDA memcpy Device-to-Device]",
    "[CUDA memset]",
    "[",
    "]",
    "CUDA Graph 3",
    " 512    1    1",
    "512 1",
    "PushPop",
    "StartEnd",
    ":1:2",
    "NVIDIA L4 (0)",
    "Pinned",
    "void f<int, 3>(T1 *, T2)",
    "\"void f<int, 3>(T1 *, T2)\"",
    "\"a\nb\"",
    "\u{feff}",
    "é",
    "\0",
    "\t",
    ";",
    "SKIPPED: x.sqlite does not contain CUDA trace data.\n",
    "Processing [x.sqlite] with [x.py]... \n",
    "\n\n",
    "\r",
];

/// An input of [`import`] whose header is one of the real ones: two bytes pick the header and its units, the others are
/// cells.
pub fn rows(bytes: &[u8]) -> Option<Vec<u8>> {
    let [header, units, rest @ ..] = bytes else { return None };
    let (report, header) = HEADERS[usize::from(*header) % HEADERS.len()];
    let (time, size) = (TIMES[usize::from(units % 8)], SIZES[usize::from(units / 8) % SIZES.len()]);
    let mut text = vec![report];
    text.extend(header.replace('@', time).replace('~', size).bytes());
    text.push(b'\n');
    let width = header.split(',').count();
    let mut cells = 1;
    for byte in rest {
        match byte {
            0..128 => text.extend(PIECES[usize::from(*byte) % PIECES.len()].bytes()),
            // On to the next cell, whichever row it is in: rows of the right width without luck.
            128..224 if cells < width => {
                cells += 1;
                text.push(b',');
                text.extend(PIECES[usize::from(*byte - 128) % PIECES.len()].bytes());
            }
            128..224 => {
                cells = 1;
                text.push(b'\n');
                text.extend(PIECES[usize::from(*byte - 128) % PIECES.len()].bytes());
            }
            byte => text.push(*byte),
        }
    }
    text.push(b'\n');
    Some(text)
}
