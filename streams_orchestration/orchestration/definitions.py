"""The code location: every application under `specs/`, and every one that was compiled into the state directory.

`workspace.yaml` names this module. STREAMS_SPECS names the directory of specs, STREAMS_HOME the state directory.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from streams_orchestration.orchestration.application import application_name, build_application_definitions
from streams_orchestration.orchestration.instance import OWN_WARNING
from streams_orchestration.orchestration.stages import LOGICAL
from streams_orchestration.runtime.home import Home

ENDINGS = (".yaml", ".yml")


def build_definitions(specs: Path, home: Home) -> dg.Definitions:
    """Definitions of all applications that there are.

    Args:
        specs: directory of specs; it need not exist.
        home: state directory. An application that was compiled from elsewhere is shown while its spec is there.
    """
    found = sorted(path for path in specs.glob("*") if path.suffix in ENDINGS) if specs.is_dir() else []
    named: dict[str, Path] = {}
    for path in [*found, *_compiled(home)]:
        name = application_name(path)
        if path in found and name in named:
            # Two specs of one name would take the location down; the second shows under the name of its file.
            name = path.stem
        named.setdefault(name, path)
    parts = [build_application_definitions(path, home, name=name) for name, path in named.items()]
    return dg.Definitions.merge(*parts, dg.Definitions(executor=dg.in_process_executor))


def _compiled(home: Home) -> Iterator[Path]:
    for document in sorted(home.artifacts.glob(f"*/{LOGICAL}.json")):
        try:
            spec = Path(json.loads(document.read_bytes())["spec"])
        except (OSError, ValueError, KeyError):
            continue
        if spec.is_file():
            yield spec


warnings.filterwarnings("ignore", OWN_WARNING)
defs = build_definitions(Path(os.environ.get("STREAMS_SPECS") or "specs").absolute(), Home.default())
