"""Explanations of automatic fusion by measured loads (rule 56)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Fact
from streams_orchestration.compiler.explain.lookup import Lookup
from streams_orchestration.compiler.fusion.load_fusion import PERCENT


def load_facts(lookup: Lookup, pe: int) -> Iterator[Fact]:
    """Say how many processors a PE keeps busy."""
    if lookup.costs is None:
        return
    from streams_orchestration.compiler.decoupling.application_decision import pe_loads

    load = pe_loads(lookup.logical, lookup.physical, lookup.fusion, lookup.costs)[pe] / PERCENT
    text = f"by the profile it keeps {load:.2f} processors busy"
    if lookup.options.pes is None:
        text += f", of the {lookup.options.pe_capacity:g} that automatic fusion lets it"
    yield Fact(text, "56")


def number_facts(lookup: Lookup) -> Iterator[Fact]:
    """Explain the number of PEs."""
    if lookup.costs is None:
        return
    if lookup.options.pes is None:
        text = f"PEs are as few as keep at most {lookup.options.pe_capacity:g} processors busy each"
    else:
        text = f"{lookup.options.pes} PEs were asked for, and the busiest has as little to do as so many can make it"
    yield Fact(f"{text}, by what the profile says that operators cost", "56")
