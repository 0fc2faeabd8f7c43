"""All benchmarks, one table: `python -m benchmarks [NAME]...`."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.harness import table

NAMES = ("compile_size", "compile_start", "fusion_quality")

if __name__ == "__main__":
    rows = [row for name in sys.argv[1:] or NAMES for row in import_module(f"benchmarks.{name}").rows()]
    print(table(rows))
