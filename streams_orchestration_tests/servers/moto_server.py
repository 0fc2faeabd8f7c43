"""moto's server, which finds out once what answers for a host: its own way lists a directory for each request."""

from __future__ import annotations

import functools
import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import main


def remember_hosts() -> None:
    """Let the servers of this process keep what they have found out."""
    original = DomainDispatcherApplication.get_backend_for_host
    DomainDispatcherApplication.get_backend_for_host = functools.cache(original)


if __name__ == "__main__":
    remember_hosts()
    main(sys.argv[1:])
