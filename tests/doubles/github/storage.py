"""The Git side: one bare repository on disk, where pushes and API writes meet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from gitbot.adapters.git.objects import commit_tree, write_tree
from gitbot.adapters.git.process import Git

NOBODY = "0" * 40
_ID = re.compile("[0-9a-f]{40}")
_UNKNOWN = 128  # Git's exit code for a rev that is not there (yet)
_FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """One commit as Git has it; times in seconds UTC."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: tuple[str, str, int]  # name, email, time
    committer: tuple[str, str, int]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a diff; `status` in GitHub's words."""

    path: str
    status: str
    additions: int
    deletions: int
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One entry of a tree; `size` only of blobs."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None


class BareRepository:
    """Questions and changes of one bare repository; raises RepositoryError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.git = Git(directory)
        self._kept: dict[tuple[str, ...], tuple[int, bytes]] = {}

    def _ask(
        self, arguments: Iterable[str], *revs: str, accept: tuple[int, ...] = (0,)
    ) -> tuple[int, bytes]:
        """Exit code and output of a question. What full ids say never changes: it is kept."""
        key = tuple(arguments)
        if key in self._kept:
            return self._kept[key]
        code, output = self.git.status(key, accept=accept)
        if (code == 0 or _UNKNOWN not in accept) and all(map(_ID.match, revs)):
            self._kept[key] = code, output
        return code, output

    def __deepcopy__(self, memo: object) -> Self:
        """Git's side is on disk: an older view of the service shares it."""
        return self

    @classmethod
    def create(cls, directory: Path, *, branch: str) -> Self:
        """An empty bare repository."""
        for path, data in _empty(branch).items():
            if data is None:
                (directory / path).mkdir(parents=True)
            else:
                (directory / path).write_bytes(data)
        return cls(directory)

    def copy_to(self, directory: Path) -> BareRepository:
        """A fork: the same branches."""
        copy = BareRepository.create(directory, branch="main")
        copy.fetch(self, "refs/heads/*", "refs/heads/*")
        return copy

    def fetch(self, other: BareRepository, source: str, target: str) -> None:
        """Bring a ref of another repository here."""
        self.git.run(["fetch", "--quiet", str(other.directory), f"+{source}:{target}"])

    def refs(self) -> dict[str, str]:
        """Every ref and what it points to. They are asked for at each call: read from the files."""
        found: dict[str, str] = {}
        with suppress(FileNotFoundError):
            for line in (self.directory / "packed-refs").read_text("utf-8").splitlines():
                sha, _, name = line.partition(" ")
                found |= {name: sha} if name.startswith("refs/") else {}
        for folder, _, names in os.walk(self.directory / "refs"):
            for path in (Path(folder, name) for name in names if not name.endswith(".lock")):
                with suppress(FileNotFoundError):
                    sha = path.read_text("utf-8").strip()
                    found[path.relative_to(self.directory).as_posix()] = sha
        return dict(sorted(found.items()))

    def resolve(self, rev: str) -> str | None:
        """The commit of a branch, tag, full ref, or (shortened) id."""
        refs = self.refs()
        for name in (f"refs/heads/{rev}", rev):
            if name.startswith("refs/heads/") and name in refs:
                return refs[name]
        name = f"refs/tags/{rev}" if f"refs/tags/{rev}" in refs else rev
        code, output = self._ask(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"],
            name,
            accept=(0, 1, _UNKNOWN),
        )
        return output.decode().split()[-1] if code == 0 else None

    def exists(self, sha: str) -> bool:
        """Whether there is such an object."""
        return self.kind(sha) is not None

    def commit(self, sha: str) -> CommitFacts:
        """One commit."""
        return self._parse(self._ask(["log", "-1", f"--format={_FORMAT}", sha], sha)[1])

    def commits(self, *, include: str, exclude: str = "", path: str = "") -> list[CommitFacts]:
        """Commits reachable from one and not from the other, newest first."""
        arguments = ["log", "-z", f"--format={_FORMAT}%x01", include]
        arguments += [f"^{exclude}"] if exclude else []
        arguments += ["--", path] if path else []
        parts = self._ask(arguments, include, exclude or include)[1].split(b"\x01")
        return [self._parse(part.strip(b"\x00\n")) for part in parts if part.strip(b"\x00\n")]

    def _parse(self, data: bytes) -> CommitFacts:
        fields = data.decode("utf-8", "replace").split("\x00", 9)
        sha, tree, parents, an, ae, at, cn, ce, ct, message = fields
        return CommitFacts(
            sha=sha,
            tree=tree,
            parents=tuple(parents.split()),
            author=(an, ae, int(at)),
            committer=(cn, ce, int(ct)),
            message=message.strip("\n\x00"),
        )

    def merge_base(self, left: str, right: str) -> str | None:
        """The best common ancestor."""
        code, output = self._ask(["merge-base", left, right], left, right, accept=(0, 1))
        return output.decode().strip() if code == 0 else None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether a commit is reachable from another."""
        arguments = ["merge-base", "--is-ancestor", ancestor, descendant]
        return self._ask(arguments, ancestor, descendant, accept=(0, 1))[0] == 0

    def count(self, *, include: str, exclude: str) -> int:
        """How many commits are reachable from one and not from the other."""
        arguments = ["rev-list", "--count", include, f"^{exclude}"]
        return int(self._ask(arguments, include, exclude)[1])

    def changes(self, old: str, new: str) -> list[FileChange]:
        """The files that differ between two commits."""
        arguments = ["diff-tree", "-r", "-z", "--no-renames", old, new]
        raw = self._ask(arguments, old, new)[1].split(b"\0")
        numbers: dict[str, tuple[int, ...]] = {}
        _, listed = self._ask([*arguments[:-2], "--numstat", old, new], old, new)
        for line in listed.split(b"\0"):
            added, _, rest = line.decode("utf-8", "replace").partition("\t")
            removed, _, path = rest.partition("\t")
            if path:
                numbers[path] = tuple(0 if n == "-" else int(n) for n in (added, removed))
        words = {"A": "added", "D": "removed", "M": "modified", "T": "changed"}
        changes = []
        for head, name in zip(raw[::2], raw[1::2], strict=False):
            _, _, before, after, letter = head.decode().split()
            path = name.decode("utf-8", "replace")
            additions, deletions = numbers.get(path, (0, 0))
            changes.append(
                FileChange(
                    path=path,
                    status=words[letter],
                    additions=additions,
                    deletions=deletions,
                    sha=before if letter == "D" else after,
                )
            )
        return changes

    def patch(self, old: str, new: str, path: str) -> str:
        """The hunks of one file."""
        arguments = ["diff-tree", "-p", "--no-renames", old, new, "--", path]
        _, output = self._ask(arguments, old, new)
        text = output.decode("utf-8", "replace")
        start = text.find("@@")
        return text[start:].rstrip("\n") if start >= 0 else ""

    def tree(self, rev: str, *, recursive: bool = False) -> list[TreeEntry]:
        """The entries of a tree, those of its folders too where asked."""
        arguments = ["ls-tree", "-z", "-l", *(["-r", "-t"] if recursive else []), rev]
        entries = []
        for line in self._ask(arguments, rev)[1].split(b"\0"):
            head, _, path = line.decode("utf-8", "replace").partition("\t")
            if not path:
                continue
            mode, kind, sha, size = head.split()
            entries.append(
                TreeEntry(
                    mode=mode,
                    kind=kind,
                    sha=sha,
                    path=path,
                    size=None if size == "-" else int(size),
                )
            )
        return entries

    def kind(self, rev: str) -> str | None:
        """`blob`, `tree`, `commit`, `tag`, or None where there is nothing."""
        code, output = self._ask(["cat-file", "-t", rev], rev, accept=(0, 1, _UNKNOWN))
        return output.decode().strip() if code == 0 else None

    def object_id(self, rev: str) -> str | None:
        """The id of what `commit:path` names."""
        code, output = self._ask(
            ["rev-parse", "--verify", "--quiet", rev], rev, accept=(0, 1, _UNKNOWN)
        )
        return output.decode().strip() if code == 0 else None

    def blob(self, rev: str) -> bytes:
        """The content of a blob."""
        return self._ask(["cat-file", "blob", rev], rev)[1]

    def write_blob(self, data: bytes) -> str:
        """Store a blob."""
        return self.git.run(["hash-object", "-w", "--stdin"], stdin=data).decode().strip()

    def write_tree(self, base: str | None, files: Mapping[str, bytes | None]) -> str:
        """The tree of `base` with files replaced, added or (None) removed."""
        return write_tree(self.git, base, files)

    def write_commit(
        self, tree: str, *, parents: tuple[str, ...], message: str, name: str, email: str, time: int
    ) -> str:
        """Store a commit; nothing points to it yet."""
        return commit_tree(
            self.git, tree, parents=parents, message=message, name=name, email=email, time=time
        )

    def merged_tree(self, base: str, head: str) -> str | None:
        """The tree of merging in memory, None where the texts conflict."""
        arguments = ["merge-tree", "--write-tree", "--no-messages", base, head]
        code, output = self._ask(arguments, base, head, accept=(0, 1))
        return output.decode().split()[0] if code == 0 else None

    def set_ref(self, ref: str, sha: str, *, expected: str | None = None) -> None:
        """Point a ref to a commit; `expected` is compared first."""
        self.git.run(["update-ref", ref, sha, *([expected] if expected is not None else [])])

    def delete_ref(self, ref: str) -> None:
        """Remove a ref."""
        self.git.run(["update-ref", "-d", ref])


@cache
def _empty(branch: str) -> Mapping[str, bytes | None]:
    """What Git writes for an empty bare repository, by path; None for a folder."""
    with TemporaryDirectory() as folder:
        git = Git(Path(folder))
        git.run(["init", "--bare", "--quiet", "--template=", f"--initial-branch={branch}"])
        git.run(["config", "http.receivepack", "true"])
        git.run(["config", "uploadpack.allowAnySHA1InWant", "true"])
        paths = [Path(folder), *sorted(Path(folder).rglob("*"))]
        return {
            path.relative_to(folder).as_posix(): None if path.is_dir() else path.read_bytes()
            for path in paths
        }
