"""A value that is not of its attribute's type is named with its column, and with a form that is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.files.json_lines import read_json_lines
from streams_orchestration.operators.files.rows import BEGIN
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.misfits import text_misfit
from streams_orchestration.operators.messages.decoders import decode
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, arrow_type

FORM = re.compile(r"[Ww]rite (?:it as )?(\S+?)(?:,|$| or )")
"""A form that a reason names."""
TEXTS: dict[tuple[str, str], str] = {
    ("timestamp", "2024-05-31"): "it has no time zone. Write 2024-05-31T00:00:00Z, or declare",
    ("timestamp", "2024-05-31T12:00"): "it has no time zone. Write 2024-05-31T12:00Z, or declare",
    ("timestamp", "31.5.2024"): "write it as 2024-01-31T12:00:00Z",
    ("timestamp_ntz", "2024-05-31T12:00:00Z"): "it has a time zone. Leave the zone out, or declare the attribute as",
    ("timestamp_ntz", "noon"): "write it as 2024-01-31T12:00:00",
    ("date", "31.5.2024"): "write it as 2024-01-31",
    ("boolean", "yes"): "write true or false",
    ("decimal(5, 2)", "1.555"): "it has at most 3 digits before the decimal point and 2 after it",
    ("decimal(5, 2)", "much"): "'much' is not a valid decimal(5, 2)",
    ("tinyint", "128"): "'128' is not a valid tinyint",
    ("double", "1,5"): "'1,5' is not a valid double",
}


def read_csv(text: str, ddl: str, directory: Path) -> Any:
    path = directory / "one.csv"
    path.write_text(f'a\n"{text}"\n')
    (batch,) = CsvFile(path, CsvDialect(), has_header_line=True).read(arrow_schema(f"a {ddl}"))
    return batch.column(0)[0].as_py()


def read_json(value: Any, ddl: str, directory: Path) -> Any:
    path = directory / "one.jsonl"
    path.write_text(json.dumps({"a": value}) + "\n")
    (rows,) = read_json_lines(path, arrow_schema(f"a {ddl}"), BEGIN, permissive=False)
    return rows.batch.column(0)[0].as_py()


@pytest.mark.parametrize(("ddl", "text"), TEXTS)
def test_a_form_that_is_named_is_accepted(ddl: str, text: str, tmp_path: Path):
    reason = text_misfit(text, arrow_type(ddl))
    assert TEXTS[ddl, text] in reason
    with pytest.raises(DataError, match=r"one.csv: line 2, column a: ") as error:
        read_csv(text, ddl, tmp_path)
    assert reason in str(error.value)
    for form in FORM.findall(reason):
        assert read_csv(form, ddl, tmp_path) is not None
        if ddl != "boolean":
            assert read_json(form, ddl, tmp_path) is not None


VALUES: dict[tuple[str, str], str] = {
    ("int", '"x"'): "'x' is not a valid int",
    ("int", '"5"'): "'5' is not a valid int: write it without quotes",
    ("int", "1.5"): "1.5 is not a valid int",
    ("int", "3000000000"): "3000000000 is not a valid int",
    ("string", "7"): "7 is not a valid string",
    ("boolean", '"true"'): "'true' is not a valid boolean: write it without quotes",
    ("boolean", '"yes"'): "'yes' is not a valid boolean: write true or false",
    ("timestamp", '"2024-05-31"'): "it has no time zone. Write 2024-05-31T00:00:00Z, or declare",
    ("array<int>", "[1, 2.5]"): "[1, 2.5] is not a valid array<int>",
    ("string", json.dumps(["x" * 500])): '["xxxxxxxx',
}


@pytest.mark.parametrize(("ddl", "value"), VALUES)
def test_json_is_refused_with_the_column_as_csv_is(ddl: str, value: str, tmp_path: Path):
    with pytest.raises(DataError, match=r"one.jsonl, line 1, column a: ") as error:
        read_json(json.loads(value), ddl, tmp_path)
    assert VALUES[ddl, value] in str(error.value)
    assert len(str(error.value)) < 300
    (bad,) = decode([b'{"a": ' + value.encode() + b"}"], arrow_schema(f"a {ddl}"), "json").bad
    assert bad.reason.startswith("column a: ")
    assert VALUES[ddl, value] in bad.reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"1,x", "column b: 'x' is not a valid int"),
        (b"1", "1 columns, but 2 are expected"),
        (b'1,"2', "a quote is not closed"),
        (b"1,\xff", r"column b: it is not UTF-8 text: byte 1 is 0xff (invalid start byte)"),
    ],
)
def test_a_message_of_csv_is_refused_in_the_words_of_a_file(message: bytes, reason: str):
    (bad,) = decode([message], arrow_schema("a int, b int"), "csv").bad
    assert bad.reason == reason
