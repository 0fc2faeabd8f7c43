"""An audit of dependencies that could look nothing up does not pass for one that has met nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

JUDGE = Path(__file__).parent.parent / ".ci" / "audited.py"
WELL = {"name": "sound", "version": "1.0", "vulns": []}
ILL = {"name": "leaky", "version": "2.0", "vulns": [{"id": "CVE-2020-1", "fix_versions": ["2.1"], "aliases": []}]}
SKIPPED = {"name": "unknown", "skip_reason": "Dependency not found on PyPI and could not be audited: unknown (1.0)"}


@pytest.mark.parametrize(("packages", "status", "says"), [
    ([WELL], 0, "1 packages were looked up; 0 have"),
    ([WELL, ILL], 1, "leaky 2.0: CVE-2020-1, mended by 2.1"),
    ([WELL, SKIPPED], 2, "Not looked up: unknown"),
    ([WELL, ILL, SKIPPED], 1, "Not looked up: unknown"),
    ([SKIPPED], 2, "nothing of requirements.lock was audited"),
    ([], 2, "nothing of requirements.lock was audited"),
    (None, 2, "nothing of requirements.lock was audited"),
])  # fmt: skip
def test_an_audit_with_skipped_packages_does_not_pass(
    packages: list[Any] | None, status: int, says: str, tmp_path: Path
):
    report = tmp_path / "report.json"
    report.write_text("" if packages is None else json.dumps({"dependencies": packages, "fixes": []}))
    judged = subprocess.run([sys.executable, str(JUDGE), str(report)], capture_output=True, text=True, check=False)
    assert (judged.returncode, judged.stderr) == (status, "")
    assert says in judged.stdout
