"""The answer to a question about a compiled application: sections of facts, each with the rules behind it.

Of many names in a fact only the first are listed, usually six, and the others counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streams_orchestration.model.short_texts import first_names


class UnknownSubjectError(LookupError):
    """The application has nothing of that name; the message proposes the nearest name."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement of an explanation."""

    text: str
    rules: str = ""
    """The numbers of the rules behind the statement, as in `52` or `A16, A17`."""
    location: str = ""
    """The `file:line` in the spec that causes the fact; empty if the spec is not the cause."""


@dataclass(frozen=True, slots=True)
class Section:
    """The facts about one aspect of the subject."""

    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A question's subject, and the answer as sections of facts."""

    question: str
    sections: tuple[Section, ...]

    def document(self) -> dict[str, Any]:
        """Return the explanation as a JSON document."""
        return {
            "question": self.question,
            "sections": [
                {
                    "title": each.title,
                    "facts": [
                        {
                            "text": fact.text,
                            "rules": fact.rules.split(", ") if fact.rules else [],
                            "location": fact.location,
                        }
                        for fact in each.facts
                    ],
                }
                for each in self.sections
            ],
        }


def section(title: str, *facts: Fact | None) -> Section:
    """Return a section with a title and some facts; facts that are None are left out."""
    return Section(title, tuple(fact for fact in facts if fact is not None))


def listed(names: list[str], most: int = 6) -> str:
    """Return names as `a, b and c`; empty for none.

    Of more than `most` names, only the first ones are listed and the others counted.
    """
    if len(names) > most:
        return first_names(names, most)
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def path_text(names: list[str]) -> str:
    """Return the names on a path as `a -> b`; of a path longer than 12, the first six and the last six names."""
    return " -> ".join(names if len(names) <= 12 else [*names[:6], "...", *names[-6:]])
