"""`streams route`: set aside the tuples that the target of a sink can never take, so that the others are delivered."""

from __future__ import annotations

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.observing import status_document
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.sinks.undeliverable import DIRECTORY
from streams_orchestration.runtime import api


def route(application: str, sink: str) -> int:
    """Set aside the undeliverable tuples of a sink in the epochs that are complete now; return the exit status.

    The status is 1, and nothing is changed, if there is no such sink or it writes files.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    home = api.Home.default()
    current().application = application
    catalog = api.open_catalog(home, application)
    status = api.read_status(catalog, application)
    names = [each.operator for each in status.sinks]
    found = next((each for each in status.sinks if each.operator == sink), None)
    if found is None or found.kind == "FileSink":
        what = f"is not a sink{nearest(sink, names)}" if found is None else "writes files, which take every tuple"
        message = f"{sink} of {application} {what}"
        show_error(message)
        return answer(lambda: {"state": status.shown_state}, status=APPLICATION, error=message)
    epoch = api.route_sink(catalog, application, sink)
    place = home.results(application) / DIRECTORY
    text = (
        f"{sink}: tuples that its target can never take are set aside in {place}, up to epoch {epoch}; the others are "
        "delivered at the next try. `onUndeliverable: route` in the spec does so for epochs to come."
    )
    return answer(
        lambda: {
            "state": status.shown_state,
            "epoch": epoch,
            "status": status_document(catalog, api.read_status(catalog, application)),
        },
        text,
    )
