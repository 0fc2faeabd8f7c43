"""Applications with queries of Spark's in a test suite that has sessions of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.java
@pytest.mark.deep
def test_a_stopped_session_is_followed_by_a_new_one_and_another_one_is_named():
    command = [sys.executable, "-m", "streams_orchestration_tests.builder.session_of_its_own"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second, refusal = done.stdout.splitlines()
    assert first == second == "[2, 3]"
    assert "has a Spark session already (its own)" in refusal
