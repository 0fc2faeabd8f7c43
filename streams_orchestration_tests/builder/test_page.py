"""The code of docs/python.md, README and the tutorial is run, and is equal to what it shows."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.checking import check_parameters
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
FLIGHTS, EXPRESSIONS, COMPOSITE, TEST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


README = (ROOT / "README.md").read_text(encoding="utf-8")


TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_the_tutorial_shows_the_flights_application_as_it_is():
    shown = re.findall(r"```yaml\n(.*?)```", TUTORIAL, re.DOTALL)[-1]
    assert (ROOT / "specs" / "flights.yaml").read_text(encoding="utf-8").endswith(f"\n{shown}")


def test_the_application_of_the_readme_can_run_here(tmp_path: Path):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    path = tmp_path / "late.py"
    path.write_text(code, encoding="utf-8")
    wanted = deployable(compile_spec(path))
    assert [len(pe.operators) for pe in wanted.compilation.fusion.pes] == [6]
    (region,) = wanted.compilation.regions.logical
    assert region.trigger == "periodic"


def decided(compilation: PlannedCompilation) -> list[Any]:
    """Return every operator's kind, ports, parameters, schema and PE, sorted, without its name."""
    pe_of = compilation.fusion.pe_of
    return sorted(
        (each.kind, len(each.outputs), str(each.parameters), each.outputs and each.outputs[0].schema, pe_of[each.index])
        for each in compilation.logical.operators
        if each.index in pe_of
    )


def test_the_flights_application_is_that_of_the_spec(tmp_path: Path):
    path = tmp_path / "delays.py"
    path.write_text(FLIGHTS, encoding="utf-8")
    ours, theirs = compile_spec(path), compile_spec(ROOT / "specs" / "flights.yaml")
    assert decided(ours) == decided(theirs)
    assert len(ours.physical.operators) == len(theirs.physical.operators)
    assert [each.trigger for each in ours.regions.logical] == [each.trigger for each in theirs.regions.logical]


@pytest.mark.slow
def test_its_test_passes_and_its_composite_compiles(tmp_path: Path):
    path = tmp_path / "delays.py"
    path.write_text(f"{FLIGHTS}{EXPRESSIONS}{TEST}{COMPOSITE}", encoding="utf-8")
    held = runpy.run_path(str(path))
    held["test_carriers_are_counted"]()
    tables = held["app"].test({"flights": [(1, "UA", 30.0), (1, "AA", 150.0), (2, "UA", 10.0)]}, streams=["counted"])
    assert tables["counted"].to_pylist() == [
        {"size": "small", "flights": 1, "hours": 0.5}, {"size": "large", "flights": 1, "hours": 2.5},
    ]  # fmt: skip
    assert "Late.In_Filter" in [each.name for each in held["app"].compile().physical.operators]


def test_its_error_is_the_one_that_comes(tmp_path: Path):
    path = tmp_path / "delays.py"
    path.write_text(FLIGHTS.replace("dep_delay IS NOT NULL", "dep_dely IS NOT NULL"), encoding="utf-8")
    (error,) = [each for each in check_parameters(compile_spec(path).progress) if each.severity == "error"]
    assert str(error).removeprefix(f"{tmp_path}/") in " ".join(PAGE.split())


@pytest.mark.parametrize("method", re.findall(r"`(?:app\.)?(\w+)\(", PAGE))
def test_every_method_that_it_names_exists(method: str):
    from streams_orchestration import builder
    from streams_orchestration.builder.streams import Invoked

    places = (builder, builder.Application, builder.Stream, Invoked, builder.Column, builder.functions)
    assert any(hasattr(each, method) for each in places) or method == abs.__name__
