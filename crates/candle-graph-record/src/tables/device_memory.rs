//! `device_memory`: physical memory checkpoints.

use crate::table::{Column, Get, Row, Table, Unit};

/// Row type of [`DEVICE_MEMORY`].
pub struct DeviceMemory;

/// One physical checkpoint.
pub struct DeviceMemoryRow<'a> {
    pub timestamp_ns: i64,
    pub device: &'a str,
    pub used_bytes: Option<i64>,
    pub free_bytes: Option<i64>,
    pub reserved_bytes: Option<i64>,
    pub capacity_bytes: Option<i64>,
}

impl Row for DeviceMemory {
    type Of<'a> = DeviceMemoryRow<'a>;
}

pub static DEVICE_MEMORY: Table<DeviceMemory> = Table {
    name: "device_memory",
    doc: "One checkpoint of a device's or an allocator's physical memory; it has no operation and no tensor.",
    columns: &[
        Column {
            name: "timestamp_ns",
            unit: Unit::SessionNs,
            repeats: false,
            doc: "When it was read.",
            get: Get::Int(|r| r.timestamp_ns),
        },
        Column {
            name: "device",
            unit: Unit::None,
            repeats: true,
            doc: "Device or allocator.",
            get: Get::Text(|r| r.device),
        },
        Column {
            name: "used_bytes",
            unit: Unit::Bytes,
            repeats: false,
            doc: "Bytes in use (for a process: resident set).",
            get: Get::OptInt(|r| r.used_bytes),
        },
        Column {
            name: "free_bytes",
            unit: Unit::Bytes,
            repeats: false,
            doc: "Bytes free.",
            get: Get::OptInt(|r| r.free_bytes),
        },
        Column {
            name: "reserved_bytes",
            unit: Unit::Bytes,
            repeats: false,
            doc: "Bytes reserved by the allocator (for a process: virtual size).",
            get: Get::OptInt(|r| r.reserved_bytes),
        },
        Column {
            name: "capacity_bytes",
            unit: Unit::Bytes,
            repeats: true,
            doc: "Bytes the device has.",
            get: Get::OptInt(|r| r.capacity_bytes),
        },
    ],
};
