"""A hook of git checks the shape of commit messages, and that no commit undoes recent ones without saying so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOOK = ROOT / ".ci" / "hooks" / "commit-msg"
LONGEST = "A sink writes " + "é" * 58
SCISSORS = "# ------------------------ >8 ------------------------\ndiff --git a/one b/one\n"

pytestmark = [
    pytest.mark.skipif(not HOOK.exists(), reason="not in a checkout of the sources"),
    pytest.mark.skipif(not shutil.which("git"), reason="git is missing"),
]


def complaint(message: str, directory: Path) -> str:
    """Return the complaint of the hook about a message; empty if the hook accepts it."""
    file = directory / "COMMIT_EDITMSG"
    file.write_text(message, encoding="utf-8")
    done = subprocess.run(["bash", HOOK, file], cwd=directory, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "message",
    [
        "A sink writes once",
        f"{LONGEST}\n",
        "A sink writes once\n\nThe reason.\nA second line of it.\n",
        "\n# A comment\nA sink writes once\n# A comment\n\nThe reason.\n",
        f"A sink writes once\n# A comment\n{SCISSORS}",
        f'Revert "{LONGEST}"\n\nThis reverts commit 1.\n',
        f"fixup! {LONGEST}\n",
    ],
    ids=[
        "only a subject",
        "72 characters",
        "with a reason",
        "with comments",
        "with the changes",
        "a revert",
        "a fixup",
    ],
)
def test_the_hook_accepts_a_short_subject_with_a_blank_line_below_it(message: str, tmp_path: Path):
    assert complaint(message, tmp_path) == ""


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (f"{LONGEST}s\n\nThe reason.\n", "has 73 characters"),
        ("A sink writes once\nThe reason.\n", "second line of the message is not blank"),
        ("# A comment\nA sink writes once\n# A comment\nThe reason.\n", "second line of the message is not blank"),
    ],
    ids=["73 characters", "no blank line", "no blank line among comments"],
)
def test_the_hook_refuses_other_messages_and_says_why(message: str, words: str, tmp_path: Path):
    assert words in complaint(message, tmp_path)


def test_git_can_run_the_hook():
    assert os.access(HOOK, os.X_OK)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose last commit has replaced `old` by `new` in one file."""
    for command in (["init", "-q"], ["config", "user.name", "someone"], ["config", "user.email", "someone@localhost"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    for text in ("first\nold\nlast\n", "first\nnew\nlast\n"):
        (tmp_path / "file").write_text(text)
        subprocess.run(["git", "add", "file"], cwd=tmp_path, check=True)
        subprocess.run(["git", "commit", "-q", "--no-verify", "-m", "A change"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "message", "words"),
    [
        ("first\nold\nlast\n", "A sink writes once", "file: a recent commit replaced 'old' by 'new'"),
        ("first\nold\nlast\n", "A sink writes once\n\nThis takes back the last commit.\n", ""),
        ("first\nold\nlast\n", 'Revert "A change"\n', ""),
        ("first\nnewer\nlast\n", "A sink writes once", ""),
        ("first\nlast\n", "A sink writes once", ""),
    ],
    ids=["a stale working tree", "meant", "a revert", "another change", "a removal"],
)
def test_a_commit_that_undoes_a_recent_one_says_so(text: str, message: str, words: str, repository: Path):
    (repository / "file").write_text(text)
    subprocess.run(["git", "add", "file"], cwd=repository, check=True)
    found = complaint(message, repository)
    assert (words in found) if words else found == ""


@pytest.mark.parametrize(
    ("subject", "refused"),
    [("fixup! One line", True), ("WIP: one line", True), ("Wipe one line", False), (None, False)],
)
def test_a_merge_needs_finished_commits(tmp_path: Path, subject: str | None, refused: bool):
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / "Makefile").write_text("test servers:\n\t@echo tested\n")
    if subject is not None:
        git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git[:3], "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    done = subprocess.run([tmp_path / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "Finish these commits first" in done.stderr) == (int(refused), refused)
    assert ("tested" in done.stdout) is not refused
