"""Dagster metadata of a profile, a decoupling decision and the decision's outcome: rates, loads, moves, a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.orchestration.metadata import Metadata, table
from streams_orchestration.orchestration.summaries import drawing
from streams_orchestration.runtime import api

if TYPE_CHECKING:
    from streams_orchestration.compiler.decoupling.outcome import Outcome

HOTTEST = 20
"""The most operators in the table of a profile, by processor time."""


def profile_metadata(measurement: api.Measurement, path: Path) -> Metadata:
    """Return the metadata of a profile: rates, busiest operators, PEs, costs of sending, and unmeasured operators."""
    profile = measurement.profile
    seconds = profile.seconds
    hottest = sorted(profile.operators, key=lambda each: -each.cpu_seconds)[:HOTTEST]
    sent: dict[str, float] = {}
    for each in profile.streams:
        sent[each.operator] = sent.get(each.operator, 0.0) + each.tuples
    metadata: Metadata = {
        "streams/seconds": seconds,
        "streams/tuples_sent_per_second": round(sum(sent.values()) / seconds, 1),
        "streams/operators": table(
            {"operator": "string", "% of a processor": "float", "tuples/s in": "float", "tuples/s out": "float"},
            [
                (
                    each.operator,
                    round(100 * each.cpu_seconds / seconds, 2),
                    round(sum(each.inputs) / seconds, 1),
                    round(sent.get(each.operator, 0.0) / seconds, 1),
                )
                for each in hottest
            ],
        ),
        "streams/pes": table(
            {"PE": "int", "% of a processor": "float", "% in between": "float", "% in batches": "float"},
            [
                (
                    each.pe,
                    round(100 * profile.utilisation(each), 2),
                    round(100 * each.overhead_seconds / seconds, 2),
                    round(100 * each.busy_seconds / seconds, 2),
                )
                for each in profile.pes
            ],
        ),
        "streams/unmeasured": len(profile.unmeasured),
        "streams/document": path,
    }
    if profile.pes:
        busiest = max(profile.utilisation(each) for each in profile.pes)
        metadata["streams/busiest_pe_percent"] = round(100 * busiest, 2)
    if profile.transport is not None:
        transport = profile.transport
        metadata["streams/transport_basis"] = transport.basis
        metadata["streams/send_ns_of_100_bytes"] = round(1e9 * transport.send.of(1, 100), 2)
        metadata["streams/receive_ns_of_100_bytes"] = round(1e9 * transport.receive.of(1, 100), 2)
    if profile.unmeasured:
        metadata["streams/unmeasured_table"] = table(
            {"operator": "string", "reason": "string"}, [(each.operator, each.reason) for each in profile.unmeasured]
        )
    if measurement.remarks:
        metadata["streams/remarks"] = "; ".join(measurement.remarks)
    return metadata


def decision_metadata(document: Mapping[str, Any], parted: Progress, path: Path) -> Metadata:
    """Return the metadata of a decision: loads before and after, predicted speed-up, moved operators, cut streams.

    It also has a drawing of the plan, if the plan is small enough.
    """
    decision = document["decision"]
    pe, parts, loads = decision["pe"], decision["parts"], decision["loads"]
    others = {each: load for each, load in loads["before"].items() if int(each) != pe}
    rows = [(each, load, load, "") for each, load in others.items()]
    rows += [
        (f"{pe}, part {number}" if len(parts) > 1 else f"{pe}", loads["before"][str(pe)], part["load"], _hot(part))
        for number, part in enumerate(parts)
    ]
    moved = [
        (name, number, f"{load:.1f} % of a processor in a PE of {loads['before'][str(pe)]:.1f} %")
        for number, part in enumerate(parts)
        for name, load in sorted(part["operators"].items(), key=lambda each: -each[1])
        if number
    ]
    metadata: Metadata = {
        "streams/predicted_speedup": decision["predictedSpeedup"],
        "streams/gain_over_what_runs": decision.get("gain", decision["predictedSpeedup"]),
        "streams/largest_load_before": max(loads["before"].values()),
        "streams/largest_load_after": max([*loads["after"], *others.values()]),
        "streams/gap": decision["gap"],
        "streams/loads": table(
            {"PE": "string", "before": "float", "after": "float", "hottest operators": "string"}, rows
        ),
        "streams/moved": table({"operator": "string", "part": "int", "why": "string"}, moved),
        "streams/cuts": table(
            {
                "stream": "string",
                "from": "int",
                "to": "int",
                "tuples/s": "float",
                "bytes/tuple": "float",
                "send %": "float",
                "receive %": "float",
            },
            [
                (
                    each["stream"],
                    each["from"],
                    each["to"],
                    each["tuplesPerSecond"],
                    each["bytesPerTuple"],
                    each["send"],
                    each["receive"],
                )
                for each in decision["cuts"]
            ],
        ),
        "streams/document": path,
    }
    if decision["together"]:
        metadata["streams/together"] = table(
            {"operators": "string", "why": "string"},
            [(", ".join(each["operators"]), ", ".join(each["why"])) for each in decision["together"]],
        )
    return metadata | drawing("decoupling_decision", parted)


def outcome_metadata(outcome: Outcome, kept: Sequence[Mapping[str, Any]], path: Path) -> Metadata:
    """Return the metadata of an outcome: prediction beside measurement, now and in the stored earlier comparisons."""
    return {
        "streams/predicted_speedup": round(outcome.predicted_speedup, 4),
        "streams/measured_speedup": round(outcome.measured_speedup, 4),
        "streams/error": round(outcome.error, 4),
        "streams/throughput_ratio": round(outcome.throughput_ratio, 4),
        "streams/pes": table(
            {"PE": "int", "predicted %": "float", "measured %": "float", "% in batches": "float"},
            [(x.pe, round(x.predicted, 2), round(x.measured, 2), round(x.busy, 2)) for x in outcome.pes],
        ),
        "streams/comparisons": table(
            {"at": "string", "predicted": "float", "measured": "float", "error": "float"},
            [
                (
                    datetime.fromtimestamp(each["at"], UTC).isoformat(timespec="seconds"),
                    each["predictedSpeedup"],
                    each["measuredSpeedup"],
                    each["error"],
                )
                for each in kept
            ],
        ),
        "streams/document": path,
    }


def _hot(part: Mapping[str, Any]) -> str:
    hottest = sorted(part["operators"].items(), key=lambda each: -each[1])[:4]
    return ", ".join(f"{name} {load:.1f} %" for name, load in hottest)
