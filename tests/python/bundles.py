"""Bundles as files: sealed anew after a change, and read without the program."""

import hashlib
import json
import shutil


def contents(bundle):
    """Every file below a directory: path to bytes."""
    return {p.relative_to(bundle).as_posix(): p.read_bytes() for p in bundle.rglob("*") if p.is_file()}


def identity(bundle):
    return hashlib.sha256((bundle / "bundle.json").read_bytes()).hexdigest()


def seal(bundle):
    """Makes the manifest say what the files are now, as a forger would."""
    run_id = json.loads((bundle / "bundle.json").read_bytes())["run_id"]
    files = [
        {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in sorted(contents(bundle).items())
        if path not in ("bundle.json", "signature.json")
    ]
    manifest = {"schema": "candle-graph/bundle/2", "run_id": run_id, "files": files}
    (bundle / "bundle.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def copy(bundle, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(bundle, to, symlinks=True)
    return to
