"""Refuses staged changes that put back the text from before one of the last commits, unless the message says so."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMMITS = 60
"""The number of commits whose changes are compared."""
SHOWN = 5
"""The most changes that a complaint names."""


class Hunk(NamedTuple):
    """One place where lines of a file are replaced by others."""

    file: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


def hunks(diff: str) -> Iterator[Hunk]:
    """Yield the replacements of a diff without context; lines that are only added or only removed are left out."""
    for part in re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        file = part.partition("\n")[0].rpartition(" b/")[2]
        for body in re.split(r"^@@ .*$", part, flags=re.MULTILINE)[1:]:
            lines = body.splitlines()
            removed = tuple(line[1:] for line in lines if line.startswith("-"))
            added = tuple(line[1:] for line in lines if line.startswith("+"))
            if removed and added:
                yield Hunk(file, removed, added)


def git(*arguments: str) -> str:
    """Return the output of a command of git, with bytes that are not UTF-8 replaced."""
    done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, errors="replace")
    return done.stdout


def main(message: str) -> int:
    """Name the staged changes that undo a recent one; return the exit status, 1 if there are any.

    Args:
        message: the file with the commit message. One that contains "takes back" or begins with "Revert" is accepted.
    """
    text = Path(message).read_text(encoding="utf-8", errors="replace")
    if "takes back" in text.casefold() or text.startswith("Revert"):
        return 0
    if subprocess.run(["git", "rev-parse", "-q", "--verify", "HEAD"], check=False, capture_output=True).returncode:
        return 0
    plain = ("-U0", "--no-color", "--no-ext-diff", "--no-renames")
    staged = set(hunks(git("diff", "--cached", *plain)))
    recent = hunks(git("log", "-p", f"-{COMMITS}", "--format=", *plain))
    undone = sorted({hunk for hunk in recent if Hunk(hunk.file, hunk.added, hunk.removed) in staged})
    for hunk in undone[:SHOWN]:
        print(f"{hunk.file}: a recent commit replaced {hunk.removed[0].strip()!r} by {hunk.added[0].strip()!r}")
    if undone:
        print(f"This commit undoes {len(undone)} changes of the last {COMMITS} commits. Is the working tree older than")
        print("they are? If it is meant, write in the message which commit it takes back.")
    return 1 if undone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
