"""A small tree of files on one ref of a bare repository, changed by compare-and-swap.

The local forge stores its pull requests this way: everything is in Git, every change is one commit,
and two writers cannot both win.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from gitbot.adapters.git.objects import commit_tree, list_tree, read_blobs, write_tree
from gitbot.adapters.git.process import Git, is_commit_id
from gitbot.errors import ConflictError, RepositoryError

_ZERO = "0" * 40


class RefState:
    """Files on one ref. `read` returns the tip with its files, `write` moves an unchanged tip."""

    def __init__(self, git: Git, ref: str) -> None:
        self._git = git
        self._ref = ref
        self._seen: tuple[str, Mapping[str, bytes]] = ("", {})

    def read(self) -> tuple[str, Mapping[str, bytes]]:
        """The tip ("" if the ref does not exist) and all files."""
        tip = tip_of(self._git, self._ref)
        if tip and tip != self._seen[0]:
            entries = list_tree(self._git, tip, "")
            contents = read_blobs(self._git, tuple(entry.id for entry in entries))
            self._seen = (tip, {entry.path: contents[entry.id] for entry in entries})
        return self._seen if tip else ("", {})

    def write(self, tip: str, files: Mapping[str, bytes], *, message: str, time: int) -> str:
        known = self._seen
        tree = write_tree(self._git, tip or None, files)
        identity = commit_tree(
            self._git,
            tree,
            parents=(tip,) if tip else (),
            message=message,
            name="gitbot",
            email="gitbot@placement.gitbot.dev",
            time=time,
        )
        move_ref(self._git, self._ref, identity, expected=tip)
        if known[0] == tip:
            self._seen = (identity, {**known[1], **files})
        return identity


def tip_of(git: Git, ref: str) -> str:
    """The target of a full ref; "" if it does not exist. RepositoryError if it is damaged.

    Git replaces a ref's file as a whole, so gitbot reads it; Git resolves refs without a file.
    """
    found = ""
    with suppress(OSError):
        found = (git.directory / ref).read_bytes().decode("ascii", "replace").strip()
        if is_commit_id(found):
            return found
        found = found or "nothing"
    code, output = git.status(["rev-parse", "--verify", "--quiet", ref], accept=(0, 1))
    if code != 0 and found and not found.startswith("ref:"):  # as after a power failure
        raise RepositoryError(
            f"{ref} in {git.shown} is damaged: its file holds {found[:60]!r}",
            hint="restore it, for example from a backup",
        )
    return output.decode("ascii").strip() if code == 0 else ""


def move_ref(git: Git, ref: str, commit: str, *, expected: str) -> None:
    """Move a ref from `expected` ("" = must not exist) to a commit; ConflictError if it moved."""
    code, said = git.attempt(["update-ref", ref, commit, expected or _ZERO])
    if code != 0:
        tip_code, _ = git.attempt(["rev-parse", "--verify", "--quiet", commit])
        if tip_code != 0:
            raise RepositoryError(f"there is no commit {commit}: {said}")
        raise ConflictError(f"somebody else moved {ref} first", hint="run again")
