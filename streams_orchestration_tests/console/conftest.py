from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from streams_orchestration.console.access import Access
from streams_orchestration.console.app import create_app
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.console.server import MAX_CLIENT_CONNECTIONS
from streams_orchestration.operators.serving.http_server import HttpServer
from streams_orchestration.operators.serving.listener import Places, listen
from streams_orchestration_tests.console.deployed import Deployed
from streams_orchestration_tests.runtime.conftest import no_hosts

__all__ = ["deployed", "no_hosts", "served"]


@pytest.fixture(scope="package")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    """One for all tests, which leave it as it is."""
    application = Deployed(tmp_path_factory.mktemp("deployed"))
    application.work()
    return application


@contextmanager
def served(
    reader: SnapshotReader, *, actions: bool = False, compilers: Compilers | None = None,
    most: int = MAX_CLIENT_CONNECTIONS, through: Callable[[int], int] = lambda port: port,
) -> Iterator[str]:  # fmt: skip
    """The address of a console in a thread of this process.

    Args:
        through: maps the port of the console to the one that pages open.
    """
    listener = listen("127.0.0.1", 0, Places(most))
    port = through(listener.getsockname()[1])
    app = create_app(reader, Access("127.0.0.1", port, allow_actions=actions), compilers)
    server = HttpServer(app, listener, 2, lifespan="on")
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        reader.close()
        thread.join()
