"""The tour of the compiler: one application of three operators goes through all stages.

Every module `stage` begins with a station of the tour, which is run as a test. `docs/compiler-tour.md` is written from
them by `make docs`.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

import yaml

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.compiling import compute
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.loading import application_from_mapping

SPEC = """\
specVersion: 1
application: tour
schemas: {Reading: "sensor string, value double, at bigint"}
graph:
  - name: Read
    operator: Beacon
    outputs: [{stream: Readings, schema: Reading}]
    parameters:
      output: {sensor: "'s' || IterationCount() % 9", value: "1.5", at: 100 * IterationCount()}
      iterations: 1000
    annotations: {consistent: {trigger: periodic, period: 1.0}, eventTime: {eventTimeAttribute: at, lag: 2.0}}
  - name: Scale
    operator: Functor
    inputs: [Readings]
    outputs: [{stream: Scaled, schema: Reading}]
    parameters: {output: {value: value * 2}}
    annotations: {parallel: {width: 2, partitionBy: [{port: Readings, attributes: [sensor]}]}}
  - {name: Write, operator: FileSink, inputs: [Scaled], parameters: {file: scaled.csv}}
"""
OPTIONS = Options(fusion="manual", pes=2)

_HEAD = """\
# A tour of the compiler

The compiler turns a spec into a plan in eight stages. A stage is a function without side effects: it reads the results
of earlier stages and returns one more, together with diagnostics (`findings`). Operators and connections get
their numbers once, and every later stage adds facts to these numbers. This page follows one application through all
eight; each section shows the stage at work, and a test runs what it shows.

The application reads values of sensors, scales them in two parallel channels, and writes them to a file:

```yaml
{spec}```

`results_before(STAGE)` returns the results of all stages before one, for this application and the options `--fusion
manual --pes 2`. They are read by their types: `done[PhysicalGraph]`. Each stage's value, such as `LOGICAL_STAGE`, has
the function `compute`, which the section calls.

This page is written by `make docs` from the modules `stage` below `streams_orchestration/compiler`; edit those.
"""
_TAIL = """\
## Further reading

[How it works](architecture.md) shows what becomes of the plan at run time, and lists the packages of the compiler.
`streams explain SPEC STAGE` answers for your own application what these sections show for this one, and
[rules.md](rules.md) lists the rules of Streams that the stages follow.
"""


def results_before(name: str) -> Progress:
    """Return the results of the stages before the named one, or else of all, for the application of the tour."""
    done = Progress(OPTIONS).with_result(application_from_mapping(yaml.safe_load(SPEC)))
    for stage in STAGES:
        if stage.name == name:
            break
        done, _ = compute(stage, done)
    return done


def read_stage_docstring(stage: Stage) -> str:
    """Return a stage's station of the tour: the docstring of the stage's module."""
    return sys.modules[stage.invariant.__module__].__doc__ or ""


def tour_page() -> str:
    """Return the page of the tour as Markdown: a section for each stage, with its prose and its example."""
    sections = ["\n".join(_section(number, stage)) for number, stage in enumerate(STAGES, 1)]
    return "\n".join([_HEAD.format(spec=SPEC), *sections, _TAIL])


def _section(number: int, stage: Stage) -> Iterator[str]:
    """Yield the lines of a section: indented blocks of the docstring become code blocks."""
    yield f"## {number}. {stage.name.replace('_', ' ').capitalize()}"
    for block in read_stage_docstring(stage).strip().split("\n\n"):
        example = block.startswith("    ")
        yield from ("", "```python", textwrap.dedent(block), "```") if example else ("", block)
    yield ""
