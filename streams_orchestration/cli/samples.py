"""`streams sample`: show tuples of a stream that passes between PEs."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.invocation import current, write_json
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.terminal import results
from streams_orchestration.model.brief import duration, plural
from streams_orchestration.runtime import api


def sample(application: str, stream: str, format_: str) -> None:
    """Show the first tuples of the last batch of a stream between PEs.

    Raises:
        NotDeployedError: the application is not deployed.
        NoSampleError: there is no sample of this stream.
        OtherVersionError: another version of the product deployed the plan.
    """
    current().application = application
    catalog = api.open_catalog(api.Home.default(), application)
    taken = api.read_sample(catalog, application, api.read_compilation(catalog, application), stream)
    if format_ == "json":
        write_json(asdict(taken))
        return
    results().print(_table(taken))
    shown = f"{len(taken.rows)} of {plural(taken.tuples, 'tuple')}"
    age = duration(max(api.now() - taken.written_at, 0.0))
    note(f"{shown} of batch {taken.batch} of PE {taken.pe}, in epoch {taken.epoch}, {age} ago.")


def _table(taken: api.Sample) -> Table:
    table = Table(box=None, header_style="bold")
    for attribute in taken.attributes:
        table.add_column(Text(f"{attribute.name}\n{attribute.type}"), overflow="fold")
    for row in taken.rows:
        table.add_row(*(Text("null", "dim") if value is None else Text(value) for value in row))
    return table
