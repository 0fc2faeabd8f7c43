"""The interface of the runtime: one table of names, of which nothing is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from streams_orchestration.runtime import api


def test_the_interface_of_the_runtime_loads_nothing_before_it_is_used():
    show = "print(*{name for name in sys.modules if name.startswith('streams_orchestration.')})"
    script = f"import sys; from streams_orchestration.runtime import api; {show}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"streams_orchestration.runtime", api.__name__}


@pytest.mark.parametrize("name", dir(api))
def test_each_name_of_the_interface_of_the_runtime_can_be_had(name: str):
    assert getattr(api, name) is vars(api)[name]


def test_there_is_no_other_name_in_the_interface_of_the_runtime():
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = api.nobody  # pyright: ignore[reportAttributeAccessIssue]
