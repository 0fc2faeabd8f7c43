"""Every code is raised by some document, at the right operator and line; the page of codes is current."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.compiler.checking.checking import check_parameters
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.decoupling import solve, solver_process, solving
from streams_orchestration.compiler.decoupling.application_decision import decide
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.profiles.costs import measured_costs
from streams_orchestration.model.assignment_document import read_assignment
from streams_orchestration.model.decoupling_document import read_problem
from streams_orchestration.model.diagnostics import CODES, ApplicationError, Diagnostic
from streams_orchestration.model.profile_document import read_profile
from streams_orchestration.model.spl_codes import SPL_CODES
from streams_orchestration.runtime.deployment.query_columns import add_query_columns
from streams_orchestration.runtime.engine.query_analysis import QueryAnalysis, QueryRefusal
from streams_orchestration.runtime.engine.spark.frames import analysis
from streams_orchestration_tests.generated.diagnostics_page import diagnostics_page
from streams_orchestration_tests.specs import CASES

RAISING: dict[str, dict[str, Any]] = {
    case["code"]: case for case in yaml.safe_load((CASES / "diagnostics.yaml").read_text(encoding="utf-8"))
}
MARK = "#!"


def written(case: dict[str, Any], path: Path) -> Path:
    """Return the spec of a case as a file, or a path where there is none."""
    if "bytes" in case:
        path.write_bytes(base64.b64decode(case["bytes"]))
    elif "nested" in case:
        path.write_text("graph: " + "[" * case["nested"], encoding="utf-8")
    elif "python" in case:
        path = path.with_suffix(".py")
        path.write_text(case["python"], encoding="utf-8")
    elif "adl" in case:
        path = path.with_suffix(".adl")
        path.write_text(case["adl"], encoding="utf-8")
    elif "spec" in case:
        path.write_text(text(case), encoding="utf-8")
    return path


def text(case: dict[str, Any]) -> str:
    if "specVersion" in case["spec"]:
        return case["spec"]
    operators = {"Source": {"inputs": []}, "Work": {}, "Sink": {"outputs": []}, **case.get("operators", {})}
    used = {name: model for name, model in operators.items() if f"operator: {name}" in case["spec"] or name == "C"}
    return f"specVersion: 1\napplication: test\noperators: {json.dumps(used)}\n{case['spec']}"


def marked(case: dict[str, Any]) -> tuple[str, str]:
    """Return the file that the diagnostic should name, and what is in it."""
    for key in ("profile", "problem", "decision"):
        if MARK in case.get(key, ""):
            return f"{key}.yaml" if key != "problem" else "spec.yaml", case[key]
    for key, name in (("python", "spec.py"), ("adl", "spec.adl")):
        if key in case:
            return name, case[key]
    return "spec.yaml", text(case) if "spec" in case else ""


def line(case: dict[str, Any]) -> int:
    """Return the line that the diagnostic should name, 0 for none."""
    if "line" in case:
        return case["line"]
    lines = marked(case)[1].splitlines()
    return next((number for number, each in enumerate(lines, 1) if each.endswith(MARK)), 0)


def raised(case: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Diagnostic, ...]:
    if "problem" in case:
        path.write_text(case["problem"], encoding="utf-8")
        if "solver" in case:
            monkeypatch.setattr(solving, "SMALL", 0)
            monkeypatch.setattr(solver_process, "COMMAND", [case["solver"]])
        try:
            return solve(read_problem(path), **case.get("options", {})).diagnostics
        except ApplicationError as error:
            return error.diagnostics
    options = dict(case.get("options", {}))
    decoupled = options.pop("decoupled", False)
    options["widths"] = tuple(map(tuple, options.get("widths", ())))
    try:
        if "profile" in case:
            profile = path.with_name("profile.yaml")
            profile.write_text(case["profile"], encoding="utf-8")
            options["profile"] = read_profile(profile)
        if decoupled:
            plan = compile_spec(written(case, path), Options(fusion="manual"))
            costs, diagnostics = measured_costs(plan.logical, plan.physical, options["profile"])
            return (*diagnostics, *decide(plan.logical, plan.physical, plan.fusion, costs).solution.diagnostics)
        if "decision" in case:
            fused = compile_spec(written(case, path))
            current = fusion_fingerprint(fused.logical, fused.physical, fused.fusion)
            decision = path.with_name("decision.yaml")
            decision.write_text(case["decision"].replace("CURRENT", current), encoding="utf-8")
            options["decoupling"] = read_assignment(decision)
        compilation = compile_spec(written(case, path), Options(**options))
        if case.get("deployable"):
            wanted = deployable(compilation)
            refusals = tuple(QueryRefusal(*each) for each in case.get("refusals", {}).items())
            monkeypatch.setattr(analysis, "analyse_queries", lambda *_: QueryAnalysis(refusals))
            compilation = add_query_columns(wanted)
    except ApplicationError as error:
        return error.diagnostics
    return (*compilation.diagnostics, *check_parameters(compilation.progress))


def test_every_code_has_a_case_and_every_case_a_code():
    assert sorted(RAISING) == sorted(CODES.keys() - SPL_CODES.keys())  # the codes of SPL have their own cases


@pytest.mark.parametrize("case", RAISING.values(), ids=RAISING)
def test_the_code_is_raised(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "spec.yaml"
    actual = raised(case, path, monkeypatch)
    expected = line(case)
    place = f"{path.with_name(marked(case)[0])}:{expected}" if expected else ""
    assert (case["code"], case.get("operator", ""), place) in {
        (each.code, each.operator, each.location) for each in actual
    }
    errors = {each.code for each in actual if each.severity == "error"}
    assert errors <= {case["code"], *case.get("also", ())}


@pytest.mark.parametrize("code", CODES)
def test_a_code_says_what_is_wrong_and_what_to_do(code: str):
    each = CODES[code]
    assert each.cause.endswith(".")
    assert each.remedy.endswith(".")
    assert each.severity in ("error", "warning")


def test_the_page_has_every_code_once():
    page = diagnostics_page()
    assert [page.count(f"| `{code}` |") for code in CODES] == [1] * len(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_remedy_says_what_to_do_by_itself(code: str):
    """It does not send its reader back to the message, which was read first."""
    remedy = CODES[code].remedy
    assert not re.search(r"\bthe message\b", remedy)
    assert remedy.endswith(".")
