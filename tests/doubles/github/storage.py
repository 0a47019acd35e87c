"""The Git side: one bare repository on disk, where pushes and API writes meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gitbot.adapters.git.objects import commit_tree, write_tree
from gitbot.adapters.git.process import Git

NOBODY = "0" * 40
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

    def __deepcopy__(self, memo: object) -> Self:
        """Git's side is on disk: an older view of the service shares it."""
        return self

    @classmethod
    def create(cls, directory: Path, *, branch: str) -> Self:
        """An empty bare repository."""
        directory.mkdir(parents=True)
        made = cls(directory)
        made.git.run(["init", "--bare", "--quiet", "--template=", f"--initial-branch={branch}"])
        made.git.run(["config", "http.receivepack", "true"])
        made.git.run(["config", "uploadpack.allowAnySHA1InWant", "true"])
        return made

    def copy_to(self, directory: Path) -> BareRepository:
        """A fork: the same branches."""
        copy = BareRepository.create(directory, branch="main")
        copy.fetch(self, "refs/heads/*", "refs/heads/*")
        return copy

    def fetch(self, other: BareRepository, source: str, target: str) -> None:
        """Bring a ref of another repository here."""
        self.git.run(["fetch", "--quiet", str(other.directory), f"+{source}:{target}"])

    def refs(self) -> dict[str, str]:
        """Every ref and what it points to."""
        listed = self.git.run(["for-each-ref", "--format=%(refname) %(objectname)"])
        pairs = (line.split(" ") for line in listed.decode().splitlines())
        return dict((name, sha) for name, sha in pairs)  # noqa: C402 - checks the width

    def resolve(self, rev: str) -> str | None:
        """The commit of a branch, tag, full ref, or (shortened) id."""
        for name in (f"refs/heads/{rev}", f"refs/tags/{rev}", rev):
            code, output = self.git.status(
                ["rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"],
                accept=(0, 1, 128),
            )
            if code == 0:
                return output.decode().split()[-1]
        return None

    def exists(self, sha: str) -> bool:
        """Whether there is such an object."""
        return self.git.status(["cat-file", "-e", sha], accept=(0, 1, 128))[0] == 0

    def commit(self, sha: str) -> CommitFacts:
        """One commit."""
        return self._parse(self.git.run(["log", "-1", f"--format={_FORMAT}", sha]))

    def commits(self, *, include: str, exclude: str = "", path: str = "") -> list[CommitFacts]:
        """Commits reachable from one and not from the other, newest first."""
        arguments = ["log", "-z", f"--format={_FORMAT}%x01", include]
        arguments += [f"^{exclude}"] if exclude else []
        arguments += ["--", path] if path else []
        parts = self.git.run(arguments).split(b"\x01")
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
        code, output = self.git.status(["merge-base", left, right], accept=(0, 1))
        return output.decode().strip() if code == 0 else None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether a commit is reachable from another."""
        arguments = ["merge-base", "--is-ancestor", ancestor, descendant]
        return self.git.status(arguments, accept=(0, 1))[0] == 0

    def count(self, *, include: str, exclude: str) -> int:
        """How many commits are reachable from one and not from the other."""
        return int(self.git.run(["rev-list", "--count", include, f"^{exclude}"]))

    def changes(self, old: str, new: str) -> list[FileChange]:
        """The files that differ between two commits."""
        raw = self.git.run(["diff-tree", "-r", "-z", "--no-renames", old, new]).split(b"\0")
        numbers: dict[str, tuple[int, ...]] = {}
        listed = self.git.run(["diff-tree", "-r", "-z", "--no-renames", "--numstat", old, new])
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
        output = self.git.run(["diff-tree", "-p", "--no-renames", old, new, "--", path])
        text = output.decode("utf-8", "replace")
        start = text.find("@@")
        return text[start:].rstrip("\n") if start >= 0 else ""

    def tree(self, rev: str, *, recursive: bool = False) -> list[TreeEntry]:
        """The entries of a tree, those of its folders too where asked."""
        arguments = ["ls-tree", "-z", "-l", *(["-r", "-t"] if recursive else []), rev]
        entries = []
        for line in self.git.run(arguments).split(b"\0"):
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
        code, output = self.git.status(["cat-file", "-t", rev], accept=(0, 1, 128))
        return output.decode().strip() if code == 0 else None

    def object_id(self, rev: str) -> str | None:
        """The id of what `commit:path` names."""
        code, output = self.git.status(
            ["rev-parse", "--verify", "--quiet", rev], accept=(0, 1, 128)
        )
        return output.decode().strip() if code == 0 else None

    def blob(self, rev: str) -> bytes:
        """The content of a blob."""
        return self.git.run(["cat-file", "blob", rev])

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
        code, output = self.git.status(arguments, accept=(0, 1))
        return output.decode().split()[0] if code == 0 else None

    def set_ref(self, ref: str, sha: str, *, expected: str | None = None) -> None:
        """Point a ref to a commit; `expected` is compared first."""
        self.git.run(["update-ref", ref, sha, *([expected] if expected is not None else [])])

    def delete_ref(self, ref: str) -> None:
        """Remove a ref."""
        self.git.run(["update-ref", "-d", ref])
