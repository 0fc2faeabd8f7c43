"""`streams init`: write a new runnable application with a test."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from streams_orchestration.cli.invocation import current, write_json
from streams_orchestration.cli.output import write

_DATA = """sensor,at,celsius
attic,2025-07-01T10:00:00Z,31.5
cellar,2025-07-01T10:00:00Z,14.0
attic,2025-07-01T11:00:00Z,34.0
cellar,2025-07-01T11:00:00Z,
attic,2025-07-01T12:00:00Z,36.5
"""

_OPERATORS = '''"""Operators of this application; a file of Python beside it is found by its name."""

from streams_orchestration.operators import TupleBatch, operator


@operator(preserves_window_punctuation=True)
def to_fahrenheit(batch: TupleBatch) -> dict:
    """Adds the temperature in degrees Fahrenheit."""
    columns = {name: batch.column(name) for name in ("sensor", "celsius")}
    return columns | {"fahrenheit": columns["celsius"] * 1.8 + 32}
'''

_YAML = """# Mean temperatures of each sensor. Run it: streams run NAME.yaml
specVersion: 1
application: NAME
description: Mean temperatures of each sensor

submission:
  width: {type: int32, default: 2}

schemas:
  Reading: "sensor string, at timestamp, celsius double"
  Converted: "sensor string, celsius double, fahrenheit double"
  Mean: "sensor string, readings bigint, celsius double, fahrenheit double"

operators:
  ToFahrenheit:
    implementation: NAME_operators:to_fahrenheit
    inputs: [{mutable: false}]
    outputs: [{mutable: true, preservesWindowPunctuation: true}]

composites:
  MeanOfSensor:
    inputs: [Measured]
    outputs: [Means]
    graph:
      - name: Converted
        operator: ToFahrenheit
        inputs: [Measured]
        outputs: [{stream: Converted, schema: Converted}]
      - name: Means
        operator: Aggregate
        inputs: [Converted]
        outputs: [{stream: Means, schema: Mean}]
        parameters:
          window: tumbling, punct()               # closed by the marker after the last reading
          groupBy: [sensor]
          output: {readings: Count(), celsius: Average(celsius), fahrenheit: Average(fahrenheit)}

graph:
  - name: Readings
    operator: FileSource
    outputs: [{stream: Readings, schema: Reading}]
    parameters: {file: readings.csv, format: csv}
    annotations:
      consistent: {trigger: periodic, period: 2.0}  # whatever fails, nothing is lost or counted twice

  - name: Measured
    operator: Filter
    inputs: [Readings]
    parameters: {filter: "celsius IS NOT NULL"}

  - name: PerSensor
    operator: MeanOfSensor
    inputs: [Measured]
    outputs: [Means]
    annotations:
      parallel: {width: "${width}", partitionBy: [{port: Measured, attributes: [sensor]}]}

  - name: Result
    operator: FileSink
    inputs: [Means]
    parameters: {file: means, format: csv}
"""

_PYTHON = '''"""Mean temperatures of each sensor. Run it: streams run NAME.py"""

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application, consistent
from NAME_operators import to_fahrenheit

app = Application("NAME", description="Mean temperatures of each sensor")
width = app.submission("width", int, default=2)

readings = app.stream(
    op.FileSource(file="readings.csv", format="csv"),
    schema=app.schema("Reading", "sensor string, at timestamp, celsius double"),
    consistent=consistent(period=2.0),  # whatever fails, nothing is lost or counted twice
)
measured = readings.filter("celsius IS NOT NULL")
with app.parallel("PerSensor", width, partition_by=["sensor"]):
    converted = measured.map(to_fahrenheit, "sensor string, celsius double, fahrenheit double")
    means = converted.aggregate(  # its window is closed by the marker after the last reading
        group_by=["sensor"],
        readings="Count()",
        celsius="Average(celsius)",
        fahrenheit="Average(fahrenheit)",
        schema="sensor string, readings bigint, celsius double, fahrenheit double",
    )
means.sink(op.FileSink(file="means", format="csv"), name="Result")

if __name__ == "__main__":
    raise SystemExit(app.run())
'''

_TEST = '''"""Tests of NAME, without Spark: pytest"""

from pathlib import Path

from streams_orchestration.builder import Application

ROWS = [("attic", None, 10.0), ("cellar", None, None), ("attic", None, 20.0)]


def test_means_of_what_was_measured():
    app = Application.from_spec(Path(__file__).parent / "SPEC")
    means = app.test({"STREAM": ROWS})["Result"].to_pylist()
    assert means == [{"sensor": "attic", "readings": 2, "celsius": 15.0, "fahrenheit": 59.0}]
'''


def init(name: str, directory: Path | None, *, python: bool) -> int:
    """Write the files of a new application, and show the next commands; return the exit status.

    Raises:
        UsageError: the name is taken by a module, a file exists, or the directory cannot be written.
    """
    place = directory or Path(name)
    if python and name in sys.modules.keys() | sys.stdlib_module_names:
        message = f"{name} is the name of a Python module, which the file {name}.py would hide. Choose another name."
        raise click.UsageError(message)
    spec = f"{name}.py" if python else f"{name}.yaml"
    files = {
        spec: _PYTHON if python else _YAML,
        f"{name}_operators.py": _OPERATORS,
        f"test_{name}.py": _TEST.replace("SPEC", spec).replace("STREAM", "readings" if python else "Readings"),
        "readings.csv": _DATA,
    }
    if there := sorted(each for each in files if (place / each).exists()):
        message = f"{place / there[0]} exists already. Choose another name, or another directory: --directory DIR."
        raise click.UsageError(message)
    if place.exists() and not place.is_dir():
        message = f"{place} is a file. Name a directory: --directory DIR."
        raise click.UsageError(message)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (place / file).write_text(text.replace("NAME", name), encoding="utf-8")
    except OSError as error:
        message = f"{place} cannot be written: {error.strerror}. Name a directory that can be written: --directory DIR."
        raise click.UsageError(message) from error
    current().application = name
    if current().json:
        write_json(current().document({"files": [str(place / file) for file in files]}, 0))
        return 0
    commands = {
        f"streams compile {place / spec}": "what the compiler makes of it",
        f"streams check {place / spec}": "whether it can run: all errors at once, for CI",
        f"streams run {place / spec}": "run it on Spark",
        f"pytest {place}": "test it without Spark",
    }
    width = max(map(len, commands))
    write(
        f"{place} has an application that runs, an operator of its own, a test and some data. Next:\n\n"
        + "\n".join(f"  {command:{width}}    {what}" for command, what in commands.items())
    )
    return 0
