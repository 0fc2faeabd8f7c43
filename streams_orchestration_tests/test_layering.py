"""Modules import only modules below them, and light commands do not load heavy libraries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import networkx
import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.orchestration.versions import STAGE_PACKAGES
from streams_orchestration_tests.layers import INNER, LAYERS, OPERATOR_LAYERS
from streams_orchestration_tests.sources import (
    READS_SOURCES,
    ROOT,
    hiding,
    imported,
    modules,
    nodes_of,
    source_of,
    surroundings,
)

CLIENTS_OF_RUNTIME = ("orchestration", "console", "cli")
FACE_OF_RUNTIME = "streams_orchestration.runtime.api"
"""The only module of the runtime that these packages import."""
FACE_OF_OPERATORS = f"streams_orchestration.operators.{OPERATOR_LAYERS[-1]}"
"""The package hands on names of all layers."""
SEAMED = ("operators", "runtime")
"""Packages that reach clocks, waiting, threads and random names through `world` only, so that they can be simulated."""
UNSEAMED = ("runtime/engine/spark/", "runtime/processes/processes.py", "runtime/logs/secret_redaction.py")
"""Engines and the view of processes are replaced as a whole; the hook of failed threads is the interpreter's."""
SYNTAX_TREES = {
    *("expressions/syntax.py", "expressions/tree.py"),
    *("spl/language/tree.py", "spl/language/definitions.py", "spl/typing/typed.py"),
}
"""Modules of syntax trees, whose classes may share names: a node keeps its name when it is typed, and SQL and SPL have
the same kinds of nodes. Code imports these modules instead of their classes where it uses two of them."""
FORMS_OF_ONE_CONCEPT = {"Application", "Composite", "Invocation"}
"""Concepts of a spec that Python's builder or SPL expresses, too, under the names that their users know."""
WRITTEN_BY_USERS = ("builder/functions.py", "builder/streams.py")
"""Modules whose functions and parameters have the names that users of the builder write: SQL's, and `port`."""
HEAVY = ("pyspark", "dagster", "polars", "pyarrow", "pandas", "numpy", "sqlalchemy")

SPEC = """
specVersion: 1
application: tiny
operators:
  Source: {inputs: []}
  Sink: {outputs: []}
graph:
  - {name: Src, operator: Source}
  - {name: Snk, operator: Sink, inputs: [Src]}
"""

STANDARD = """
specVersion: 1
application: standard
schemas: {Reading: "sensor string, value double"}
graph:
  - {name: Src, operator: Beacon, outputs: [{stream: Src, schema: Reading}], parameters: {output: {sensor: "'a'"}}}
  - {name: Some, operator: Filter, inputs: [Src], parameters: {filter: value > 0 AND sensor = 'a'}}
  - name: More
    operator: Functor
    inputs: [Some]
    outputs: [{stream: More, schema: Reading}]
    parameters: {output: {value: value + 1}}
  - name: Groups
    operator: Aggregate
    inputs: [More]
    outputs: [{stream: Groups, schema: Reading}]
    parameters: {window: "tumbling, count(10)", groupBy: [sensor], output: {value: Average(value)}}
  - {name: New, operator: DeDuplicate, inputs: [Groups], parameters: {key: sensor}}
  - {name: Parts, operator: Split, inputs: [New], outputs: [P0, P1], parameters: {index: LENGTH(sensor)}}
  - {name: Snk, operator: FileSink, inputs: [[P0, P1]], parameters: {file: out}}
"""
WRONG = ("file: out, format: parket", "file: out, quoteStrings: maybe", "file: [out]")
"""Wrong parameters in the place of those of the sink."""
SPL_VALUES = ("language", "types", "programs")
"""The packages of SPL with types and values, of which every application loads modules."""
USED_BY_FEW = {
    "streams_orchestration.compiler.decoupling",
    "streams_orchestration.operators.toolkits",
    *(f"streams_orchestration.spl.{package}" for package in INNER["spl"] if package not in SPL_VALUES),
    *(f"streams_orchestration.spl.programs.{part}" for part in ("library", "loops", "natives", "program", "logic")),
}
"""Packages that only applications and commands with a use for them load."""
RUNNING = """
import json, sys
from streams_orchestration.cli import main

for arguments, status in json.loads(sys.argv[1]):
    assert main(arguments) == status, arguments
    loaded = {*sys.modules, *(name.partition(".")[0].partition("_")[0] for name in sys.modules)}
    assert loaded.isdisjoint(sys.argv[2:]), (arguments, loaded.intersection(sys.argv[2:]))
"""
"""A process that runs commands one after the other, since each start of the interpreter takes a second."""


def layer(module: str) -> tuple[int, ...] | None:
    """Return the position in `LAYERS` and, if a package has layers, among these; None for modules that are not ours."""
    first, package, *inner = (*module.split("."), "")
    if first != "streams_orchestration" or package not in LAYERS:
        return None
    position = [LAYERS.index(package)]
    for name in (*inner, "", "")[:2]:
        inside = INNER.get(package, ())
        position.append(inside.index(name) if name in inside else -1)
        package = f"{package}.{name}"
    return tuple(position)


def test_every_package_has_its_layer():
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert packages == set(LAYERS)
    for package, layers in INNER.items():
        inside = ROOT / package.replace(".", "/")
        modules = (path for path in inside.iterdir() if path.is_dir() or path.suffix == ".py")
        assert {path.stem for path in modules if not path.stem.startswith("__")} == set(layers)


def test_a_change_of_any_package_up_to_the_compiler_makes_stages_out_of_date():
    assert {*STAGE_PACKAGES} == {*LAYERS[: LAYERS.index("compiler") + 1]}


@pytest.fixture(scope="module")
def imports() -> dict[Path, list[tuple[int, str]]]:
    """(line, module) of every import of every module of the product."""
    return {path: list(source_of(path).imports) for path in modules()}


def name_of(path: Path) -> str:
    return ".".join(("streams_orchestration", *path.relative_to(ROOT).with_suffix("").parts))


@pytest.mark.slow
@READS_SOURCES
def test_imports_go_down_only(imports: dict[Path, list[tuple[int, str]]]):
    faces = {ROOT / "__main__.py": "streams_orchestration.cli", ROOT / "operators" / "__init__.py": FACE_OF_OPERATORS}
    own = {path: layer(faces.get(path, name_of(path))) for path in imports}
    upwards = [
        f"{path}:{line} imports {module}"
        for path, each in imports.items()
        for line, module in each
        if (other := layer(module)) is not None and ((mine := own[path]) is None or other > mine)
    ]
    assert upwards == []


@pytest.mark.slow
@READS_SOURCES
def test_the_language_spl_needs_nothing_of_other_packages(imports: dict[Path, list[tuple[int, str]]]):
    above = [ROOT / "spl" / name for name in ("application", "adl")]  # they make documents of the model
    language = [
        each
        for each in imports
        if each.is_relative_to(ROOT / "spl") and not any(each.is_relative_to(path) for path in above)
    ]
    used = {module for path in language for _, module in imports[path]}
    assert {module.split(".")[1] for module in used if module.startswith("streams_orchestration.")} == {"spl"}


@READS_SOURCES
def test_commands_the_console_and_dagster_import_only_the_interface_of_the_runtime(
    imports: dict[Path, list[tuple[int, str]]],
):
    beside = [
        f"{path}:{line} imports {module}"
        for path, each in imports.items()
        if path.relative_to(ROOT).parts[0] in CLIENTS_OF_RUNTIME
        for line, module in each
        if module.startswith("streams_orchestration.runtime.") and module != FACE_OF_RUNTIME
    ]
    assert beside == []


@READS_SOURCES
def test_no_module_needs_one_that_needs_it(imports: dict[Path, list[tuple[int, str]]]):
    names = {path: name_of(path).removesuffix(".__init__") for path in imports}
    ours = set(names.values())
    graph = networkx.DiGraph()
    for path, each in imports.items():
        # `from package import module` needs the module, not what the package imports
        packages = {(line, module.rpartition(".")[0]) for line, module in each if module in ours}
        needed = {module for line, module in each if module in ours and (line, module) not in packages}
        graph.add_edges_from((names[path], module) for module in needed - {names[path]})
    assert [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1] == []


def test_no_module_is_long():
    """But for those that `make docs` writes."""
    packages = (ROOT, Path(__file__).parent, ROOT.parent / "benchmarks")
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for each in packages for path in each.rglob("*.py")
    }
    assert sorted(path for path, lines in lengths.items() if lines > 400) == [
        ROOT / "builder" / "functions.py",
        ROOT / "builder" / "operators.py",
    ]


@READS_SOURCES
def test_no_two_classes_have_one_name():
    modules_of: dict[str, set[str]] = {}
    for path in modules():
        for name in source_of(path).classes:
            if not name.startswith("_"):
                modules_of.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    shared = {name: modules for name, modules in modules_of.items() if len(modules - SYNTAX_TREES) > 1}
    trees = {name: modules & SYNTAX_TREES for name, modules in modules_of.items()}
    shared |= {name: modules for name, modules in modules_of.items() if trees[name] and modules - SYNTAX_TREES}
    assert shared.keys() == FORMS_OF_ONE_CONCEPT, "let the rarer class say whose it is"


@pytest.mark.parametrize(("source", "names"), [
    ("from a import b\ndef f(b): ...", ["b"]),
    ("import a.b\ndef f():\n    a = 1", ["a"]),
    ("def b(): ...\ndef f():\n    return [b for b in ()]", ["b"]),
    ("def b(): ...\ndef f():\n    def b(): ...", ["b"]),
    ("b = 1\nf = lambda b: b", ["b"]),
    ("if True:\n    import b\ndef f():\n    with c as b: ...", ["b"]),
    ("class b:\n    def f(self):\n        try: ...\n        except E as b: ...", ["b"]),
    ("b = 1\ndef f():\n    global b\n    b = 2", []),
    ("from a import b\ndef f():\n    from c import b", []),
    ("from a import b\nclass C:\n    b: int\n    def b(self): ...", []),
])  # fmt: skip
def test_a_hidden_name_is_seen(source: str, names: list[str]):
    assert [name for _, name in hiding(nodes_of(source))] == names


@READS_SOURCES
def test_no_local_name_hides_an_import_or_another_name_of_its_module():
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in modules()
        if path.relative_to(ROOT).as_posix() not in WRITTEN_BY_USERS
        for line, name in source_of(path).hiding
    ]
    assert found == []


def test_a_test_imports_support_modules_and_no_other_test():
    tests = Path(__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in tests.rglob("*.py")}
    others = [
        f"{path.relative_to(tests)}:{line} imports {module}"
        for path, text in texts.items()
        if re.search(r"(?<!def )\btest_\w", text)  # parsing all tests would take seconds
        for line, module in imported(nodes_of(text), (tests.name, *path.relative_to(tests).parent.parts))
        if re.match(rf"{tests.name}\..*\btest_\w+$", module)
    ]
    assert others == []


@pytest.mark.parametrize(("source", "lines"), [
    ("import time\ntime.sleep(1)", [2]),
    ("def f(clock=world.monotonic): ...", [1]),
    ("at: int = field(default_factory=world.now_ns)", [1]),
    ("from streams_orchestration.world import now", [1]),
    ("from streams_orchestration import world\nworld.sleep(1)", []),
])  # fmt: skip
def test_direct_use_of_clocks_is_seen(source: str, lines: list[int]):
    assert list(surroundings(nodes_of(source))) == lines


@READS_SOURCES
@pytest.mark.parametrize("package", SEAMED)
def test_clocks_threads_and_random_names_are_reached_through_world(package: str):
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in modules()
        if path.is_relative_to(ROOT / package) and not path.relative_to(ROOT).as_posix().startswith(UNSEAMED)
        for line in source_of(path).surroundings
    ]
    assert found == []


def test_nothing_of_dagster_that_is_private_is_used():
    private = re.compile(r"\bdagster(_\w+)?\._")
    used = [str(path) for path in modules() if private.search(path.read_text(encoding="utf-8"))]
    assert used == []


def test_every_way_to_import_is_seen():
    source = """
import os, streams_orchestration.cli.entry as e
from streams_orchestration import runtime
def f():
    from ..runtime.storage import home
    from . import names
"""
    actual = {module for _, module in imported(nodes_of(source), ("streams_orchestration", "model"))}
    assert {"os", "streams_orchestration.cli.entry", "streams_orchestration.runtime"} <= actual
    assert {"streams_orchestration.runtime.storage.home", "streams_orchestration.model.names"} <= actual


def loaded_by(script: str, *arguments: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a script."""
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\n{show}", *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def check_commands(commands: Sequence[tuple[list[str], int]], unwanted: Collection[str]) -> None:
    """Have a fresh interpreter run commands, each with its exit status, and look for what it has loaded after each."""
    arguments = [sys.executable, "-c", RUNNING, json.dumps(commands), *unwanted]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_command_line_alone_loads_nothing_heavy():
    loaded = loaded_by("import streams_orchestration.cli")
    assert loaded.isdisjoint({*HEAVY, "networkx", "pulp", "rich"})


def test_the_shared_conftest_loads_nothing_heavy():
    loaded = loaded_by("import streams_orchestration_tests.conftest")
    assert loaded.isdisjoint({*HEAVY, "networkx", "psycopg", "pulp", "rich", "streams_orchestration"})


@pytest.mark.slow
def test_compiling_loads_nothing_heavy_whether_parameters_are_right_or_wrong(tmp_path: Path):
    texts = [SPEC, *(STANDARD.replace("file: out", wrong) for wrong in WRONG), STANDARD]
    specs = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
    for spec, text in zip(specs, texts, strict=True):
        spec.write_text(text)
    statuses = [0, *(1 for _ in WRONG), 0]
    commands = [(["compile", str(spec)], status) for spec, status in zip(specs, statuses, strict=True)]
    check_commands(commands, {*HEAVY, "networkx", *USED_BY_FEW})
    compilation = compile_spec(specs[-1])
    assert not compilation.deployment.refusal, "the programs of the PEs are made, too"


@pytest.mark.slow
def test_a_command_that_needs_no_host_loads_neither_spark_nor_dagster(tmp_path: Path):
    spec = tmp_path / "standard.yaml"
    spec.write_text(STANDARD)
    commands = [(["graph", str(spec)], 0), (["explain", str(spec), "Groups"], 0), (["compile", str(spec)], 0)]
    check_commands([*commands, (["check", str(spec)], 0)], {"pyspark", "py4j", "dagster", *USED_BY_FEW})


def test_java_is_looked_for_with_the_standard_library_alone():
    loaded = loaded_by("import streams_orchestration.runtime.engine.spark.java")
    ours = {"streams_orchestration", "__main__", "sitecustomize"}  # the last one begins the guard of the tests
    assert {name for name in loaded - ours if name not in sys.stdlib_module_names and "distutils" not in name} == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "left"),
    [
        ("observing", {"pyspark", "dagster", "polars", "pyarrow", "pandas", "numpy", "networkx", "pydantic", "yaml"}),
        ("running", {"pyspark", "dagster", "pyarrow", "pandas", "numpy", "networkx"}),
        ("jobs", {"pyspark", "polars", "pyarrow", "pandas", "numpy", "networkx"}),
    ],
)
def test_a_status_a_run_of_what_is_complete_and_the_jobs_load_only_what_they_need(module: str, left: set[str]):
    assert loaded_by(f"import streams_orchestration.cli.{module}").isdisjoint(left)


def test_a_host_starts_its_engine_before_it_loads_the_rest():
    script = (
        "import streams_orchestration.runtime.hosts.host_process, streams_orchestration.runtime.engine.spark.engine"
    )
    assert loaded_by(script).isdisjoint({*HEAVY, "pydantic", "yaml", "networkx"})


@pytest.mark.slow
def test_operators_are_checked_without_pandas():
    """Pyarrow imports it with the first array that is made from Python's values or from numpy's."""
    script = """
import sys; from pathlib import Path
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
deployable(compile_spec(Path(sys.argv[1])))
"""
    assert loaded_by(script, str(ROOT.parent / "specs" / "flights.yaml")).isdisjoint({"pandas", "pyspark", "dagster"})
