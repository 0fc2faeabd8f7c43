"""The answer to one question about a compiled application: sections of facts, each with the rules behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class UnknownSubjectError(LookupError):
    """The application has nothing of that name; the message proposes the nearest."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement."""

    text: str
    rules: str = ""
    """Numbers of the rules that it follows from, `52` or `A16, A17`."""
    location: str = ""
    """`file:line` of what the user wrote, where that is the cause."""


@dataclass(frozen=True, slots=True)
class Section:
    """Facts about one aspect."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A question as it was understood, and its answer."""

    question: str
    sections: tuple[Section, ...]

    def document(self) -> dict[str, Any]:
        """The explanation as JSON holds it."""
        return {
            "question": self.question,
            "sections": [
                {
                    "title": section.title,
                    "facts": [
                        {
                            "text": fact.text,
                            "rules": fact.rules.split(", ") if fact.rules else [],
                            "location": fact.location,
                        }
                        for fact in section.facts
                    ],
                }
                for section in self.sections
            ],
        }


def section(title: str, *facts: Fact | None) -> Section:
    """A section of those facts that there are."""
    return Section(title, tuple(fact for fact in facts if fact is not None))


def listed(names: list[str], most: int = 6) -> str:
    """`a, b and c`; with more than `most` names only the first ones and how many more there are."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def count(number: int, noun: str) -> str:
    """`1 queue`, `2 queues`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
