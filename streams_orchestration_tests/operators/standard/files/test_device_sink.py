"""A FileSink to a device prints lines, or drops them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from streams_orchestration.operators.standard.files.device_sink import DeviceSink
from streams_orchestration.operators.testing import OperatorHarness

ROW = "n int NOT NULL, s string NOT NULL"
ROWS = [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("parameters", "lines"),
    [
        ({"file": "/dev/stdout", "format": "splTxt"}, ['{n=1,s="a"}', '{n=2,s="b"}']),
        ({"file": "/dev/stderr", "format": "splCsv", "suppress": ["n"]}, ['"a"', '"b"']),
        (
            {"file": "/dev/stdout", "format": "line", "suppress": ["n"], "writePunctuations": True},
            ["a", "b", "Punctuation received: WindowMarker"],
        ),
        ({"file": "/dev/null"}, []),
    ],
)
def test_a_device_gets_a_line_for_each_tuple(
    parameters: dict[str, Any], lines: list[str], caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    OperatorHarness(DeviceSink, [ROW], parameters=parameters).send(ROWS).mark()
    printed = [each.getMessage() for each in caplog.records if getattr(each, "printed", False)]
    assert printed == lines


def test_a_format_without_lines_is_refused():
    with pytest.raises(ValueError, match=r"/dev/stdout takes lines.*parquet"):
        OperatorHarness(DeviceSink, [ROW], parameters={"file": "/dev/stdout"})
