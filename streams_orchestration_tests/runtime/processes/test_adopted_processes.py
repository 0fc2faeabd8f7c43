"""The first process of a container adopts orphans; here a process that asked Linux to."""

from __future__ import annotations

import subprocess
import sys

import pytest

ADOPTS = """\
import ctypes, subprocess
import psutil
from streams_orchestration.runtime.processes.processes import reap_adopted

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
subprocess.run(["sh", "-c", "sleep 0.2 & sleep 0.2 &"], check=True)
adopted = psutil.Process().children()
assert len(adopted) == 2, adopted
while any(child.status() != psutil.STATUS_ZOMBIE for child in adopted):
    pass
reap_adopted()
assert psutil.Process().children() == []
reap_adopted()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process ask for orphans")
def test_adopted_processes_that_have_ended_leave_the_table():
    subprocess.run([sys.executable, "-c", ADOPTS], check=True, timeout=60)
