"""All benchmarks, one table: `python -m benchmarks [--quick] [NAME]...`."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from unittest.mock import patch

from benchmarks.harness import Row, table

NAMES = (
    *("compile_size", "compile_start", "fusion_quality", "decoupling", "state_size"),
    *(
        "flights",
        "expressions",
        "spl",
        "event_time",
        "event_time_operators",
        "event_time_state",
        "event_time_growth",
        "microbatch",
        "metrics",
        "chain",
        "copies",
        "scaling",
        "transport",
    ),
    *("frames", "nexmark", "flink_sql", "kafka", "kafka_latency", "lakes", "catalog", "console", "lineage"),
    *("start", "latency", "event_time_latency", "region_cost", "recovery", "redeploy", "placements", "idle"),
    *("standby", "hosts_apart", "cluster"),
)
OTHERS = ("flights_long", "flights_parquet", "soak")
"""The benchmarks that take too long for each run."""


def main() -> None:
    """Run the named benchmarks, or all."""
    names = (*NAMES, *OTHERS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ratios of time, memory and traffic to the targets, measured on this machine.",
        epilog=f"Without names: {', '.join(NAMES)}. Only when named: flights_long, flights_parquet, "
        "and soak, which takes ten minutes (one with --quick) and draws docs/soak.svg.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure")
    parser.add_argument("--quick", action="store_true", help="less data and fewer repetitions: rougher figures")
    parser.add_argument("--out-of-order", action="store_true", help="nexmark: with events that are out of order")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in names]:
        parser.error(f"there is no benchmark {unknown[0]}; there are {', '.join(names)}")
    if arguments.out_of_order and arguments.names != ["nexmark"]:
        parser.error("--out-of-order is an option of nexmark only: name no other benchmark")
    chosen = ["nexmark.out_of_order"] if arguments.out_of_order else arguments.names or NAMES
    failed = measure(chosen, quick=arguments.quick)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def measure(names: Sequence[str], *, quick: bool) -> list[str]:
    """Run benchmarks and print what they have measured, also when one fails or is interrupted.

    Each has an environment of its own, so that what it sets for the product is not there for the next one.

    Returns:
        The names of those that failed.
    """
    rows: list[Row] = []
    failed: list[str] = []
    try:
        for name in names:
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                with patch.dict(os.environ):
                    rows += import_module(f"benchmarks.{name}").rows(quick=quick)
            except (Exception, SystemExit):  # noqa: BLE001  whatever keeps one from its figures
                traceback.print_exc()
                failed.append(name)
    finally:
        print(table(rows))
    return failed


if __name__ == "__main__":
    main()
