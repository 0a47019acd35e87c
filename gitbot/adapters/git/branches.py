"""Which branches of the remote are mirrored, and what happens if Git refuses one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from gitbot.adapters.authorities import HINT
from gitbot.adapters.git.bounded_command import CommandBound
from gitbot.adapters.git.process import Git, is_commit_id
from gitbot.errors import RepositoryError, UnreachableError

MIRROR = "gitbot-mirror"  # the file that marks a repository as gitbot's own mirror
FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
ONE_HEAD = CommandBound(seconds=60, bytes=128 * 1024 * 1024)
_NEEDED = CommandBound(seconds=600, bytes=2 * 1024 * 1024 * 1024)
_HEADS = "refs/heads/"
_OWNER = "run gitbot as its owner, or give it to this account; no safe.directory is read"
_NO_ANSWER = (  # Git's words if a remote does not exist or refuses access
    "could not resolve",
    "unable to access",
    "could not read",
    "connection ",
    "timed out",
    "authentication failed",
    "permission denied",
    "rpc failed",
    "hung up",
    "early eof",
    "unexpected disconnect",
    "returned error",
    "does not appear to be a git repository",
)


def not_answered(error: RepositoryError) -> UnreachableError | None:
    """The error of an unreachable remote; None if the remote did respond."""
    if "dubious ownership" in error.message:  # Git's advice, safe.directory, has no effect here
        return UnreachableError("the folder of the remote belongs to another account", hint=_OWNER)
    if "certificate" in error.message:
        return UnreachableError(error.message, hint=HINT)
    if any(words in error.message.lower() for words in _NO_ANSWER):
        return UnreachableError(error.message, hint=error.hint)
    return None


class Branches:
    """The branches of a remote in gitbot's own mirror.

    `only` are names of branches, or a prefix and `/*`; empty: all branches. Any account that may
    push can create a branch that Git refuses (fsck) or that is too large. Such a branch is left
    out, its reason is in `refused` by its full name, and the others are fetched.
    """

    def __init__(self, git: Git, remote: str, only: Sequence[str] = ()) -> None:
        self._git = git
        self._remote = remote
        self._only = tuple(only) or ("*",)
        self.refused: dict[str, str] = {}

    def fetch(self) -> dict[str, str]:
        """Update and prune the branches. Returns full ref names and commit ids.

        Raises RepositoryError if the folder is not gitbot's own mirror, because pruning deletes
        branches. Raises UnreachableError if the remote does not answer.
        """
        if not (self._git.directory / MIRROR).is_file():
            raise RepositoryError(
                f"{self._git.directory} is not a mirror that gitbot made: nothing was fetched",
                hint="give gitbot an empty folder for its mirror",
            )
        self.refused = {}
        try:
            self._fetch(_NEEDED, *self._only)
        except RepositoryError as error:
            if (unreachable := not_answered(error)) is not None:
                raise unreachable from error
            self._one_by_one()
        return _refs_of(self._git)

    def tip(self, ref: str) -> str | None:
        """The remote's current commit. Git lists all refs whose names end like this one."""
        listed = self._git.run(["ls-remote", "--end-of-options", self._remote, ref])
        return next((tip for tip, name in _named(listed) if name == ref), None)

    def _one_by_one(self) -> None:
        """Fetch each branch alone. Removes branches that are refused or no longer on the remote."""
        there = {
            ref
            for _, ref in _named(self._git.run(["ls-remote", "--heads", self._remote]))
            if self._ours(ref)
        }
        for ref in sorted(there):
            name = ref.removeprefix(_HEADS)
            try:
                self._fetch(_NEEDED if name in self._only else ONE_HEAD, name)
            except RepositoryError as error:
                if (unreachable := not_answered(error)) is not None:
                    raise unreachable from error
                self.refused[ref] = error.message
        for _, ref in _named(self._git.run(["show-ref", "--heads"], accept=(0, 1))):  # 1: none
            if ref not in there or ref in self.refused:
                self._git.run(["update-ref", "-d", ref])

    def _fetch(self, bound: CommandBound, *names: str) -> None:
        specs = [f"+{_HEADS}{name}:{_HEADS}{name}" for name in names]
        self._git.within(bound, [*FETCH, "--prune", "--end-of-options", self._remote, *specs])

    def _ours(self, ref: str) -> bool:
        name = ref.removeprefix(_HEADS)
        return any(fnmatchcase(name, one) for one in self._only)


def _refs_of(git: Git) -> dict[str, str]:
    """Full ref names and ids of a mirror, which only this process writes, from Git's files.

    Git lists them if it stores them in another form, or if a file is damaged.
    """
    if not (git.directory / "reftable").exists():
        loose = dict(_loose(git.directory))  # before the packed ones: Git may pack them meanwhile
        packed = git.directory / "packed-refs"
        known = {
            ref: commit
            for commit, ref in _named(packed.read_bytes() if packed.exists() else b"")
            if is_commit_id(commit)
        }
        if all(map(is_commit_id, loose.values())):
            return known | loose
    listed = git.run(["for-each-ref", "--format=%(objectname) %(refname)"])
    return {ref: commit for commit, ref in _named(listed)}


def _loose(directory: Path) -> Iterator[tuple[str, str]]:
    for path in (directory / "refs").rglob("*"):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and path.suffix != ".lock":
            with suppress(UnicodeEncodeError):
                yield name.encode("utf-8").decode(), path.read_bytes().decode("latin-1").strip()


def _named(listed: bytes) -> Iterator[tuple[str, str]]:
    """Object id and name of each ref that Git lists, except those whose name is not valid text.

    A name may contain any byte above a space: line ends and blanks of Unicode, and invalid UTF-8.
    """
    for line in listed.split(b"\n"):
        identity, _, name = line.replace(b"\t", b" ", 1).partition(b" ")
        with suppress(UnicodeDecodeError):
            if name:
                yield identity.decode("ascii"), name.decode("utf-8")
