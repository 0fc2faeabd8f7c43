"""All benchmarks, one table: `python -m benchmarks [--quick] [NAME]...`."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from benchmarks.harness import table

NAMES = (
    *("compile_size", "compile_start", "fusion_quality", "decoupling", "state_size"),
    *("flights", "microbatch", "metrics", "chain", "copies", "scaling", "transport"),
    *("frames", "nexmark", "kafka", "kafka_latency", "lakes", "catalog", "console"),
    *("start", "latency", "region_cost", "recovery", "redeploy", "placements", "idle"),
    *("standby", "hosts_apart", "cluster"),
)
OTHERS = ("flights_long", "flights_parquet", "soak")
"""Those that take too long for every time."""


def main() -> None:
    """Run what is named, or all."""
    names = (*NAMES, *OTHERS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ratios of time, memory and traffic to what the targets name, measured on this machine.",
        epilog=f"Without names: {', '.join(NAMES)}. Only when named: flights_long, flights_parquet, "
        "and soak, which takes ten minutes (one with --quick) and draws docs/soak.svg.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure")
    parser.add_argument("--quick", action="store_true", help="less data and fewer repetitions: rougher figures")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in names]:
        parser.error(f"there is no benchmark {unknown[0]}; there are {', '.join(names)}")
    rows = []
    for name in given.names or NAMES:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += import_module(f"benchmarks.{name}").rows(quick=given.quick)
    print(table(rows))


if __name__ == "__main__":
    main()
