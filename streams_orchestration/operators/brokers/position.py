"""The read position of a source at its broker: the name under which the broker stores it, and the identity of the log.

Since the broker stores the position under that name, two applications must not use the same name. If a log was deleted
and created again, reading must not continue silently: the journal may already know the message numbers of the new log.
"""

from __future__ import annotations

import hashlib
import re
from typing import ClassVar

from streams_orchestration import world
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.journal.intake import Intake

_LOST = "lost"
"""The identity of a lost log; it equals no real identity."""


class BrokerPosition:
    """The position of one source in one log.

    Notes in the source's journal tell the log from another one that was later created under the same name.
    """

    lost: ClassVar[str] = "it was deleted since it was read, or created again; unread messages are lost"
    goes_on: ClassVar[str] = "reads the existing messages from the first one on"
    counted: ClassVar[str] = "recreated"

    def __init__(self, intake: Intake, log: str, name: str | None, on_lost_data: str) -> None:
        """Read the journal's notes about the log, and choose the name of the position.

        Args:
            intake: the intake of the journal.
            log: the name of the log at the broker.
            name: the user's name for the position; None takes the name in the notes, or generates one from catalog,
                application and operator.
            on_lost_data: `fail` or `skip`.
        """
        self._intake, self._skips = intake, on_lost_data == "skip"
        self._notes = intake.journal.files.noted()
        self.name = name or self._notes.setdefault("name", unique_name(intake.owner, intake.operator))
        self._log = log
        self._known: dict[str, str] | None = self._notes.get("logs", {}).get(self._place)

    @property
    def _place(self) -> str:
        return f"{self._log}/{self.name}"

    @property
    def is_known(self) -> bool:
        """True if this source has read the log under this name before."""
        return self._known is not None

    def key(self, number: object) -> str:
        """Return the key by which the journal recognises a message; another one if the log was created again."""
        mark = (self._known or {}).get("keys", "")
        return f"{self._log}{mark}/{number}"

    def enter(self, identity: str, *, kept: bool, about: str) -> None:
        """Record the identity of the log, and check that it is the log that was read before.

        Args:
            identity: the identity of the log; another one if it was created again, as far as the broker shows.
            kept: False if the broker no longer has the position.
            about: the log and the name, for messages.

        Raises:
            RefusedError: the log or the position was deleted, and `on_lost_data` is `fail`. Otherwise that is counted,
                and messages get other keys.
            OSError: the notes cannot be written.
        """
        known = self._known
        if known is not None and (known["identity"] != identity or not kept):
            what = f"{about}: {self.lost}"
            if not self._skips:
                message = f"{what}; onLostData: skip {self.goes_on}, --fresh starts over"
                raise RefusedError(message)
            self._intake.count(self.counted, "%s; the source %s", what, self.goes_on)
            self._note({"identity": identity, "keys": f"@{world.new_id()[:8]}"})
        elif known is None:
            self._note({"identity": identity, "keys": ""})

    def lose(self) -> None:
        """Record in the notes that the broker has lost the position, so that the next `enter` treats it as deleted.

        This is for a broker that silently creates a new one.

        Raises:
            OSError: the notes cannot be written.
        """
        self._note({"identity": _LOST, "keys": ""})

    def _note(self, known: dict[str, str]) -> None:
        self._known = known
        self._notes["logs"] = self._notes.get("logs", {}) | {self._place: known}
        self._intake.journal.files.note(self._notes)


def unique_name(owner: str, operator: str) -> str:
    """Return a name at the broker that is unique to catalog, application and operator.

    It has only characters that every broker accepts.
    """
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{owner.rpartition('/')[2]}-{operator}").strip("_-")[:80]
    return f"streams-{readable}-{hashlib.blake2b(f'{owner}/{operator}'.encode(), digest_size=6).hexdigest()}"
