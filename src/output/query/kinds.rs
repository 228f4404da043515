//! The catalogue of query kinds: what an agent may ask for by name.
//! In: nothing. Out: each kind's name, query, needs. Left to neighbours: answering.

use super::{Gpu, Kind, Shape};

const fn collection(name: &'static str, query: &'static str, plane: &'static str, about: &'static str) -> Kind {
    Kind { name, shape: Shape::Collection(query), needs_sound: false, plane, about }
}

/// A kind that only a complete, valid capture can answer.
const fn sound(kind: Kind) -> Kind {
    Kind { needs_sound: true, ..kind }
}

const fn ranking(
    name: &'static str,
    query: &'static str,
    field: &'static str,
    plane: &'static str,
    about: &'static str,
) -> Kind {
    Kind { name, shape: Shape::Ranking(query, field), needs_sound: true, plane, about }
}

const fn document(name: &'static str, shape: Shape, plane: &'static str, about: &'static str) -> Kind {
    Kind { name, shape, needs_sound: false, plane, about }
}

const fn gpu(name: &'static str, question: Gpu, about: &'static str) -> Kind {
    document(name, Shape::Gpu(question), "gpu_correlation", about)
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    collection("labels", "labels", "", "every label and how many events carry it"),
    ranking(
        "slowest-host",
        "slowest_host",
        "slowest_host_spans",
        "nested_host_time",
        "host spans of the measured scope by self time",
    ),
    sound(collection("hotspots", "host_hotspots", "nested_host_time", "host spans grouped by name, with percentiles")),
    sound(collection(
        "critical-path",
        "critical_path",
        "nested_host_time",
        "the spans that the measured region's wall time hangs on",
    )),
    sound(collection(
        "steps",
        "step_split",
        "nested_host_time",
        "wall time of the measured region: forward, backward, optimizer, untracked",
    )),
    ranking(
        "slowest-device",
        "slowest_device",
        "slowest_device_spans",
        "nested_device_time",
        "spans by device busy time, each clock by itself",
    ),
    collection("device-busy", "device_busy", "nested_device_time", "busy and idle time of each device clock"),
    collection("device-idle", "device_idle", "nested_device_time", "the longest gaps of each device clock"),
    document(
        "activations",
        Shape::Activations,
        "activation_coverage",
        "activation-producing operations, five rankings that are never one score",
    ),
    sound(document(
        "heaviest",
        Shape::Heaviest,
        "logical_memory_coverage",
        "spans and operations by the bytes they allocated",
    )),
    document("memory", Shape::Memory, "logical_memory_coverage", "logical memory and, apart from it, physical memory"),
    collection("lifetimes", "lifetimes", "logical_memory_coverage", "every storage with its life, the largest first"),
    sound(collection("spans", "spans", "nested_host_time", "every span in order of time")),
    collection("ops", "ops", "operation_coverage", "operations by name, shape, dtype and device"),
    collection("work", "op_work_by_name", "operation_coverage", "floating-point work and bytes by operation"),
    collection("uncounted-work", "uncounted_work", "operation_coverage", "operations whose work is not known"),
    sound(collection("tensors", "tensors", "tensor_coverage", "recorded tensor metadata")),
    collection("tensor-stats", "tensor_stats", "", "tensor statistics and scalars"),
    sound(collection("gradients", "gradients", "gradient_coverage", "the gradient of every parameter")),
    collection(
        "gradient-families",
        "gradient_families",
        "gradient_coverage",
        "gradient states and norms by family, against the contract",
    ),
    collection("dead-gradients", "dead_gradients", "gradient_coverage", "parameters whose gradient is zero or missing"),
    document(
        "first-non-finite",
        Shape::FirstNonFinite,
        "",
        "where the first NaN or infinity was seen, and what it reached",
    ),
    gpu(
        "gpu-status",
        Gpu::Status,
        "which Nsight reports were read, whether they belong to the run, how busy each GPU was",
    ),
    gpu("gpu-correlation", Gpu::Correlation, "which labels were expected on the GPU, and which were seen there"),
    gpu("gpu-phases", Gpu::Phases, "what each label did on the GPU: busy time, kernels, copies"),
    gpu("gpu-kernels", Gpu::Kernels, "kernels and memory operations by name, and the calls that launched them"),
    gpu("gpu-attribution-gaps", Gpu::Gaps, "GPU work that belongs to no label, and labels without any"),
    document("capabilities", Shape::Capabilities, "", "what may be claimed of each evidence plane, and why"),
];

/// The kind called `name`.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}
