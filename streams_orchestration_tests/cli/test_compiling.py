from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from streams_orchestration.cli import main
from streams_orchestration.compiler.plan import compile_error_document
from streams_orchestration_tests.cli.specs import BROKEN, TINY
from streams_orchestration_tests.specs import CASES

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return str(path)


def compiled(capsys: Capture, *arguments: str) -> dict:
    assert main(["compile", *arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_document_is_alone_on_standard_output(tiny: str, capsys: Capture):
    document = compiled(capsys, tiny)
    assert document["planVersion"] == 1
    assert document["application"] == "tiny"
    assert len(document["physicalGraph"]["operators"]) == 4


def test_the_same_input_gives_the_same_bytes(tiny: str, capsys: Capture):
    outputs = []
    for _ in range(2):
        main(["compile", tiny, "--format", "json"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_submission_values_and_widths_are_passed_on(tiny: str, capsys: Capture):
    assert len(compiled(capsys, tiny, "--set", "width=3")["physicalGraph"]["operators"]) == 5
    assert len(compiled(capsys, tiny, "--set", "width=3", "--width", "A=4")["physicalGraph"]["operators"]) == 6


def test_a_submission_value_of_one_composite_is_passed_on(capsys: Capture):
    main_file = CASES / "spl" / "submission_by_composite" / "Main.spl"
    assert "second" not in json.dumps(compiled(capsys, str(main_file)))
    assert "second" in json.dumps(compiled(capsys, str(main_file), "--set", "Second.word=second"))


def test_a_decision_is_applied_or_refused_with_the_fingerprint_that_it_should_have(
    tiny: str, tmp_path: Path, capsys: Capture
):
    decision = tmp_path / "decision.yaml"
    text = 'decouplingVersion: 1\napplication: tiny\nfingerprint: "0"\nmachines: {"A[1]": 1, Snk: 2}\n'
    decision.write_text(text)
    assert main(["compile", tiny, "--decoupling", str(decision)]) == 1
    current = re.search(r"this application has (\w{16})", capsys.readouterr().err)
    assert current is not None
    decision.write_text(text.replace('"0"', f'"{current[1]}"'))
    plan = compiled(capsys, tiny, "--decoupling", str(decision))["fusionPlan"]
    assert [(pe["origin"], pe["machine"]) for pe in plan["pes"]] == [(0, 0), (0, 2), (0, 1)]
    assert [(each["sendPe"], each["receivePe"]) for each in plan["networks"]] == [(0, 2), (0, 1), (2, 1)]
    assert main(["compile", tiny, "--decoupling", str(decision)]) == 0
    assert "Networks" in capsys.readouterr().out


def test_a_decision_that_is_none_is_an_error_of_the_command_line(tiny: str, tmp_path: Path, capsys: Capture):
    decision = tmp_path / "decision.yaml"
    decision.write_text("decouplingVersion: 1\napplication: tiny\nfingerprint: a\nmachines:\n  Snk: one\n")
    assert main(["compile", tiny, "--decoupling", str(decision)]) == 2
    assert "decision.yaml:5: error SO0009: machines.Snk: an integer is expected" in capsys.readouterr().err


def test_the_other_options_are_passed_on(tiny: str, capsys: Capture):
    legacy = compiled(capsys, tiny, "--fusion", "legacy", "--pes", "2", "--threading", "manual", "--faithful")
    assert legacy["fusionPlan"]["scheme"] == "legacy"
    assert compiled(capsys, tiny)["fusionPlan"]["scheme"] == "automatic"
    isolated = compiled(capsys, tiny, "--channel-fusion", "channelIsolation")["fusionPlan"]["pes"]
    assert any(pe["operators"] == ["A[0]"] for pe in isolated)


def test_errors_of_the_application_are_exit_status_1_and_name_their_place(broken: str, capsys: Capture):
    assert main(["compile", broken]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    line = BROKEN.splitlines().index(next(line for line in BROKEN.splitlines() if "Srk" in line)) + 1
    assert f"{broken}:{line}: A: error" in captured.err
    assert "Srk" in captured.err
    assert "Traceback" not in captured.err


def test_with_json_errors_are_in_the_document_too(broken: str, capsys: Capture):
    assert main(["compile", broken, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["application"] == "tiny"
    assert document.keys() == compile_error_document("", []).keys()
    assert [each["operator"] for each in document["diagnostics"]] == ["A"]


def test_a_file_that_is_no_spec_gives_a_document_too(tmp_path: Path, capsys: Capture):
    path = tmp_path / "not_yaml.yaml"
    path.write_text("a: [")
    assert main(["compile", str(path), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["application"] == "not_yaml"
    assert document["diagnostics"]


def test_output_goes_to_a_file(tiny: str, tmp_path: Path, capsys: Capture):
    file = tmp_path / "plan.json"
    assert main(["compile", tiny, "--format", "json", "--output", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(file.read_text())["application"] == "tiny"


def test_the_table_shows_regions_pes_and_copies(tiny: str, capsys: Capture):
    assert main(["compile", tiny]) == 0
    out = capsys.readouterr().out
    for part in (
        "tiny",
        "3 operators, 4 after",
        "Parallel regions",
        "every 5 s",
        "Processing elements",
        "A ×2",
        "Copies",
    ):
        assert part in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "foo"], "'--set': 'foo' is not NAME=VALUE. Write for example --set width=4."),
        (["--set", "=4"], "'--set': '=4' is not NAME=VALUE."),
        (["--width", "x=0"], "'--width': 'x=0' is not PATTERN=N with a whole number N of at least 1."),
        (["--width", "=2"], "'--width': '=2' is not PATTERN=N"),
        (["--width", "x=two"], "'--width': 'x=two' is not PATTERN=N"),
        (["--fusion", "best"], "'--fusion': 'best' is not one of 'legacy', 'manual', 'automatic'."),
        (["--channel-fusion", "x"], "'noChannelInfluence', 'channelIsolation', 'channelExlocation'"),
        (["--threading", "x"], "'manual', 'automatic', 'dynamic', 'dedicated'"),
        (["--pes", "0"], "'--pes'"),
        (["--format", "xml"], "'--format'"),
        (["--output", "/no/such/directory/plan.json"], "Name a file in a directory that exists."),
        (["--fusoin", "legacy"], "No such option '--fusoin'"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_status_2(arguments: list[str], message: str, tiny: str, capsys: Capture):
    assert main(["compile", tiny, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["no/such.yaml"]])
def test_a_spec_that_is_not_there_is_exit_status_2(arguments: list[str], capsys: Capture):
    assert main(["compile", *arguments]) == 2
    assert "SPEC" in capsys.readouterr().err


def test_errors_of_the_text_do_not_hide_those_of_the_graph(tmp_path: Path, capsys: Capture):
    path = tmp_path / "spec.yaml"
    path.write_text(
        """
specVersion: 1
application: wrong
graph:
  - {name: S, operator: Beacon, annotations: {consistent: {trigger: periodic}}}
  - {name: T, operator: Beacon}
  - {name: K, operator: FileSink, inputs: [[S, T]], config: {threadedPort: [{port: 0, queueSize: 0}]}}
"""
    )
    assert main(["compile", str(path), "--format", "json"]) == 1
    actual = [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]]
    assert actual == ["CDISP0840E", "CDISP0090E", "CDISP0670E"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile"],
        ["explain", "T"],
        ["graph"],
        ["lineage"],
        ["diff", "--to", "T=2"],
        ["decouple", "--profile", "profile.yaml"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_errors_of_the_graph_do_not_hide_wrong_parameters(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    monkeypatch.chdir(tmp_path)
    Path("profile.yaml").write_text("profileVersion: 1\napplication: wrong\nseconds: 2\nstreams: []\n")
    Path("spec.yaml").write_text(
        """
specVersion: 1
application: wrong
graph:
  - {name: T, operator: Beacon, annotations: {parallel: {width: 0}}}
  - {name: K, operator: FileSink, inputs: [T], parameters: {file: out, format: parket}}
"""
    )
    command, *others = arguments
    assert main([command, "spec.yaml", *others]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.findall(r"error (\w+):", captured.err) == ["CDISP0821E", "SO5003"]


PROFILE = "profileVersion: 1\napplication: tiny\nseconds: 2\nstreams:\n"


def test_a_profile_is_read(tiny: str, tmp_path: Path, capsys: Capture):
    names = [each["name"] for each in compiled(capsys, tiny)["logicalGraph"]["operators"]]
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE + "".join(f"  - {{operator: {name}, tuples: 10}}\n" for name in names[:1]))
    actual = compiled(capsys, tiny, "--profile", str(path))["diagnostics"]
    assert {each["code"] for each in actual} >= {"SO0212"}


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("profileVersion: 2\napplication: tiny\n", 1, "profileVersion: 2 is not one of 1"),
        (PROFILE + "  - {operator: A, tupels: 1}\n", 5, "no key tupels; the nearest is tuples"),
        (PROFILE + "  - {operator: A, tuples: -1}\n", 5, "greater than or equal to 0"),
        ("- 1\n", 1, "a profile is a mapping"),
        ("\n{", 3, "SO0003"),
    ],
)
def test_a_broken_profile_is_a_mistake_on_the_command_line(
    tiny: str, tmp_path: Path, capsys: Capture, content: str, line: int, message: str
):
    path = tmp_path / "profile.yaml"
    path.write_text(content)
    assert main(["compile", tiny, "--profile", str(path)]) == 2
    output = capsys.readouterr().err
    assert f"{path}:{line}:" in output
    assert message in output


def test_a_profile_that_is_not_there_is_named(tiny: str, capsys: Capture):
    assert main(["compile", tiny, "--profile", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("B", "no parallel region matches the width pattern B; the nearest is A"),
        ("Q*", "no parallel region matches the width pattern Q*; the nearest is A"),
        ("Src", "no parallel region matches the width pattern Src; the nearest is A"),
    ],
)
@pytest.mark.parametrize("command", ["compile", "run", "deploy", "graph", "explain"])
def test_a_width_that_fits_no_region_is_an_error(
    command: str,
    pattern: str,
    message: str,
    tiny: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    assert main([command, tiny, *(["A"] if command == "explain" else []), "--width", f"{pattern}=3"]) == 1
    captured = capsys.readouterr()
    assert f"error SO0207: {message}" in captured.err
    assert captured.out == ""


def test_a_width_for_an_application_without_regions_says_so(tiny: str, capsys: Capture):
    Path(tiny).write_text(Path(tiny).read_text().replace(', annotations: {parallel: {width: "${width}"}}', ""))
    assert main(["compile", tiny, "--width", "A=3"]) == 1
    assert (
        "no parallel region matches the width pattern A; the application has no parallel regions"
        in capsys.readouterr().err
    )
