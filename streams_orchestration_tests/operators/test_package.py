from __future__ import annotations

import subprocess
import sys

import pytest

import streams_orchestration.operators as package


def test_the_sdk_is_in_one_place():
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert issubclass(package.SourceOperator, package.Operator)
    assert issubclass(package.DataError, ValueError)


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'Operatr'"):
        package.Operatr  # noqa: B018


@pytest.mark.slow
def test_importing_the_package_loads_no_data_libraries():
    code = "import sys, streams_orchestration.operators; print(*{'polars', 'pyarrow', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.slow
def test_the_operator_classes_load_no_polars():
    code = "import sys; from streams_orchestration.operators import Operator; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
