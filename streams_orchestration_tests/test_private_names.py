"""Tests use public names; each private name of the product or of a library that a test needs has a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PRIVATE = r"_(?!_)[a-zA-Z]\w*"
ACCESS = re.compile(rf"(?<!\bself)(?<!\bcls)(?<!super\(\))\.({PRIVATE})")
PATCHED = re.compile(rf"setattr\([^\"'()]*\"({PRIVATE})\"")
IMPORT = re.compile(r"^ *from \S+ import (\([^)]*\)|[^\n]*)", re.MULTILINE)
IMPORTED = re.compile(rf"(?<!as )\b({PRIVATE})")
OWN = re.compile(
    rf"(?:def|class) ({PRIVATE})|\b(?:self|cls)\.({PRIVATE})(?=[\w., ]*(?: =|:))|^ *({PRIVATE})(?=:| =)", re.MULTILINE
)
"""The private names that a module defines itself."""
QUOTED = re.compile(r"`[^`\n]*`")
DOCUMENTED = {
    *("_asdict", "_fields", "_replace", "_exit", "_getframe", "_mapping", "_repr_html_"),
    *("_FENCED", "_MSG_TIMED_OUT", "_PARTITION_EOF", "_TIMED_OUT"),
}
"""Names that begin with an underscore though their library documents them for users."""
OF_THE_PRODUCT = {
    "runtime/catalog/released.py": ("_database _transaction _version", "it makes tables as an earlier release did"),
    "runtime/engine/spark/test_leftovers.py": ("_begin", "an engine marks its files before it starts a session"),
    "runtime/power.py": ("_transaction", "all kinds of transactions end there, and only then the power may fail"),
}
"""Map modules to the private names of the product that they use, with the reason. The names may only become fewer."""
OF_LIBRARIES = {
    "cli/test_top.py": ("_compositor _wait", "Textual gives the text of a screen, and waits for it, only so"),
    "compiled_once.py": ("_compiled_cache", "engines of SQLAlchemy share compiled statements only so"),
    "operators/brokers/test_refusals.py": (
        "_filter_wildcard_len_check _parsers",
        "the product foretells and translates errors of these clients",
    ),
    "orchestration/shown_states.py": ("_core", "Dagster computes the states that its page shows there"),
    "quick_storages.py": ("_core", "Dagster's storages have no setting for the disk"),
    "runtime/engine/spark/test_other_users.py": ("_gateway _jvm", "PySpark tells the ports of its JVM only so"),
    "simulation/connections.py": (
        "_bind_processors _cached_result_processor _compile_w_cache _is_tuple_type _process_parameters_for_postcompile"
        " _result_columns",
        "the simulation executes compiled statements without SQLAlchemy's execution, which takes most of its time",
    ),
    "simulation/scheduler.py": ("_set_running_loop", "a simulated event loop runs in the thread of another one"),
}
"""Map modules to the private names of libraries that they use, with the reason."""
MUTANTS = "simulation/mutants.py"
"""Each mutant names the function that it breaks."""


def private_names(source: str) -> set[str]:
    """Return the private names of other modules that a module imports, patches or uses."""
    text = QUOTED.sub("", source)
    own = {name for names in OWN.findall(text) for name in names}
    used = {name for names in IMPORT.findall(text) for name in IMPORTED.findall(names)}
    used.update(ACCESS.findall(text), PATCHED.findall(text))
    return used - own - DOCUMENTED


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("agent._register()\nplace.agents['m']._ended = True", {"_register", "_ended"}),
        ("from a.b import C, _d\nfrom a._core import e\nfrom a import b as _c", {"_d", "_core"}),
        ('monkeypatch.setattr(module, "_connected", None)\npatch.setattr(a._b.C, "_d", e)', {"_connected", "_b", "_d"}),
        ("class C:\n    def _a(self):\n        self._b = self._c()\n        other._a(other._b)", set()),
        ("super()._create()\ncls._make\nrow._replace(a=1)\nos._exit(0)\na.__dict__", set()),
        ('"""`views._drained`."""', set()),
    ],
)
def test_private_names_of_others_are_found(source: str, names: set[str]):
    assert private_names(source) == names


def test_private_names_in_tests_have_a_reason():
    kept = {module: set(names.split()) for module, (names, _) in (OF_THE_PRODUCT | OF_LIBRARIES).items()}
    paths = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}
    found = {module: private_names(path.read_text(encoding="utf-8")) for module, path in paths.items()}
    del found[MUTANTS], found[Path(__file__).name]
    assert {module: names for module, names in found.items() if names} == kept, "use what is public, or make it public"
