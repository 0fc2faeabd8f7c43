"""The files that are served are what the source of the page makes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

CONSOLE = Path(__file__).parents[2] / "streams_orchestration" / "console"
PAGE, STATIC = CONSOLE / "page", CONSOLE / "static"
BUILT = (
    *("THIRD-PARTY.txt", "compile.css", "compile.html", "compile.js"),
    *("console.css", "console.js", "elk-worker.min.js", "index.html"),
)


def test_a_rebuild_gives_the_same_bytes(tmp_path: Path):
    node = shutil.which("node")
    if node is None or not (PAGE / "node_modules" / "esbuild").is_dir():
        pytest.skip("needs Node.js and what `make page` installs")
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=PAGE, check=True)
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes(), f"{name}: run `make page`"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(BUILT)


def test_the_files_that_are_served_are_those_that_are_built():
    assert sorted(path.name for path in STATIC.iterdir()) == sorted(BUILT)


def test_the_lock_file_has_hashes_and_no_addresses():
    packages = json.loads((PAGE / "package-lock.json").read_text())["packages"]
    assert {"node_modules/elkjs", "node_modules/uplot"} <= packages.keys()
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or package["integrity"].startswith("sha512-"), name
