//! `device_intervals`: work on a device clock.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`DEVICE_INTERVALS`].
pub struct DeviceInterval;

/// One interval of device work.
pub struct DeviceIntervalRow<'a> {
    pub span_id: i64,
    pub device: &'a str,
    pub stream_id: &'a str,
    pub clock_id: &'a str,
    pub backend: &'a str,
    pub start_ns: i64,
    pub duration_ns: i64,
}

impl Row for DeviceInterval {
    type Of<'a> = DeviceIntervalRow<'a>;
}

pub static DEVICE_INTERVALS: Table<DeviceInterval> = Table {
    name: "device_intervals",
    doc: "One interval of work on a device's own clock, never on the session's.",
    columns: &[
        Column {
            name: "span_id",
            unit: Unit::Id,
            repeats: true,
            doc: "The span that launched the work.",
            get: Get::Int(|r| r.span_id),
        },
        Column { name: "device", unit: Unit::None, repeats: true, doc: "Device.", get: Get::Text(|r| r.device) },
        Column {
            name: "stream_id",
            unit: Unit::Id,
            repeats: true,
            doc: "Stream or queue.",
            get: Get::Text(|r| r.stream_id),
        },
        Column {
            name: "clock_id",
            unit: Unit::Id,
            repeats: true,
            doc: "Clock of start_ns; times of different clocks are never added.",
            get: Get::Text(|r| r.clock_id),
        },
        Column {
            name: "backend",
            unit: Unit::None,
            repeats: true,
            doc: "What measured it, e.g. cuda.",
            get: Get::Text(|r| r.backend),
        },
        Column {
            name: "start_ns",
            unit: Unit::DeviceNs,
            repeats: false,
            doc: "Start on the device clock.",
            get: Get::Int(|r| r.start_ns),
        },
        Column {
            name: "duration_ns",
            unit: Unit::Ns,
            repeats: false,
            doc: "Length on the device clock; > 0.",
            get: Get::Int(|r| r.duration_ns),
        },
    ],
};
