"""The Git side: one bare repository on disk, where pushes and API writes meet."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from gitbot.adapters.git.objects import commit_tree, write_tree
from gitbot.adapters.git.process import Git

NOBODY = "0" * 40
BASE = "refs/heads/main"  # the base branch of every repository
_ID = re.compile("[0-9a-f]{40}")
_UNKNOWN = 128  # Git's exit code for a rev that is not there (yet)


class BareRepository:
    """Questions and changes of one bare repository; raises RepositoryError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.git = Git(directory)
        self._kept: dict[tuple[str, ...], tuple[int, bytes]] = {}

    def _ask(
        self, arguments: Iterable[str], *revs: str, accept: tuple[int, ...] = (0,)
    ) -> tuple[int, bytes]:
        """Exit code and output of a question. Answers about full ids never change, so keep them."""
        key = tuple(arguments)
        if key in self._kept:
            return self._kept[key]
        code, output = self.git.status(key, accept=accept)
        if (code == 0 or _UNKNOWN not in accept) and all(map(_ID.match, revs)):
            self._kept[key] = code, output
        return code, output

    def __deepcopy__(self, memo: object) -> Self:
        """An older copy of the state shares the repository on disk."""
        return self

    @classmethod
    def create(cls, directory: Path) -> Self:
        directory.mkdir(parents=True)
        made = cls(directory)
        made.git.run(["init", "--bare", "--quiet", "--template=", "--initial-branch=main"])
        return made

    def copy_to(self, directory: Path) -> BareRepository:
        """A fork: the same branches."""
        copy = BareRepository.create(directory)
        copy.fetch(self, "refs/heads/*", "refs/heads/*")
        return copy

    def fetch(self, other: BareRepository, source: str, target: str) -> None:
        self.git.run(["fetch", "--quiet", str(other.directory), f"+{source}:{target}"])

    def refs(self) -> dict[str, str]:
        """Every ref and what it points to, read from the files because every request asks."""
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
        """The commit of a branch, a full ref, or an id."""
        refs = self.refs()
        name = refs.get(f"refs/heads/{rev}") or refs.get(rev) or rev
        code, output = self._ask(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"],
            name,
            accept=(0, 1, _UNKNOWN),
        )
        return output.decode().split()[-1] if code == 0 else None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        arguments = ["merge-base", "--is-ancestor", ancestor, descendant]
        return self._ask(arguments, ancestor, descendant, accept=(0, 1))[0] == 0

    def files(self, rev: str) -> list[str]:
        """The paths of all files of a commit."""
        _, output = self._ask(["ls-tree", "-r", "-z", "--name-only", rev], rev)
        return [path.decode("utf-8", "replace") for path in output.split(b"\0") if path]

    def blob(self, rev: str) -> bytes:
        """The content of `commit:path`."""
        return self._ask(["cat-file", "blob", rev], rev)[1]

    def verified(self, commit: str, keys: Mapping[str, str]) -> str:
        """GitHub's word about the signature of a commit, by public SSH keys and their addresses."""
        if b"\ngpgsig " not in self._ask(["cat-file", "commit", commit], commit)[1]:
            return "unsigned"
        with tempfile.NamedTemporaryFile("w", suffix=".signers") as file:
            file.writelines(f"{email} {key}\n" for key, email in keys.items())
            file.flush()
            allowed = f"gpg.ssh.allowedSignersFile={file.name}"
            told = subprocess.run(
                ["git", "-c", allowed, "verify-commit", commit], cwd=self.directory, check=False
            )
        return "unknown_key" if told.returncode else "valid"

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

    def merge(self, base: str, head: str, *, message: str, time: int) -> str | None:
        """Store GitHub's merge of two commits; None if the texts conflict."""
        arguments = ["merge-tree", "--write-tree", "--no-messages", base, head]
        code, output = self._ask(arguments, base, head, accept=(0, 1))
        if code:
            return None
        return self.write_commit(
            output.decode().split()[0],
            parents=(base, head),
            message=message,
            name="GitHub",
            email="noreply@github.com",
            time=time,
        )

    def set_ref(self, ref: str, sha: str, *, expected: str | None = None) -> None:
        """Point a ref to a commit; `expected` is compared first."""
        self.git.run(["update-ref", ref, sha, *([expected] if expected is not None else [])])

    def delete_ref(self, ref: str) -> None:
        self.git.run(["update-ref", "-d", ref])
