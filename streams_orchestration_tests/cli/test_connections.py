"""Connections between applications in `streams status`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from streams_orchestration.cli.observing import connection_lines
from streams_orchestration.runtime.observing.status import (
    ApplicationStatus,
    ConnectionStatus,
    ExportStatus,
    ImportStatus,
)

CONNECTED = ConnectionStatus("flights", "Delays", "alarms", "Late", 2, True, 3, 1200, 0, None)
LOSING = ConnectionStatus("flights", "Delays", "slow", "Late", 0, False, 0, 0, 50, None)
OTHER = ConnectionStatus("flights", "Raw", "alarms", "Late", 2, False, 0, 0, 0, "its tuples are (a int)")


def lines(**links: Any) -> list[str]:
    status = ApplicationStatus("app", "RUNNING", "f", "life", 0.0, (), (), (), Path(), (), **links)
    return [line.plain for line in connection_lines(status)]


def test_an_import_names_the_streams_that_it_reads_and_why_it_does_not():
    assert lines(imports=(ImportStatus("Late", 2, 'kind == "x"', (CONNECTED, OTHER)),)) == [
        'Late  imports kind == "x"',
        "  flights: Delays: 1,200 tuples in 3 segments to read",
        "  flights: Raw: not connected, its tuples are (a int)",
    ]
    assert lines(imports=(ImportStatus("Late", 2, "other, streamId s", ()),)) == [
        "Late  imports other, streamId s: none yet"
    ]


def test_both_sides_of_a_connection_show_whether_it_is_uncommitted():
    early = replace(CONNECTED, uncommitted=True)
    assert lines(imports=(ImportStatus("Late", 2, "all", (early, CONNECTED)),))[1:] == [
        "  flights: Delays, uncommitted: 1,200 tuples in 3 segments to read",
        "  flights: Delays: 1,200 tuples in 3 segments to read",
    ]
    export = ExportStatus("Out", 1, "Delays", "streamId s", True, (early, CONNECTED, OTHER), "read_uncommitted")
    assert lines(exports=(export,)) == [
        "Out  exports Delays as streamId s, uncommitted",
        "  to alarms, PE 2: 1,200 tuples in 3 segments to read",
        "  to alarms, PE 2, complete epochs only, as it is in a region: 1,200 tuples in 3 segments to read",
        "  to alarms, PE 2: not connected, its tuples are (a int)",
    ]


def test_an_export_names_its_readers_and_what_they_lose():
    assert lines(exports=(ExportStatus("Out", 1, "Delays", "streamId s", True, (CONNECTED, LOSING)),)) == [
        "Out  exports Delays as streamId s",
        "  to alarms, PE 2: 1,200 tuples in 3 segments to read",
        "  to slow, PE 0, not waited for: all read, 50 tuples lost",
    ]
