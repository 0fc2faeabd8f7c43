"""Access to the console: its addresses, its token, its sessions."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

from streams_orchestration.operators.serving.own_pages import LOOPBACK, hosts_of

SESSIONS = 1000
"""The most sessions that are remembered; the oldest is forgotten first."""
SHORTEST_TOKEN = 16


@dataclass(slots=True)
class Access:
    """The rule that says who may use the console. Without a token, everybody who can reach its loopback address may."""

    host: str
    port: int
    token: str | None = None
    allow_actions: bool = False
    """True if the page may change something; otherwise it only reads."""
    _sessions: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    @property
    def cookie(self) -> str:
        """The name of the session's cookie; it contains the port, since browsers share cookies between ports."""
        return f"streams_console_{self.port}"

    def is_own_host(self, host: str) -> bool:
        """Return True if a request's header Host names the console.

        With a token any host but an empty one is accepted, since a page under another name has no session.
        """
        if self.token is not None:
            return bool(host)
        return host in hosts_of((self.host, *LOOPBACK), self.port)

    def is_token(self, offered: str) -> bool:
        """Return True if the text is the token, False if there is no token.

        The time of the comparison does not depend on the text.
        """
        return self.token is not None and hmac.compare_digest(offered.encode(), self.token.encode())

    def begin_session(self) -> str:
        """Begin a session, and forget the oldest beyond `SESSIONS`; return the new one's secret for the cookie."""
        session = secrets.token_urlsafe(32)
        self._sessions[session] = None
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def may_read(self, session: str | None, authorization: str) -> bool:
        """Return True if a request with this session, or this header Authorization, may read.

        Without a token, every request may.
        """
        if self.token is None or (session is not None and session in self._sessions):
            return True
        scheme, _, offered = authorization.partition(" ")
        return scheme.lower() == "bearer" and self.is_token(offered)
