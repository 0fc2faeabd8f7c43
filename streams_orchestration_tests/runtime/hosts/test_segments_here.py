"""Streams that stay on the machine of their host."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.runtime.hosts.segments_here import streams_here
from streams_orchestration.runtime.programs.deployed_pes import PlacedPe
from streams_orchestration_tests.runtime.applications import network


def test_a_stream_stays_on_a_host_only_if_no_other_host_reads_it(tmp_path: Path):
    programs = network(tmp_path, 4, fusion="manual", pes=7).deployment.programs
    together = [PlacedPe(program, 0) for program in programs]
    apart = [PlacedPe(program, program.pe) for program in programs]
    for program in programs:
        for stream, readers in program.consumers.items():
            alone = stream not in program.exports and {programs[pe].unit for pe in readers} == {program.unit}
            assert (stream in streams_here(program, together)) == alone
            assert (stream in streams_here(program, apart)) == (alone and readers == (program.pe,))
