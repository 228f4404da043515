"""Runs a command from a small process and prints what it took: a child counts the memory of whoever forked it as its own."""

import json
import resource
import subprocess
import sys
import time

began = time.monotonic()
ran = subprocess.run(sys.argv[1:], capture_output=True, text=True, errors="replace")
took = {
    "code": ran.returncode,
    "out": ran.stdout[:2000],
    "err": ran.stderr[:4000],
    "seconds": time.monotonic() - began,
    "bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
}
print(json.dumps(took))
