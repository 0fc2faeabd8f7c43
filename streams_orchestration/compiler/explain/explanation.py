"""The answer to a question about a compiled application: sections of facts, each with the rules behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class UnknownSubjectError(LookupError):
    """The application has nothing of that name; the message proposes the nearest name."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement of an explanation."""

    text: str
    rules: str = ""
    """Numbers of the rules behind it, `52` or `A16, A17`."""
    location: str = ""
    """`file:line` in the spec, if that is the cause."""


@dataclass(frozen=True, slots=True)
class Section:
    """The facts about one aspect of the subject."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The subject of a question, and the answer."""

    question: str
    sections: tuple[Section, ...]

    def document(self) -> dict[str, Any]:
        """Return the explanation as JSON holds it."""
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
    """Return a section of the facts that are not None."""
    return Section(title, tuple(fact for fact in facts if fact is not None))


def listed(names: list[str], most: int = 6) -> str:
    """Return names as `a, b and c`; beyond `most` names, the first ones and the number of the others."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def count(number: int, noun: str) -> str:
    """Return a count with its noun: `1 queue`, `2 queues`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
